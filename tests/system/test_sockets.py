# SPDX-License-Identifier: Apache-2.0
"""Sockets of the host need a rule, sockets that are made inside need none, in mounts of every kind."""

import json
import os
import socket
import struct
import threading

import pytest

FILES = {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}
MEDIATED = {"pattern": "**/.env", "operations": ["read", "write"], "effect": "deny", "priority": 100}

ATTEMPT = """
import errno, json, os, socket, sys
def attempt(address, kind=socket.SOCK_STREAM, family=socket.AF_UNIX):
    try:
        with socket.socket(family, kind) as client:
            client.settimeout(20); client.connect(address)
            return client.recv(16).decode()
    except OSError as error: return errno.errorcode.get(error.errno, str(error))
"""

INSIDE = """
def inside(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as server, socket.socket(socket.AF_UNIX, kind) as client:
        server.bind(path); server.listen(); client.connect(path)
        other, _ = server.accept()
        with other:
            client.sendall(b"hello")
            uid = int.from_bytes(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
            return [other.recv(16).decode(), uid]
"""


class Host:
    """A listener of the host: says hello to whoever connects, and notes who that is."""

    def __init__(self, address):
        self.peers = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(address))
        if not str(address).startswith("\0"):
            os.chmod(address, 0o777)
        self.server.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            self.peers.append(struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))
            client.sendall(b"host")
            client.close()

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


@pytest.fixture
def host():
    """Make listeners of the host, and end them."""
    made = []

    def listen(address):
        made.append(Host(address))
        return made[-1]

    yield listen
    for each in made:
        each.close()


def denied(outcome):
    return {(event["operation"], event["target"]) for event in outcome.events if event["event"] == "denied"}


@pytest.mark.parametrize("rules", [[FILES], [MEDIATED, FILES]], ids=["static", "mediated"])
def test_sockets_of_the_host(cell, host, rules):
    """T26: a read-only bind alone does not stop connect; no name and no mount does, but a broker."""
    shared, tools = cell.directory("shared"), cell.directory("tools")
    listeners = [host(shared / "h.sock"), host(tools / "t.sock"), host(cell.workspace / "w.sock"), host("\0toolcell-test-t26")]
    (cell.workspace / "link").symlink_to("w.sock")
    code = ATTEMPT + """
fd = os.open(sys.argv[1], os.O_PATH)
names = [*sys.argv[1:], "w.sock", "link", os.path.abspath("w.sock"), "./../" + os.path.basename(os.getcwd()) + "/w.sock",
         f"/proc/self/fd/{fd}", "\\0toolcell-test-t26"]
print(json.dumps([attempt(name) for name in names]))
"""
    control = json.loads(cell.outside(code, shared / "h.sock", tools / "t.sock").stdout)
    assert control == ["host"] * 8, "the control"
    heard = [len(each.peers) for each in listeners]
    policy = cell.policy(rules)
    mounts = ["-m", f"{shared}:/shared:ro", "-m", f"{tools}:/kit:tools"]
    outcome = cell.python(code, "/shared/h.sock", "/kit/t.sock", policy=policy, options=mounts).succeeded()
    assert outcome.answer == ["EACCES"] * 7 + ["ECONNREFUSED"]
    assert denied(outcome) == {("connect", f"unix:{path}") for path in
                               ("/shared/h.sock", "/kit/t.sock", "/workspace/w.sock")}
    assert [len(each.peers) for each in listeners] == heard, "nobody was connected to"


@pytest.mark.parametrize("rules", [[FILES], [MEDIATED, FILES]], ids=["static", "mediated"])
def test_sockets_made_inside(cell, rules):
    code = ATTEMPT + INSIDE + """
a, b = socket.socketpair(socket.AF_UNIX); a.sendall(b"pair")
print(json.dumps([b.recv(9).decode(), inside("/tmp/s"), inside("made"), inside("/tmp/q", socket.SOCK_SEQPACKET),
                  inside("made.q", socket.SOCK_SEQPACKET), inside("\\0abstract"), inside("/workspace/sub/made")]))
"""
    cell.write("sub/file")
    outcome = cell.python(code, policy=cell.policy(rules)).succeeded()
    assert outcome.answer == ["pair"] + [["hello", 1000]] * 6
    assert not denied(outcome)
    assert (cell.workspace / "made").is_socket() and (cell.workspace / "sub/made").is_socket(), "the host sees them"


def test_a_rule_allows_a_socket_of_the_host(cell, host):
    shared = cell.directory("shared")
    in_shared, in_workspace = host(shared / "h.sock"), host(cell.workspace / "w.sock")
    host(cell.workspace / "other.sock")
    rules = [{"pattern": pattern, "operations": ["connect"], "effect": "allow"}
             for pattern in ("unix:/shared/h.sock", "unix:/workspace/w.sock")]
    code = ATTEMPT + """
print(json.dumps([attempt(name) for name in ("/shared/h.sock", "w.sock", "/workspace/w.sock", "other.sock")]))
try: os.rename("other.sock", "w.sock")
except OSError as error: print(json.dumps(errno.errorcode[error.errno]))
"""
    outcome = cell.python(code, policy=cell.policy([*rules, FILES]), options=["-m", f"{shared}:/shared:ro"]).succeeded()
    connections, rename = outcome.text.splitlines()
    assert json.loads(connections) == ["host", "host", "host", "EACCES"]
    assert json.loads(rename) == "EACCES", "a denied socket gets no allowed name"
    assert len(in_shared.peers) == 1 and len(in_workspace.peers) == 2
    uids = {uid for _, uid, _ in in_shared.peers + in_workspace.peers}
    assert uids == {cell.identity.uid} if cell.identity.uid else 0 not in uids


def test_loopback_behind_a_broker(cell):
    """Servers and clients of the cell, through connect that is performed."""
    code = """
        import http.server, json, socket, threading, urllib.request
        answers = []
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")):
            class Server(http.server.ThreadingHTTPServer): address_family = family
            with Server((host.strip("[]"), 0), http.server.SimpleHTTPRequestHandler) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                answers += [urllib.request.urlopen(f"http://{host}:{server.server_port}/page").read().decode()
                            for _ in range(20)]
                server.shutdown()
        print(json.dumps(sorted(set(answers)) + [len(answers)]))
    """
    cell.write("page", "text")
    assert cell.python(code, policy=cell.policy([FILES])).succeeded().answer == ["text", 40]


def test_connections_behave(cell):
    """Disconnecting, many threads, a socket that two processes share, and what a peer can do with the broker."""
    code = ATTEMPT + INSIDE + """
import threading
answers = {}
with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.connect(server.getsockname())
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    answers["disconnect"] = libc.connect(client.fileno(), bytes(16), 16)
    try: client.getpeername()
    except OSError as error: answers["then"] = errno.errorcode[error.errno]
    late = socket.socket(); late.setblocking(False)
    answers["non-blocking"] = late.connect_ex(server.getsockname()) in (0, errno.EINPROGRESS)
    server.accept(); late.setblocking(True)
    answers["late"] = late.getpeername() == server.getsockname()
results = []
threads = [threading.Thread(target=lambda n=n: results.append(inside(f"/tmp/t{n}"))) for n in range(40)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
answers["threads"] = results == [["hello", 1000]] * 40
with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
    server.bind("/tmp/shared"); server.listen()
    if os.fork() == 0: client.connect("/tmp/shared"); os._exit(0)
    os.wait(); other, _ = server.accept()
    client.sendall(b"by another"); answers["shared"] = other.recv(16).decode()
    try:
        peer = int.from_bytes(other.getsockopt(socket.SOL_SOCKET, 77, 4), sys.byteorder)  # SO_PEERPIDFD
        try: __import__("signal").pidfd_send_signal(peer, 9); answers["signal"] = "sent"
        except OSError as error: answers["signal"] = "refused"
    except OSError: answers["signal"] = "refused"
answers["afterwards"] = inside("/tmp/after")
print(json.dumps(answers))
"""
    assert cell.python(code, policy=cell.policy([FILES])).succeeded().answer == {
        "disconnect": 0, "then": "ENOTCONN", "non-blocking": True, "late": True, "threads": True, "shared": "by another",
        "signal": "refused", "afterwards": ["hello", 1000]}
