# SPDX-License-Identifier: Apache-2.0
"""The workspace and declared mounts: places, modes, submounts, symbolic links on the way."""

import os
import subprocess

import pytest

from harness import STATIC, as_root


def mounted(cell, source, target, mode=""):
    return ["-m", f"{source}:{target}{':' + mode if mode else ''}"]


@pytest.fixture
def volume(cell):
    path = cell.directory("volume")
    cell.write("data", "declared", where=path)
    return path


def test_a_declared_mount_is_there(cell, volume):
    done = cell.run("cat", "/data/data", options=mounted(cell, volume, "/data"))
    assert done.succeeded().text == "declared"
    assert cell.run("test", "-e", "/data").status == 1, "the control: undeclared it is not"


def test_modes(cell, volume):
    script = "echo x > /data/new 2>/dev/null && echo wrote; cat /data/data"
    assert cell.run("sh", "-c", script, options=mounted(cell, volume, "/data", "ro")).succeeded().text == "declared"
    assert not (volume / "new").exists()
    assert cell.run("sh", "-c", script, options=mounted(cell, volume, "/data", "rw")).succeeded().text == "wrote\ndeclared"
    assert (volume / "new").stat().st_uid == cell.identity.uid


def test_tools_mount_is_executable_read_only_and_not_under_relative_rules(cell, volume):
    cell.write("tool", "#!/bin/sh\necho ran\n", mode=0o755, where=volume)
    options = mounted(cell, volume, "/sdk", "tools")
    policy = cell.policy([{"pattern": "/usr/**", "operations": ["execute"], "effect": "allow"},
                          {"pattern": "/sdk/**", "operations": ["execute"], "effect": "allow"},
                          {"pattern": "**", "operations": ["connect"], "effect": "allow"}])
    done = cell.run("/sdk/tool", options=options, policy=policy)
    assert done.succeeded().text == "ran\n"
    assert cell.run("sh", "-c", "echo x > /sdk/new", options=options).status != 0
    assert not (volume / "new").exists()


def test_the_workspace_at_its_own_path(cell):
    cell.write("f", "x")
    done = cell.run("sh", "-c", "pwd; cat f", workspace=False, options=["-w", f"{cell.workspace}@same"])
    assert done.succeeded().text == f"{cell.workspace}\nx"
    siblings = cell.run("ls", str(cell.area), workspace=False, options=["-w", f"{cell.workspace}@same"])
    assert siblings.text in ("work\n", "")


def test_a_workspace_with_every_kind_of_name(cell):
    name = "a b\n$(x) \\ é\t\"'"
    place = cell.directory(name)
    cell.write("f", "x", where=place)
    assert cell.run("cat", "f", workspace=False, cwd=place).succeeded().text == "x"


def test_nothing_is_made_on_the_host(cell, volume):
    """Mount points are made in the cell's private tree: no phantom files in the workspace or anywhere."""
    cell.write("f", "x")
    before = {str(path): path.lstat().st_mtime_ns for path in [cell.workspace, volume, *cell.workspace.rglob("*")]}
    options = [*mounted(cell, volume, "/workspace-data"), "--tmpfs", "/cache", "--tmpfs", "/opt2/x/y"]
    cell.run("true", options=options).succeeded()
    after = {str(path): path.lstat().st_mtime_ns for path in [cell.workspace, volume, *cell.workspace.rglob("*")]}
    assert before == after
    assert not os.path.exists("/workspace-data") and not os.path.exists("/workspace") and not os.path.exists("/opt2")


def test_a_target_inside_the_workspace(cell, volume):
    """Allowed where the directory exists; never created on the host where it does not."""
    cell.write("deps/keep", "x")
    done = cell.run("cat", "/workspace/deps/data", options=mounted(cell, volume, "/workspace/deps"))
    assert done.status == 125 or done.succeeded().text == "declared"
    missing = cell.run("cat", "/workspace/none/data", options=mounted(cell, volume, "/workspace/none"))
    assert missing.status == 125 and "none" in missing.messages
    assert not (cell.workspace / "none").exists()


@pytest.mark.parametrize("link", ["/etc", "..", "../..", "/", "/proc/self/root", "../outside"])
def test_a_target_behind_a_link_of_the_workspace_is_refused(cell, volume, link):
    """CVE-2021-30465 and its kin: the target is replaced by a link that leads out."""
    cell.directory("outside")
    (cell.workspace / "link").symlink_to(link)
    done = cell.run("touch", "/workspace/ran", options=mounted(cell, volume, "/workspace/link"))
    assert done.status == 125, done
    assert "link" in done.messages and not (cell.workspace / "ran").exists()
    assert os.listdir(cell.area / "outside") == []


@pytest.mark.parametrize("target", ["relative", "/a/../../etc", "/proc", "/proc/x", "/dev", "/", "", "/../x", "/dev/null"])
def test_bad_targets(cell, volume, target):
    done = cell.run("touch", "/workspace/ran", options=mounted(cell, volume, target))
    assert done.status == 125 and done.messages.startswith("toolcell: "), done
    assert not (cell.workspace / "ran").exists()


@pytest.mark.parametrize("source", ["/nonexistent/x", "", "missing"])
def test_a_missing_source_is_named(cell, source):
    done = cell.run("true", options=["-m", f"{source}:/data"])
    assert done.status == 125 and (source or "mount") in done.messages


def test_a_source_given_by_a_link_is_the_directory_behind_it(cell, volume):
    (cell.area / "alias").symlink_to(volume)
    cell.known.add("alias")
    assert cell.run("cat", "/data/data", options=mounted(cell, cell.area / "alias", "/data")).succeeded().text == "declared"


def test_a_file_as_a_mount(cell, volume):
    done = cell.run("cat", "/etc/tool.conf", options=mounted(cell, volume / "data", "/etc/tool.conf", "ro"))
    assert done.status == 125 or done.succeeded().text == "declared"


def test_a_workspace_that_is_no_directory(cell):
    cell.write("f", "x")
    cell.refused(cell.run("true", workspace=False, options=["-w", cell.workspace / "f"]), "f")
    cell.refused(cell.run("true", workspace=False, options=["-w", cell.workspace / "none"]), "none")


def test_flags_of_every_mount(cell, volume):
    """nosuid everywhere, nodev but for the device nodes, read-only but for what may be written."""
    done = cell.run("cat", "/proc/self/mountinfo", options=[*mounted(cell, volume, "/data", "ro"), "--tmpfs", "/cache"])
    seen = {line.split(" ")[4]: set(line.split(" ")[5].split(",")) for line in done.succeeded().text.splitlines()}
    assert {"/workspace", "/data", "/usr", "/tmp", "/proc", "/cache"} <= set(seen)
    for target, flags in seen.items():
        assert "nosuid" in flags, (target, flags)
        assert "nodev" in flags or target.startswith(("/dev/", "/proc/")), (target, flags)  # /dev/null over what is masked
    writable = {target for target, flags in seen.items() if "rw" in flags and not target.startswith(("/dev/", "/proc"))}
    assert writable == {"/workspace", "/tmp", "/cache", "/home/agent"}, writable


@as_root
def test_submounts_are_covered_or_refused(cell, volume):
    """A mount below the workspace keeps no freedom of its own: read-only and nosuid hold in it too, or it is refused."""
    below = cell.workspace / "below"
    below.mkdir()
    script = f'mount -t tmpfs sub {below} && chown {cell.identity.uid} {below} && echo x > {below}/f && exec "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, "-"]
    code = """
        import os
        try: open("below/new", "w"); print("wrote")
        except OSError as error: print(error.errno)
    """
    done = cell.python(code, prefix=prefix, workspace=False, options=["-w", f"{cell.workspace}:ro"])
    assert done.status == 125 or done.text in ("30\n", "13\n"), done
    control = subprocess.run([*prefix, "touch", below / "new"], check=False)
    assert control.returncode == 0, "the control: outside it can be written"


@as_root
def test_a_workspace_on_a_file_system_without_id_mapping(cell):
    """overlayfs cannot be id-mapped here: run as the owner when that is not root, else refuse and name the remedy."""
    for name in ("lower", "upper", "scratch", "merged"):
        cell.directory(name)
    options = f"lowerdir={cell.area}/lower,upperdir={cell.area}/upper,workdir={cell.area}/scratch"
    script = f'mount -t overlay o -o {options} {cell.area}/merged || exit 99; exec "$@"'
    prefix = ["unshare", "-m", "sh", "-c", script, "-"]
    done = cell.run("sh", "-c", "id -u; echo x > made", prefix=prefix, workspace=False, options=["-w", cell.area / "merged"],
                    cwd=cell.area)
    if done.status == 99:
        pytest.skip("no overlayfs here")
    if done.status == 125:
        assert "--user" in done.messages or "owner" in done.messages, done.messages
    else:
        assert done.succeeded().text == "1000\n"
        assert (cell.area / "upper" / "made").stat().st_uid == 0, "id-mapped after all: the owner is kept"


def test_any_number_of_mounts(cell):
    """Their descriptors are handed over in packets of a few: every remainder, the last packet that is empty included."""
    options = []
    for number in range(9):
        assert cell.run("true", options=options).succeeded()
        options += ["-m", f"{cell.directory(f'mount-{number}')}:/mnt/{number}"]


ONCE = "so that one file would have two names"
TWICE = {"itself": "{work}", "a part": "{work}/part", "what it lies in": "{area}", "through a link": "{area}/link"}


@pytest.mark.parametrize("policy", [STATIC, None], ids=["static", "mediated"])
@pytest.mark.parametrize("how", TWICE)
def test_the_same_tree_is_not_mounted_twice(cell, volume, policy, how):
    """A file would have two names, and the rules of either would not hold for the other."""
    cell.write("part/f")
    (cell.area / "link").symlink_to(cell.workspace)
    cell.known.add("link")
    source = TWICE[how].format(work=cell.workspace, area=cell.area)
    cell.refused(cell.run("true", options=mounted(cell, source, "/second"), policy=policy), ONCE)
    cell.run("test", "-e", "/second/data", options=mounted(cell, volume, "/second"), policy=policy).succeeded()


@as_root
@pytest.mark.parametrize("policy", [STATIC, None], ids=["static", "mediated"])
def test_nor_is_what_the_host_has_mounted_twice(cell, volume, policy):
    """Another path on the host, and the same files."""
    other = cell.directory("other")
    cell.write(".env")
    prefix = ["unshare", "--mount", "sh", "-c", f"mount --bind {cell.workspace} {other} && exec \"$@\"", "sh"]
    options = mounted(cell, other, "/second")
    cell.refused(cell.run("true", options=options, policy=policy, prefix=prefix), ONCE)
    cell.run("test", "!", "-e", "/second/.env", options=options, policy=policy).succeeded()
