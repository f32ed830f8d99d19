# SPDX-License-Identifier: Apache-2.0
"""policy/schema/policy.json says what policy files are: presets and vectors hold, what the reader refuses is refused."""

import json
import subprocess

import jsonschema
import pytest

from harness import SLACK, SOURCE

SCHEMA = json.loads((SOURCE / "policy" / "schema" / "policy.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
VECTORS = SOURCE / "tests" / "vectors"


def vectors(name):
    """Each vector of a file; comments begin with a slash."""
    for line in (VECTORS / name).read_text().splitlines():
        if line and not line.startswith("/"):
            yield json.loads(line)


def without_comments(text):
    """What stands in vectors has comments to the end of the line only, and no slashes in strings after a blank."""
    return "\n".join(line.split(" // ")[0] for line in text.splitlines())


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", sorted((SOURCE / "policy" / "presets").glob("*.json")), ids=lambda path: path.stem)
def test_presets(path):
    VALIDATOR.validate(json.loads(path.read_text()))


@pytest.mark.parametrize("path", sorted(VECTORS.rglob("*.json")), ids=lambda path: path.stem)
def test_rulesets_of_vectors(path):
    VALIDATOR.validate(json.loads(without_comments(path.read_text())))


@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_policies_of_vectors(path):
    for vector in vectors(path.name):
        if "policy" in vector:
            VALIDATOR.validate(vector["policy"])
        if "project" in vector:
            VALIDATOR.validate(json.loads(vector["project"]))


def test_malformed():
    """Whatever the reader refuses as JSON of the wrong shape, the schema refuses; `schema` marks what it cannot see."""
    for vector in vectors("malformed.jsonl"):
        try:
            document = json.loads(vector["text"], object_pairs_hook=once)
        except ValueError:
            continue
        accepted = VALIDATOR.is_valid(document)
        assert accepted == vector.get("schema", False), vector


def once(pairs):
    """An object whose keys stand once and without NUL."""
    found = dict(pairs)
    if len(found) != len(pairs) or any("\0" in value for value in found.values() if isinstance(value, str)):
        raise ValueError("given twice")
    return found


# ---- what the program prints ----

EXPLAIN = json.loads((SOURCE / "policy" / "schema" / "explain.json").read_text())
PRESETS = ["readonly", "default", "permissive", "strict", "workspace", "git"]
STATUS = {"allow": 0, "deny": 1, "ask": 2}


def run(binary, *arguments, directory):
    return subprocess.run([binary, "policy", *arguments], capture_output=True, cwd=directory, timeout=10 * SLACK, check=False)


@pytest.mark.parametrize("preset", PRESETS)
def test_explain(binary, tmp_path, preset):
    """Explain prints what its schema says, exits accordingly, and decides as the vectors of presets do."""
    validator = jsonschema.Draft202012Validator(EXPLAIN)
    chosen = [vector for vector in vectors("presets.jsonl") if vector["preset"] == preset][::9]
    for vector in chosen:
        if not vector["path"].startswith("/workspace") or vector["operation"] in ("execute", "list"):
            continue
        done = run(binary, "explain", "-p", preset, "--json", vector["operation"], vector["path"], directory=tmp_path)
        answer = json.loads(done.stdout)
        validator.validate(answer)
        assert answer["effect"] == vector["effect"], vector
        assert answer["rule"]["pattern"] == vector["pattern"], vector
        assert done.returncode == STATUS[vector["effect"]]
    for target in ["example.org:443", "192.0.2.1:80", "[2001:db8::1]:443", "unix:/workspace/s"]:
        done = run(binary, "explain", "-p", preset, "--json", "connect", target, directory=tmp_path)
        validator.validate(json.loads(done.stdout))


@pytest.mark.parametrize("preset", PRESETS)
def test_show(binary, tmp_path, preset):
    """What show prints is a policy file, which shows as itself."""
    done = run(binary, "show", preset, directory=tmp_path)
    shown = json.loads(done.stdout)
    VALIDATOR.validate(shown)
    (tmp_path / "shown.json").write_bytes(done.stdout)
    again = run(binary, "show", "./shown.json", directory=tmp_path)
    assert json.loads(again.stdout) == shown


def test_check_names_the_place(binary, tmp_path):
    """Every malformed policy of the vectors: exit 125 and its one line."""
    for vector in list(vectors("malformed.jsonl"))[::5]:
        (tmp_path / "policy.json").write_text(vector["text"])
        done = run(binary, "check", "./policy.json", directory=tmp_path)
        assert done.returncode == 125, vector
        expected = vector["message"].replace("only presets can be extended here", "open")
        assert done.stderr.decode().startswith("toolcell: ./" + expected), (vector, done.stderr)
        assert done.stderr.count(b"\n") == 1 and not done.stdout, vector
