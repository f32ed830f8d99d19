# SPDX-License-Identifier: Apache-2.0
"""Static plans while the host moves things about: a call may lose access that way and never gains any.

Class A: a whole mount that is uniform for every operation. Class B: a union of disjoint existing subtrees, of which
only the subtrees are in the cell. In both, an agent inside is asked before and after each change on the host.
"""

import os
import shutil

import pytest

from agent import Refused

RUN = {"pattern": "/usr/**", "operations": ["execute"], "effect": "allow"}
CONNECT = {"pattern": "**", "operations": ["connect"], "effect": "allow"}  # else host sockets would need a broker
READ_PUB = [RUN, CONNECT, {"pattern": "pub/**", "operations": ["read"], "effect": "allow"}]
TWO_TREES = [RUN, CONNECT] + [{"pattern": pattern, "operations": operations, "effect": "allow"}
             for pattern, operations in (("pub/**", ["read"]), ("out", ["read", "write"]), ("out/**", ["read", "write"]))]
SECRET = "top-secret"


@pytest.fixture
def tree(cell):
    """A workspace with an allowed subtree, a writable one and one that no rule allows."""
    cell.write("pub/a", "public")
    cell.write("pub/sub/b", "below")
    cell.write("out/o", "output")
    cell.write("secret/a", SECRET)
    cell.write("secret/sub/b", SECRET)
    cell.write("top", SECRET)
    return cell.workspace


@pytest.fixture
def subtrees(cell, tree):
    """An agent under class B, able to read pub and to use out."""
    agent = cell.agent(policy=cell.policy(TWO_TREES))
    assert agent.read("pub/a") == "public" and agent.read("pub/sub/b") == "below"
    agent.write("out/new", "x")
    return agent


def reveals(agent, places, text=SECRET):
    """Those of the places where the agent can read the secret or list its name."""
    found = []
    for place in places:
        try:
            if text in agent.read(place):
                found.append(place)
        except Refused:
            pass
    return found


PLACES = ["secret/a", "top", "pub/a", "pub/sub/b", "pub/secret/a", "pub/../secret/a", "out/a", "out/../secret/a", "old/a",
          "/workspace/secret/a", "/workspace/pub/../top", "late/a", "pub/link/a", "out/link", "out/link/a", "pub/late"]


def test_only_the_subtrees_are_there(subtrees, tree):
    assert (tree / "secret/a").read_text() == SECRET, "the control: the host has it"
    assert reveals(subtrees, PLACES) == []
    for path in ("top", "secret/a", "made", "secret/made", "pub/made", "pub/a", "pub/sub/b"):
        assert subtrees.refuses("write", path, "x"), f"{path} was written"
    for call in (("mkdir", "d"), ("mkdir", "pub/d"), ("unlink", "pub/a"), ("rename", "pub/a", "pub/c"), ("chmod", "pub/a", 0o600),
                 ("symlink", "x", "l"), ("rmdir", "pub"), ("rename", "out", "other"), ("link", "pub/a", "out/hard"),
                 ("truncate", "pub/a", 0), ("chmod", "pub", 0o700), ("chmod", ".", 0o700)):
        assert subtrees.refuses(*call), f"{call} succeeded"
    assert subtrees.rename("out/new", "out/newer") is None
    subtrees.finish().succeeded()
    assert sorted(path.name for path in tree.iterdir()) == ["out", "pub", "secret", "top"]
    assert sorted(os.listdir(tree / "out")) == ["newer", "o"] and (tree / "pub/a").read_text() == "public"


def exchange(tree):
    (tree / "pub").rename(tree / "old")
    (tree / "secret").rename(tree / "pub")


def replace_writable(tree):
    (tree / "out").rename(tree / "gone")
    (tree / "secret").rename(tree / "out")


def link_instead(tree):
    (tree / "pub").rename(tree / "old")
    (tree / "pub").symlink_to("secret")
    (tree / "out").rename(tree / "old-out")
    (tree / "out").symlink_to("secret")


def link_inside(tree):
    (tree / "pub" / "link").symlink_to("../secret")
    (tree / "out" / "link").symlink_to(tree / "secret" / "a")


def create_missing(tree):
    (tree / "late").mkdir()
    (tree / "late" / "a").write_text(SECRET)
    (tree / "made").write_text(SECRET)


def move_workspace(tree):
    tree.rename(tree.with_name("moved"))
    tree.mkdir()
    (tree / "pub").mkdir()
    (tree / "pub" / "a").write_text(SECRET)
    (tree / "secret").mkdir()
    (tree / "secret" / "a").write_text(SECRET)


def remove_and_recreate(tree):
    shutil.rmtree(tree / "pub")
    (tree / "pub").mkdir()
    (tree / "pub" / "a").write_text(SECRET)


CHANGES = [exchange, replace_writable, link_instead, link_inside, create_missing, move_workspace, remove_and_recreate]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_on_the_host_never_widens_subtrees(cell, subtrees, tree, change):
    """What a name now leads to on the host was not granted: the subtrees are held as they were."""
    change(tree)
    cell.known.update({"moved"})
    assert reveals(subtrees, PLACES) == []
    for path in ("secret/a", "pub/a", "pub/sub/b", "late/a", "made", "top", "secret/x"):
        assert subtrees.refuses("write", path, "x"), f"{path} was written"
    subtrees.finish()


def test_what_moves_into_a_subtree_is_under_its_rule_and_no_more(cell, tree):
    """A name below pub is allowed by `pub/**` for reading; nothing makes it writable."""
    agent = cell.agent(policy=cell.policy(READ_PUB))
    (tree / "top").rename(tree / "pub" / "top")
    assert agent.read("pub/top") == SECRET
    assert agent.refuses("write", "pub/top", "x") in ("EROFS", "EACCES")
    agent.finish()


def test_a_missing_subtree_appears_closed(cell, tree):
    """A rule about a name that does not exist yet is refused, or grants nothing beyond it when the name appears."""
    rules = [*READ_PUB, {"pattern": "late/**", "operations": ["read"], "effect": "allow"}]
    agent = cell.agent(policy=cell.policy(rules))
    create_missing(tree)
    (tree / "late" / "up").symlink_to("../secret")
    assert reveals(agent, ["late/up/a", "made", "secret/a", "late/../secret/a"]) == []
    assert agent.refuses("write", "late/a", "x")
    agent.finish()


class TestMovedDirectories:
    """A directory that the cell holds open is carried out of the tree: `..` must not climb out after it."""

    @pytest.fixture(params=["whole mount", "subtree"])
    def agent(self, cell, tree, request):
        (cell.directory("beside") / "private").write_text(SECRET)
        return cell.agent(policy=cell.policy(TWO_TREES) if request.param == "subtree" else "readonly-static")

    def test_a_held_directory_does_not_lead_out(self, cell, agent, tree):
        held = agent.hold("pub/sub")
        agent.chdir("pub/sub")
        assert agent.read_at(held, "../a") == "public", "the control: it leads up while it is inside"
        (tree / "pub" / "sub").rename(cell.area / "beside" / "sub")
        for path in ("../private", "../../work/secret/a", "../../beside/private", "../../../../../../../etc/shadow"):
            assert agent.refuses("read_at", held, path), path
            assert agent.refuses("read", path), path
        for path in ("..", "../..", "../../.."):
            assert agent.refuses("list_at", held, path), f"{path} was listed"
        for path in ("../planted", "planted"):
            assert agent.refuses("write", path, "x"), f"{path} was written"
        agent.finish()
        assert not (cell.area / "beside" / "planted").exists()

    def test_an_ancestor_is_renamed(self, cell, agent, tree):
        held = agent.hold("pub")
        tree.rename(tree.with_name("moved"))
        cell.known.add("moved")
        cell.directory("work")
        (cell.area / "work" / "planted").write_text(SECRET)
        assert agent.refuses("read", "/workspace/planted") == "ENOENT"
        assert agent.read_at(held, "a") == "public", "what was granted is still there"
        assert reveals(agent, ["/workspace/../work/planted", "../work/planted"]) == []
        agent.finish()


def test_a_held_writable_directory_does_not_lead_out(cell, tree):
    (cell.directory("beside") / "private").write_text(SECRET)
    cell.write("out/sub/f", "x")
    for policy in ("static", cell.policy(TWO_TREES)):
        (tree / "out" / "sub").mkdir(exist_ok=True)
        cell.identity.own(tree / "out" / "sub")
        agent = cell.agent(policy=policy)
        agent.chdir("out/sub")
        (tree / "out" / "sub").rename(cell.area / "beside" / "sub")
        for path in ("../planted", "../../planted", "../../beside/planted", "../private"):
            assert agent.refuses("write", path, "x"), f"{path} was written"
        assert agent.refuses("read", "../private") and agent.refuses("list", "..")
        agent.finish()
        shutil.rmtree(cell.area / "beside" / "sub")
        assert sorted(os.listdir(cell.area / "beside")) == ["private"]
        assert (cell.area / "beside" / "private").read_text() == SECRET


WRITES = [("write", "f", "x"), ("write", "new", "x"), ("append", "f", "x"), ("truncate", "f", 0), ("mkdir", "d/new"),
          ("unlink", "f"), ("rmdir", "e"), ("rename", "f", "g"), ("link", "f", "h"), ("symlink", "f", "l"), ("chmod", "f", 0o777),
          ("chmod", ".", 0o777), ("utime", "f"), ("utime", ".")]


@pytest.mark.parametrize("by", ["rules", "mode"])
def test_a_read_only_workspace_denies_every_write(cell, by):
    cell.write("f", "kept")
    cell.write("d/g", "kept")
    cell.identity.own((cell.workspace / "e").resolve()) if (cell.workspace / "e").exists() else (cell.workspace / "e").mkdir()
    cell.identity.own(cell.workspace / "e")
    before = cell.workspace.stat()
    more = {"policy": "readonly-static"} if by == "rules" else \
        {"workspace": False, "options": ["-w", f"{cell.workspace}:ro"]}
    agent = cell.agent(**more)
    assert agent.read("f") == "kept"
    answers = {call: agent.refuses(*call) for call in WRITES}
    assert set(answers.values()) <= {"EROFS", "EACCES", "EPERM"}, answers
    # the host replaces what is there: still read-only
    (cell.workspace / "f").rename(cell.workspace / "was")
    cell.write("f", "replaced")
    cell.write("late", "late")
    assert agent.read("f") == "replaced" and agent.read("late") == "late"
    for call in WRITES + [("write", "late", "x"), ("write", "was", "x")]:
        assert agent.refuses(*call), call
    agent.finish().succeeded()
    assert (cell.workspace / "f").read_text() == "replaced" and cell.workspace.stat().st_mode == before.st_mode


def test_the_control_writes_everything(cell):
    cell.write("f", "kept")
    cell.write("d/g", "kept")
    agent = cell.agent()
    for call in [call for call in WRITES if call[0] not in ("unlink", "rmdir", "rename")]:
        assert agent.refuses(*call) is None, call
    agent.finish().succeeded()


def test_no_execute_rule_means_no_program_of_the_mount(cell):
    cell.write("tool", "#!/bin/sh\necho ran\n", mode=0o755)
    policy = cell.policy([{"pattern": "/usr/**", "operations": ["execute"], "effect": "allow"},
                          {"pattern": "**", "operations": ["read", "write", "connect"], "effect": "allow"}])
    assert cell.run("./tool").succeeded().text == "ran\n", "the control"
    done = cell.run("sh", "-c", "./tool; cp tool /tmp/t", policy=policy)
    assert b"ran" not in done.stdout


def test_a_plan_without_reading_shows_names_only(cell):
    cell.write("f", SECRET)
    policy = cell.policy([RUN, {"pattern": "**", "operations": ["list"], "effect": "allow"}])
    done = cell.run("sh", "-c", "ls; cat f", policy=policy)
    assert SECRET.encode() not in done.stdout
