# SPDX-License-Identifier: Apache-2.0
"""A terminal for the command (--tty): its own, with job control, and no way from it into the caller's."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import textwrap
import time
from pathlib import Path

import pytest

import harness

# Everything that has put input into a terminal, on every descriptor there is and on the terminal by name.
INJECT = """
    import errno, fcntl, json, os, termios
    TIOCLINUX, done = 0x541C, {}
    def attempt(name, fd):
        for call, number, what in ("STI", termios.TIOCSTI, b"x"), ("LINUX", TIOCLINUX, b"\\x03"):
            try: fcntl.ioctl(fd, number, what); done[f"{call} {name}"] = "worked"
            except OSError as error: done[f"{call} {name}"] = errno.errorcode[error.errno]
    for fd in range(64):
        try: os.fstat(fd)
        except OSError: continue
        attempt(fd, fd)
    for path in ["/dev/tty", *("/dev/pts/" + name for name in os.listdir("/dev/pts") if name.isdigit())]:
        attempt(path, os.open(path, os.O_RDWR))
    print("<" + json.dumps(done) + ">", flush=True)
"""


class Terminal:
    """A call whose streams and controlling terminal are one that the test holds the other end of."""

    def __init__(self, cell, *argv, options=(), size=(33, 77), **more):
        self.master, self.slave = pty.openpty()
        os.fchown(self.slave, cell.identity.uid, cell.identity.gid)
        self.resize(*size)
        os.set_blocking(self.master, False)
        self.before, self.seen = termios.tcgetattr(self.slave), b""
        streams = {name: self.slave for name in ("stdin", "stdout", "stderr")}
        self.running = cell.start(*argv, options=["--tty", *options], events=False, start_new_session=True,
                                  preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **{**streams, **more})

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def mode(self):
        return termios.tcgetattr(self.slave)

    def read(self):
        try:
            self.seen += os.read(self.master, 65536)
        except BlockingIOError:
            time.sleep(0.01)

    def until(self, text, timeout=20):
        deadline = time.monotonic() + timeout * harness.SLACK
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self.read()
        return self.seen

    def type(self, text):
        self.seen = b""
        os.write(self.master, text)

    def wait(self, timeout=20):
        """Wait for the end, and return the exit status. The terminal is as it was."""
        deadline = time.monotonic() + timeout * harness.SLACK
        while self.running.process.poll() is None:
            assert time.monotonic() < deadline, self.seen
            self.read()
        for _ in range(3):
            self.read()
        assert self.mode() == self.before, "the terminal is not as it was"
        return self.running.process.returncode

    def close(self):
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(cell):
    made = []

    def make(*argv, **more):
        made.append(Terminal(cell, *argv, **more))
        return made[-1]

    yield make
    for each in made:
        if each.running.process.poll() is None:
            each.running.kill()
        each.close()


def test_what_the_command_has(cell, terminal):
    code = """
        import json, os
        tty = open("/dev/tty", "r+b", buffering=0)
        print("<" + json.dumps([[os.isatty(fd) for fd in (0, 1, 2)], os.ttyname(0), os.get_terminal_size(0), os.stat(os.ttyname(0)).st_uid,
              os.tcgetpgrp(tty.fileno()) == os.getpgrp(), os.getsid(0) == os.getpid(), os.environ["TERM"],
              sorted(os.listdir("/dev/pts"))]) + ">", flush=True)
    """
    host = sorted(os.listdir("/dev/pts"))
    shown = terminal("python3", "-c", textwrap.dedent(code), env={"TERM": "vt220"})
    seen = shown.until(b">\r\n")
    assert shown.wait() == 0
    assert json.loads(seen[seen.index(b"<") + 1:seen.index(b">")]) == \
        [[True] * 3, "/dev/pts/0", [77, 33], 1000, True, True, "vt220", ["0", "ptmx"]]
    assert b"\r\r\n" not in shown.seen, "what a terminal has edited is not edited again"
    assert len(os.listdir("/dev/pts")) <= len(host) + 1, "no terminal of the host was made but the test's own"


def test_job_control(terminal):
    shell = terminal("bash", "--norc", "-i", env={"TERM": "dumb"})
    shell.type(b"PS1=\n")
    shell.type(b"echo up=$((40+2))\n")
    assert b"job control" not in shell.until(b"up=42")
    shell.type(b"(echo began=$((1+1)); exec sleep 100)\n")
    shell.until(b"began=2")
    shell.type(b"\x03")
    shell.type(b"echo status=$?.\n")
    shell.until(b"status=130.")
    shell.type(b"sh -c 'echo began=$((1+2)); exec sleep 100'\n")
    shell.until(b"began=3")
    shell.type(b"\x1a")
    shell.until(b"Stopped")
    shell.type(b"echo still=$((2+2))\n")
    shell.until(b"still=4")
    shell.type(b"fg\n")
    shell.until(b"sleep 100")
    time.sleep(0.2)
    shell.type(b"\x03")
    shell.type(b"echo again=$?.\n")
    shell.until(b"again=130.")
    shell.type(b"exit 7\n")
    assert shell.wait() == 7


def test_the_size_follows(terminal):
    shown = terminal("bash", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done")
    shown.until(b"33 77")
    shown.resize(12, 34)
    shown.until(b"12 34")
    shown.type(b"\x03")
    assert shown.wait() == 130


def test_what_is_typed_reaches_the_command_alone(terminal):
    """^C, ^Z, ^\\ and ^D are the command's when it says so: none of them does anything to toolcell."""
    raw = terminal("sh", "-c", "stty raw -echo; echo up; exec od -An -c -N6")
    raw.until(b"up")
    assert not raw.mode()[3] & (termios.ICANON | termios.ISIG | termios.ECHO)
    raw.type(b"\x03\x1a\x1c\x04\r\n")
    assert raw.until(b"\\r  \\n").split() == [b"003", b"032", b"034", b"004", b"\\r", b"\\n"]
    assert raw.wait() == 0


@pytest.mark.parametrize("argv, options, status", [
    (["sh", "-c", "exit 3"], [], 3), (["sh", "-c", "kill -9 $$"], [], 137), (["sleep", "30"], ["--timeout", "300ms"], 124),
    (["/no/such/program"], [], 127), (["sh", "-c", "stty raw -echo; exit 0"], [], 0),
    (["sh", "-c", "yes"], ["--output-limit", "10K:stop"], 141)],
    ids=["exit", "killed", "timeout", "missing", "raw", "output"])
def test_the_terminal_is_restored(terminal, argv, options, status):
    shown = terminal(*argv, options=options)
    assert shown.wait() == status, shown.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT], ids=lambda number: number.name)
def test_restored_when_toolcell_is_told_to_end(terminal, number):
    shown = terminal("sh", "-c", "echo up; exec sleep 30")
    shown.until(b"up")
    shown.running.signal(number)
    assert shown.wait() == 128 + number


def test_restored_while_toolcell_is_stopped(terminal):
    shown = terminal("sh", "-c", "echo up; exec cat")
    shown.until(b"up")
    assert shown.mode() != shown.before
    shown.running.signal(signal.SIGTSTP)
    deadline = time.monotonic() + 10 * harness.SLACK
    while Path(f"/proc/{shown.running.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert shown.mode() == shown.before
    shown.running.signal(signal.SIGCONT)
    while shown.mode() == shown.before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    shown.type(b"heard\n\x04")
    assert shown.wait() == 0 and shown.seen.count(b"heard") == 2


def test_in_the_background(terminal):
    """The terminal of a shell is left to it until toolcell is its foreground job."""
    script = """
        import fcntl, os, signal, sys, termios, time
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        before = termios.tcgetattr(0)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.setpgid(0, 0)
            os.execv(sys.argv[1], sys.argv[1:])
        _, status = os.waitpid(child, os.WUNTRACED)
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTTIN, status
        assert termios.tcgetattr(0) == before
        os.tcsetpgrp(0, child)
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        os.tcsetpgrp(0, os.getpgrp())
        print("status", os.waitstatus_to_exitcode(status), termios.tcgetattr(0) == before, flush=True)
    """
    shown = terminal("sh", "-c", "echo up; read line; echo got $line; exit 9",
                     prefix=[harness.PYTHON, "-c", textwrap.dedent(script)])
    shown.until(b"up")
    shown.type(b"typed\n")
    shown.until(b"got typed")
    shown.until(b"status 9 True")
    assert shown.wait() == 0


def test_nothing_gets_into_the_callers_terminal(cell, terminal):
    shown = terminal("python3", "-c", textwrap.dedent(INJECT))
    seen = shown.until(b">\r\n")
    assert shown.wait() == 0
    tried = json.loads(seen[seen.index(b"<") + 1:seen.index(b">")])
    assert {"STI 0", "STI 1", "STI 2", "STI /dev/tty", "STI /dev/pts/0", "LINUX 0", "LINUX /dev/tty"} <= set(tried)
    assert set(tried.values()) == {"EPERM"}, tried

    mode = shown.mode()
    mode[3] &= ~termios.ICANON
    termios.tcsetattr(shown.slave, termios.TCSANOW, mode)
    assert not select.select([shown.slave], [], [], 0.2)[0], os.read(shown.slave, 99)
    os.write(shown.master, b"x")
    assert select.select([shown.slave], [], [], 20)[0] and os.read(shown.slave, 99) == b"x", "the control: what is typed is seen"


def test_outside_the_same_puts_input_into_it(cell):
    """The control of INJECT, where the kernel lets a process do that to its own terminal."""
    setting = Path("/proc/sys/dev/tty/legacy_tiocsti")
    if setting.exists() and setting.read_text().strip() == "0" and cell.identity.uid != 0:
        pytest.skip("dev.tty.legacy_tiocsti is off: the kernel refuses it by itself")
    master, slave = pty.openpty()
    code = "import fcntl, termios; [fcntl.ioctl(0, termios.TIOCSTI, byte) for byte in (b'x', b'\\n')]"
    try:
        done = cell.outside(code, stdin=slave, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        assert done.returncode == 0, done.stderr
        assert os.read(slave, 9) == b"x\n"
    finally:
        os.close(master)
        os.close(slave)


def test_the_output_limit_holds(terminal):
    shown = terminal("sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x", options=["--output-limit", "10000"])
    assert shown.wait() == 0
    assert len(re.search(rb"x+", shown.until(b"x" * 9000)).group()) == 10000


def test_a_slow_reader_holds_the_command_back_and_not_the_limits(terminal):
    shown = terminal("sh", "-c", "yes", options=["--timeout", "500ms"])
    time.sleep(1.5 * harness.SLACK)
    assert not shown.running.processes(), "the cell is dead, although nobody read"
    assert shown.wait() == 124


def test_without_a_terminal(cell):
    """A terminal echoes what is typed; the end of the input is typed too."""
    done = cell.plain("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && cat", options=["--tty"], stdin=b"hello")
    assert done.succeeded().stdout in (b"hello24 80\r\nhello", b"24 80\r\nhellohello") and done.stderr == b""
    done = cell.plain("cat", options=["--tty"])
    assert done.succeeded().stdout == b"", "the caller's input has ended at once"
    done = cell.plain("cat", options=["--tty"], stdin=b"a\nb\n")
    assert done.succeeded().stdout.replace(b"\r\n", b"").count(b"a") == 2


def test_no_stdin(cell, terminal):
    shown = terminal("sh", "-c", "test ! -t 0 && test -t 1 && cat && echo ended && : </dev/tty", options=["--stdin", "none"])
    shown.until(b"ended")
    assert shown.wait() == 0


def test_much_input(cell):
    lines = b"".join(b"%d\n" % number for number in range(20000))
    done = cell.plain("sh", "-c", "stty -echo; echo up; exec wc -l", options=["--tty"], stdin=lines)
    assert done.succeeded().stdout.split()[-1] == b"20000"


def test_with_events(cell):
    done = cell.run("sh", "-c", "test -t 1 && echo a; echo b >&2; cat", options=["--tty"]).succeeded()
    assert done.stdout == b"a\r\nb\r\n" and done.stderr == b""
    assert done.result["output"] == {"stdout_bytes": 6, "stderr_bytes": 0, "truncated": False}
    done = cell.run(options=["--request", "-"], stdin=json.dumps(
        {"version": 1, "argv": ["cat"], "tty": True, "stdin": {"data": "typed\n"}}).encode())
    assert done.succeeded().stdout == b"typed\r\n" * 2


def test_under_mediation(cell):
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"},
                          {"pattern": "**/.env", "operations": "all", "effect": "deny"}])
    done = cell.plain("sh", "-c", "tty && tty < /dev/tty && echo x > /dev/tty", policy=policy, options=["--tty"])
    assert done.succeeded().stdout == b"/dev/pts/0\r\n/dev/tty\r\nx\r\n" or done.stdout == b"/dev/pts/0\r\n/dev/pts/0\r\nx\r\n"


def test_questions_have_another_place(cell):
    done = cell.run("true", options=["--tty", "--ask", "tty"])
    cell.refused(done, "--ask tty", "the terminal is the command's", "--ask fd:N")
