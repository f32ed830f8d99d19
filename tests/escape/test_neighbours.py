# SPDX-License-Identifier: Apache-2.0
"""Two cells of one user: neither sees, stops, traces or reads a process of the other."""

import os

import pytest
from attempts import all_refused, succeeded
from harness import as_root


@pytest.fixture
def neighbour(cell):
    """A process in another cell of the same caller: its host pid."""
    other = cell.directory("other")
    running = cell.start("sh", "-c", "echo ready; exec sleep 300", workspace=False, options=["-w", other])
    running.until("ready")
    return running.processes()[-1]


def test_a_neighbour_is_not_seen(cell, neighbour):
    code = """
        import os, sys
        print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())))
        for pid in range(2, int(sys.argv[1]) + 100):
            if pid == os.getpid(): continue
            try: os.kill(pid, 0); print("found", pid)
            except ProcessLookupError: pass
    """
    assert cell.python(code, str(neighbour)).succeeded().text == "[]\n"
    code = f"import os; os.kill({neighbour}, 0); print('found')"
    assert cell.outside(code).stdout == b"found\n", "the control: on the host the same caller sees it"


def test_a_neighbour_is_not_reached(probe, neighbour):
    attempt = probe("trace")
    answers = attempt.inside(neighbour)
    all_refused(answers, "ESRCH", "ENOENT", "EBADF")
    control = succeeded(attempt.outside("child"))
    assert set(answers) - control <= {"pagemap", "syscall"}, "the control"


def test_a_neighbour_lives_through_a_massacre(cell, neighbour):
    cell.run("sh", "-c", "kill -9 -1; kill -KILL 0")
    assert os.path.exists(f"/proc/{neighbour}")


@as_root
def test_cells_of_root_share_no_host_id(cell, neighbour):
    """What goes by the uid alone (signals, ptrace, limits per user) ends at the cell."""
    running = cell.start("sh", "-c", "echo ready; exec sleep 300")
    running.until("ready")
    assert os.stat(f"/proc/{running.processes()[-1]}").st_uid != os.stat(f"/proc/{neighbour}").st_uid
