# SPDX-License-Identifier: Apache-2.0
"""Who the command is, inside and as the host sees it."""

import os
from pathlib import Path

from harness import as_root

STATUS = """
import json
print(json.dumps(dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)))
"""


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_uid_and_gid_1000_agent(cell):
    done = cell.run("sh", "-c", "id -u; id -g; id -G; whoami; id -gn; echo $HOME; cd && pwd").succeeded()
    assert done.text.split("\n")[:-1] == ["1000", "1000", "1000", "agent", "agent", "/home/agent", "/home/agent"]


def test_passwd_and_group_name_nobody_of_the_host(cell):
    code = """
        import grp, json, pwd
        print(json.dumps([[p.pw_name for p in pwd.getpwall()], [g.gr_name for g in grp.getgrall()],
                          pwd.getpwuid(1000).pw_dir, open("/etc/hosts").read(), open("/etc/nsswitch.conf").read()]))
    """
    users, groups, home, hosts, nsswitch = cell.python(code).succeeded().answer
    assert "agent" in users and set(users) <= {"root", "agent", "nobody"}
    assert "agent" in groups and set(groups) <= {"root", "agent", "nobody", "nogroup"}
    assert home == "/home/agent" and "127.0.0.1" in hosts and "localhost" in hosts and "passwd" in nsswitch


def test_five_empty_capability_sets(cell):
    inside = cell.python(STATUS).succeeded().answer
    sets = {name: inside[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    assert set(sets.values()) == {"0" * 16}, sets


def test_no_new_privileges_and_a_filter(cell):
    inside = cell.python(STATUS).succeeded().answer
    assert inside["NoNewPrivs"] == "1" and inside["Seccomp"] == "2"
    outside = status_of("self")
    assert outside["NoNewPrivs"] == "0" and outside["Seccomp"] == "0", "the control: here it is otherwise"


def test_securebits_keep_root_powerless(cell):
    code = "import ctypes; print(ctypes.CDLL(None).prctl(27, 0, 0, 0, 0))"  # PR_GET_SECUREBITS
    bits = int(cell.python(code).succeeded().text)
    assert bits & 0b11 == 0b11, f"NOROOT and its lock: {bits:#x}"


def test_a_set_uid_program_of_the_rootfs_gains_nothing(cell):
    assert (Path("/usr/bin/su").stat().st_mode & 0o4000) == 0o4000, "the control: it is set-uid"
    code = """
        import os, subprocess
        print(subprocess.run(["/usr/bin/su", "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode != 0)
        try: os.setuid(0); print("became root")
        except OSError: print("refused")
    """
    assert cell.python(code).succeeded().text == "True\nrefused\n"


@as_root
def test_nothing_of_a_cell_of_root_is_host_root(cell):
    running = cell.start("sh", "-c", "sleep 30 & (sleep 30; :) & echo up; wait").until('"up\\n"')
    inside = running.processes()
    ids = {pid: (status_of(pid)["Uid"].split(), status_of(pid)["Gid"].split(), status_of(pid)["Groups"].split())
           for pid in inside}
    control = status_of(running.pid)["Uid"].split()
    running.kill()
    assert len(inside) >= 4, "init, the shell and its children"
    assert control == ["0"] * 4, "the control: toolcell itself is root"
    for pid, (uids, gids, groups) in ids.items():
        assert "0" not in uids and "0" not in gids and "0" not in groups, f"{pid}: {uids} {gids} {groups}"
    assert len({tuple(uids) for uids, _, _ in ids.values()}) == 1


@as_root
def test_two_living_cells_of_root_have_different_host_ids(cell):
    first = cell.start("sh", "-c", "echo up; sleep 30").until('"up\\n"')
    second = cell.start("sh", "-c", "echo up; sleep 30").until('"up\\n"')
    uids = {status_of(running.processes()[0])["Uid"].split()[0] for running in (first, second)}
    first.kill()
    second.kill()
    assert len(uids) == 2 and "0" not in uids


@as_root
def test_start_event_tells_the_host_uid(cell):
    running = cell.start("sh", "-c", "echo up; sleep 30").until('"up\\n"')
    uid = status_of(running.processes()[0])["Uid"].split()[0]
    running.signal(2)
    assert str(running.wait().of("start")[0]["enforcement"]["uid"]) == uid


@as_root
def test_user_option_names_the_host_id(cell, ordinary):
    uid, gid = ordinary
    directory = cell.directory("theirs")
    os.chown(directory, uid, gid)
    running = cell.start("sh", "-c", "echo x > made; echo up; sleep 30", workspace=False,
                         options=["-w", directory, "--user", f"{uid}:{gid}"]).until('"up\\n"')
    seen = {status_of(pid)["Uid"].split()[0] for pid in running.processes()}
    running.signal(2)
    running.wait()
    assert seen == {str(uid)}
    assert (directory / "made").stat().st_uid == uid


@as_root
def test_files_keep_the_owner_of_a_user_s_workspace(cell, ordinary):
    directory = cell.directory("theirs")
    os.chown(directory, *ordinary)
    cell.run("sh", "-c", "echo x > made; mkdir d; echo y > d/f", workspace=False, options=["-w", directory]).succeeded()
    for name in ("made", "d", "d/f"):
        made = (directory / name).stat()
        assert (made.st_uid, made.st_gid) == ordinary, name


@as_root
def test_files_of_others_in_the_workspace_are_protected(cell, ordinary):
    """The owner's files are the cell's; a file of somebody else with a private mode stays private."""
    other = cell.write("other", "private", mode=0o600)
    os.chown(other, *ordinary)
    assert cell.run("cat", "other").status != 0
    mine = cell.write("mine", "readable", mode=0o600)
    assert cell.run("cat", "mine").succeeded().text == "readable"
    assert other.stat().st_uid == ordinary[0] and mine.stat().st_uid == 0


def test_what_is_made_keeps_the_workspace_s_owner(cell):
    cell.run("sh", "-c", "umask; echo x > f; mkdir d; ln -s f l; echo y > d/g; chmod 0755 f").succeeded()
    for name in ("f", "d", "l", "d/g"):
        made = (cell.workspace / name).lstat()
        assert (made.st_uid, made.st_gid) == (cell.identity.uid, cell.identity.gid), name
    assert (cell.workspace / "f").stat().st_mode & 0o7777 == 0o755


def test_the_workspace_looks_like_the_agent_s_own(cell):
    cell.write("f", "x", mode=0o600)
    assert cell.run("stat", "-c", "%u:%g", ".", "f").succeeded().text == "1000:1000\n1000:1000\n"


def test_host_name_is_not_the_host_s(cell):
    assert cell.run("uname", "-n").succeeded().text.strip() != Path("/proc/sys/kernel/hostname").read_text().strip()
