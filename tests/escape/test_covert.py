# SPDX-License-Identifier: Apache-2.0
"""Two cells of one caller that want to exchange a number, each with a workspace of its own. Outside every way works."""

import random
import subprocess
import textwrap

import pytest
from harness import PYTHON

PREAMBLE = """
import ctypes, fcntl, os, re, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
value = int(sys.argv[1])
KEY = 0x7c311
def check(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

# name: (put the value somewhere and keep it there, find it). Both see PREAMBLE; put prints "put" and waits.
CHANNELS = {
    "file in /tmp": ("open('/tmp/toolcell-covert', 'w').write(str(value))", "print(open('/tmp/toolcell-covert').read())"),
    "file in /dev/shm": ("open('/dev/shm/toolcell-covert', 'w').write(str(value))",
                         "print(open('/dev/shm/toolcell-covert').read())"),
    "file in /var/tmp": ("open('/var/tmp/toolcell-covert', 'w').write(str(value))",
                         "print(open('/var/tmp/toolcell-covert').read())"),
    "System V shared memory": (
        """
        libc.shmat.restype = ctypes.c_void_p
        number = check(libc.shmget(KEY, 4096, 0o1666))
        ctypes.memmove(libc.shmat(number, None, 0), struct.pack("q", value), 8)
        """,
        """
        libc.shmat.restype = ctypes.c_void_p
        number = check(libc.shmget(KEY, 4096, 0o666))
        print(struct.unpack("q", ctypes.string_at(libc.shmat(number, None, 0o10000), 8))[0])
        """),
    "System V queue": (
        "check(libc.msgsnd(check(libc.msgget(KEY, 0o1666)), struct.pack('qq', 1, value), 8, 0))",
        """
        buffer = ctypes.create_string_buffer(16)
        check(libc.msgrcv(check(libc.msgget(KEY, 0o666)), buffer, 8, 0, 0o4000))
        print(struct.unpack("qq", buffer.raw)[1])
        """),
    "System V semaphore": (
        "check(libc.semctl(check(libc.semget(KEY, 1, 0o1666)), 0, 16, value % 30000))",
        "print(value - value % 30000 + check(libc.semctl(check(libc.semget(KEY, 1, 0o666)), 0, 12)))"),
    "abstract socket's name": (
        "s = socket.socket(socket.AF_UNIX); s.bind('\\0toolcell-covert-%d' % value)",
        "print(re.search('@toolcell-covert-([0-9]+)', open('/proc/net/unix').read())[1])"),
    "loopback": (
        """
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('127.0.0.1', 20000 + value % 10000)); s.listen()
        """,
        """
        socket.create_connection(('127.0.0.1', 20000 + value % 10000), 1)
        print(value)
        """),
    "command line": (
        "pass",
        """
        for pid in [name for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()]:
            try: line = open(f'/proc/{pid}/cmdline', 'rb').read()
            except OSError: continue
            if b'import ctypes, fcntl' in line and str(value).encode() in line and b'put' in line: print(value); break
        """),
    "process name": (
        "libc.prctl(15, b'cov-%d' % value, 0, 0, 0)",
        """
        for pid in [name for name in os.listdir('/proc') if name.isdigit()]:
            try: name = open(f'/proc/{pid}/comm').read()
            except OSError: continue
            if name.startswith('cov-'): print(name[4:].strip())
        """),
    "lock of an open file description": (
        """
        fd = os.open('lock', os.O_CREAT | os.O_RDWR)
        fcntl.fcntl(fd, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, value, 1, 0))  # F_OFD_SETLK
        """,
        "print(re.search('OFDLCK .* (%d) ' % value, open('/proc/locks').read())[1])"),
    "POSIX lock": (
        "fcntl.lockf(os.open('lock', os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX, 1, value)",
        "print(re.search('POSIX .* (%d) ' % value, open('/proc/locks').read())[1])"),
    "key": (
        "check(libc.syscall(248, b'user', b'toolcell-covert', b'%d' % value, len(str(value)), -4))",
        """
        buffer = ctypes.create_string_buffer(64)
        key = check(libc.syscall(250, 10, -4, b'user', b'toolcell-covert', 0))
        check(libc.syscall(250, 11, key, buffer, 64, 0))
        print(buffer.value.decode())
        """),
    "terminal": (
        "master, slave = os.openpty(); os.write(slave, b'x' * (value % 1000 + 1))",
        """
        import glob
        names = [name for name in glob.glob('/dev/pts/[0-9]*') if os.access(name, os.R_OK)]
        print(value if names else 'none')
        """),
}

CLEAN = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmctl(libc.shmget(0x7c311, 0, 0), 0, None)
libc.msgctl(libc.msgget(0x7c311, 0), 0, None)
libc.semctl(libc.semget(0x7c311, 0, 0), 0, 0)
libc.syscall(250, 9, libc.syscall(250, 10, -4, b'user', b'toolcell-covert', 0), -4)
for name in ("/tmp/toolcell-covert", "/dev/shm/toolcell-covert", "/var/tmp/toolcell-covert"):
    try: os.unlink(name)
    except OSError: pass
"""


def sender(channel):
    put = textwrap.indent(textwrap.dedent(CHANNELS[channel][0]).strip(), "    ")
    return f"{PREAMBLE}\ntry:\n{put}\n    print('put', flush=True)\nexcept OSError: print('refused', flush=True)\nsys.stdin.read()\n"


def receiver(channel):
    return PREAMBLE + textwrap.dedent(CHANNELS[channel][1])


@pytest.mark.parametrize("channel", CHANNELS)
def test_cells_do_not_meet(cell, channel):
    value = str(random.randrange(100000, 1 << 31))
    other = cell.directory("other")
    first = cell.start("python3", "-c", sender(channel), value, events=False, stdin=subprocess.PIPE)
    first.until("\n")
    heard = cell.plain("python3", "-c", receiver(channel), value, workspace=False, options=["-w", other])
    first.process.stdin.close()
    first.wait()
    assert value not in heard.text, f"heard: {heard.text}"


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_control_meets(cell, channel):
    value = str(random.randrange(100000, 1 << 31))
    cell.outside(CLEAN)
    first = cell.spawn([PYTHON, "-c", sender(channel), value], stdin=subprocess.PIPE)
    try:
        assert first.stdout.readline() == b"put\n"
        heard = cell.outside(receiver(channel), value)
        assert value.encode() in heard.stdout, heard
    finally:
        first.communicate()
        cell.outside(CLEAN)


def test_host_keyrings_are_not_told(cell):
    """A process outside sees at least its own user's keyrings: naming one makes it."""
    assert cell.run("cat", "/proc/keys").succeeded().text == ""
    control = cell.outside(
        "import ctypes; ctypes.CDLL(None).syscall(250, 0, -4, 1); print(open('/proc/keys').read())")  # KEYCTL_GET_KEYRING_ID
    assert b"keyring" in control.stdout


def test_host_locks_are_not_told(cell):
    """Toolcell's own leases of host ids are such locks."""
    assert cell.run("cat", "/proc/locks").succeeded().text == ""
    assert cell.outside("print(open('/proc/locks').read())").returncode == 0


def test_later_calls_find_nothing(cell):
    """The same workspace, one call after the other: scratch, memory and names are fresh."""
    code = "; ".join(f"open('{place}/trace', 'w')" for place in ("/tmp", "/dev/shm", "/home/agent"))
    cell.run("python3", "-c", f"{code}; import ctypes; ctypes.CDLL(None).shmget(0x7c311, 4096, 0o1666)").succeeded()
    done = cell.run("sh", "-c", "ls -A /tmp /dev/shm /home/agent; tail -n +2 /proc/sysvipc/shm")
    assert "trace" not in done.text and str(0x7c311) not in done.text
