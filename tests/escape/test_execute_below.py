# SPDX-License-Identifier: Apache-2.0
"""Execute below one directory of a mediated mount: what the rules do not let be executed, brought there or the right to it.

The kernel knows the directory and not its name, so that everything turns on who can move it, and what can be put into it.
"""

import pytest
from harness import SLACK

EVERYTHING = [{"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]
SYSTEM = {"pattern": "/usr/**", "operations": ["execute"], "effect": "allow", "priority": 20}
BELOW = [{"pattern": "**/.env", "operations": ["read", "write"], "effect": "deny", "priority": 100}, SYSTEM,
         {"pattern": "tools/bin/**", "operations": ["execute"], "effect": "allow", "priority": 10},
         {"pattern": "**", "operations": ["execute"], "effect": "deny"},
         {"pattern": "**", "operations": ["read", "write"], "effect": "allow"}]
# What stands in the directory cannot be changed; else as above.
SEALED = [{"pattern": "tools/bin/**", "operations": ["write"], "effect": "deny", "priority": 50}, *BELOW]
PROGRAM = "#!/bin/sh\nexit 0\n"
INSIDE, OUTSIDE = "tools/bin/program", "other/program"


def furnish(cell):
    cell.write(INSIDE, PROGRAM, mode=0o755)
    cell.write(OUTSIDE, PROGRAM, mode=0o755)


def agent_under(cell, rules):
    furnish(cell)
    return cell.agent(policy=cell.policy(rules))


def executes(agent, path):
    """None, or the errno's name of execve."""
    return agent.refuses("run", f"/workspace/{path}")


def test_programs_run_inside_and_not_outside(cell):
    agent = agent_under(cell, BELOW)
    assert executes(agent, INSIDE) is None and executes(agent, OUTSIDE) == "EACCES"
    assert agent.run("cp", "-p", INSIDE, "other/copy") == 0 and executes(agent, "other/copy") == "EACCES"
    agent.write("made", PROGRAM)
    agent.chmod("made", 0o755)
    assert executes(agent, "made") == "EACCES"
    assert agent.run("sh", OUTSIDE) == 0, "an interpreter reads it: that is no execute"
    agent.mkdir("tools/bin/sub")
    assert agent.run("cp", "-p", INSIDE, "tools/bin/sub/copy") == 0 and executes(agent, "tools/bin/sub/copy") is None


def test_the_control_runs_them_all(cell):
    agent = agent_under(cell, EVERYTHING)
    assert executes(agent, OUTSIDE) is None
    assert agent.run("cp", "-p", INSIDE, "other/copy") == 0 and executes(agent, "other/copy") is None


MOVES = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
def exchange(one, other):
    if libc.renameat2(-100, one.encode(), -100, other.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), "exchange")
os.mkdir("empty")
os.symlink("tools", "way")
held = os.open("tools", os.O_PATH)
ways = {"itself": lambda: os.rename("tools/bin", "moved"), "itself within": lambda: os.rename("tools/bin", "tools/moved"),
        "its parent": lambda: os.rename("tools", "moved"), "its parent by a link": lambda: os.rename("way/../tools", "moved"),
        "exchanged": lambda: exchange("tools/bin", "empty"), "parent exchanged": lambda: exchange("tools", "empty"),
        "exchanged the other way": lambda: exchange("empty", "tools"), "at": lambda: os.rename("bin", "moved", src_dir_fd=held),
        "a directory out of it": lambda: os.rename("tools/bin/sub", "other/sub"), "a file out of it": lambda: os.rename("tools/bin/program", "other/out"),
        "a link out of it": lambda: os.link("tools/bin/program", "other/linked"), "into it": lambda: os.rename("other/program", "tools/bin/in"),
        "a link into it": lambda: os.link("other/program", "tools/bin/linked")}
tried = {}
for name, way in ways.items():
    try: way(); tried[name] = None
    except OSError as error: tried[name] = errno.errorcode[error.errno]
print(json.dumps(tried))
"""


def test_the_directory_cannot_be_moved(cell):
    furnish(cell)
    cell.write("tools/bin/sub/program", PROGRAM, mode=0o755)
    answer = cell.python(MOVES, policy=cell.policy(BELOW)).succeeded().answer
    assert len(answer) == 13 and set(answer.values()) <= {"EACCES", "EBUSY", "EXDEV"}, answer
    assert (cell.workspace / INSIDE).exists() and not (cell.workspace / "moved").exists()


@pytest.mark.parametrize("way", ["itself", "its parent", "parent exchanged", "a file out of it", "a link into it"])
def test_the_control_moves_it(cell, way):
    """Under rules that let everything be executed; each in a tree of its own."""
    furnish(cell)
    cell.write("tools/bin/sub/program", PROGRAM, mode=0o755)
    code = MOVES.replace("in ways.items():", f"in [({way!r}, ways[{way!r}])]:")
    assert cell.python(code, policy=cell.policy(EVERYTHING)).succeeded().answer == {way: None}


def test_what_is_removed_is_not_granted_again(cell):
    """The cell empties the directory, which it cannot remove; the host can, and its successor is nothing special."""
    agent = agent_under(cell, BELOW)
    agent.unlink(INSIDE)
    assert agent.refuses("rmdir", "tools/bin") == "EBUSY"
    (cell.workspace / "tools/bin").rmdir()
    agent.mkdir("tools/bin")
    agent.write(INSIDE, PROGRAM)
    agent.chmod(INSIDE, 0o755)
    assert executes(agent, INSIDE) == "EACCES"


def test_where_the_host_moves_it_nothing_is_added(cell):
    """The right goes along with the directory; the cell, which may write at its new name, cannot write to it."""
    agent = agent_under(cell, SEALED)
    assert agent.refuses("append", INSIDE, "exit 7\n") == "EACCES" and executes(agent, INSIDE) is None
    (cell.workspace / "tools/bin").rename(cell.workspace / "moved")
    assert agent.refuses("write", "moved/new", PROGRAM) in ("EACCES", "EROFS")
    assert agent.refuses("append", "moved/program", "exit 7\n") in ("EACCES", "EROFS")
    assert agent.refuses("rename", "other/program", "moved/program") in ("EACCES", "EROFS", "EXDEV")
    assert agent.refuses("link", "other/program", "moved/new") in ("EACCES", "EROFS", "EXDEV")
    assert agent.refuses("unlink", "moved/program") in ("EACCES", "EROFS")
    assert agent.refuses("chmod", "moved/program", 0o777) in ("EACCES", "EROFS")
    assert (cell.workspace / "moved/program").read_text() == PROGRAM and len(list((cell.workspace / "moved").iterdir())) == 1
    agent.mkdir("elsewhere")
    agent.write("elsewhere/new", PROGRAM)
    agent.chmod("elsewhere/new", 0o755)
    assert executes(agent, "elsewhere/new") == "EACCES"


def test_the_control_adds_to_it(cell):
    """Where no directory is granted by itself, the same is written, and runs."""
    furnish(cell)
    agent = cell.agent(policy=cell.policy(EVERYTHING))
    (cell.workspace / "tools/bin").rename(cell.workspace / "moved")
    agent.append("moved/program", "exit 7\n")
    assert agent.run("/workspace/moved/program") == 0
    agent.write("moved/new", PROGRAM)
    agent.chmod("moved/new", 0o755)
    assert executes(agent, "moved/new") is None


# Binaries: what an interpreter opens by the same name later is read, and not executed.
RACE = """
import os, shutil, sys, threading, time
stop = time.monotonic() + float(sys.argv[1])
shutil.copy("/usr/bin/true", "tools/bin/good")
shutil.copy("/usr/bin/false", "other/evil")
way = "tools/bin/way"
def flip():
    while time.monotonic() < stop:
        for target in ("good", "../../other/evil"):
            os.symlink(target, "tools/bin/fresh"); os.rename("tools/bin/fresh", way)
os.symlink("good", way)
threading.Thread(target=flip).start()
ran = {0: 0, 1: 0}
while time.monotonic() < stop:
    pid = os.fork()
    if pid == 0:
        try: os.execv(way, [way])
        except OSError: os._exit(99)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ran[status] = ran.get(status, 0) + 1
print(ran[0], ran[1])
"""


@pytest.mark.parametrize("rules,evil", [(BELOW, False), (EVERYTHING, True)], ids=["held", "control"])
def test_a_link_that_changes_while_it_is_executed(cell, rules, evil):
    furnish(cell)
    done = cell.python(RACE, 2 * SLACK, policy=cell.policy(rules), timeout=60)
    good, bad = map(int, done.succeeded().text.split())
    assert good > 0 and (bad > 0) == evil


OTHERWISE = """
import ctypes, json, os, shutil, subprocess
libc = ctypes.CDLL(None, use_errno=True)
loader = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path))
def attempt(path, *arguments, by=None):
    pid = os.fork()
    if pid == 0:
        try: by() if by else os.execv(path, [path, *arguments])
        finally: os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
found = {}
for directory in "tools/bin", "other":
    program = directory + "/true"
    shutil.copy("/usr/bin/true", program); os.chmod(program, 0o755)
    fd = os.open(program, os.O_RDONLY)
    held = os.open(directory, os.O_PATH)
    argv = (ctypes.c_char_p * 2)(b"true", None)
    found[directory] = {"path": attempt(program), "descriptor": attempt(f"/proc/self/fd/{fd}"),
        "empty path": attempt("", by=lambda: libc.execveat(fd, b"", argv, None, 0x1000)),
        "at": attempt("", by=lambda: libc.execveat(held, b"true", argv, None, 0)), "loader": attempt(loader, os.path.abspath(program))}
print(json.dumps(found))
"""


def test_other_ways_to_execute(cell):
    """A descriptor, a directory's descriptor, the loader: where the rest of the mount is noexec nothing maps it either."""
    furnish(cell)
    answer = cell.python(OTHERWISE, policy=cell.policy(BELOW)).succeeded().answer
    assert set(answer["tools/bin"].values()) == {0}, answer
    assert len(answer["other"]) == 5 and 0 not in answer["other"].values(), answer
