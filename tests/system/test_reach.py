# SPDX-License-Identifier: Apache-2.0
"""Out of the cell's reach, and aliases: what would be one file under two names, or in the cell's hands, is refused."""

import json
import os
import shutil
import tempfile
import subprocess

import pytest

from harness import as_root, as_user


def refused(cell, *words, **more):
    """Refused by name, with nothing run."""
    more.setdefault("workspace", False)
    done = cell.refused(cell.run("touch", "/workspace/ran", **more), *words)
    assert not (cell.workspace / "ran").exists()
    return done


def test_the_root_as_workspace(cell):
    refused(cell, "/", cwd="/")
    refused(cell, "/", options=["-w", "/"])


def test_the_home_as_workspace_only_by_name(cell):
    home = cell.directory("home")
    refused(cell, str(home), cwd=home, env={"HOME": str(home)})
    refused(cell, str(cell.area), cwd=cell.area, env={"HOME": str(home)})
    (home / "project").mkdir()
    cell.identity.own(home / "project")
    cell.run("true", workspace=False, cwd=home / "project", env={"HOME": str(home)}).succeeded()
    cell.run("true", workspace=False, options=["-w", f"{home}:ro"], env={"HOME": str(home)}).succeeded()
    refused(cell, ".config/toolcell", options=["-w", home], env={"HOME": str(home)})  # it could write policies
    place = cell.directory("elsewhere")
    elsewhere = {name: str(place) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    cell.run("true", workspace=False, options=["-w", home], env={"HOME": str(home), **elsewhere}).succeeded()


def test_the_binary_inside_a_writable_workspace(cell):
    inside = cell.workspace / "bin"
    inside.mkdir()
    shutil.copy(cell.binary, inside / "toolcell")
    cell.identity.own(inside)
    cell.identity.own(inside / "toolcell")
    outer = cell.binary
    cell.binary = inside / "toolcell"
    refused(cell, "toolcell", workspace=True)
    done = cell.run("true", workspace=False, options=["-w", f"{cell.workspace}:ro"])
    assert done.status == 0, "read-only it cannot be changed"
    cell.binary = outer


def test_the_binary_inside_a_writable_mount(cell):
    volume = cell.directory("volume")
    shutil.copy(cell.binary, volume / "toolcell")
    cell.identity.own(volume / "toolcell")
    outer, cell.binary = cell.binary, volume / "toolcell"
    refused(cell, "toolcell", workspace=True, options=["-m", f"{volume}:/data:rw"])
    cell.binary = outer


def test_the_policy_inside_a_writable_workspace(cell):
    source = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    inside = cell.write("policy.json", source.read_text())
    refused(cell, "policy.json", policy=inside, workspace=True)
    done = cell.run("true", policy=inside, workspace=False, options=["-w", f"{cell.workspace}:ro"])
    assert done.status == 0


def test_a_policy_that_extends_a_file_inside_a_writable_workspace(cell):
    """Whoever writes what is extended writes the policy; with the cache in between, too."""
    cell.write("base.json", json.dumps({"version": 1}))
    path = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}], extends=str(cell.workspace / "base.json"))
    for _ in range(2):
        cell.refused(cell.run("touch", "ran", policy=path), "base.json")
    assert not (cell.workspace / "ran").exists()
    cell.run("true", policy=path, workspace=False, options=["-w", f"{cell.workspace}:ro"]).succeeded()


@pytest.mark.parametrize("way", ["descriptor", "request", "standard input"])
def test_a_policy_inside_a_writable_workspace_by_any_way(cell, way):
    rules = {"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "allow"}]}
    document = rules if way == "descriptor" else {"version": 1, "argv": ["touch", "ran"], "policy": rules}

    def run(directory):
        with open(cell.write("given.json", json.dumps(document), where=directory), "rb") as file:
            if way == "descriptor":
                return cell.run("touch", "ran", policy=None, options=["--policy-fd", file.fileno()], pass_fds=[file.fileno()])
            name = file.name if way == "request" else "-"
            return cell.run(policy=None, options=["--request", name], stdin=file if name == "-" else subprocess.DEVNULL)

    cell.refused(run(cell.workspace), "given.json")
    assert not (cell.workspace / "ran").exists()
    run(cell.directory("elsewhere")).succeeded()
    assert (cell.workspace / "ran").exists(), "the control: the same from outside the workspace runs"


def test_the_policy_inside_a_writable_workspace_whose_rules_deny_writing_it(cell):
    rules = [{"pattern": "policy.json", "operations": ["write"], "effect": "deny"},
             {"pattern": "**", "operations": "all", "effect": "allow"}]
    inside = cell.write("policy.json", cell.policy(rules).read_text())
    done = cell.run("true", policy=inside)
    assert done.status in (0, 125), done
    if done.status == 125:
        assert "policy.json" in done.messages
    else:
        cell.run("sh", "-c", "echo x > policy.json; rm policy.json; mv policy.json other", policy=inside)
        assert "deny" in inside.read_text()


@as_root
@pytest.mark.parametrize("below", ["", "/inner"])
def test_the_policy_reached_by_a_bind_mount(cell, below):
    """Under another name of the host, as the source itself and as a mount below it."""
    source = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    other = cell.directory("other")
    (other / "inner").mkdir()
    prefix = ["unshare", "-m", "sh", "-c", f'mount --bind {source.parent} {other}{below} && exec "$@"', "-"]
    refused(cell, source.name, workspace=True, policy=source, prefix=prefix, options=["-m", f"{other}:/data:rw"])
    done = cell.run("true", policy=source, prefix=prefix, options=["-m", f"{other}:/data:ro"])
    done.succeeded()


@pytest.mark.parametrize("variable,below", [("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"),
                                            ("XDG_RUNTIME_DIR", "runtime")])
@as_user
def test_toolcell_s_own_directories_inside_a_writable_workspace(cell, variable, below):
    place = cell.workspace / below
    (place / "toolcell").mkdir(parents=True, mode=0o700)
    place.chmod(0o700)
    cell.identity.own(place)
    cell.identity.own(place / "toolcell")
    refused(cell, below, workspace=True, env={variable: str(place)})


class TestAliases:
    """One file under two names would be under two rules."""

    @pytest.fixture
    def pair(self, cell):
        inner = cell.workspace / "inner"
        inner.mkdir()
        cell.identity.own(inner)
        return inner

    def test_a_mount_of_what_lies_in_the_workspace(self, cell, pair):
        refused(cell, "inner", workspace=True, options=["-m", f"{pair}:/data"])

    def test_a_mount_of_what_contains_the_workspace(self, cell, pair):
        refused(cell, str(cell.area), workspace=True, options=["-m", f"{cell.area}:/data"])

    def test_the_same_twice(self, cell, pair):
        volume = cell.directory("volume")
        refused(cell, "volume", workspace=True, options=["-m", f"{volume}:/a", "-m", f"{volume}:/b"])
        refused(cell, "work", workspace=True, options=["-m", f"{cell.workspace}:/again"])

    def test_by_a_link(self, cell, pair):
        (cell.area / "link").symlink_to(pair)
        cell.known.add("link")
        refused(cell, workspace=True, options=["-m", f"{cell.area / 'link'}:/data"])

    def test_by_another_spelling(self, cell, pair):
        refused(cell, workspace=True, options=["-m", f"{cell.area}/../{cell.area.name}/./work//inner/:/data"])

    def test_two_that_do_not_meet_are_fine(self, cell, pair):
        volume = cell.directory("work2")
        cell.run("true", options=["-m", f"{volume}:/data"]).succeeded()

    @as_root
    @pytest.mark.parametrize("source", ["{workspace}", "{workspace}/inner", "{area}"])
    def test_by_a_bind_mount(self, cell, pair, source):
        """Different paths of the host, one place of a file system."""
        other = cell.directory("other")
        script = f"mount --bind {source.format(workspace=cell.workspace, area=cell.area)} {other} && exec \"$@\""
        prefix = ["unshare", "-m", "sh", "-c", script, "-"]
        refused(cell, "other", workspace=True, prefix=prefix, options=["-m", f"{other}:/data"])

    @as_root
    def test_a_bind_mount_below_the_workspace(self, cell, pair):
        """The alias is hidden in a submount."""
        volume = cell.directory("volume")
        script = f'mount --bind {volume} {pair} && exec "$@"'
        prefix = ["unshare", "-m", "sh", "-c", script, "-"]
        done = cell.run("touch", "/workspace/ran", prefix=prefix, options=["-m", f"{volume}:/data"])
        assert done.status == 125, done

    @as_root
    def test_a_bind_mount_of_the_rootfs(self, cell, pair):
        other = cell.directory("other")
        prefix = ["unshare", "-m", "sh", "-c", f'mount --bind /usr/share {other} && exec "$@"', "-"]
        refused(cell, "other", workspace=True, prefix=prefix, options=["-m", f"{other}:/data"])


@pytest.mark.parametrize("place", ["/usr", "/usr/share", "/etc", "/bin", "/opt"])
def test_a_workspace_of_the_visible_rootfs(cell, place):
    refused(cell, place if place != "/bin" else "bin", options=["-w", place])


def test_a_mount_of_the_visible_rootfs(cell):
    refused(cell, "/usr/lib", workspace=True, options=["-m", "/usr/lib:/libs:ro"])


@as_root
def test_a_workspace_inside_usr(cell):
    place = tempfile.mkdtemp(prefix="toolcell-alias-", dir="/usr/local/src")
    try:
        refused(cell, place, options=["-w", place])
    finally:
        os.rmdir(place)


def test_a_project_policy_is_not_read_unasked(cell):
    """What the workspace says about itself has no say without --project-policy, and can only tighten with it."""
    cell.write(".toolcell.json", '{"version": 1, "rules": [{"pattern": "**", "operations": ["execute"], "effect": "deny"}]}')
    cell.run("true").succeeded()
    assert cell.run("true", options=["--project-policy"]).status == 126
    cell.write(".toolcell.json", '{"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "allow"}]}')
    deny = cell.policy([{"pattern": "**", "operations": ["execute"], "effect": "deny"}])
    assert cell.run("true", policy=deny, options=["--project-policy"]).status == 126
