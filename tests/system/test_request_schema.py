# SPDX-License-Identifier: Apache-2.0
"""policy/schema/request.json says what the program reads: samples hold, and what the schema rejects is rejected."""

import copy
import json
import re
import subprocess

import jsonschema
import pytest

from harness import SLACK, SOURCE

SCHEMA = json.loads((SOURCE / "policy" / "schema" / "request.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CORPUS = SOURCE / "tests" / "fuzz" / "cli" / "corpus" / "request"
FULL = json.loads((CORPUS / "full.json").read_text())
WRONG = [None, True, 7, -1, 0.5, "", "x", "none", [], ["x"], [None], {}, {"x": 1}, {"base64": "!"}]


def example():
    """The request in the manual."""
    page = (SOURCE / "man" / "toolcell-run.1.scd").read_text()
    return json.loads(re.search(r"# REQUEST\n.*?```\n(.*?)```", page, re.S)[1])


@pytest.fixture
def accepts(binary, tmp_path):
    """Whether the program reads a document as a request, without running anything."""
    def run(document):
        done = subprocess.run([binary, "policy", "show", "--request", "-"], input=json.dumps(document).encode(),
                              capture_output=True, cwd=tmp_path, timeout=10 * SLACK, check=False)
        assert done.returncode in (0, 125), done
        if done.returncode:
            assert done.stderr.startswith(b"toolcell: ") and done.stderr.count(b"\n") == 1, done.stderr
        return done.returncode == 0

    return run


def places(value, path=()):
    """Every place in a document, outermost first; a policy is another format's matter."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def replaced(document, path, value):
    if not path:
        return value
    copied = copy.deepcopy(document)
    at = copied
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copied


def without(document, path):
    copied = copy.deepcopy(document)
    at = copied
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return copied


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["manual", "full", "minimal", "policy"])
def test_samples_hold(accepts, name):
    document = example() if name == "manual" else json.loads((CORPUS / f"{name}.json").read_text())
    VALIDATOR.validate(document)
    assert accepts(document)


def test_the_schema_knows_every_key():
    assert set(example()) == set(SCHEMA["properties"])


@pytest.mark.parametrize("path", places(FULL), ids=lambda path: "/" + "/".join(map(str, path)))
def test_what_the_schema_rejects_is_rejected(accepts, path):
    """Each place of a full request with each wrong value, left out, and with an unknown key beside it."""
    tried = [replaced(FULL, path, value) for value in WRONG]
    if path:
        tried.append(without(FULL, path))
    at = FULL
    for key in path:
        at = at[key]
    if isinstance(at, dict):
        tried.append(replaced(FULL, path, {**at, "unknown": 1}))
    for document in tried:
        if not VALIDATOR.is_valid(document):
            assert not accepts(document), document


TEXTS = {
    ("limits", "wall"): ["30", "30s", "500ms", "1.5m", "2h", "30 s", "-1s", "1d", "0s", "s"],
    ("limits", "memory"): ["1", "64K", "512M", "2G", "1T", "1.5M", "1KB", "1k", "0", "-1"],
    ("limits", "cpus"): ["1", "0.5", "many", "-1", "1e3", "0"],
    ("limits", "open_files"): ["1", "1000", "1K", "0", "1.5"],
    ("limits", "output"): ["1M", "1M:stop", "1M:go", ":stop"],
    ("net",): ["none", "host", "lan"],
    ("ask",): ["deny", "maybe"],
    ("workspace", "mode"): ["ro", "rw", "tools", "RO"],
    ("mounts", 0, "mode"): ["ro", "rw", "tools", "txn"],
    ("mounts", 0, "target"): ["/x", "@same", "x", "@other"],
}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: "/".join(map(str, path)))
def test_words_are_judged_alike(accepts, path):
    for text in TEXTS[path]:
        document = replaced(FULL, path, text)
        assert accepts(document) == VALIDATOR.is_valid(document), text
