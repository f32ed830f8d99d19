# SPDX-License-Identifier: Apache-2.0
"""What hostile code does to limits, to the causes of a result, and to the end of its call.

Each attempt has a control: the same succeeds outside of a cell, or without the limit, or the honest way.
"""

import json


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
