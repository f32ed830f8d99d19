# SPDX-License-Identifier: Apache-2.0
"""policy/schema/policy.json says what policy files are: presets and vectors hold, what the reader refuses is refused."""

import json

import jsonschema
import pytest

from harness import SOURCE

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
