# SPDX-License-Identifier: Apache-2.0
"""A service manager at a socket that behaves badly on purpose: D-Bus by hand, as much of it as one call needs.

`Manager(directory, way)` listens in a thread of its own and is a context; its `calls` are the bodies of what it was
asked, by method. The ways are the methods of Manager that begin with `do_`; a proper manager's answer is `do_done`.
"""
import contextlib
import os
import socket
import struct
import threading

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, SENDER, SIGNATURE = 1, 2, 3, 4, 5, 7, 8
SYSTEMD, OBJECT = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"
JOB = OBJECT + "/job/1"


def text(value):
    return struct.pack("<I", len(value.encode())) + value.encode() + b"\0"


def pad(data, to):
    return data + bytes(-len(data) % to)


def pack(signature, *values):
    """A body of strings, paths and 32-bit numbers."""
    data = b""
    for kind, value in zip(signature, values):
        data = pad(data, 4) + (struct.pack("<I", value) if kind == "u" else text(value))
    return data


def message(kind, serial, body=b"", signature="", **fields):
    """One message; fields are named as the constants above, in lower case."""
    fields = {**fields, **({"signature": signature} if signature else {})}
    data = b""
    for name, value in fields.items():
        code = globals()[name.upper()]
        kinds = {PATH: "o", REPLY_SERIAL: "u", SIGNATURE: "g"}
        letter = kinds.get(code, "s")
        data = pad(data, 8) + bytes([code, 1]) + letter.encode() + b"\0"
        if letter == "u":
            data = pad(data, 4) + struct.pack("<I", value)
        elif letter == "g":
            data += bytes([len(value)]) + value.encode() + b"\0"
        else:
            data = pad(data, 4) + text(value)
    head = struct.pack("<cBBBIII", b"l", kind, 1 if kind != CALL else 0, 1, len(body), serial, len(data))
    return pad(head + data, 8) + body


class Manager:
    def __init__(self, path, way, bus=False, listener=None):
        self.path, self.way, self.bus, self.calls, self.serial = str(path), way, bus, {}, 0
        self.listener = listener or socket.socket(socket.AF_UNIX)
        if listener is None:
            self.listener.bind(self.path)
            self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # this wakes who waits in accept()
        self.listener.close()

    def serve(self):
        """One after the other; whoever only looks whether somebody listens hangs up at once."""
        while True:
            try:
                self.peer, _ = self.listener.accept()
            except OSError:
                return  # closed
            with self.peer, contextlib.suppress(OSError):  # the asking side has gone
                self.answer()

    def answer(self):
        if self.way == "mute":
            self.wait()
        elif self.way == "no-sasl":
            self.peer.sendall(b"\xff\0garbage\r\n" * 1000)
            self.wait()
        else:
            self.authenticate()
            self.converse()

    def wait(self):
        while self.peer.recv(4096):
            pass

    def authenticate(self):
        self.lines = self.peer.makefile("rb")
        if self.lines.read(1) != b"\0":
            raise ConnectionError("hung up at once")
        while (line := self.lines.readline().strip()) != b"BEGIN":
            if line == b"AUTH EXTERNAL":
                self.peer.sendall(b"DATA\r\n")
            elif line.startswith((b"AUTH EXTERNAL ", b"DATA")):
                self.peer.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            else:
                self.peer.sendall(b"ERROR\r\n")

    def converse(self):
        while head := self.lines.read(16):
            _, kind, _, _, length, serial, fields = struct.unpack("<cBBBIII", head)
            names = self.lines.read(fields + -fields % 8)
            body = self.lines.read(length)
            member = next(name for name in ("Hello", "AddMatch", "StartTransientUnit") if text(name) in names)
            self.calls[member] = body
            if member == "Hello":
                self.send(RETURN, pack("s", ":1.7"), "s", reply_serial=serial, sender="org.freedesktop.DBus")
            elif member == "AddMatch":
                self.send(RETURN, reply_serial=serial, sender="org.freedesktop.DBus")
            else:
                self.unit = body[4:4 + struct.unpack("<I", body[:4])[0]].decode()
                getattr(self, "do_" + self.way.replace("-", "_"))(serial)

    def send(self, kind, body=b"", signature="", **fields):
        self.serial += 1
        sender = {"sender": ":1.1"} if self.bus else {}
        self.peer.sendall(message(kind, self.serial, body, signature, **{**sender, **fields}))

    def accept_job(self, serial):
        self.send(RETURN, pack("o", JOB), "o", reply_serial=serial)

    def end_job(self, unit, result):
        self.send(SIGNAL, pack("uoss", 1, JOB, unit, result), "uoss", path=OBJECT, interface=SYSTEMD + ".Manager",
                  member="JobRemoved")

    # ---- the ways ----

    def do_silence(self, serial):
        pass

    def do_error(self, serial):
        self.send(ERROR, pack("s", "not\nfor you\x1b[31m" + "!" * 1000), "s", reply_serial=serial,
                  error_name="org.freedesktop.DBus.Error.AccessDenied")

    def do_bare_error(self, serial):
        self.send(ERROR, reply_serial=serial, error_name="org.freedesktop.systemd1.NoSuch")

    def do_failed(self, serial):
        self.accept_job(serial)
        self.end_job(self.unit, "failed")

    def do_done(self, serial):
        self.accept_job(serial)
        self.end_job(self.unit, "done")

    def do_no_job(self, serial):
        self.accept_job(serial)

    def do_other_unit(self, serial):
        self.accept_job(serial)
        self.end_job("other.scope", "done")

    def do_other_signature(self, serial):
        self.accept_job(serial)
        self.send(SIGNAL, pack("s", self.unit), "s", path=OBJECT, interface=SYSTEMD + ".Manager", member="JobRemoved")

    def do_garbage(self, serial):
        self.peer.sendall(os.urandom(64) * 1000)

    def do_huge(self, serial):
        self.peer.sendall(struct.pack("<cBBBIII", b"l", RETURN, 1, 1, 0xfffffff0, 1, 0xfffffff0))

    def do_hang_up(self, serial):
        self.peer.shutdown(socket.SHUT_RDWR)

    def do_half(self, serial):
        self.peer.sendall(message(RETURN, 1, pack("o", JOB), "o", reply_serial=serial)[:20])
        self.peer.shutdown(socket.SHUT_WR)

    def do_flood(self, serial):
        while True:
            self.end_job("other.scope", "done")
