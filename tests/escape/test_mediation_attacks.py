# SPDX-License-Identifier: Apache-2.0
"""A cell that attacks the broker: every way to a denied file, callers that die or wait, floods, too few descriptors."""

import os
import signal
import socket

import leftovers
import pytest
from harness import SLACK

SECRET = "the secret"
RULES = [{"pattern": "**/.env", "operations": ["read", "write"], "effect": "deny", "priority": 100},
         {"pattern": "**/*-deny", "operations": ["read", "write"], "effect": "deny", "priority": 100},
         {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]

READING = """
import ctypes, errno, json, os, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)
held = os.open(".env", os.O_PATH)
here = os.open(".", os.O_RDONLY)
def read(path, flags=os.O_RDONLY, **more):
    fd = os.open(path, flags, **more)
    try: return os.read(fd, 64).decode()
    finally: os.close(fd)
def passed():
    one, other = socket.socketpair()
    socket.send_fds(one, [b"x"], [held])
    return read(f"/proc/self/fd/{socket.recv_fds(other, 1, 1)[1][0]}")
def neighbour(path):
    child = subprocess.Popen(["sleep", "10"], pass_fds=[held])
    try: return read(path.format(child.pid))
    finally: child.kill(); child.wait()
def received(way):
    # A process that has nothing of its own is given a descriptor by another, over a socket made in the tree.
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("s")
    listener.listen()
    child = os.fork()
    if child == 0:
        taker = socket.socket(socket.AF_UNIX)
        taker.connect("s")
        try: text = way(socket.recv_fds(taker, 1, 1)[1][0])
        except OSError as error: text = "!" + str(error.errno)
        taker.send(text.encode())
        os._exit(0)
    try:
        giver = listener.accept()[0]
        socket.send_fds(giver, [b"x"], [held if way in (through_magic, through_both) else here])
        text = giver.recv(64).decode()
    finally: os.waitpid(child, 0); os.unlink("s")
    if text.startswith("!"): raise OSError(int(text[1:]), "in the child")
    return text
def through_magic(fd): return read(f"/proc/self/fd/{fd}")
def through_both(fd): return read(f"/dev/fd/{fd}", os.O_RDWR)
def through_directory(fd): return read(".env", dir_fd=fd)
def through_change(fd):
    os.fchdir(fd)
    return read(".env")
def inherited():
    # Across an execve, in a program that only knows the number.
    done = subprocess.run(["cat", f"/proc/self/fd/{held}"], pass_fds=[held], capture_output=True, text=True)
    if "denied" in done.stderr: raise OSError(errno.EACCES, "in the child")
    return done.stdout
def raw(number, *arguments):
    got = libc.syscall(*[ctypes.c_long(each) if isinstance(each, int) else each for each in (number, *arguments)])
    if got < 0: raise OSError(ctypes.get_errno(), "raw")
    return os.read(got, 64).decode()
def link(path):
    os.symlink(path, "way")
    try: return read("way")
    finally: os.unlink("way")
pid = os.getpid()
top = os.getcwd()
ways = {path: lambda path=path: read(path) for path in (".env", "./.env", f"{top}/.env", f"{top}//./.env", "/proc/self/cwd/.env",
    "/proc/thread-self/cwd/.env", f"/proc/{pid}/task/{pid}/cwd/.env", f"/proc/self/root{top}/.env", "/dev/fd/../cwd/.env", "sub/../.env",
    f"/proc/self/fd/{held}", f"/dev/fd/{held}", f"/proc/{pid}/fd/{held}", f"/proc/thread-self/fd/{held}")}
ways |= {"for both": lambda: read(".env", os.O_RDWR), "held, for both": lambda: read(f"/proc/self/fd/{held}", os.O_RDWR),
    "at": lambda: read(".env", dir_fd=here), "passed": passed, "link": lambda: link(".env"), "magic link": lambda: link(f"/proc/self/fd/{held}"),
    "neighbour's descriptor": lambda: neighbour(f"/proc/{{}}/fd/{held}"), "neighbour's directory": lambda: neighbour("/proc/{}/cwd/.env"),
    "neighbour's root": lambda: neighbour(f"/proc/{{}}/root{top}/.env"), "high bits": lambda: raw(257, here, b".env", 1 << 33),
    "high bits of the directory": lambda: raw(257, (1 << 32) - 100, b".env", 0)}
ways |= {f"received, {way.__name__}": lambda way=way: received(way) for way in (through_magic, through_both, through_directory, through_change)}
ways |= {"inherited": inherited}
answer = {}
for name, way in ways.items():
    try: answer[name] = way()
    except OSError as error: answer[name] = errno.errorcode[error.errno]
print(json.dumps(answer))
"""


def furnish(cell):
    cell.write(".env", SECRET)
    cell.write("ok", "ok")
    cell.write("sub/f", "")
    return cell.policy(RULES)


def test_every_way_to_a_denied_file(cell):
    policy = furnish(cell)
    answer = cell.python(READING, policy=policy).succeeded().answer
    assert len(answer) >= 29 and set(answer.values()) == {"EACCES"}, answer


def test_the_control_reads_it(cell):
    """The same ways without that rule."""
    furnish(cell)
    answer = cell.python(READING, policy=cell.policy(RULES[1:])).succeeded().answer
    assert set(answer.values()) == {SECRET}, answer


def test_callers_that_wait_hold_up_nobody(cell):
    """More of them than there are workers: each in a FIFO that nobody writes."""
    policy = furnish(cell)
    code = """
        import os, signal, time
        os.mkfifo("p")
        children = []
        for _ in range(200):
            child = os.fork()
            if child == 0:
                os.open("p", os.O_RDONLY)
                os._exit(0)
            children.append(child)
        worst = 0
        for _ in range(100):
            begin = time.monotonic(); open("ok").read(); worst = max(worst, time.monotonic() - begin); time.sleep(0.01)
        waiting = sum(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children)
        for child in children: os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
        print(waiting, worst)
    """
    waiting, worst = cell.python(code, policy=policy, timeout=60).succeeded().text.split()
    assert int(waiting) == 200 and float(worst) < 2 * SLACK


def test_callers_that_die_leave_things_as_they_were(cell):
    policy = furnish(cell)
    code = """
        import os, signal, time
        for _ in range(300):
            child = os.fork()
            if child == 0:
                while True:
                    for one, other in ("ok", "ko"), ("ko", "ok"):
                        try: os.close(os.open(one, os.O_RDWR)); os.rename(one, other)
                        except FileNotFoundError: pass
            time.sleep(0.002); os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
        if os.path.exists("ko"): os.rename("ko", "ok")
        print(open("ok").read(), os.listdir("/proc/self/fd") == ["0", "1", "2", "3"])
    """
    assert cell.python(code, policy=policy, timeout=60).succeeded().text == "ok True\n"


def test_a_flood_of_denials_is_counted(cell):
    policy = furnish(cell)
    code = """
        import os
        for number in range(3000):
            try: os.mkdir(f"{number}-deny")
            except PermissionError: pass
    """
    done = cell.python(code, policy=policy, timeout=60).succeeded()
    assert len(done.of("denied")) == 100 and done.result["denials"] == 3000


def test_too_few_descriptors_open_nothing_more(cell):
    """What the broker lacks the cell is refused."""
    policy = furnish(cell)
    done = cell.plain("sh", "-c", "cat ok; cat .env", policy=policy, prefix=["prlimit", "--nofile=64:64"])
    assert done.stdout == b"ok" and b".env" in done.stderr and done.status != 0


@pytest.mark.by_root
def test_without_its_broker_a_cell_ends(cell):
    """Nothing is opened by anybody else."""
    policy = furnish(cell)
    running = cell.start("sh", "-c", "echo up; sleep 60; cat .env", policy=policy).until('"up\\n"')
    brokers = [pid for pid in leftovers.descendants(running.pid)
               if open(f"/proc/{pid}/comm", encoding="ascii").read() == "toolcell-broker\n"]
    assert len(brokers) == 1
    os.kill(brokers[0], signal.SIGKILL)
    done = running.wait(10)
    assert done.status == 125 and done.result["outcome"] == "setup_failed" and "broker" in done.messages


def test_sockets_of_the_host_and_of_the_cell(cell):
    """Zouuup/landrun#43, anthropics/claude-code#41254: a read-only bind alone does not stop connect."""
    furnish(cell)
    place = cell.directory("sockets")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / "h.sock"))
    os.chmod(place / "h.sock", 0o666)
    listener.listen()
    abstract = socket.socket(socket.AF_UNIX)
    name = f"\0toolcell-test-{os.getpid()}"
    abstract.bind(name)
    abstract.listen()
    code = """
        import errno, json, os, socket, sys
        answer = {}
        def attempt(what, address):
            with socket.socket(socket.AF_UNIX) as one:
                try: one.connect(address); answer[what] = None
                except OSError as error: answer[what] = errno.errorcode[error.errno]
        os.symlink("/sockets/h.sock", "way") if not os.path.islink("way") else None
        for what in "/sockets/h.sock", "way", "/proc/self/root/sockets/h.sock": attempt(what, what)
        attempt("abstract", sys.argv[1].replace("@", chr(0)))
        with socket.socket(socket.AF_UNIX) as own:
            own.bind("own.sock"); own.listen(); attempt("own", "own.sock"); os.unlink("own.sock")
        socket.socketpair()
        print(json.dumps(answer))
    """
    host = ["/sockets/h.sock", "way", "/proc/self/root/sockets/h.sock"]
    options = ["-m", f"{place}:/sockets:ro"]
    try:
        answer = cell.python(code, name.replace("\0", "@"), options=options, policy=cell.policy(RULES)).succeeded().answer
        assert {answer[each] for each in host} == {"EACCES"} and answer["own"] is None and answer["abstract"] == "ECONNREFUSED"
        allowed = cell.policy([{"pattern": "unix:/sockets/*", "operations": ["connect"], "effect": "allow"}, *RULES])
        answer = cell.python(code, name.replace("\0", "@"), options=options, policy=allowed).succeeded().answer
        assert {answer[each] for each in host} == {None} and answer["abstract"] == "ECONNREFUSED", "the control"
    finally:
        listener.close()
        abstract.close()
