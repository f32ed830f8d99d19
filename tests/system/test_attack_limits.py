# SPDX-License-Identifier: Apache-2.0
"""What hostile code does to limits, to the causes of a result, and to the end of its call.

Each attempt has a control: the same succeeds outside of a cell, or without the limit, or the honest way.
"""

import json
import os
import resource
import signal
import textwrap
import time

import pytest

from harness import SLACK, as_root, as_user, grouped

MIB = 1 << 20


# ---- ends that never come ----

# Linux since 6.1 drops every signal to a process that is ending. One that its tracer has stopped in its end waits for
# that tracer; two that trace each other like that wait for ever. Nobody is killed here, so that nobody stays.
TRACE = """
    import ctypes, errno, json, os, signal
    SEIZE, SETOPTIONS, OLD, INTERRUPT, DETACH, EXIT = 0x4206, 0x4200, 21, 0x4207, 17, 0x40
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if child == 0:
        while True: signal.pause()
    def ptrace(request, options=0):
        return errno.errorcode[ctypes.get_errno()] if libc.ptrace(request, child, None, options) < 0 else "worked"
    seized = ptrace(SEIZE, EXIT)
    if seized == "worked":
        ptrace(INTERRUPT); os.waitpid(child, 0); ptrace(DETACH)
    done = {"seize": seized, "plain": ptrace(SEIZE)}
    ptrace(INTERRUPT); os.waitpid(child, 0)
    done["set"] = ptrace(SETOPTIONS, EXIT)
    if os.uname().machine == "x86_64":
        done["old"] = ptrace(OLD, EXIT)
    done["others"] = ptrace(SETOPTIONS, 0x1f)
    ptrace(DETACH)
    os.kill(child, signal.SIGKILL)
    print(json.dumps(done))
"""
REFUSED = {"seize", "set", "old"}


def test_nobody_is_stopped_at_his_end(cell):
    done = cell.python(TRACE, options=["--timeout", "20s"]).succeeded().answer
    assert {name for name, answer in done.items() if answer == "EPERM"} == REFUSED & set(done), done
    assert {answer for name, answer in done.items() if name not in REFUSED} == {"worked"}, done


def test_outside_he_is(cell):
    done = cell.outside(TRACE)
    assert set(json.loads(done.stdout).values()) == {"worked"}, (done.stdout, done.stderr)


# Everybody traces whom he gets, stops all and is stopped.
WEB = """
    import ctypes, os, signal, sys, time
    libc = ctypes.CDLL(None)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    request = int(sys.argv[1], 0)
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(0.3)
            others = range(os.getpid() - 60, os.getpid() + 60)
            held = sum(libc.ptrace(request, other, None, None) == 0 for other in others if other > 1 and other != os.getpid())
            os.write(1, b"%d " % held)
            while True: os.kill(-1, signal.SIGSTOP)
    time.sleep(60)
"""


@pytest.mark.parametrize("request_", [0x4206, 16], ids=["seize", "attach"])
def test_who_trace_and_stop_each_other_end_with_the_call(cell, request_):
    done = cell.python(WEB, hex(request_), options=["--timeout", "2s"])
    assert done.status == 124 and done.seconds < 2 + 2 * SLACK, done.result
    assert sum(map(int, done.stdout.split())) > 0, "nobody is traced"


# What a command can do to its terminal. Each says "end" as its last.
TERMINAL = {
    "exclusive": "fcntl.ioctl(1, termios.TIOCEXCL)",
    "given up": "signal.signal(signal.SIGHUP, signal.SIG_IGN); fcntl.ioctl(1, termios.TIOCNOTTY)",
    "hung up": "a = termios.tcgetattr(1); a[4] = a[5] = 0; termios.tcsetattr(1, termios.TCSANOW, a)",
    "suspended": "termios.tcflow(1, termios.TCOOFF); termios.tcflow(1, termios.TCOON)",
    "resized": "[fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', i % 99, i % 77, 0, 0)) for i in range(20000)]",
    "typed at": "[os.write(1, b'\\x1b[6n\\x1b[c\\x05\\x1b]52;c;?\\x07') for _ in range(100)]",
    "closed": "f = os.dup(1); [os.close(i) for i in range(3)]; os.dup2(f, 1)",
}


@pytest.mark.parametrize("what", TERMINAL)
def test_whatever_is_done_to_the_terminal_the_call_ends(cell, what):
    code = f"import fcntl, os, signal, struct, termios\n{TERMINAL[what]}\nos.write(1, b'end')"
    done = cell.run("python3", "-c", code, options=["--tty", "--timeout", "20s"]).succeeded()
    assert done.stdout.endswith(b"end") and done.seconds < 5 * SLACK


# ---- causes ----

def test_a_limit_that_the_command_sets_itself_is_none_of_the_calls(cell):
    spin = "while :; do :; done"
    own = cell.run("bash", "-c", f"ulimit -St 1; {spin}", options=["--cpu-time", "60s", "--timeout", "50s"], timeout=60)
    sent = cell.run("sh", "-c", "kill -XCPU $$", options=["--cpu-time", "60s"])
    for done in own, sent:
        assert (done.result["outcome"], done.result["signal"], done.status) == ("signaled", "SIGXCPU", 152), done.result
    asked = cell.run("sh", "-c", spin, options=["--cpu-time", "500ms"])
    assert (asked.result["outcome"], asked.status) == ("cpu_limit", 124), asked.result


# A pipe is as large as its writer makes it: the excess is in it when the command has ended already.
BURST = """
    import fcntl, os, sys
    fcntl.fcntl(1, 1031, 1 << 20)  # F_SETPIPE_SZ
    os.write(1, bytes(int(sys.argv[1])))
    os._exit(0)
"""


def test_an_end_is_not_faster_than_the_output_limit(cell):
    for _ in range(8):
        done = cell.python(BURST, 900000, options=["--output-limit", "800000:stop"])
        assert (done.result["outcome"], done.status, len(done.stdout)) == ("output_limit", 141, 800000), done.result
    within = cell.python(BURST, 800000, options=["--output-limit", "800000:stop"]).succeeded()
    assert within.result["outcome"] == "exited" and not within.result["output"]["truncated"]
    on = cell.python(BURST, 900000, options=["--output-limit", "800000"]).succeeded()
    assert on.result["outcome"] == "exited" and on.result["output"]["truncated"]


ENDED = """
    import os, signal, sys, time
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0: os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(int(sys.argv[2])):
        if os.fork() == 0: time.sleep(300)
    time.sleep(0.3)
"""


@pytest.mark.parametrize("dead,alive", [(3, 0), (0, 2), (3, 2)])
def test_who_had_ended_is_not_left_over(cell, dead, alive):
    done = cell.python(ENDED, dead, alive).succeeded()
    assert done.result["leftover_processes"] == alive


@pytest.mark.parametrize("identity", ["root" if os.geteuid() == 0 else "user"], indirect=True)  # who may limit toolcell
def test_a_look_at_the_time_that_fails_is_not_the_last(cell):
    """A host out of descriptors, here toolcell alone, keeps it from looking for a while."""
    script = "echo up; while :; do (i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done); done"
    running = cell.start("sh", "-c", script, options=["--cpu-time", "1500ms", "--timeout", "20s"]).until("up\\n")
    limits = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    time.sleep(1)
    resource.prlimit(running.pid, resource.RLIMIT_NOFILE, limits)
    assert running.wait(40).result["outcome"] == "cpu_limit"


# ---- a result that never comes ----

@pytest.mark.parametrize("count", [20, 600, 6000])
def test_however_much_is_degraded_the_result_comes(cell, count):
    """Each of these rules lets nothing be executed, which is told. What does not fit into a line is told by name."""
    rules = [{"pattern": f"**/bin/program-{i:04}", "operations": ["execute"], "effect": "allow"} for i in range(count)]
    rules += [{"pattern": pattern, "operations": ["execute"], "effect": "allow"} for pattern in ("/usr/**", "/bin/**")]
    done = cell.run("true", policy=cell.policy([*rules, {"pattern": "**", "operations": ["read"], "effect": "allow"}])).succeeded()
    for event in done.of("start")[0], done.result:
        told = [loss["reason"] for loss in event["degraded"] if loss["name"] == "execute"]
        number = int(told[-1].split()[0]) if " more, " in told[-1] else 1
        assert len(told) - 1 + number == count, told[-1]
        assert (number == 1) == (count == 20)


# ---- memory that is nobody's ----

# Datagrams to oneself wait in the kernel until they are read. Says how many bytes were kept.
SOCKETS = """
    import socket
    keep, kept = [], 0
    for _ in range(900):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 0))
        s.setblocking(False)
        keep.append(s)
        for _ in range(3):
            try: s.sendto(bytes(60000), s.getsockname())
            except OSError: break
    for s in keep:
        try:
            while True: kept += len(s.recv(65536))
        except OSError: pass
    print(kept)
"""


MAKE_FILES = """
    import errno, os
    count = 0
    try:
        for count in range(40_000): os.close(os.open(f"/tmp/{count}", os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        print(errno.errorcode[error.errno], end=" ")
    print(count)
"""


@grouped
def test_what_a_broker_makes_is_bounded_by_memory(cell):
    """Empty files are memory of the kernel's alone, and charged to the broker, which makes them for the cell."""
    most = 24 * 1024 + 4096
    error, count = cell.python(textwrap.dedent(MAKE_FILES), options=["--memory", "24M"], policy="workspace").text.split()
    assert error == "ENOSPC" and most - 200 < int(count) <= most
    assert cell.python(textwrap.dedent(MAKE_FILES), policy="workspace").text == "39999\n"


@grouped
def test_what_waits_in_sockets_is_memory(cell):
    free = cell.python(SOCKETS).succeeded().answer
    assert free > 80 * MIB, "the control keeps too little"
    done = cell.python(SOCKETS, options=["--memory", "32M"], timeout=60)
    assert done.result["outcome"] == "oom" or done.answer <= 33 * MIB, done.stdout


PTYS = """
    import errno, json, os, sys
    held = []
    try:
        while len(held) < 300: held.append(os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY))
    except OSError as error: held.append(errno.errorcode[error.errno])
    print(json.dumps([len(held), held[-1]]))
"""


def test_terminals_are_few(cell):
    """What waits in a terminal the kernel counts as nobody's memory; and it has 3072 for all cells together."""
    assert cell.python(PTYS, "/dev/ptmx").succeeded().answer == [129, "ENOSPC"]
    outside = json.loads(cell.outside(PTYS, "/dev/ptmx").stdout)
    assert outside[0] == 300, outside


# ---- what a user's calls share ----

IN_FLIGHT = """
    import array, errno, resource, socket, sys, time
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    keep, sent = [], 0
    try:
        while sent < int(sys.argv[1]):
            keep += socket.socketpair()
            keep[-1].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * int(sys.argv[2])))])
            sent += int(sys.argv[2])
    except OSError as error: print(errno.errorcode[error.errno], flush=True)
    print("up", flush=True)
    time.sleep(float(sys.argv[3]))
"""


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


@as_user
@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4096, reason="the hard limit of open files is low")
def test_descriptors_on_their_way_keep_no_other_call_from_starting(cell):
    hog = cell.start("python3", "-c", textwrap.dedent(IN_FLIGHT), 5000, 253, 60).until("ETOOMANYREFS")
    assert cell.outside(IN_FLIGHT, 1, 1, 0).stdout.split()[0] == b"ETOOMANYREFS", "the control is not kept"
    for policy in "static", "workspace":
        cell.run("true", policy=policy, preexec_fn=few_files).succeeded()
    hog.signal(signal.SIGTERM)
    hog.wait()


PRIORITY = """
    import errno, json, os
    done = {}
    def attempt(name, act):
        try: act(); done[name] = "worked"
        except OSError as error: done[name] = errno.errorcode[error.errno]
    attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
    attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
    print(json.dumps(done))
"""


def favoured():
    resource.setrlimit(resource.RLIMIT_RTPRIO, (50, 50))
    resource.setrlimit(resource.RLIMIT_NICE, (30, 30))


@pytest.mark.unified  # where root may raise these limits
@as_root
def test_what_the_scheduler_grants_the_caller_is_not_the_cells(cell):
    done = cell.python(PRIORITY, preexec_fn=favoured).succeeded().answer
    assert done == {"real time": "EPERM", "nice": "EACCES"}
    assert set(json.loads(cell.outside(PRIORITY, preexec_fn=favoured).stdout).values()) == {"worked"}


def test_nothing_is_granted_by_the_scheduler(cell):
    limits = cell.run("cat", "/proc/self/limits").succeeded().text
    rows = {line[:26].strip(): line[26:].split()[:2] for line in limits.splitlines()}
    assert rows["Max realtime priority"] == rows["Max nice priority"] == ["0", "0"]


def exempt():
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("-1000")


@pytest.mark.unified  # where root may
@as_root
def test_who_is_never_killed_for_memory_has_no_limit_of_it(cell):
    cell.refused(cell.run("true", options=["--memory", "64M"], preexec_fn=exempt), "memory", "oom_score_adj", "choom")
    cell.run("true", preexec_fn=exempt).succeeded()
    cell.run("true", options=["--memory", "64M"]).succeeded()
