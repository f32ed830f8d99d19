# SPDX-License-Identifier: Apache-2.0
"""Limits: what ends a call says so, and what cannot be enforced is refused by name."""

import subprocess
import time
from pathlib import Path

import pytest

from harness import SLACK

MIB = 1 << 20
SPIN = "while True: pass"
# Start sleeping children until that fails or so many are there; say how many.
FORKS = """
    import os, sys, time
    count, most = 0, int(sys.argv[1])
    try:
        while count < most:
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
            count += 1
    except BlockingIOError:
        pass
    print(count)
"""


def test_wall(cell):
    done = cell.run("sleep", "30", options=["--timeout", "300ms"])
    assert done.status == 124 and done.result["outcome"] == "timeout"
    assert 300 <= done.result["usage"]["wall_ms"] < 300 + 700 * SLACK


@pytest.mark.parametrize("text,enough", [("30s", True), ("1m", True), ("500ms", True), ("20", True), ("100ms", False)])
def test_durations(cell, text, enough):
    done = cell.run("sleep", "0.2", options=["--timeout", text])
    assert done.status == (0 if enough else 124)


def test_cpu_time(cell):
    done = cell.run("python3", "-c", SPIN, options=["--cpu-time", "1s", "--timeout", "20s"])
    assert done.status == 124 and done.result["outcome"] == "cpu_limit"
    assert 800 <= done.result["usage"]["cpu_user_ms"] + done.result["usage"]["cpu_system_ms"] < 2500


def test_cpu_time_counts_all_processes(cell):
    """Four that spin for half a second each are over a limit of one second."""
    code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    done = cell.run("python3", "-c", code, options=["--cpu-time", "1s", "--timeout", "20s"])
    assert done.status == 124 and done.result["outcome"] == "cpu_limit"
    assert done.result["usage"]["wall_ms"] < 8000 * SLACK


def test_cpu_time_counts_short_lived_children(cell):
    """Each child is far below the limit; together they are over it."""
    code = "import os\nwhile True:\n if os.fork() == 0:\n  for _ in range(3000000): pass\n  os._exit(0)\n os.wait()"
    done = cell.run("python3", "-c", code, options=["--cpu-time", "1s", "--timeout", "20s"])
    assert done.status == 124 and done.result["outcome"] == "cpu_limit"


def test_sleeping_costs_no_cpu_time(cell):
    cell.run("sleep", "1.5", options=["--cpu-time", "1s"]).succeeded()


def test_open_files(cell):
    code = """
        import json, os, resource
        held = []
        try:
            while True: held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error: print(json.dumps([len(held), error.errno, resource.getrlimit(resource.RLIMIT_NOFILE)[1]]))
    """
    held, error, hard = cell.python(code, options=["--open-files", "64"]).succeeded().answer
    assert held <= 61 and error == 24 and hard == 64
    held, _, hard = cell.python(code).succeeded().answer
    assert 1000 < held <= 1024 and hard == 1024, "the default"


def test_file_size(cell):
    done = cell.run("python3", "-c", "open('f', 'wb').write(bytes(1 << 20))", options=["--file-size", "64K"])
    assert cell.workspace.joinpath("f").stat().st_size <= 65536
    assert done.status in (1, 153)  # Python ignores SIGXFSZ: it sees EFBIG
    done = cell.run("dd", "if=/dev/zero", "of=g", "bs=64K", "count=4", options=["--file-size", "64K"])
    assert done.status == 153 and done.result["outcome"] == "disk_limit"
    assert (cell.workspace / "g").stat().st_size <= 65536
    cell.run("dd", "if=/dev/zero", "of=h", "bs=64K", "count=1", options=["--file-size", "64K"]).succeeded()


def test_output_is_cut_and_the_command_goes_on(cell):
    done = cell.run("sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo end > made", options=["--output-limit", "100000"])
    assert done.succeeded().stdout == b"x" * 100000
    assert done.result["output"]["truncated"] is True and done.result["output"]["stdout_bytes"] == 300000
    assert (cell.workspace / "made").exists()


def test_output_limit_that_stops(cell):
    done = cell.run("sh", "-c", "while :; do echo 0123456789; done", options=["--output-limit", "64K:stop", "--timeout", "20s"])
    assert done.status == 141 and done.result["outcome"] == "output_limit"
    assert len(done.stdout) <= 65536 and done.result["output"]["truncated"] is True


def test_output_limit_counts_both_streams(cell):
    done = cell.run("sh", "-c", "head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2", options=["--output-limit", "100000"])
    assert len(done.stdout) + len(done.stderr) == 100000
    assert (done.result["output"]["stdout_bytes"], done.result["output"]["stderr_bytes"]) == (60000, 60000)


def test_output_limit_without_events(cell):
    done = cell.plain("head", "-c", "300000", "/dev/zero", options=["--output-limit", "100000"])
    assert len(done.stdout) == 100000 and done.status == 0
    assert len(cell.plain("head", "-c", str(12 * MIB), "/dev/zero").succeeded().stdout) == 12 * MIB, "none by default"


def test_default_output_limit_with_events(cell):
    done = cell.run("head", "-c", str(11 * MIB), "/dev/zero").succeeded()
    assert len(done.stdout) == 10 * MIB and done.result["output"]["truncated"] is True


@pytest.mark.parametrize("size", [200 * MIB, pytest.param(10_000 * MIB, marks=pytest.mark.long)])
@pytest.mark.parametrize("events", [False, True])
def test_output_of_any_size_takes_the_supervisor_no_memory(cell, size, events):
    """What it took at most is looked at while the command still waits, for its input."""
    running = cell.start("sh", "-c", f"head -c {size} /dev/zero; echo > made; read line", events=events, stdout=subprocess.DEVNULL,
                         options=["--output-limit", "20000G", "--stdin", "inherit"], stdin=subprocess.PIPE)
    deadline = time.monotonic() + 600 * SLACK
    while not (cell.workspace / "made").exists():
        assert time.monotonic() < deadline and running.process.poll() is None, running.sofar()
        time.sleep(0.05)
    status = Path(f"/proc/{running.pid}/status").read_text()
    running.process.stdin.close()
    assert running.process.wait(30 * SLACK) == 1, "the status of read"
    assert next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) < 16 * 1024


def test_exactly_the_limit_is_not_truncated(cell):
    done = cell.run("head", "-c", "1000", "/dev/zero", options=["--output-limit", "1000:stop"]).succeeded()
    assert len(done.stdout) == 1000 and done.result["output"]["truncated"] is False


@pytest.mark.parametrize("option", [["--memory", "64M"], ["--pids", "32"], ["--cpus", "1"]])
def test_a_limit_that_was_asked_for_is_enforced_or_refused(cell, option):
    done = cell.run("touch", "ran", options=option)
    if done.status == 125:
        assert option[0].strip("-") in done.messages and not (cell.workspace / "ran").exists()
    else:
        assert done.status == 0 and not any(entry["name"] == option[0].strip("-") for entry in done.result["degraded"])


def test_the_default_limit_of_processes_needs_no_group(cell):
    """The kernel counts them in the cell's own user namespace: threads and processes, init among them."""
    done = cell.python(FORKS, 600).succeeded()
    assert 490 < done.answer < 512, "init, the command, and where there is a broker its threads"
    assert done.of("start")[0]["enforcement"]["cgroup"] is None and done.result["degraded"] == []
    assert done.result["pids_denied"] is None, "nobody counts that"
    assert done.result["leftover_processes"] == done.answer


def test_mediated_rules_leave_room_for_the_default_limit(cell):
    """The broker counts, with the threads that it has at first: there is room for those."""
    done = cell.python(FORKS, 600, policy="workspace").succeeded()
    assert 490 < done.answer <= 512 and done.result["degraded"] == []


def test_threads_count_as_processes(cell):
    code = """
        import threading, time
        started = 0
        try:
            for started in range(600): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        except RuntimeError: pass
        print(started, flush=True)
        import os; os._exit(0)
    """
    assert 490 < cell.python(code).succeeded().answer < 512


@pytest.mark.parametrize("option", [
    ["--timeout", "x"], ["--timeout", "-1s"], ["--timeout", "1h30"], ["--timeout", ""], ["--output-limit", "1X"],
    ["--output-limit", "1M:halt"], ["--file-size", "-5"], ["--open-files", "many"], ["--disk", "9999999999999999999999G"],
    ["--cpu-time", "1e9z"], ["--grace", "soon"], ["--open-files", "0"], ["--timeout", "0"]])
def test_malformed_limits(cell, option):
    done = cell.run("touch", "ran", options=option)
    assert done.status == 125, done
    assert option[0] in done.messages and not (cell.workspace / "ran").exists()


def test_policy_limits_hold_and_options_replace_them(cell):
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}], limits={"wall": "300ms", "open_files": 32})
    assert cell.run("sleep", "5", policy=policy).status == 124
    assert cell.run("sh", "-c", "ulimit -n; sleep 0.6", policy=policy, options=["--timeout", "10s"]).succeeded().text == "32\n"


def test_no_core_dump(cell):
    cell.run("sh", "-c", "ulimit -c unlimited 2>/dev/null; kill -SEGV $$")
    assert list(cell.workspace.iterdir()) == []
    # At 1 no core is written and, unlike at 0, no "|program" of core_pattern is started on the host.
    assert cell.python("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))").succeeded().text == "(1, 1)\n"
