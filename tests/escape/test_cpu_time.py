# SPDX-License-Identifier: Apache-2.0
"""CPU time that a cell tries to spend uncounted: in children that nobody waits for, whom the kernel adds to no sum."""

import json

import pytest

# Children one after the other; each spends what it is told. Prints what the kernel counts for itself and for its
# children, in seconds.
CHILDREN = """
import ctypes, os, resource, signal, struct, sys, time
how, each, number = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
if how == "ignored": signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if how == "flag":
    action = ctypes.create_string_buffer(152)  # struct sigaction
    struct.pack_into("i", action, 136, 2)  # SA_NOCLDWAIT
    assert ctypes.CDLL(None).sigaction(signal.SIGCHLD, action, None) == 0
def spend():
    stop = time.process_time() + each
    while time.process_time() < stop: pass
    os._exit(0)
def child():
    if how == "orphans" and os.fork(): os._exit(0)
    spend()
for _ in range(number):
    ended, held = os.pipe()
    pid = os.fork()
    if pid == 0: child()
    os.close(held)
    os.read(ended, 1)
    os.close(ended)
    try: os.waitpid(pid, 0)
    except ChildProcessError: pass
usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print([one.ru_utime + one.ru_stime for one in usage])
"""
LENGTHS = [(0.003, 500), (0.05, 30), (0.5, 3)]  # a second and a half in all


@pytest.mark.parametrize("each,number", LENGTHS)
@pytest.mark.parametrize("how", ["ignored", "flag", "orphans"])
def test_children_that_nobody_waits_for(cell, how, each, number):
    done = cell.python(CHILDREN, how, each, number, options=["--cpu-time", "500ms"])
    assert done.result["outcome"] == "cpu_limit" and done.status == 124


@pytest.mark.parametrize("each,number", LENGTHS)
def test_the_control_hides_them(cell, each, number):
    """The kernel's own sum, in no cell."""
    hidden, counted = (json.loads(cell.outside(CHILDREN, how, each, number).stdout)[1] for how in ("ignored", "waited"))
    assert counted > 1.4 and hidden < 0.1


@pytest.mark.parametrize("each,number", LENGTHS)
def test_what_is_waited_for_counts_once(cell, each, number):
    done = cell.python(CHILDREN, "waited", each, number, options=["--cpu-time", "60s"]).succeeded()
    counted = (done.result["usage"]["cpu_user_ms"] + done.result["usage"]["cpu_system_ms"]) / 1000
    # The kernel's sum is as of before the interpreter's end, and it is what the children themselves have seen.
    seen = sum(json.loads(done.text))
    assert seen - 0.1 <= counted < seen * 1.1 + 0.5


def spent(cell, last):
    """Many short programs of several parents, as a build starts them: (what toolcell counted, what the shell waited
    for), in seconds. `last` is the end of each turn."""
    script = f"""
        work() {{ for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ls /usr/bin | sort | wc -l; {last}; done; }}
        work & work & work & wait
        times
    """
    done = cell.run("bash", "-c", script, options=["--cpu-time", "60s"]).succeeded()
    waited = sum(float(minutes) * 60 + float(seconds) for line in done.text.splitlines()[-2:]
                 for minutes, seconds in (value.rstrip("s").split("m") for value in line.split()))
    return (done.result["usage"]["cpu_user_ms"] + done.result["usage"]["cpu_system_ms"]) / 1000, waited


def test_children_at_the_same_time_count_once(cell):
    """Some are handed over to init, of which the shell knows nothing: it tells what they take where it waits for them."""
    _, before = spent(cell, "(ls /; true)")
    counted, _ = spent(cell, "(ls / &)")
    _, after = spent(cell, "(ls /; true)")
    assert counted < max(before, after) * 1.5 + 0.5  # a machine may have been busier before or after
