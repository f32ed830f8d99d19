# SPDX-License-Identifier: Apache-2.0
"""refusals.py ASK: what comes of asking managers that are broken, hostile or not there. Reports in TAP.

Whatever they do: an error with a name within the deadline, and no word of theirs is believed but a refusal.
"""
import errno
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from manager import Manager  # noqa: E402 - the line above comes first

ASK = os.path.abspath(sys.argv[1])
SLACK = float(os.environ.get("TOOLCELL_TEST_SLACK", "1"))
DEADLINE_MS, AT_ONCE_MS = 2000, 1500 * SLACK
NOBODY = 65534


class Answer:
    def __init__(self, *paths, **environment):
        done = subprocess.run([ASK, *map(str, paths)], capture_output=True, text=True, timeout=30 * SLACK,
                              env={**os.environ, **environment})
        assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr, "it crashed or left a descriptor")
        code, ms, self.unit, self.message, self.hint = done.stdout.rstrip("\n").split("\t")
        self.code, self.ms = -int(code), int(ms)

    def refused(self, code, *words):
        codes = code if isinstance(code, tuple) else (code,)
        assert self.code in codes, (errno.errorcode.get(self.code, self.code), self.message)
        assert all(word in self.message for word in words), self.message
        assert len(self.message) < 400 and self.message.isprintable(), self.message
        late = errno.ETIMEDOUT in codes
        assert self.ms < (DEADLINE_MS if late else 0) + AT_ONCE_MS, self.ms
        assert not late or self.ms >= DEADLINE_MS, self.ms
        return self


def of_way(way, directory, code, *words, **more):
    with Manager(directory / "private", way, **more) as manager:
        Answer(directory / "private").refused(code, *words)
        return manager


def check_request(directory):
    """The unit's name, and what it shall be, are in the call; the process is named as whoever asks."""
    with Manager(directory / "private", "error") as manager:
        answer = Answer(directory / "private")
        body = manager.calls["StartTransientUnit"]
    assert answer.unit.startswith("toolcell-") and answer.unit.endswith(".scope") and answer.unit.encode() in body
    for word in (b"\0fail\0", b"PIDs\0\2au\0", b"DelegateControllers\0", b"\0memory\0", b"\0pids\0", b"app-test.slice\0",
                 b"CollectMode\0", b"inactive-or-failed\0"):
        assert word in b"\0" + body, (word, body)
    at = body.index(b"PIDs\0\2au\0") + 9
    assert body[at + -at % 4:][:8] == b"\4\0\0\0\0\0\0\0", body


def check_bus(directory):
    """Behind a bus: hello, the signal is asked for, and then the same."""
    with Manager(directory / "bus", "failed", bus=True) as manager:
        Answer(directory / "private", directory / "bus").refused(errno.ECANCELED, "failed")
    assert {"Hello", "AddMatch", "StartTransientUnit"} <= set(manager.calls)


def check_own_first(directory):
    with Manager(directory / "private", "bare-error"), Manager(directory / "bus", "failed", bus=True) as bus:
        Answer(directory / "private", directory / "bus").refused(errno.ECONNREFUSED, "NoSuch")
    assert bus.calls == {}


def check_nobody(directory):
    Answer(directory / "private").refused(errno.ENOENT, str(directory))
    Answer(directory / "private", directory / "bus").refused(errno.ENOENT, "private", "/bus")
    Answer(directory / ("x" * 200)).refused((errno.ENAMETOOLONG, errno.ENOENT))
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(directory / "left"))
    left.close()
    Answer(directory / "left").refused(errno.ECONNREFUSED)
    (directory / "file").touch()
    Answer(directory / "file").refused(errno.ENOTSOCK)


def check_link(directory):
    with Manager(directory / "real", "failed") as manager:
        (directory / "private").symlink_to(directory / "real")
        Answer(directory / "private").refused(errno.ENOTSOCK)
        assert manager.calls == {}


def check_full(directory):
    """Nobody accepts: connecting does not wait either."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "private"))
        listener.listen(0)
        waiting = []
        try:
            while len(waiting) < 64:
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                waiting[-1].connect(str(directory / "private"))
        except BlockingIOError:
            Answer(directory / "private").refused(errno.EAGAIN)
        else:
            raise AssertionError("the queue has no end")
        finally:
            for one in waiting:
                one.close()


def listen_as(uid, listener):
    """The kernel remembers who called listen()."""
    child = os.fork()
    if child == 0:
        os.setuid(uid)
        listener.listen()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def check_somebody_else(directory):
    """Neither the file nor the listener may be another user's. The control: the same, all of it root's."""
    for name, owner, uid in (("file", NOBODY, 0), ("listener", 0, NOBODY), ("control", 0, 0)):
        path = directory / name
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        os.chown(path, owner, -1)
        listen_as(uid, listener)
        with Manager(path, "failed", listener=listener) as manager:
            if name == "control":
                Answer(path).refused(errno.ECANCELED)
            else:
                Answer(path).refused(errno.EPERM, "somebody else's")
                assert manager.calls == {}


def check_library(directory):
    (directory / "libsystemd.so.0").write_bytes(b"")
    with Manager(directory / "private", "done") as manager:
        answer = Answer(directory / "private", LD_LIBRARY_PATH=str(directory))
        answer.refused(errno.ELIBACC, "load the systemd library")
        assert answer.hint == "install libsystemd0" and manager.calls == {}


TESTS = {
    "what is asked for": check_request,
    "behind a bus": check_bus,
    "the manager's own socket comes first": check_own_first,
    "nobody listens": check_nobody,
    "a link": check_link,
    "a full queue": check_full,
    "no library": check_library,
    "says nothing at all": lambda d: of_way("mute", d, errno.ETIMEDOUT, "within 2000 ms"),
    "nonsense before it knows who asks": lambda d: of_way("no-sasl", d, (errno.EPERM, errno.EPROTO, errno.EBADMSG, errno.ECONNRESET, errno.EIO)),
    "no answer": lambda d: of_way("silence", d, errno.ETIMEDOUT),
    "an error": lambda d: of_way("error", d, errno.ECONNREFUSED, r"not\nfor you\x1b[31m"),
    "an error without a text": lambda d: of_way("bare-error", d, errno.ECONNREFUSED, "org.freedesktop.systemd1.NoSuch"),
    "a job that fails": lambda d: of_way("failed", d, errno.ECANCELED, "failed"),
    "a job that never ends": lambda d: of_way("no-job", d, errno.ETIMEDOUT),
    "another unit's job": lambda d: of_way("other-unit", d, errno.ETIMEDOUT),
    "a signal of another shape": lambda d: of_way("other-signature", d, (errno.ENXIO, errno.EBADMSG)),
    "a lie": lambda d: of_way("done", d, errno.ECANCELED, "toolcell is not in it"),
    "garbage": lambda d: of_way("garbage", d, (errno.EBADMSG, errno.ECONNRESET, errno.ECONNREFUSED)),
    "a huge message": lambda d: of_way("huge", d, (errno.ENOBUFS, errno.EBADMSG, errno.ECONNRESET, errno.ECONNREFUSED)),
    "a hang-up": lambda d: of_way("hang-up", d, (errno.ECONNRESET, errno.ECONNREFUSED, errno.ENOTCONN)),
    "half an answer": lambda d: of_way("half", d, (errno.ECONNRESET, errno.ECONNREFUSED, errno.ENOTCONN)),
    "a flood": lambda d: of_way("flood", d, errno.ETIMEDOUT),
    **({"somebody else's": check_somebody_else} if os.geteuid() == 0 else {}),
}


def attempt(name):
    with tempfile.TemporaryDirectory(prefix="toolcell-unit-") as directory:
        try:
            TESTS[name](pathlib.Path(directory))
            return None
        except Exception as error:  # reported below
            return f"{type(error).__name__}: {error}"


print(f"1..{len(TESTS)}")
# Those that fork come last and alone.
with ThreadPoolExecutor(4) as pool:
    results = dict(zip(TESTS, pool.map(attempt, [name for name in TESTS if name != "somebody else's"])))
results.update({name: attempt(name) for name in TESTS if name not in results})
for number, (name, failure) in enumerate(results.items(), 1):
    print(f"{'ok' if failure is None else 'not ok'} {number} - {name}")
    if failure is not None:
        print("# " + failure.replace("\n", "\n# "))
sys.exit(any(results.values()))
