# SPDX-License-Identifier: Apache-2.0
"""Execute that the rules allow in single directories of a mount: what is granted, what is not, and how that is told."""

import json

from harness import SOURCE

SYSTEM = {"pattern": "/usr/**", "operations": ["execute"], "effect": "allow", "priority": 20}
SECRETS = {"pattern": "**/.env", "operations": ["read", "write"], "effect": "deny", "priority": 100}
REST = [SYSTEM, SECRETS, {"pattern": "**", "operations": ["execute"], "effect": "deny"},
        {"pattern": "**", "operations": ["read", "write"], "effect": "allow"}]
PROGRAM = "#!/bin/sh\necho ran $0\n"


def executing(cell, *patterns):
    return cell.policy([{"pattern": pattern, "operations": ["execute"], "effect": "allow", "priority": 10}
                        for pattern in patterns] + REST)


def ran(done):
    return [line[len("ran "):] for line in done.text.splitlines() if line.startswith("ran ")]


def lost(done):
    """The rules by which nothing is executed."""
    return [entry["reason"].split("'")[1] for entry in done.result["degraded"] if entry["name"] == "execute"]


def ask(cell, *arguments, policy):
    line = [str(cell.binary), "policy", *arguments[:1], "-w", str(cell.workspace), "-p", str(policy), *arguments[1:]]
    process = cell.spawn(line)
    out, errors = process.communicate(timeout=30)
    return process.returncode, out.decode(), errors.decode()


def test_by_relative_and_by_absolute_pattern(cell):
    for name in ("bin/a", "bin/deep/b", "scripts/c", "other/d", "binary/e", "f"):
        cell.write(name, PROGRAM, mode=0o755)
    done = cell.run("sh", "-c", "bin/a; bin/deep/b; scripts/c; other/d; binary/e; ./f; cd bin && ./a",
                    policy=executing(cell, "bin/**", "/workspace/scripts/**"))
    assert ran(done) == ["bin/a", "bin/deep/b", "scripts/c", "./a"]
    assert {(event["operation"], event["target"]) for event in done.of("denied")} == {
        ("execute", f"/workspace/{name}") for name in ("other/d", "binary/e", "f")}
    assert lost(done) == []


def test_what_else_the_directory_is_for_stays_as_the_rules_say(cell):
    cell.write("bin/a", PROGRAM, mode=0o755)
    cell.write("bin/.env", "secret")
    code = "! cat bin/.env && ls -A bin && echo 'echo more' >>bin/a && bin/a && rm bin/a && ! mv bin bin2 && ! rmdir bin"
    done = cell.run("sh", "-c", code, policy=executing(cell, "bin/**"))
    assert done.succeeded().text == ".env\na\nran bin/a\nmore\n"
    assert [path.name for path in cell.workspace.iterdir()] == ["bin"]


def test_inner_directories_of_what_is_not_granted(cell):
    """The outer one is not even; the one inside it that is, is granted."""
    for name in ("a/p", "a/b/p", "a/b/c/p"):
        cell.write(name, PROGRAM, mode=0o755)
    rules = [{"pattern": "a/b/c/**", "operations": ["execute"], "effect": "allow", "priority": 12},
             {"pattern": "a/b/**", "operations": ["execute"], "effect": "deny", "priority": 11},
             {"pattern": "a/**", "operations": ["execute"], "effect": "allow", "priority": 10}]
    done = cell.run("sh", "-c", "a/p; a/b/p; a/b/c/p", policy=cell.policy(rules + REST))
    assert ran(done) == ["a/b/c/p"] and lost(done) == ["a/**"]


def test_what_cannot_be_granted_is_told(cell):
    """Patterns, single files, what a link leads to, and what is not there: nothing is made on the host."""
    cell.write("x/run.sh", PROGRAM, mode=0o755)
    (cell.workspace / "link").symlink_to("x")
    policy = executing(cell, "**/*.sh", "x/run.sh", "link/**", "gone/**")
    _, out, _ = ask(cell, "plan", "--", "true", policy=policy)
    assert out.count("never executed: the kernel knows whole directories only") == 4
    done = cell.run("sh", "-c", "x/run.sh; link/run.sh; mkdir gone; cp -p x/run.sh gone; gone/run.sh", policy=policy)
    assert ran(done) == [] and lost(done) == ["**/*.sh", "x/run.sh", "link/**", "gone/**"]
    done = cell.run("gone/run.sh", policy=policy)
    assert ran(done) == ["/workspace/gone/run.sh"] and "gone/**" not in lost(done)


def test_a_mount_that_is_read_only(cell):
    cell.write("bin/a", PROGRAM, mode=0o755)
    cell.write("b", PROGRAM, mode=0o755)
    done = cell.run("sh", "-c", "bin/a; ./b; echo x >bin/a || echo read-only", policy=executing(cell, "bin/**"),
                    workspace=False, options=["-w", f"{cell.workspace}:ro"])
    assert ran(done) == ["bin/a"] and "read-only" in done.text


def test_a_mount_inside_it(cell):
    """Declared mounts stand in what is granted as elsewhere, and have their own say."""
    cell.write("bin/a", PROGRAM, mode=0o755)
    (cell.workspace / "bin/more").mkdir()
    cell.identity.own(cell.workspace / "bin/more")
    cell.directory("data")
    cell.write("b", PROGRAM, mode=0o755, where=cell.area / "data")
    for pattern, expected in ("bin/**", ["bin/a", "bin/more/b"]), ("bin/more/**", ["bin/more/b"]):
        done = cell.run("sh", "-c", "bin/a; bin/more/b", policy=executing(cell, pattern),
                        options=["-m", f"{cell.area}/data:/workspace/bin/more:rw"])
        assert ran(done) == expected


def test_it_is_explained(cell):
    cell.write("bin/a", PROGRAM, mode=0o755)
    policy = executing(cell, "bin/**")
    code, out, _ = ask(cell, "explain", "execute", "bin/a", policy=policy)
    assert code == 0 and "allow execute /workspace/bin/a" in out and "strength kernel" in out
    code, out, _ = ask(cell, "explain", "execute", "b", policy=policy)
    assert code == 1 and "strength kernel" in out
    code, out, _ = ask(cell, "plan", "--json", "--", "true", policy=policy)
    step = next(step for step in json.loads(out)["steps"] if step["target"] == "/workspace/bin")
    assert code == 0 and "itself" in step["flags"] and step["access"] == ["read", "execute"]


def test_the_schema_knows_the_flag():
    schema = json.loads((SOURCE / "policy/schema/plan.json").read_text())
    assert "itself" in json.dumps(schema)
