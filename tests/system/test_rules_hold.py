# SPDX-License-Identifier: Apache-2.0
"""Random rules against the kernel: what a command can do in its workspace is what the rules say, no more and no less.

The rules are decided by a matcher of this test's own. What is tried are static plans (whole mounts, unions of subtrees, and
nothing at all) and mediated ones. In those `execute` by name is advisory where all the rest may be executed, and else no more than the rules say, if maybe less.
"""

import json
import random
import re

import pytest

OPERATIONS = ("read", "list", "write", "execute")
ALWAYS = [{"pattern": "/usr/**", "operations": ["execute"], "effect": "allow", "priority": 1000},
          {"pattern": "**", "operations": ["connect"], "effect": "allow", "priority": 1000}]
PATTERNS = ["**"] * 4 + ["a/**", "a", "b/**", "b", "a/b/**", "a/b", "c/**", "f", "a/f", "a/b/f", "/workspace/a/**",
                         "/workspace/**", "/workspace/b", "/workspace/f", "gone/**", "a/gone", "*", "a/*"]
MASKS = [["read"], ["read", "write"], ["read", "execute"], ["read", "write", "execute"], ["write"], ["execute"], ["list"]]
DIRECTORIES = ["", "a", "a/b", "a/c", "b", "b/a", "c"]
NAMES = ["f", ".env", "new\nline"]

PROBE = r"""
import json, os, subprocess, sys
def works(function, *arguments):
    try:
        function(*arguments)
    except (OSError, subprocess.SubprocessError):
        return False
    return True
def create(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)
def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
    os.utime(path)
    os.chmod(path, 0o755)
def read(path):
    with open(path, "rb") as file:
        file.read()
found = {}
for path in json.loads(sys.argv[1])["files"]:
    found[path] = {"read": works(read, path), "write": works(write, path),
                   "execute": works(lambda: subprocess.run([path], check=True, stderr=subprocess.DEVNULL))}
for path in json.loads(sys.argv[1])["directories"]:
    found[path] = {"list": works(os.listdir, path), "write": works(create, path + "/fresh") or works(os.utime, path)}
print(json.dumps(found))
"""


def draw(seed):
    """A ruleset and the mode of the workspace."""
    chance = random.Random(seed)
    rules = [{"pattern": chance.choice(PATTERNS), "operations": chance.choice(MASKS),
              "effect": chance.choice(["allow", "allow", "allow", "deny"]), "priority": chance.randrange(3)}
             for _ in range(chance.randrange(5))]
    return ALWAYS + rules, chance.choice(["rw", "rw", "ro"])


def expression(pattern):
    """The pattern as a regular expression; no sets or escapes are drawn."""
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)), re.S)


def allowed(rules, mode, operation, relative, directory=False):
    """Whether the first matching rule allows an operation on a path of the workspace."""
    if operation == "write" and mode == "ro":
        return False
    absolute = "/workspace" + ("/" + relative if relative else "")
    widened = {"read": ("read",), "list": ("read", "list"), "write": ("write",), "execute": ("execute",)}[operation]
    for rule in sorted(rules, key=lambda rule: -rule["priority"]):
        if not set(rule["operations"]) & set(widened):
            continue
        text = absolute if rule["pattern"].startswith("/") else relative
        slashed = operation == "list" and directory and relative
        if any(expression(rule["pattern"]).fullmatch(each) for each in ((text, text + "/") if slashed else (text,))):
            return rule["effect"] == "allow"
    return False


def fill(cell):
    """The tree; every file is a program, so that executing can be tried."""
    files = [(directory + "/" if directory else "") + name for directory in DIRECTORIES for name in NAMES]
    for name in files:
        cell.write(name, "#!/bin/sh\n")
        (cell.workspace / name).chmod(0o755)
    return files


def probe(cell, rules, mode, files):
    """What worked, by path of the workspace, and whether a broker served it."""
    paths = {"files": ["/workspace/" + name for name in files],
             "directories": ["/workspace" + ("/" + name if name else "") for name in DIRECTORIES]}
    done = cell.run("/usr/bin/python3", "-c", PROBE, json.dumps(paths), policy=cell.policy(rules), workspace=False,
                    options=["-w", f"{cell.workspace}:{mode}"])
    found = {path[len("/workspace/"):]: what for path, what in done.succeeded().answer.items()}
    return found, done.of("start")[0]["enforcement"]["mediation"]


def by_name(rules):
    """Whether what no narrower rule speaks about may be executed."""
    for rule in sorted(rules, key=lambda rule: -rule["priority"]):
        if "execute" in rule["operations"] and rule["pattern"] in ("**", "/workspace/**"):
            return rule["effect"] == "allow"
    return False


def differences(rules, mode, found, mediated):
    """Where the kernel and the rules differ."""
    for relative, what in found.items():
        directory = relative in DIRECTORIES
        for operation, worked in what.items():
            # A directory's own metadata, or a new name in it: one of the two is enough.
            names = [relative, (relative + "/" if relative else "") + "fresh"] if directory and operation == "write" \
                else [relative]
            want = any(allowed(rules, mode, operation, name, directory) for name in names)
            if operation == "execute" and mediated and (not worked or by_name(rules)):
                continue
            if operation == "execute":  # a script is read by its interpreter
                want = want and allowed(rules, mode, "read", relative)
            if worked != want:
                yield f"{operation} of {relative!r} {'works' if worked else 'fails'}"


def check(cell, seeds):
    files = fill(cell)
    tried = {False: 0, True: 0}
    for seed in seeds:
        rules, mode = draw(seed)
        found, mediated = probe(cell, rules, mode, files)
        tried[mediated] += 1
        wrong = list(differences(rules, mode, found, mediated))
        assert not wrong, f"seed {seed}, {mode}: {json.dumps(rules)}: {wrong}"
    return tried


def test_random_rules(cell):
    tried = check(cell, range(40))
    assert tried[False] >= 15 and tried[True] >= 10


@pytest.mark.long
def test_many_random_rules(cell):
    assert min(check(cell, range(1000, 1600)).values()) >= 150
