# SPDX-License-Identifier: Apache-2.0
"""Limits of the whole cell that a control group holds, the causes they give, and what the group tells of usage.

As whoever can have groups: root, with version 1 or 2, or in the virtual machine the user to whom one was delegated.
After each test the fixtures see to it that no group is left.
"""

import os
import signal
import time
from pathlib import Path

import pytest

import harness
from doctoring import ENOSYS, filtered
from harness import SLACK, as_root, as_user, grouped, groups_of
from test_cases import wait_gone
from test_limits import FORKS

MIB = 1 << 20
HOG = "b = bytearray(256 << 20); print(len(b))"


def held(done, *names):
    """The call was limited by groups with these controllers."""
    group = done.of("start")[0]["enforcement"]["cgroup"]
    return group is not None and group["version"] in (1, 2) and set(names) <= set(group["controllers"])


# ---- memory ----

@grouped
def test_memory_is_limited_and_the_cause_told(cell):
    """ioi/isolate#46, cms-dev/cms#912"""
    cell.python(HOG).succeeded()
    done = cell.python(HOG, options=["--memory", "64M"])
    assert done.status == 137 and done.result["outcome"] == "oom" and done.result["signal"] == "SIGKILL"
    assert done.result["oom_kills"] == 1 and done.result["exit_code"] is None and done.result["error"] is None
    assert 32 * MIB < done.result["usage"]["memory_peak_bytes"] <= 64 * MIB
    assert held(done, "memory")
    told = cell.python(HOG, options=["--memory", "64M"], events=False)
    assert told.status == 137 and "oom" in told.messages and str(64 * MIB) in told.messages


@grouped
def test_a_kill_from_inside_is_no_want_of_memory(cell):
    done = cell.run("sh", "-c", "kill -9 $$", options=["--memory", "64M"])
    assert (done.status, done.result["outcome"], done.result["signal"], done.result["oom_kills"]) == (137, "signaled", "SIGKILL", 0)


@grouped
def test_a_child_killed_for_memory_only_counts(cell):
    done = cell.run("sh", "-c", f"python3 -c '{HOG}'; exit 0", options=["--memory", "64M"]).succeeded()
    assert done.result["outcome"] == "exited" and done.result["oom_kills"] == 1


@grouped
def test_scratch_counts_as_memory(cell):
    code = "import sys\nwith open('/tmp/x', 'wb') as f:\n for _ in range(256): f.write(bytes(1 << 20))"
    cell.python(code).succeeded()
    done = cell.python(code, options=["--memory", "64M"])
    assert done.result["outcome"] == "oom", "before scratch is full"
    done = cell.python(code, options=["--memory", "256M", "--disk", "32M"])
    assert done.result["outcome"] == "exited" and done.status == 1 and done.result["disk_full"] is True


PROGRAMS = {
    "8 GiB": [harness.PYTHON, "-c", "import mmap; mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | 0x4000)"],
    "1 TiB": [harness.PYTHON, "-c", "import mmap; mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | 0x4000, prot=mmap.PROT_READ)"],
    # What of these is installed where a cell sees it; where tests/vm and tools/check run, node is.
    **{name: [os.path.realpath(place), *arguments] for name, place, arguments in [
        ("node", "/usr/bin/node", ["-e", "0"]), ("java", "/usr/bin/java", ["-version"]),
        ("go", "/usr/local/go/bin/go", ["version"]), ("go of Debian", "/usr/bin/go", ["version"])] if os.path.exists(place)},
}


@grouped
@pytest.mark.parametrize("name", PROGRAMS)
def test_address_space_is_no_memory(cell, name):
    """judge0/judge0#7, ioi/isolate#57, google/nsjail#17"""
    cell.run(*PROGRAMS[name], options=["--memory", "256M", "--timeout", "60s"], timeout=60).succeeded()


@pytest.mark.parametrize("size", ["64K", "1M"])
def test_too_little_memory_is_refused_and_little_is_enough(cell, size):
    done = cell.run("true", options=["--memory", size, "--allow-degraded=limits"])
    assert (done.status, "at least 1M" in done.messages) == ((125, True) if size == "64K" else (0, False))


@grouped
@pytest.mark.parametrize("options", [["--cpus", "0.01"], ["--cpus", "4096"], ["--memory", "900T"],
                                     ["--pids", "4194304"], ["--pids", "99999999"]])
def test_limits_beyond_what_the_host_has_are_none(cell, options):
    cell.run("true", options=options).succeeded()


# ---- processes ----

def test_processes_are_limited_with_or_without_groups(cell):
    """ioi/isolate: RLIMIT_NPROC is per user; engineer-man/piston job.js"""
    done = cell.python(FORKS, 100, options=["--pids", "32"]).succeeded()
    assert 20 < done.answer < 32
    if done.of("start")[0]["enforcement"]["cgroup"]:
        assert done.result["pids_denied"] >= 1 and done.result["usage"]["pids_peak"] == 32
    assert done.result["degraded"] == []
    assert cell.outside("import os\nfor _ in range(100):\n if os.fork() == 0: os._exit(0)").returncode == 0


@grouped
def test_denied_processes_are_counted(cell):
    done = cell.python(FORKS, 100, options=["--pids", "32"]).succeeded()
    assert done.answer == 30, "init and the command are the others"
    assert held(done, "pids") and done.result["pids_denied"] == 1
    assert cell.python(FORKS, 20, options=["--pids", "32"]).succeeded().result["pids_denied"] == 0


@as_user
def test_limits_of_processes_are_not_shared_between_cells(cell):
    running = cell.start("python3", "-c", "import os, time\nfor _ in range(20):\n if os.fork() == 0: time.sleep(30)\nprint('up', flush=True)\ntime.sleep(30)",
                         options=["--pids", "32"]).until("up")
    assert 20 < cell.python(FORKS, 100, options=["--pids", "32"]).succeeded().answer < 32
    running.signal(signal.SIGTERM)
    running.wait()


# ---- CPU ----

@grouped
def test_the_share_of_cpus_is_limited(cell):
    """Two processes that want all they can get for three seconds, on hosts where they get little in any case."""
    code = "import os, time\nend = time.monotonic() + 3\nchild = os.fork()\nwhile time.monotonic() < end: pass\nif child: os.wait()"
    spent = {}
    for share in ("0.05", "2"):
        usage = cell.python(code, options=["--cpus", share]).succeeded().result["usage"]
        spent[share] = (usage["cpu_user_ms"] + usage["cpu_system_ms"]) / usage["wall_ms"]
    assert spent["0.05"] < 0.1 < spent["2"], spent


@grouped
def test_a_tiny_share_does_not_keep_a_call_from_ending(cell):
    """Hundreds of processes need CPU time to die."""
    done = cell.python(FORKS + "\n    while True: pass", 200, options=["--cpus", "0.05", "--pids", "300", "--timeout", "4s"])
    assert done.result["outcome"] == "timeout"
    assert done.result["usage"]["wall_ms"] < 4000 + 300 * SLACK


@grouped
def test_cpu_time_of_children_that_nobody_waits_for_counts(cell):
    code = """
        import os, signal, time
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            while time.process_time() < 0.6: pass
            os._exit(0)
        try: os.wait()
        except ChildProcessError: pass
    """
    usage = cell.python(code, options=["--memory", "256M"]).succeeded().result["usage"]
    assert usage["cpu_user_ms"] + usage["cpu_system_ms"] >= 600
    assert cell.python(code, options=["--memory", "256M", "--cpu-time", "300ms"]).result["outcome"] == "cpu_limit"


@as_root
def test_a_real_time_caller_is_told_what_stands_against_a_share(cell):
    """Version 1, where the kernel groups real-time processes (RT_GROUP_SCHED); nothing else stands against it."""
    prefix = ["chrt", "--fifo", "1"]
    done = cell.run("true", options=["--cpus", "1"], prefix=prefix)
    assert done.status == 0 or "real-time" in done.messages and done.result["error"]["stage"] == "limits"
    cell.run("true", options=["--memory", "64M", "--pids", "20"], prefix=prefix).succeeded()


# ---- how a call ends ----

@grouped
def test_a_fork_bomb_ends_in_time(cell):
    """Every process is dead within 300 ms of the wall limit; who is left a fixture would find."""
    code = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    done = cell.run("python3", "-c", code, options=["--pids", "200", "--memory", "512M", "--timeout", "1s"])
    assert done.status == 124 and done.result["outcome"] == "timeout"
    usage = done.result["usage"]
    assert 1000 <= usage["wall_ms"] < 1300 * SLACK
    assert done.result["pids_denied"] > 0 or usage["pids_peak"] < 200, "an emulated processor does not come so far"


@grouped
@pytest.mark.parametrize("program,options,outcome,status", [
    (["sh", "-c", "exit 7"], [], "exited", 7),
    (["sh", "-c", "kill -TERM $$"], [], "signaled", 143),
    (["sleep", "9"], ["--timeout", "300ms"], "timeout", 124),
    (["python3", "-c", "import os; os.fork()\nwhile True: pass"], ["--cpu-time", "500ms", "--timeout", "20s"], "cpu_limit", 124),
    (["python3", "-c", HOG], [], "oom", 137),
    (["yes"], ["--output-limit", "10K:stop"], "output_limit", 141),
    (["dd", "if=/dev/zero", "of=big", "bs=64K", "count=9"], ["--file-size", "64K"], "disk_limit", 153),
    (["nowhere"], [], "exited", 127)])
def test_each_cause_is_told_apart(cell, program, options, outcome, status):
    done = cell.run(*program, options=["--memory", "64M", "--cpus", "1", "--pids", "50", *options])
    assert (done.result["outcome"], done.status) == (outcome, status)
    assert held(done, "memory", "cpu", "pids")
    unknown = {name for name, value in done.result["usage"].items() if value is None}
    assert unknown <= ({"io_read_bytes", "io_write_bytes"} if cell.identity.uid else set()), "a user was not given io"


@grouped
def test_cancelled_calls_leave_no_group(cell):
    running = cell.start("sleep", "30", options=["--memory", "64M"]).until('"start"')
    assert groups_of(running)
    running.signal(signal.SIGINT)
    assert running.wait().result["outcome"] == "cancelled"
    assert groups_of(running) == set()


# ---- what the cell sees ----

@grouped
def test_the_group_is_not_the_cells_to_see_or_change(cell):
    code = """
        import json, os
        seen = [line.strip().split(":", 2)[2] for line in open("/proc/self/cgroup")]
        mounts = [line for line in open("/proc/self/mountinfo") if " - cgroup" in line]
        print(json.dumps([seen, mounts, os.path.exists("/sys/fs/cgroup")]))
    """
    seen, mounts, there = cell.python(code, options=["--memory", "64M"]).succeeded().answer
    assert set(seen) == {"/"} and mounts == [] and not there


# ---- what others leave ----

@grouped
def test_the_group_of_a_killed_toolcell_is_removed_by_the_next(cell):
    """google/nsjail#69"""
    living = cell.start("sleep", "60", options=["--memory", "64M"]).until('"start"')
    killed = cell.start("sleep", "60", options=["--memory", "64M"]).until('"start"')
    kept, orphaned = groups_of(living), groups_of(killed)
    assert kept and orphaned
    inside = killed.processes()
    killed.signal(signal.SIGKILL)
    killed.process.wait()
    wait_gone(inside, 1)
    assert groups_of(killed) == orphaned, "nobody is there to remove it"
    cell.run("true", options=["--memory", "64M"]).succeeded()
    assert groups_of(killed) == set()
    assert groups_of(living) == kept, "the living one keeps its own"
    assert living.processes()
    living.signal(signal.SIGTERM)
    assert living.wait().result["outcome"] == "cancelled"


@grouped
def test_calls_beside_each_other_keep_their_groups(cell):
    running = [cell.start("sh", "-c", "sleep 0.3; echo done", options=["--memory", "64M", "--pids", "20"]) for _ in range(8)]
    for call in running:
        assert call.wait().succeeded().text == "done\n"


@grouped
def test_a_call_without_such_limits_makes_no_group(cell):
    running = cell.start("sleep", "30").until('"start"')
    assert groups_of(running) == set()
    running.signal(signal.SIGTERM)
    running.wait()


# ---- hosts that have none ----

UNMOUNTED = 'umount -l -R /sys/fs/cgroup && exec "$@"'
READ_ONLY = 'for m in $(awk \'/ - cgroup/ {print $5}\' /proc/self/mountinfo); do mount -o remount,bind,ro $m || exit 9; done; exec "$@"'


@as_root
@pytest.mark.parametrize("line,why", [(UNMOUNTED, "mounted nowhere"), (READ_ONLY, "read-only")])
@pytest.mark.parametrize("name,value", [("memory", "64M"), ("cpus", "1")])
def test_without_groups_a_limit_is_refused_by_name_or_degraded(cell, line, why, name, value):
    """ioi/isolate#111, google/nsjail#196"""
    prefix = ["unshare", "--mount", "sh", "-c", line, "sh"]
    refused = cell.run("touch", "ran", prefix=prefix, options=[f"--{name}", value])
    assert refused.status == 125 and not (cell.workspace / "ran").exists()
    assert f"limit '{name}'" in refused.messages and why in refused.messages and "--allow-degraded=limits" in refused.messages
    assert refused.result["outcome"] == "setup_failed" and refused.result["error"]["stage"] == "plan"
    done = cell.run("touch", "ran", prefix=prefix, options=[f"--{name}", value, "--allow-degraded=limits"]).succeeded()
    assert [entry["name"] for entry in done.result["degraded"]] == [name]
    assert cell.run("true", options=[f"--{name}", value]).succeeded().result["degraded"] == [], "the control"


if not harness.unified():  # version 1 is nobody's but root's

    @as_user
    def test_a_user_without_a_group_is_told_the_remedy(cell):
        done = cell.run("touch", "ran", options=["--memory", "64M"])
        assert done.status == 125 and "no control group may be made here" in done.messages and "as root" in done.messages


@grouped
@pytest.mark.unified
def test_a_filter_that_hides_clone3_only_costs_time(cell):
    """As the one of Docker: the cell is moved to its group then."""
    done = cell.python(HOG, options=["--memory", "64M"], prefix=map(str, filtered("errno", "clone3", ENOSYS)))
    assert done.result["outcome"] == "oom" and held(done, "memory")
