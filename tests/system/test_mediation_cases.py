# SPDX-License-Identifier: Apache-2.0
"""Rules by name over a whole program: cases that users of comparable sandboxes reported, one test each."""

import itertools
import os
import shutil
import time

import pytest
from harness import SLACK, sanitized

SECRET = "the secret"
ALLOW = {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}


def denying(cell, *patterns, operations=("read", "write")):
    """A policy that allows everything but names of these patterns."""
    rules = [{"pattern": pattern, "operations": list(operations), "effect": "deny", "priority": 100, "reason": "by name"}
             for pattern in patterns]
    return cell.policy([*rules, ALLOW])


def told(done):
    """What was denied: (operation, target, pattern of the rule)."""
    return {(event["operation"], event["target"], event["rule"] and event["rule"]["pattern"]) for event in done.of("denied")}


def tree(top):
    """Every name below with what it is and holds."""
    found = {}
    for path in sorted(top.rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(top))] = os.readlink(path)
        else:
            found[str(path.relative_to(top))] = path.read_bytes() if path.is_file() else None
    return found


# ---- names that are not there yet ----


def test_a_denied_name_cannot_be_made(cell):
    """anthropics/claude-code#92901, #17258: nothing is put on the host to keep the name free."""
    policy = denying(cell, "**/.env")
    done = cell.run("sh", "-c", "echo x >.env; mkdir .env; ln -s y .env; mkfifo .env; echo y >y && cat .env; ls -A", policy=policy)
    assert done.succeeded().text == "y\n"
    assert told(done) == {("write", "/workspace/.env", "**/.env")}
    assert {event["syscall"] for event in done.of("denied")} == {"openat", "mkdir", "symlinkat", "mknodat"}
    assert done.result["denials"] == 4
    assert tree(cell.workspace) == {"y": b"y\n"}


def test_a_denied_name_that_the_host_makes_during_the_call(cell):
    (cell.workspace / "sub").mkdir()
    cell.identity.own(cell.workspace / "sub")
    agent = cell.agent(policy=denying(cell, "**/.env"))
    assert agent.refuses("read", "sub/.env") == "ENOENT", "names stay visible, and that there is none"
    cell.write("sub/.env", SECRET)
    cell.write("sub/plain", "plain")
    assert agent.refuses("read", "sub/.env") == "EACCES"
    assert agent.refuses("write", "sub/.env", "mine") == "EACCES"
    assert agent.read("sub/plain") == "plain"
    agent.finish()
    assert tree(cell.workspace) == {"sub": None, "sub/.env": SECRET.encode(), "sub/plain": b"plain"}


def test_rules_for_what_is_not_there_leave_nothing_on_the_host(cell):
    policy = denying(cell, "no/such/place", "none/**", "/workspace/absent", "/tmp/never/*", "/home/agent/.ssh/**")
    assert cell.run("ls", "-A", policy=policy).succeeded().text == ""
    assert tree(cell.workspace) == {} and not os.path.lexists("/tmp/never")


@pytest.mark.parametrize("place", ["/workspace/.ssh", "/home/agent/.ssh"])
def test_a_denied_directory_swallows_no_write(cell, place):
    """anthropic-experimental/sandbox-runtime#149: success into a scratch copy would lose what was written."""
    policy = denying(cell, f"{place}/**") if place.startswith("/home") else denying(cell, "**/.ssh/**")
    done = cell.run("sh", "-c", f"mkdir -p {place}; echo x >{place}/f || echo refused; test ! -e {place}/f", policy=policy)
    assert done.succeeded().text == "refused\n" and done.of("denied")
    assert "Permission denied" in done.stderr.decode()
    kept = cell.run("sh", "-c", f"mkdir -p {place}; echo x >{place}/f; cat {place}/f", policy=denying(cell, "**/.env")).succeeded()
    assert kept.text == "x\n", "the control: where it is not denied it is kept"


# ---- names that move ----


ATTEMPTS = ["echo x >a && mv a .git/hooks/pre-commit", "ln secret/.env y", "mv secret/.env y", "mv secret other && cat other/.env",
            "cp secret/.env y", "ln -s secret/.env y && cat y", "cat secret/../secret/./.env", "cat /proc/self/cwd/secret/.env",
            "cd secret && cat .env", "exec 3<secret/.env", "cat /proc/$$/root/workspace/secret/.env", ". secret/.env",
            "/lib64/ld-linux-x86-64.so.2 $PWD/secret/.env", "dd if=secret/.env", "grep -r . secret", "tar c secret/.env",
            "truncate -s 0 secret/.env", "touch secret/.env", "chmod 777 secret/.env", "rm -f secret/.env", "rm -r secret",
            "mkdir .git/hooks/pre-push", "ln .git/hooks/post-merge.sample .git/hooks/post-merge",
            "mv .git/hooks hooks; echo x >hooks/pre-commit; mv hooks .git/hooks", "cd .git/hooks && echo x >pre-commit",
            "python3 -c 'import os; os.link(\"secret/.env\", \"secret/y\")'"]


def furnish_attempts(cell):
    for name in ("secret", ".git", "hooks", "other"):
        shutil.rmtree(cell.workspace / name, ignore_errors=True)
    cell.write("secret/.env", SECRET)
    cell.write(".git/hooks/post-merge.sample", "#!/bin/sh\n")
    return tree(cell.workspace)


def test_a_name_rule_cannot_be_walked_around(cell):
    """safedep/pmg#446"""
    before = furnish_attempts(cell)
    policy = denying(cell, "**/.env", "**/.git/hooks/**")
    for attempt in ATTEMPTS:
        done = cell.run("sh", "-c", attempt, policy=policy)
        assert done.status != 0 and SECRET not in done.text + done.stderr.decode(), (attempt, done)
        assert done.of("denied"), (attempt, done)
        for name in ("a", "y"):
            (cell.workspace / name).unlink(missing_ok=True)
        if not (cell.workspace / "secret").exists():
            (cell.workspace / "other").rename(cell.workspace / "secret")
        if (cell.workspace / "hooks").exists():
            (cell.workspace / "hooks").rename(cell.workspace / ".git/hooks")
        assert tree(cell.workspace) == before, attempt


def test_without_the_rules_each_of_them_works(cell):
    """The control, in a cell that is mediated as well. Two execute what they read, which is no program."""
    policy = denying(cell, "**/another.env")
    for attempt in ATTEMPTS:
        furnish_attempts(cell)
        done = cell.run("sh", "-c", attempt, policy=policy)
        assert not done.of("denied"), (attempt, done)
        assert (done.status == 0) != attempt.startswith((". ", "/lib64/")), (attempt, done)
        for name in ("a", "y"):
            (cell.workspace / name).unlink(missing_ok=True)


@pytest.mark.parametrize("moves", [
    "mkdir h; echo x >h/pre-commit; rmdir .git/hooks; mv -T h .git/hooks",
    "mkdir -p g/hooks; echo x >g/hooks/pre-commit; rmdir .git/hooks .git; mv -T g .git",
    "mkdir h; echo x >h/pre-commit; python3 -c 'import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b\"h\", -100, b\".git/hooks\", 2))'",
])
def test_a_filled_directory_does_not_become_one_that_may_not_be_written(cell, moves):
    for name in (".git", ".git/hooks"):
        (cell.workspace / name).mkdir()
        cell.identity.own(cell.workspace / name)
    done = cell.run("sh", "-c", moves, policy=denying(cell, "**/.git/hooks/**", operations=["write"]))
    assert done.status != 0 and not (cell.workspace / ".git/hooks/pre-commit").exists()
    assert [event["rule"]["pattern"] for event in done.of("denied")] == ["**/.git/hooks/**"]
    shutil.rmtree(cell.workspace / ".git", ignore_errors=True)
    for name in ("g", "h"):
        shutil.rmtree(cell.workspace / name, ignore_errors=True)
    cell.run("sh", "-c", f"mkdir -p .git/hooks; {moves}", policy=denying(cell, "**/.env")).succeeded()
    assert (cell.workspace / ".git/hooks/pre-commit").exists(), "the control: where nothing is denied it does"


HOOKS = ".git/hooks"
LEADING = {"made": f"ln -s ../h {HOOKS}", "absolute": f"ln -s /workspace/h {HOOKS}", "not there yet": f"ln -s ../later {HOOKS}",
           "moved": f"ln -s ../h l; mv -T l {HOOKS}", "moved inside": f"ln -s ../h .git/l; mv -T .git/l {HOOKS}",
           "a directory that is moved": "mkdir g; ln -s ../h g/hooks; rmdir .git; mv -T g .git",
           "linked": f"ln -s ../h l; ln l {HOOKS}", "a way back": f"ln -s x/y k; ln -s ../k/../h {HOOKS}",
           "dots": f"ln -s x/y ...; ln -s ../.../../.git/hooks/z {HOOKS}"}


@pytest.mark.parametrize("how", LEADING)
def test_no_link_stands_where_its_target_s_files_may_not_be_written(cell, how):
    """The host's git follows it, and no rule is asked then. Under the policy that runs by default."""
    cell.write("h/pre-commit", "#!/bin/sh\n", mode=0o755)
    (cell.workspace / ".git").mkdir()
    cell.identity.own(cell.workspace / ".git")
    cell.run("sh", "-c", LEADING[how], policy=None)
    assert not os.path.lexists(cell.workspace / HOOKS)
    for path in ("g", "h", "l", "k", "...", ".git"):
        place = cell.workspace / path
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)
    cell.run("sh", "-c", f"mkdir h .git; {LEADING[how]}", policy=denying(cell, "**/.env")).succeeded()
    assert os.path.lexists(cell.workspace / HOOKS), "the control: where nothing is denied it does"


def test_a_link_that_winds_leads_where_it_leads(cell):
    """Through another directory and up again: its text alone does not tell."""
    rules = [{"pattern": "**/gen/**", "operations": ["write"], "effect": "allow", "priority": 2},
             {"pattern": "**/*.sh", "operations": ["write"], "effect": "deny", "priority": 1}, ALLOW]
    code = "mkdir -p gen x other; echo >gen/a.sh; ln -s {}gen way; ln -s {}other fine; ls"
    for up in "", "x/../":
        done = cell.run("sh", "-c", code.format(up, up), policy=cell.policy(rules))
        assert done.text.split() == ["fine", "gen", "other", "x"] and told(done) == {("write", "/workspace/way", "**/*.sh")}
        (cell.workspace / "fine").unlink()
    done = cell.run("sh", "-c", code.format("x/../", "x/../"), policy=cell.policy([rules[0], ALLOW]))
    assert "way" in done.text.split(), "the control: where no name is denied"


def test_other_links_stand_where_they_like(cell):
    code = """
        mkdir -p a/b .venv/bin node_modules/.bin d && echo x >a/f
        ln -s /usr/bin/python3 .venv/bin/python && ln -s ../../a/f node_modules/.bin/f && ln -s a k && ln -s ../a/../d a/l
        ln -s . g && ln -s /tmp t && ln -s /nowhere n && ln -sfn d k && mv k m && ln m o
    """
    done = cell.run("sh", "-ec", code, policy=None).succeeded()
    assert not done.of("denied")


def test_a_rename_across_allowed_directories_is_one(cell):
    """Zouuup/landrun#48, nolabs-ai/nono#1396: EXDEV would make mv copy"""
    cell.write("a/f", "f")
    (cell.workspace / "b").mkdir()
    cell.identity.own(cell.workspace / "b")
    inode = (cell.workspace / "a/f").stat().st_ino
    cell.python("import os; os.rename('a/f', 'b/f'); os.link('b/f', 'a/g'); os.rename('a', 'b/a')", policy=denying(cell, "**/.env")).succeeded()
    assert (cell.workspace / "b/f").stat().st_ino == inode == (cell.workspace / "b/a/g").stat().st_ino


# ---- the order of rules ----

ORDERED = [{"pattern": "**", "operations": ["read"], "effect": "deny"}, {"pattern": "a/**", "operations": ["read"], "effect": "allow"},
           {"pattern": "a/b/**", "operations": ["write"], "effect": "allow"}, {"pattern": "a/b/c/**", "operations": "all", "effect": "deny"}]


def first(rules, operation, path):
    """The effect of the first rule that speaks about it, as the contract says it; every pattern here is a prefix."""
    for rule in rules:
        if rule["operations"] == "all" or operation in rule["operations"]:
            prefix = rule["pattern"].removesuffix("**")
            if path.startswith(prefix):
                return rule["effect"]
    return "deny"


def test_the_order_of_rules_decides(cell):
    """anthropic-experimental/sandbox-runtime#193, #263: 24 orders, and never a third result"""
    levels = ["f", "a/f", "a/b/f", "a/b/c/f"]
    code = """
        import json, os
        answer = {}
        for path in %r:
            for operation, flags in ("read", os.O_RDONLY), ("write", os.O_WRONLY):
                try: os.close(os.open(path, flags)); answer[operation + " " + path] = "allow"
                except PermissionError: answer[operation + " " + path] = "deny"
        print(json.dumps(answer))
    """ % levels
    for level in levels:
        cell.write(level, level)
    for rules in itertools.permutations(ORDERED):
        policy = cell.policy([*rules, {"pattern": "/**", "operations": ["execute"], "effect": "allow", "priority": 1}])
        expected = {f"{operation} {path}": first(rules, operation, path) for path in levels for operation in ("read", "write")}
        assert cell.python(code, policy=policy).succeeded().answer == expected, rules


def test_thousands_of_rules(cell):
    """anthropics/claude-code#90569: no E2BIG"""
    policy = denying(cell, *(f"**/secret-{number}.*" for number in range(5000)))
    cell.write("secret-4999.txt", SECRET)
    done = cell.run("cat", "secret-4999.txt", policy=policy)
    assert done.status == 1 and told(done) == {("read", "/workspace/secret-4999.txt", "**/secret-4999.*")}


def fastest(cell, *policies):
    """Seconds of the fastest of many starts under each policy, one after the other in turn."""
    best = dict.fromkeys(policies, 1e9)
    for _ in range(20):
        for policy in policies:
            best[policy] = min(best[policy], cell.run("true", policy=policy).succeeded().seconds)
    return [best[policy] for policy in policies]


@pytest.mark.parametrize("operations", [["read", "write"], ["read", "write", "list", "execute"]], ids=len)
def test_thousands_of_rules_cost_little(cell, operations):
    """Milliseconds a start, once the policy is known. Were they compared with one another, it would be seconds."""
    many = denying(cell, *(f"**/secret-{number}.*" for number in range(2500)), *(f"d{number}/**" for number in range(2500)),
                    operations=operations)
    few, with_many = fastest(cell, denying(cell, "**/.env"), many)
    assert with_many - few < 0.25 * SLACK * (4 if sanitized(cell.binary) else 1)


# ---- what runs there ----


def test_the_root_is_listed(cell):
    """Where no kernel rule could grant that without granting it below."""
    done = cell.run("ls", "/", "/workspace", "/tmp", "/proc/self/root/", policy=denying(cell, "**/.env")).succeeded()
    assert "workspace" in done.text.split() and not done.of("denied")
    policy = cell.policy([{"pattern": pattern, "operations": ["list"], "effect": "deny"} for pattern in ("/", "**/x*")] + [ALLOW])
    done = cell.run("sh", "-c", "ls / || ls /workspace", policy=policy).succeeded()
    assert told(done) == {("list", "/", "/")}


def test_what_is_built_there_runs_there(cell):
    """A program, a script, a shared library and a compiled module of Python, each made in the mediated workspace."""
    cell.write("main.c", 'int answer(void); int main(void) { return answer(); }\n')
    cell.write("answer.c", "int answer(void) { return 42; }\n")
    cell.write("module.c", "#include <stddef.h>\nint answer(void) { return 42; }\n")
    cell.write("run.sh", "#!/bin/sh\necho script\n", mode=0o755)
    code = """
        set -e
        cc -shared -fPIC answer.c -o libanswer.so
        cc main.c -L. -lanswer -Wl,-rpath,'$ORIGIN' -o main
        ./main || test $? = 42
        ./run.sh
        python3 -c 'import ctypes; print(ctypes.CDLL("./libanswer.so").answer())'
        python3 -m venv --without-pip .venv
        .venv/bin/python -c 'import sys; print(sys.prefix)'
    """
    done = cell.run("sh", "-c", code, policy=denying(cell, "**/.env"), timeout=90)
    assert done.succeeded().text == "script\n42\n/workspace/.venv\n"
    assert not done.of("denied")


def test_threads_and_new_calls(cell):
    """moby/moby#42680, langgenius/dify-sandbox#274: ENOSYS for what is not known, and nothing is killed"""
    code = """
        import ctypes, errno, json, threading
        libc = ctypes.CDLL(None, use_errno=True)
        threads = [threading.Thread(target=lambda: open("f").read()) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        def raw(*arguments):
            ctypes.set_errno(0)
            return errno.errorcode.get(ctypes.get_errno()) if libc.syscall(*map(ctypes.c_long, arguments)) < 0 else None
        buffer = ctypes.create_string_buffer(88)
        buffer[0:8] = (0x10000000).to_bytes(8, "little")
        how = ctypes.create_string_buffer(24)
        print(json.dumps([raw(435, ctypes.addressof(buffer), 88), raw(9999), raw(425, 8, ctypes.addressof(buffer)),
                          raw(0x40000000 | 39), raw(437, -100, ctypes.addressof(ctypes.create_string_buffer(b"f")), ctypes.addressof(how), 24)]))
    """
    cell.write("f")
    answer = cell.python(code, policy=denying(cell, "**/.env")).succeeded().answer
    assert answer == ["ENOSYS", "ENOSYS", "EPERM", answer[3], "ENOSYS"] and answer[3] in ("ENOSYS", "EPERM")


def test_a_stopped_reader_of_a_fifo_stops_nobody_else(cell):
    agent = cell.agent(policy=denying(cell, "**/.env"))
    cell.write("f", "f")
    agent.run("sh", "-c", "mkfifo p; for i in 1 2 3 4 5 6 7 8 9; do cat p & done >/dev/null 2>&1 </dev/null")
    begin = time.monotonic()
    assert agent.read("f") == "f" and time.monotonic() - begin < 5 * SLACK
    agent.finish()
