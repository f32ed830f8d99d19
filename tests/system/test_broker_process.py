# SPDX-License-Identifier: Apache-2.0
"""The broker as a process of the host: when there is one, and what it may do itself."""

import subprocess
from pathlib import Path

import pytest
from harness import sanitized

NAMED = [{"pattern": "**/.env", "operations": ["read"], "effect": "deny", "priority": 1},
         {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]
CONNECTING = [{"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]

STEPS = """
import os, socket, sys
def step(word):
    print(word, flush=True)
    sys.stdin.readline()
step("started")
open("made", "w").close(); os.rename("made", "moved"); open("moved").read(); os.system("true")
step("worked")
for family, address in (socket.AF_UNIX, "none"), (socket.AF_INET, ("127.0.0.1", 9)):
    try: socket.socket(family).connect(address)
    except OSError: pass
step("connected")
"""


def children(running):
    """The names of the processes that this toolcell is the parent of."""
    names = []
    for task in Path(f"/proc/{running.pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                names.append(Path(f"/proc/{child}/comm").read_text().strip())
            except FileNotFoundError:  # the holder of an id map that ends beside the start
                pass
    return sorted(name for name in names if name != "toolcell")


class Steps:
    """A command that goes on when it is told to."""

    def __init__(self, cell, rules):
        self.running = cell.start("python3", "-c", STEPS, policy=cell.policy(rules), events=False, stdin=subprocess.PIPE)

    def __iter__(self):
        for word in "started", "worked", "connected":
            self.running.until(word + "\n")
            yield word, children(self.running)
            self.running.process.stdin.write(b"\n")
        assert self.running.wait().status == 0


def others(names):
    return [name for name in names if name != "toolcell-broker"]


def test_none_without_mediation(cell):
    """The rules of the static policy: a cell's first process and nothing else, whatever is done."""
    found = dict(Steps(cell, [{"pattern": "**", "operations": "all", "effect": "allow"}]))
    assert all(len(names) == 1 and "toolcell-broker" not in names for names in found.values()), found


def test_where_only_connect_is_mediated_it_comes_with_the_first(cell):
    found = dict(Steps(cell, CONNECTING))
    assert "toolcell-broker" not in found["started"] + found["worked"], found
    assert found["connected"].count("toolcell-broker") == 1 and others(found["connected"]) == found["started"], found


def test_where_files_are_mediated_it_is_there_at_once(cell):
    found = dict(Steps(cell, NAMED))
    assert all(names.count("toolcell-broker") == 1 for names in found.values()), found


def test_it_has_a_filter_of_its_own(cell):
    """All its threads, and the supervisor beside it has none. A build with a sanitizer goes without."""
    if sanitized(cell.binary):
        pytest.skip("the calls of a sanitizer are nobody's to list")

    def states(pid):
        return {line for task in Path(f"/proc/{pid}/task").iterdir() for line in (task / "status").read_text().splitlines()
                if line.startswith(("Seccomp:", "NoNewPrivs:", "CapEff:"))}

    steps = Steps(cell, NAMED)
    for _, names in steps:
        assert "toolcell-broker" in names
        broker = next(pid for pid in steps.running.processes()
                      if Path(f"/proc/{pid}/comm").read_text() == "toolcell-broker\n")
        assert len(list(Path(f"/proc/{broker}/task").iterdir())) >= 3, "workers and their monitor"
        assert states(broker) == {"Seccomp:\t2", "NoNewPrivs:\t1", "CapEff:\t0000000000000000"}
        assert "Seccomp:\t0" in states(steps.running.pid) or "Seccomp:\t2" in states("self"), "unless the tests have one"


@pytest.mark.parametrize("rules,groups", [(CONNECTING, ["connect"]), (NAMED, ["open", "change", "access", "watch", "connect"])])
def test_that_is_what_the_plan_says(cell, rules, groups):
    line = [str(cell.binary), "policy", "plan", "-w", str(cell.workspace), "-p", str(cell.policy(rules)), "--", "true"]
    text = cell.spawn(line).communicate(timeout=30)[0].decode()
    assert f"broker      {' '.join(groups)} (" in text
