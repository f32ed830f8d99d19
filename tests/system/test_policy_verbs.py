# SPDX-License-Identifier: Apache-2.0
"""check, explain, plan and show: what they print, and that they speak about the call that run would make."""

import json
import subprocess

import jsonschema
import pytest

from harness import SLACK, SOURCE

PRESETS = ["readonly", "default", "permissive", "strict", "workspace", "git"]


@pytest.fixture
def policy(cell):
    """Run `toolcell policy WORDS` in the workspace: (status, stdout, stderr)."""
    def run(*words, cwd=None, status=(0,)):
        done = subprocess.run([cell.binary, "policy", *map(str, words)], cwd=cwd or cell.workspace, env=cell.environment(),
                              capture_output=True, text=True, timeout=10 * SLACK, check=False, stdin=subprocess.DEVNULL,
                              **cell.identity.popen())
        assert done.returncode in status, done
        return done.returncode, done.stdout, done.stderr

    return run


def schema(name):
    return jsonschema.Draft202012Validator(json.loads((SOURCE / "policy" / "schema" / f"{name}.json").read_text()))


# ---- explain ----

ANSWERS = [
    # words, exit status, what the text names
    (["-p", "workspace", "read", "src/main.c"], 0, ["/workspace/src/main.c", "**"]),
    (["-p", "workspace", "read", ".env"], 1, ["**/.env", "secrets"]),
    (["-p", "workspace", "read", "/workspace/sub/../.env"], 1, ["**/.env"]),
    (["-p", "workspace", "write", ".git/hooks/pre-commit"], 1, ["hooks"]),
    (["-p", "default", "write", "a"], 2, ["ask"]),
    (["-p", "strict", "list", "."], 2, ["ask"]),
    (["-p", "readonly", "write", "a"], 1, ["deny"]),
    (["-p", "workspace", "execute", "true"], 0, ["true"]),
    (["-p", "workspace", "execute", "rm", "-rf", "/"], 1, ["rm"]),
    (["-p", "workspace", "execute", "env", "rm", "-rf", "/"], 1, ["rm"]),
    (["-p", "default", "execute", "true"], 2, ["ask"]),
    (["-p", "workspace", "connect", "example.org:443"], 1, ["--net none"]),
    (["-p", "permissive", "--net", "host", "connect", "example.org:443"], 2, ["ask"]),
    (["-p", "workspace", "read", "/etc/passwd"], 0, ["root file system"]),
    (["-p", "workspace", "write", "/etc/passwd"], 1, []),
    (["-p", "workspace", "write", "/tmp/x"], 0, ["scratch"]),
    (["-p", "workspace", "--tmpfs", "/cache", "write", "/cache/x"], 0, ["scratch"]),
]


@pytest.mark.parametrize("path,status", [
    ("HEAD", 2), ("sub/HEAD", 2), (".x/HEAD", 2), (".g/HEAD", 2), (".gi/HEAD", 2), (".gix/HEAD", 2), (".github/HEAD", 2),
    (".GIT/HEAD", 2), ("sub/.git.d/HEAD", 2), (".git/x/HEAD", 2), (".git/HEAD", 0), ("sub/.git/HEAD", 0),
    (".git/logs/HEAD", 0), (".git/refs/remotes/origin/HEAD", 0),
])
def test_explain_of_repositories(policy, path, status):
    """A directory becomes one by this name, and the host's git would take its configuration; git's own may be written."""
    policy("explain", "write", path, status=[status])


@pytest.mark.parametrize("words,status,named", ANSWERS, ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "")
def test_explain(policy, words, status, named):
    options, question = words[:-2], words[-2:]
    if "execute" in words:
        at = words.index("execute")
        options, question = words[:at], words[at:]
    effect = ["allow", "deny", "ask"][status]
    _, text, _ = policy("explain", *options, *question, status=[status])
    assert text.startswith(f"{effect} {question[0]} ")
    for name in named:
        assert name in text, text
    _, text, _ = policy("explain", "--json", *options, *question, status=[status])
    document = json.loads(text)
    assert (document["effect"], document["operation"]) == (effect, question[0])


def test_a_mount_that_is_read_only_says_so(cell, policy):
    _, text, _ = policy("explain", "-w", f"{cell.workspace}:ro", "write", "a", status=[1])
    assert "read-only" in text


def test_links_are_followed_as_in_the_cell(cell, policy):
    cell.write(".env", "secret")
    (cell.workspace / "plain").symlink_to(".env")
    (cell.workspace / "absolute").symlink_to("/workspace/.env")
    (cell.workspace / "outside").symlink_to(cell.workspace / ".env")
    (cell.workspace / "up").symlink_to("sub/../.env")
    cell.write("sub/f")
    for name in ("plain", "absolute", "up", "sub/../plain"):
        policy("explain", "read", name, status=[1])
    policy("explain", "read", "sub/f", status=[0])
    (cell.workspace / "loop").symlink_to("loop")
    policy("explain", "read", "loop", status=[0, 1])


def test_a_directory_is_one(cell, policy):
    path = cell.policy([{"pattern": "docs/**", "operations": ["list"], "effect": "allow"}])
    cell.write("docs/a")
    policy("explain", "-p", path, "list", "docs", status=[0])
    policy("explain", "-p", path, "list", "docs/", status=[0])
    policy("explain", "-p", path, "list", "other/", status=[1])
    policy("explain", "-p", path, "list", ".", status=[1])


def test_relative_targets_start_at_the_working_directory(cell, policy):
    cell.write("sub/f")
    _, text, _ = policy("explain", "read", "f", cwd=cell.workspace)
    assert "/workspace/f" in text
    _, text, _ = policy("explain", "-w", cell.workspace, "read", "f", cwd=cell.workspace / "sub")
    assert "/workspace/sub/f" in text
    _, text, _ = policy("explain", "--cwd", "/tmp", "read", "f")
    assert "/tmp/f" in text


def test_a_project_only_tightens(cell, policy):
    cell.write(".toolcell.json", json.dumps({"version": 1, "rules": [
        {"pattern": "src/**", "operations": ["read"], "effect": "deny", "reason": "mine"},
        {"pattern": "**/.env", "operations": ["read"], "effect": "allow"}]}))
    policy("explain", "read", "src/a", status=[0])
    _, text, _ = policy("explain", "--project-policy", "read", "src/a", status=[1])
    assert "mine" in text and ".toolcell.json" in text
    policy("explain", "--project-policy", "read", ".env", status=[1])


def test_run_does_as_explained(cell, policy):
    """Whether a call starts is what explain says of it."""
    rules = [{"pattern": "/usr/bin/true", "operations": ["execute"], "effect": "allow", "priority": 1},
             {"pattern": "**", "operations": ["execute"], "effect": "deny"}]
    path = cell.policy(rules)
    for program, status in (("true", 0), ("/usr/bin/true", 0), ("/bin/true", 1), ("false", 1)):
        explained, _, _ = policy("explain", "-p", path, "execute", program, status=[0, 1])
        assert explained == status, program
        done = cell.plain(program, policy=path)
        assert (done.status == 126) == (status == 1), (program, done)


# ---- show and check ----

@pytest.mark.parametrize("name", PRESETS)
def test_what_show_prints_is_the_same_policy(cell, policy, name):
    _, text, _ = policy("show", name)
    schema("policy").validate(json.loads(text))
    again = cell.policy()
    again.write_text(text)
    _, second, _ = policy("show", again)
    assert json.loads(second) == json.loads(text)
    assert policy("show", "-p", name)[1] == text


def test_show_merges(cell, policy):
    path = cell.policy([{"pattern": "a", "operations": ["read"], "effect": "deny", "priority": 1000}], extends="workspace",
                       limits={"wall": "5s"})
    document = json.loads(policy("show", path)[1])
    assert document["rules"][0]["pattern"] == "a" and len(document["rules"]) > 40
    assert document["limits"]["wall"] and "extends" not in document


def test_check(cell, policy):
    for name in PRESETS:
        _, text, error = policy("check", name)
        assert text.splitlines()[-1].startswith(f"{name}: valid, ") and error == ""
    path = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"},
                        {"pattern": "never", "operations": ["read"], "effect": "deny"},
                        {"pattern": "[open", "operations": ["read"], "effect": "deny", "priority": 1}])
    _, text, _ = policy("check", path)
    assert "/rules/1" in text and "/rules/2" in text and "2 warnings" in text
    document = json.loads(policy("check", "--json", path)[1])
    assert document["rules"] == 3 and len(document["warnings"]) == 2


def test_check_compares_with_the_host(cell, policy):
    """Links on the way of a pattern, and trees that are mounted twice; in what run would take for the workspace."""
    for name in ("real", "data/sub"):
        (cell.workspace / name).mkdir(parents=True)
    (cell.workspace / "link").symlink_to("real")
    path = cell.policy([{"pattern": pattern, "operations": ["read"], "effect": "deny"}
                        for pattern in ("link/x", "/workspace/link/**", "link", "real/x", "link*/x", "/bin/**")] +
                       [{"pattern": "**", "operations": "all", "effect": "allow"}])

    def warned(*words, **more):
        return json.loads(policy("check", "--json", *words, path, **more)[1])["warnings"]

    lines = warned()
    assert [line.split(": ")[1] for line in lines] == ["/rules/0", "/rules/1", *(["/rules/5"] if lines[2:] else [])]
    assert all("'/workspace/link', a symbolic link to 'real'" in line for line in lines[:2])
    assert [line for line in warned("-w", cell.workspace / "real") if "/workspace" in line] == []
    assert warned("-m", f"{cell.workspace}/data:/data")[-1].startswith(f"'{cell.workspace}/data' (/data) and ")
    assert "are the same directory" in warned("-m", f"{cell.workspace}:/again")[-1]
    other = cell.directory("other")
    assert warned("-m", f"{other}:/other") == lines, "apart"
    cell.write("a", "", where=other)
    (other / "b").hardlink_to(other / "a")
    assert "are the same file" in warned("-m", f"{other}/a:/a", "-m", f"{other}/b:/b")[-1]
    assert "does not exist" in policy("check", "-w", cell.workspace / "none", path, status=(125,))[2]


def test_check_where_nothing_can_be_compared(cell, policy):
    """Whoever names no tree is told, and has the rules checked all the same."""
    path = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    gone = cell.directory("gone")
    done = cell.spawn(["sh", "-c", f"cd {gone}; rmdir {gone}; exec {cell.binary} policy check {path}"])
    text, errors = done.communicate(timeout=30)
    assert done.returncode == 0 and b"not compared with the host: " in text and b"1 warning" in text and errors == b""


# ---- plan ----

@pytest.mark.parametrize("name", PRESETS)
def test_plan(policy, name):
    _, text, _ = policy("plan", "-p", name, "--", "sh", "-c", "true")
    assert "/workspace" in text and "mediat" in text
    schema("plan").validate(json.loads(policy("plan", "-p", name, "--json", "--", "sh", "-c", "true")[1]))


def test_plan_without_a_program_is_about_a_shell(policy):
    assert "/bin/sh" in policy("plan")[1]


def test_the_plan_is_the_one_that_runs(cell, policy):
    """The same options give the hash that start tells."""
    path = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    options = ["-w", cell.workspace, "-p", path, "--timeout", "20s", "--env", "A=1", "--json", "--", "true"]
    document = json.loads(policy("plan", *options)[1])
    start = cell.run("true", policy=path, options=["--timeout", "20s", "--env", "A=1"]).succeeded().of("start")[0]
    assert document["hash"] == start["plan"] if "hash" in document else start["plan"] in json.dumps(document)
    assert start["policy"] in json.dumps(document)


def test_control_characters_stay_off_the_terminal(cell, policy):
    hostile = "a\x1b[31m\x07"
    path = cell.policy([{"pattern": hostile, "operations": ["read"], "effect": "deny", "reason": hostile}])
    named = path.with_name("test-\x1b[1m.json")
    named.write_text(path.read_text())
    named.chmod(0o644)
    for words in (["explain", "-p", named, "read", hostile], ["explain", "-p", path, "read", hostile], ["check", named],
                  ["plan", "-p", named, "--env", f"A={hostile}", "--", hostile], ["show", named]):
        _, text, error = policy(*words, status=[0, 1, 125])
        assert "\x1b" not in text + error and "\x07" not in text + error, words


@pytest.mark.parametrize("rules, words, status, strength", [
    ([{"pattern": "**", "operations": "all", "effect": "allow"}], ["read", "a"], 0, "kernel"),
    ([{"pattern": "**", "operations": "all", "effect": "allow"},
      {"pattern": "a", "operations": ["edit"], "effect": "deny", "priority": 1}], ["edit", "a"], 1, "advisory"),
    ([{"pattern": "**/a", "operations": ["read"], "effect": "deny", "priority": 1},
      {"pattern": "**", "operations": "all", "effect": "allow"}], ["read", "a"], 1, "mediated"),
    ([{"pattern": "b", "operations": ["read"], "effect": "allow"}], ["write", "a"], 1, None),
])
def test_explain_names_the_strength(policy, cell, rules, words, status, strength):
    file = cell.policy(rules)
    _, text, _ = policy("explain", "-p", str(file), *words, status=[status])
    assert (f"\n  strength {strength}: " in text) == (strength is not None), text
    _, text, _ = policy("explain", "--json", "-p", str(file), *words, status=[status])
    document = json.loads(text)
    assert document["strength"] == strength
    assert (document["mechanism"] is None) == (strength is None)
