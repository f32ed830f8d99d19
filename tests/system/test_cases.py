# SPDX-License-Identifier: Apache-2.0
"""Cases that users of comparable sandboxes reported, one test each."""

import os
import signal
import time
from pathlib import Path

import leftovers
from harness import SLACK

MIB = 1 << 20


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def wait_gone(pids, seconds):
    deadline = time.monotonic() + seconds * SLACK
    while alive := [pid for pid in pids if pid in leftovers.descendants(os.getpid())]:
        assert time.monotonic() < deadline, f"still alive: {alive}"
        time.sleep(0.01)


def test_a_grandchild_that_keeps_stdout_open_does_not_hold_the_call(cell):
    """openai/codex#4337, #7852"""
    done = cell.run("sh", "-c", "sleep 300 & echo hi").succeeded()
    assert done.text == "hi\n"
    assert done.seconds < 1 * SLACK
    assert done.result["leftover_processes"] == 1


def test_a_timeout_kills_the_whole_tree(cell):
    """containers/bubblewrap#633, openai/codex#5229"""
    done = cell.run("sh", "-c", 'setsid sh -c \'trap "" TERM INT HUP; sleep 300\' & sleep 300', options=["--timeout", "1s"])
    assert done.status == 124
    assert done.result["outcome"] == "timeout"
    assert done.result["signal"] in (None, "SIGKILL", "SIGTERM") and done.result["exit_code"] is None
    assert 1.0 <= done.seconds < 1.3 + 0.5 * SLACK


def test_killing_toolcell_kills_the_cell(cell):
    """multikernel/sandlock#238"""
    running = cell.start("sh", "-c", "setsid sleep 300 & echo up; exec sleep 300").until('"up\\n"')
    inside = running.processes()
    assert len(inside) >= 3, "init, the command and its child"
    running.signal(signal.SIGKILL)
    running.process.wait()
    wait_gone(inside, 1)
    cell.run("true").succeeded()


def test_a_stop_signal_does_not_stop_the_clock(cell):
    """engineer-man/piston#196"""
    done = cell.run("sh", "-c", "kill -STOP $$", options=["--timeout", "1s"])
    assert done.status == 124 and done.result["outcome"] == "timeout"
    assert done.seconds < 1.3 + 0.5 * SLACK


def test_the_output_cap_bounds_memory_and_never_blocks(cell):
    """python-discord/snekbox#94"""
    running = cell.start("sh", "-c", "head -c 256M /dev/zero | tr '\\0' x; sleep 1", options=["--output-limit", "1M"])
    peak = 0
    while running.process.poll() is None:
        try:
            peak = max(peak, resident_kib(running.pid))
        except FileNotFoundError:
            break
        time.sleep(0.01)
    done = running.wait().succeeded()
    assert len(done.stdout) <= MIB and done.stdout == b"x" * len(done.stdout)
    assert len(done.stdout) >= MIB - 65536, "what fits is delivered"
    assert done.result["output"] == {"stdout_bytes": 256 * MIB, "stderr_bytes": 0, "truncated": True}
    assert peak < 16 * 1024


def test_one_long_line_of_bytes_arrives_exactly(cell):
    """a scanner limit of 64 kB elsewhere"""
    expected = b"\x00\xff" + b"a" * 300000
    code = 'import sys;sys.stdout.buffer.write(b"\\x00\\xff"+b"a"*300000)'
    assert cell.run("python3", "-c", code).succeeded().stdout == expected
    assert cell.plain("python3", "-c", code).succeeded().stdout == expected


def test_no_stdin_is_an_empty_one(cell):
    done = cell.run("cat", stdin=b"not for the command").succeeded()
    assert done.stdout == b"" and done.seconds < 2 * SLACK


def test_process_substitution(cell):
    """openai/codex#7846"""
    cell.run("bash", "-c", "diff <(echo a) <(echo a)").succeeded()


def test_posix_shared_memory(cell):
    """openai/codex#7251, containers/bubblewrap#329"""
    before = sorted(os.listdir("/dev/shm"))
    cell.run("python3", "-c", "import multiprocessing as m; m.Lock(); m.Queue()").succeeded()
    assert sorted(os.listdir("/dev/shm")) == before


def test_rlimits_do_not_break_a_big_address_space(cell):
    """judge0/judge0#7: RLIMIT_AS is not how memory is limited"""
    cell.python("import mmap; mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | 0x4000)").succeeded()


def test_a_zombie_of_the_command_is_reaped(cell):
    """containers/bubblewrap#697, #105"""
    code = """
        import os, time
        if os.fork() == 0:
            if os.fork() == 0: time.sleep(0.1); os._exit(0)   # orphaned: init's now
            os._exit(0)
        os.wait(); time.sleep(0.5)
        states = [open(f"/proc/{p}/stat").read().rpartition(")")[2].split()[0] for p in os.listdir("/proc") if p.isdigit()]
        print("Z" in states)
    """
    assert cell.python(code).succeeded().text == "False\n"


def test_many_short_calls_leave_nothing(cell):
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        cell.run("true").succeeded()
    cell.close()
    assert len(os.listdir("/proc/self/fd")) <= fds


def test_calls_at_the_same_time_do_not_meet(cell):
    running = [cell.start("sh", "-c", f"echo {n} > /tmp/mine; sleep 0.2; cat /tmp/mine; ls /proc | grep -c '^[0-9]'")
               for n in range(8)]
    for number, call in enumerate(running):
        lines = call.wait().succeeded().text.split()
        assert lines[0] == str(number)
        assert int(lines[1]) <= 4, "processes of another cell are seen"
