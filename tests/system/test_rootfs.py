# SPDX-License-Identifier: Apache-2.0
"""--rootfs DIR: a tree of one's own, hostile links in it included."""

import os
import shutil
import subprocess

import pytest

BUSYBOX = shutil.which("busybox")
needs_busybox = pytest.mark.skipif(not BUSYBOX, reason="needs busybox-static")
pytestmark = needs_busybox
APPLETS = ("sh", "ls", "cat", "id", "touch", "mkdir", "sleep", "test", "mount", "head", "stat", "env", "true")


@pytest.fixture
def rootfs(cell):
    """A minimal tree around busybox, with links that lead out of it."""
    root = cell.directory("rootfs")
    for name in ("bin", "etc", "usr", "usr/bin", "var", "home"):
        (root / name).mkdir()
    shutil.copy(BUSYBOX, root / "bin" / "busybox")
    for name in APPLETS:
        (root / "bin" / name).symlink_to("busybox")
    (root / "etc" / "motd").write_text("own\n")
    (root / "etc" / "shadow").write_text("own shadow\n")
    return root


def options(root):
    return ["--rootfs", root]


def test_the_control_is_a_static_program():
    assert "statically linked" in subprocess.run(["file", "-L", BUSYBOX], capture_output=True, text=True, check=True).stdout


def test_programs_of_the_rootfs_run_and_the_host_s_are_not_there(cell, rootfs):
    done = cell.run("sh", "-c", "cat /etc/motd; id -u; ls /usr/bin | head -1; ls /", options=options(rootfs)).succeeded()
    lines = done.text.split("\n")
    assert lines[:2] == ["own", "1000"] and "python3" not in done.text and "workspace" in lines


def test_the_workspace_is_the_same(cell, rootfs):
    cell.run("sh", "-c", "echo made > f; mkdir d", options=options(rootfs)).succeeded()
    assert (cell.workspace / "f").read_text() == "made\n"
    assert (cell.workspace / "f").stat().st_uid == cell.identity.uid


def test_it_is_read_only_and_unchanged(cell, rootfs):
    before = sorted(str(path) for path in rootfs.rglob("*"))
    done = cell.run("sh", "-c", "echo x > /bin/x; echo x > /etc/motd; mkdir /new; touch /usr/new; cat /etc/motd", options=options(rootfs))
    assert done.text == "own\n"
    assert sorted(str(path) for path in rootfs.rglob("*")) == before and (rootfs / "etc/motd").read_text() == "own\n"


def test_agent_is_known_in_it(cell, rootfs):
    done = cell.run("sh", "-c", "cat /etc/passwd /etc/group", options=options(rootfs)).succeeded()
    assert "agent:x:1000:1000" in done.text and not (rootfs / "etc" / "passwd").exists()


def test_missing_mount_points_are_not_made_in_it(cell, rootfs):
    cell.run("true", options=options(rootfs)).succeeded()
    for name in ("proc", "dev", "tmp", "workspace"):
        assert not (rootfs / name).exists(), name


@pytest.mark.parametrize("name,link", [
    ("proc", "/etc"), ("dev", "../.."), ("tmp", "/"), ("workspace", "/proc/self/root"), ("home", "../outside"),
    ("etc", "../outside"), ("workspace", "../oldroot/tmp"), ("tmp", "/proc/1/root/tmp")])
def test_links_in_place_of_mount_points_do_not_lead_out(cell, rootfs, name, link):
    """CVE-2021-30465, CVE-2026-87766: a tree whose mount points are links."""
    outside = cell.directory("outside")
    path = rootfs / name
    if path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(link)
    done = cell.run("sh", "-c", "echo x > /tmp/f && echo x > f && ls / >/dev/null", options=options(rootfs))
    assert done.status in (0, 125), done
    assert os.listdir(outside) == []
    if done.status == 0:
        assert (cell.workspace / "f").exists()


def test_a_fake_proc_does_not_redirect(cell, rootfs):
    """CVE-2025-52881: what is written to /proc during set-up goes to the kernel's, never to a file of the tree."""
    (rootfs / "proc" / "self").mkdir(parents=True)
    for name in ("setgroups", "uid_map", "gid_map"):
        (rootfs / "proc" / "self" / name).write_text("fake")
    cell.run("test", "-d", "/proc/1", options=options(rootfs)).succeeded()
    assert {(rootfs / "proc/self" / name).read_text() for name in ("setgroups", "uid_map", "gid_map")} == {"fake"}


def test_absolute_links_stay_inside(cell, rootfs):
    (rootfs / "etc" / "link").symlink_to("/etc/motd")
    (cell.directory("outside") / "secret").write_text("top-secret\n")
    (rootfs / "etc" / "out").symlink_to(f"/../../../..{cell.area}/outside/secret")
    done = cell.run("sh", "-c", "cat /etc/link; cat /etc/out", options=options(rootfs))
    assert done.text == "own\n"


def test_a_missing_or_wrong_rootfs_is_named(cell):
    cell.refused(cell.run("true", options=["--rootfs", "/nonexistent/tree"]), "/nonexistent/tree")
    cell.write("f", "x")
    cell.refused(cell.run("true", options=["--rootfs", cell.workspace / "f"]), "f")
    cell.refused(cell.run("true", options=["--rootfs", "nosuchname"]), "nosuchname")


def test_a_rootfs_without_the_program(cell, rootfs):
    done = cell.run("python3", options=options(rootfs))
    assert done.status == 127 and "python3" in done.messages


def test_a_rootfs_inside_the_workspace_or_around_it_is_an_alias(cell, rootfs):
    inside = cell.workspace / "tree"
    shutil.copytree(rootfs, inside, symlinks=True)
    cell.refused(cell.run("true", options=options(inside)), "tree")
    (rootfs / "work").mkdir()
    cell.identity.own(rootfs / "work")
    cell.refused(cell.run("true", workspace=False, options=[*options(rootfs), "-w", rootfs / "work"]), "work")
