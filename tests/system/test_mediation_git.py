# SPDX-License-Identifier: Apache-2.0
"""git in a mediated workspace: its everyday work goes on under the preset for it, and under the default one the cell
leaves nothing behind that the host's git would execute."""

import subprocess

import pytest
from harness import SLACK

WORK = """
    git init -q . && git config user.name n && git config user.email n@example.org
    echo 1 >f && git add f && git commit -qm one && git branch side
    echo 2 >f && git commit -qam two && git checkout -q side && echo 3 >g && git add g && git commit -qm three
    git rebase -q - && git checkout -q - && git merge -q side && git tag -a -m v v && git stash list && git gc -q
    git worktree add -q tree side~1 --detach && git clone -q . copy && git -C copy log --format=%s
    git worktree remove tree && rm -rf copy && git mv f h && git commit -qm four && git reset -q --hard HEAD~1 && git status --short
"""


def git(cell, *arguments):
    """The host's git, as the identity of the cell."""
    return subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=cell.workspace, capture_output=True,
                          timeout=60 * SLACK, env=cell.environment(), check=False, **cell.identity.popen())


def test_everyday_work(cell):
    done = cell.run("sh", "-ec", WORK, policy="git", timeout=120).succeeded()
    assert done.text == "three\ntwo\none\n" and not done.of("denied")
    assert git(cell, "log", "--format=%s").stdout == b"three\ntwo\none\n" and git(cell, "fsck").returncode == 0


def test_everyday_work_under_the_default(cell):
    """What needs no configuration: none of it asks."""
    assert git(cell, "init", "-q", ".").returncode == 0
    for key, value in {"user.name": "n", "user.email": "n@example.org", "remote.o.url": "."}.items():
        git(cell, "config", key, value)
    git(cell, "config", "remote.o.fetch", "+refs/heads/*:refs/remotes/o/*")
    code = """
        echo 1 >f && git add f && git commit -qm one && git branch side && echo 2 >f && git commit -qam two
        git checkout -q side && git rebase -q - && git checkout -q - && git merge -q side && git fetch -q o
        git remote set-head o side && git checkout -q --detach && git gc -q && git stash list && git log --format=%s
    """
    done = cell.run("sh", "-ec", code, policy=None, timeout=60).succeeded()
    assert done.text.endswith("two\none\n") and not done.of("denied")


# What makes a host's git execute the cell's program, with where each comes from.
MARK = "touch marked"
PLANTS = {
    "hook": f"printf '#!/bin/sh\\n{MARK}\\n' >.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
    "configuration": f"printf '[core]\\n fsmonitor = \"{MARK}; false\"\\n' >>.git/config",
    "common directory": f"""mkdir h; cp -r .git/objects .git/refs h; echo ../h >.git/commondir
        printf '[core]\\n repositoryformatversion = 0\\n fsmonitor = \"{MARK}; false\"\\n' >h/config""",
    "link to hooks": f"""mkdir h; printf '#!/bin/sh\\n{MARK}\\n' >h/post-index-change; chmod +x h/post-index-change
        rm -f .git/hooks/*; rmdir .git/hooks; ln -s ../h .git/hooks""",
    "hooks moved there": f"""mkdir h; printf '#!/bin/sh\\n{MARK}\\n' >h/post-index-change; chmod +x h/post-index-change
        rm -f .git/hooks/*; rmdir .git/hooks; mv -T h .git/hooks""",
    "repository without .git": f"""cp -r .git/objects .git/refs .; rm .git/HEAD; echo 'ref: refs/heads/x' >HEAD
        printf '[core]\\n repositoryformatversion = 0\\n worktree = .\\n fsmonitor = \"{MARK}; false\"\\n' >config""",
    "another repository": f"""cp -r .git h; printf '[core]\\n fsmonitor = \"{MARK}; false\"\\n' >>h/config
        mv .git old && mv h .git""",
}


@pytest.mark.parametrize("plant", PLANTS)
def test_the_host_s_git_executes_nothing_of_the_cell_s(cell, plant):
    """The default policy, by one control for each: without the rules it does."""
    for policy, expected in (None, False), (cell.policy([{"pattern": "**/.env", "operations": ["write"], "effect": "deny"}, {
            "pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]), True):
        assert git(cell, "init", "-q", ".").returncode == 0
        cell.write("f", "f")
        git(cell, "add", "f")
        done = cell.run("sh", "-c", PLANTS[plant], policy=policy)
        cell.write("f", "changed")
        git(cell, "status")
        git(cell, "add", "f")
        assert (cell.workspace / "marked").exists() == expected, (policy, done)
        assert bool(done.of("denied")) != expected
        subprocess.run("rm -rf .git h old f marked HEAD config objects refs index", shell=True, cwd=cell.workspace, check=True)


# ---- a worktree, whose .git is a file that names the repository ----


def add_worktree(cell):
    """The workspace as a worktree of a repository beside it; the options that show the cell the repository as well."""
    repository = cell.directory("elsewhere")
    for words in (["init", "-q", repository], ["-C", repository, "config", "user.name", "n"], ["-C", repository, "config", "user.email", "n@e"],
                  ["-C", repository, "commit", "-q", "--allow-empty", "-m", "first"],
                  ["-C", repository, "worktree", "add", "-q", "-f", "-b", "side", cell.workspace]):
        assert git(cell, *words).returncode == 0
    assert (cell.workspace / ".git").is_file()
    return repository, ["-m", f"{repository}:{repository}:rw"]


def messages(cell):
    return git(cell, "log", "--format=%s", "side").stdout.decode().split()


@pytest.mark.parametrize("policy", ["git", None])
def test_work_in_a_worktree(cell, policy):
    """anthropics/claude-code#17374, #33615: with the repository in reach it goes on."""
    _, options = add_worktree(cell)
    done = cell.run("sh", "-ec", "git commit -q --allow-empty -m x; echo 1 >f; git add f; git commit -qm y; git status --short",
                    policy=policy, options=options)
    assert done.succeeded().text == "" and not done.of("denied")
    assert messages(cell) == ["y", "x", "first"]


def test_a_worktree_whose_repository_may_not_be_written(cell):
    """The denial names the file of the repository, not of the workspace; other commands run."""
    repository, options = add_worktree(cell)
    policy = cell.policy([{"pattern": "**/.git/**", "operations": ["write"], "effect": "deny", "priority": 100},
                          {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}])
    done = cell.run("git", "commit", "-q", "--allow-empty", "-m", "x", policy=policy, options=options)
    assert done.status != 0 and messages(cell) == ["first"]
    assert {event["target"] for event in done.of("denied")} >= {f"{repository}/.git/worktrees/work/index.lock"}
    done = cell.run("sh", "-ec", "git log --format=%s; echo 1 >f; cat f", policy=policy, options=options)
    assert done.succeeded().text == "first\n1\n"


def test_a_worktree_whose_repository_is_not_in_reach(cell):
    """openai/codex#19786: git says which directory is missing, and nothing else is in the way."""
    repository, _ = add_worktree(cell)
    done = cell.run("git", "commit", "-q", "--allow-empty", "-m", "x", policy="git")
    assert done.status == 128 and f"{repository}/.git/worktrees/work" in done.stderr.decode()
    assert cell.run("sh", "-ec", "echo 1 >f; cat f", policy="git").succeeded().text == "1\n"
    assert messages(cell) == ["first"]
