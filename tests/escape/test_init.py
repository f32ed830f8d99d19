# SPDX-License-Identifier: Apache-2.0
"""Pid 1 of a cell runs as the command's user. It can be neither traced, read, limited, stopped nor confused."""

import pytest
from attempts import all_refused, succeeded
from harness import SLACK


def test_nothing_of_init_is_reached(probe):
    attempt = probe("trace")
    answers = attempt.inside("1")
    all_refused(answers, "EPERM", "EACCES")
    own = attempt.inside("child")
    assert succeeded(own) == set(answers), "with a child of one's own all of it works, filter or not"
    control = succeeded(attempt.outside("child"))
    assert {"mem", "environ", "exe", "pidfd_getfd", "process_vm_writev", "prlimit", "attach"} <= control


@pytest.mark.parametrize("limit", ["CPU", "NOFILE", "NPROC", "AS", "DATA", "STACK", "FSIZE", "SIGPENDING", "MEMLOCK"])
def test_limits_of_init_are_its_own(cell, limit):
    """With a CPU limit of 0 the kernel would kill init, and the result would say that the command never ran."""
    code = f"""
        import os, resource
        try: resource.prlimit(1, resource.RLIMIT_{limit}, (0, 0)); print("limited")
        except OSError as error: print(error.errno)
        except ValueError: print("ValueError")
        for _ in range(100):
            if os.fork() == 0: os._exit(0)
    """
    done = cell.python(code).succeeded()
    assert done.text == "1\n" and done.result["outcome"] == "exited"


def test_the_control_limits_a_neighbour(cell):
    code = """
        import os, resource, signal
        child = os.fork()
        if child == 0: signal.pause()
        resource.prlimit(child, resource.RLIMIT_CPU, (0, 0)); print("limited")
        os.kill(child, signal.SIGKILL)
    """
    assert cell.outside(code).stdout == b"limited\n" and cell.python(code).succeeded().text == "limited\n"


def test_every_signal(cell):
    code = """
        import os
        for number in range(1, 65):
            for _ in range(3):
                try: os.kill(1, number)
                except OSError as error: print(number, error)
        print("lived")
    """
    done = cell.python(code).succeeded()
    assert done.text == "lived\n" and done.result["outcome"] == "exited"


def test_starved_of_the_processor(cell):
    """Priorities of one's own user may be lowered; a call ends in time all the same."""
    code = """
        import os, struct, ctypes
        libc = ctypes.CDLL(None)
        libc.sched_setscheduler(1, 5, struct.pack("i", 0))  # SCHED_IDLE
        libc.sched_setaffinity(1, 8, struct.pack("q", 1))
        libc.setpriority(0, 1, 19)
        for _ in range(8):
            if os.fork() == 0:
                while True: pass
        while True: pass
    """
    done = cell.python(code, options=["--timeout", "500ms", "--grace", "100ms"])
    assert done.status == 124 and done.result["outcome"] == "timeout" and done.seconds < 5 * SLACK


@pytest.mark.parametrize("way", ["zombies", "storm", "execute"])
def test_storms(probe, cell, way):
    attempt = probe("hide")
    done = cell.run(*attempt.argv(way), options=attempt.options())
    assert done.status == 7 and done.result["outcome"] == "exited", done.result


def test_its_socket_is_out_of_reach(cell):
    """No descriptor of the command is it, none of another process can be taken, and it has no name to connect to."""
    code = """
        import os
        print(sorted(os.listdir("/proc/self/fd")), open("/proc/net/unix").read().count("\\n"))
        for number in range(3, 64):
            try: os.write(number, b"x" * 64); print("wrote to", number)
            except OSError: pass
    """
    assert cell.python(code).succeeded().text == "['0', '1', '2', '3'] 1\n"
