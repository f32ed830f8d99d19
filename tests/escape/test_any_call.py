# SPDX-License-Identifier: Apache-2.0
"""Every system call with arguments at random: whatever happens inside, the call ends and the host is as before."""

import os
import socket
import stat

import pytest
from harness import SLACK

FUZZ = """
import ctypes, os, random, resource, signal, sys
libc = ctypes.CDLL(None)
seed = int(sys.argv[1])
buffers = [ctypes.create_string_buffer(random.Random(seed + i).randbytes(256) + bytes(3840), 4096) for i in range(4)]
paths = [b"/proc/self/mem", b"/tmp/x", b".", b"/workspace", b"/proc/1/fd", b"/dev/null", b"/usr/bin/true", b"f", b"",
         b"/proc/self/fd/1", b"/", b"../..", b"/dev/pts/ptmx", b"/proc/self/ns/user", b"user", b"tmpfs"]
numbers = [0, 1, 2, 3, 4, 5, -1, -100, 8, 16, 1000, 4096, 0x10000000, 0x7fffffff, 0x80000000, 1 << 32, (1 << 63) - 1]
# What only ends or blocks the process itself: exit, exit_group, pause, poll, select, nanosleep, waits, execve and vfork.
idle = {60, 231, 34, 7, 23, 270, 271, 35, 230, 202, 61, 247, 130, 0, 17, 19, 295, 327, 59, 322, 58, 15, 232, 281, 441, 449}
def argument(choice):
    kind = choice.random()
    if kind < .25: return ctypes.c_long(choice.choice(numbers))
    if kind < .5: return ctypes.c_char_p(choice.choice(paths))
    if kind < .8: return choice.choice(buffers)
    return ctypes.c_long(choice.getrandbits(choice.choice([4, 8, 16, 32, 63])))
resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))
for child in range(int(sys.argv[2])):
    if os.fork() == 0:
        choice = random.Random(seed * 1000 + child)
        signal.alarm(1)
        for _ in range(400):
            number = choice.randrange(470)
            if number not in idle: libc.syscall(ctypes.c_long(number), *[argument(choice) for _ in range(6)])
        os._exit(0)
    try: os.wait()
    except OSError: pass
"""


def host():
    """What a call that got out would most likely change. Mounts are looked at after every test."""
    return socket.gethostname(), os.statvfs("/").f_flag, os.stat("/").st_mode, os.stat("/dev/null").st_mode


@pytest.mark.parametrize("seeds", [pytest.param(range(2), id="few"), pytest.param(range(2, 30), id="many", marks=pytest.mark.long)])
def test_calls_at_random(cell, seeds):
    outside = cell.directory("outside")
    cell.write("kept", "kept", where=outside)
    for seed in seeds:
        before = host()
        cell.workspace.chmod(0o755)  # an earlier seed may have locked itself out
        done = cell.plain("python3", "-c", FUZZ, seed, 20, options=["--timeout", "20s", "--output-limit", "1M"])
        assert done.status != 125 and done.seconds < 30 * SLACK, (seed, done)
        assert host() == before, seed
    modes = [path.lstat().st_mode for path in cell.workspace.rglob("*")]
    assert not [mode for mode in modes if mode & 0o6000 and stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)]
    assert [path.name for path in outside.iterdir()] == ["kept"]
