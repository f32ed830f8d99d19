# SPDX-License-Identifier: Apache-2.0
"""The empty network: loopback of its own, no way to the host or beyond; and which sockets may be made."""

import json
import socket
import threading
import time

import pytest

from harness import SLACK

ATTEMPT = """
import errno, json, socket, sys
def attempt(family, address, kind=socket.SOCK_STREAM):
    try:
        with socket.socket(family, kind) as client:
            client.settimeout(3); client.connect(address)
            return "connected"
    except OSError as error: return errno.errorcode.get(error.errno, str(error))
"""


@pytest.fixture
def listener():
    """A service of the host on every address."""
    server = socket.create_server(("", 0))
    yield server.getsockname()[1]
    server.close()


def test_only_loopback(cell):
    code = "import socket, json; print(json.dumps([name for _, name in socket.if_nameindex()]))"
    assert cell.python(code).succeeded().answer == ["lo"]
    devices = cell.run("cat", "/proc/net/dev").succeeded().text.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]


def test_loopback_works(cell):
    code = """
        import json, socket
        worked = []
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "localhost")):
            with socket.create_server((host, 0), family=family) as server, \
                    socket.create_connection(server.getsockname()[:2]) as client:
                ours, _ = server.accept(); client.sendall(b"x"); worked.append(ours.recv(1) == b"x")
        print(json.dumps(worked))
    """
    assert cell.python(code).succeeded().answer == [True, True, True]


def test_services_of_the_host_are_out_of_reach(cell, listener):
    own = socket.gethostbyname(socket.gethostname()) if socket.gethostname() else "127.0.0.1"
    code = ATTEMPT + f"print(json.dumps([attempt(socket.AF_INET, (host, {listener})) for host in ('127.0.0.1', {own!r})]))"
    assert json.loads(cell.outside(code).stdout)[0] == "connected", "the control"
    begin = time.monotonic()
    answers = cell.python(code).succeeded().answer
    assert set(answers) <= {"ECONNREFUSED", "ENETUNREACH", "EPERM", "EACCES"}, answers
    assert time.monotonic() - begin < 3 * SLACK, "refused, not timed out"


def test_addresses_beyond_are_unreachable_at_once(cell):
    code = ATTEMPT + """
print(json.dumps([attempt(socket.AF_INET, ("192.0.2.1", 443)), attempt(socket.AF_INET6, ("2001:db8::1", 443)),
                  attempt(socket.AF_INET, ("8.8.8.8", 53), socket.SOCK_DGRAM), attempt(socket.AF_INET, ("169.254.169.254", 80))]))
"""
    answers = cell.python(code).succeeded().answer
    assert set(answers) <= {"ENETUNREACH", "EPERM", "EACCES", "EADDRNOTAVAIL"}, answers


def test_a_name_is_refused_fast(cell):
    begin = time.monotonic()
    code = """
        import socket
        try: socket.getaddrinfo("example.org", 443)
        except OSError as error: print("refused")
    """
    assert cell.python(code).succeeded().text == "refused\n"
    assert time.monotonic() - begin < 5 * SLACK


def test_abstract_sockets_of_the_host_are_out_of_reach(cell):
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0toolcell-test-abstract")
    server.listen()
    code = ATTEMPT + "print(attempt(socket.AF_UNIX, '\\0toolcell-test-abstract'))"
    assert cell.outside(code).stdout == b"connected\n", "the control"
    assert cell.python(code).succeeded().text in ("ECONNREFUSED\n", "EPERM\n")
    server.close()


def test_host_names_a_listener_inside_is_unseen_outside(cell):
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    running = cell.start("python3", "-c", code, events=False, stdin=-1).until("\n")
    port = int(running.sofar()["stdout"])
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 1)
    running.kill()


SOCKETS = """
import errno, json, socket
AF_PACKET, AF_VSOCK, AF_ALG, AF_NETLINK, AF_BLUETOOTH = 17, 40, 38, 16, 31
def attempt(call, *args):
    try: [s.close() for s in (lambda r: r if isinstance(r, tuple) else (r,))(call(*args))]; return None
    except OSError as error: return errno.errorcode[error.errno]
U = socket.AF_UNIX
print(json.dumps({
    "unix-stream": attempt(socket.socket, U, socket.SOCK_STREAM), "unix-seqpacket": attempt(socket.socket, U, socket.SOCK_SEQPACKET),
    "pair-stream": attempt(socket.socketpair, U, socket.SOCK_STREAM), "pair-seqpacket": attempt(socket.socketpair, U, socket.SOCK_SEQPACKET),
    "inet": attempt(socket.socket, socket.AF_INET, socket.SOCK_STREAM), "inet-dgram": attempt(socket.socket, socket.AF_INET, socket.SOCK_DGRAM),
    "cloexec": attempt(socket.socket, U, socket.SOCK_STREAM | 0o2000000 | 0o4000),
    "unix-dgram": attempt(socket.socket, U, socket.SOCK_DGRAM), "unix-raw": attempt(socket.socket, U, socket.SOCK_RAW),
    "dgram-cloexec": attempt(socket.socket, U, socket.SOCK_DGRAM | 0o2000000 | 0o4000),
    "pair-dgram": attempt(socket.socketpair, U, socket.SOCK_DGRAM), "pair-raw": attempt(socket.socketpair, U, socket.SOCK_RAW),
    "packet": attempt(socket.socket, AF_PACKET, socket.SOCK_RAW), "vsock": attempt(socket.socket, AF_VSOCK, socket.SOCK_STREAM),
    "alg": attempt(socket.socket, AF_ALG, socket.SOCK_SEQPACKET), "netfilter": attempt(socket.socket, AF_NETLINK, socket.SOCK_RAW, 12),
    "raw": attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)}))
"""
FREE = {"unix-stream", "unix-seqpacket", "pair-stream", "pair-seqpacket", "inet", "inet-dgram", "cloexec"}


def test_which_sockets_can_be_made(cell):
    answers = cell.python(SOCKETS).succeeded().answer
    assert {name for name, error in answers.items() if error is None} == FREE, answers
    control = json.loads(cell.outside(SOCKETS).stdout)
    assert all(control[name] is None for name in FREE | {"unix-dgram", "unix-raw", "pair-dgram"}), control


def test_a_datagram_cannot_reach_a_socket_file_of_the_host(cell):
    """Datagrams carry addresses that no filter sees: neither kind that could send one exists."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = cell.workspace / "host.sock"
    server.bind(str(path))
    path.chmod(0o777)
    server.settimeout(0.3)
    code = """
        import socket
        for make in (lambda k: socket.socket(socket.AF_UNIX, k), lambda k: socket.socketpair(socket.AF_UNIX, k)[0]):
            for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                try: make(kind).sendto(b"out", "host.sock")
                except OSError: pass
    """
    cell.python(code).succeeded()
    with pytest.raises(TimeoutError):
        server.recv(16)
    cell.outside(code)
    assert server.recv(16) == b"out", "the control"
    server.close()


def test_connect_to_a_socket_file_of_the_host_needs_a_rule(cell):
    """Allowed outright by the static policy; without a rule it is denied and told."""
    server = socket.socket(socket.AF_UNIX)
    path = cell.workspace / "host.sock"
    server.bind(str(path))
    path.chmod(0o777)
    server.listen()
    accepted = []
    threading.Thread(target=lambda: accepted.append(server.accept()[0]), daemon=True).start()
    code = ATTEMPT + "print(attempt(socket.AF_UNIX, 'host.sock'))"
    assert cell.python(code).succeeded().text == "connected\n"
    rules = [{"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]
    policy = cell.policy(rules)
    done = cell.python(code, policy=policy).succeeded()
    assert done.text != "connected\n"
    [denied] = done.of("denied")
    assert (denied["operation"], denied["target"], denied["syscall"]) == ("connect", "unix:/workspace/host.sock", "connect")
    assert len(accepted) == 1
    server.close()


def test_egress_is_refused_by_name_until_it_is_built(cell):
    cell.refused(cell.run("true", options=["--net", "egress"]), "egress")


def with_host_network(cell, code):
    """What the code says there; None where the kernel cannot close abstract sockets off and the call is refused for it."""
    done = cell.python(code, options=["--net", "host"])
    if cell.run("true").of("start")[0]["enforcement"]["landlock_abi"] >= 6:
        return done.succeeded().text
    cell.refused(done, "--net host", "abstract sockets", "Landlock ABI")
    return None


def test_host_network_needs_rules_that_allow_it(cell, listener):
    code = ATTEMPT + f"print(attempt(socket.AF_INET, ('127.0.0.1', {listener})))"
    assert with_host_network(cell, code) in ("connected\n", None)
    cell.refused(cell.run("true", options=["--net", "host"], policy=cell.policy([
        {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"},
        {"pattern": "**", "operations": ["connect"], "effect": "deny"}]), ), "net")


def test_host_network_keeps_abstract_sockets_closed(cell):
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0toolcell-test-scoped")
    server.listen()
    code = ATTEMPT + "print(attempt(socket.AF_UNIX, '\\0toolcell-test-scoped'))"
    assert cell.outside(code).stdout == b"connected\n", "the control"
    assert with_host_network(cell, code) in ("EPERM\n", "ECONNREFUSED\n", None)
    server.close()
