# SPDX-License-Identifier: Apache-2.0
"""The schema of the events, as a validator and as a check of whole lists. Run it to check NDJSON on stdin."""

import json
import sys
from pathlib import Path

import jsonschema

SCHEMA = Path(__file__).resolve().parents[2] / "policy" / "schema" / "event.json"


def validator(path=SCHEMA):
    """A validator of single events."""
    schema = json.loads(Path(path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(events, path=SCHEMA):
    """Raise ValueError unless the list is the whole, well-formed story of one call."""
    validate = validator(path)
    for number, event in enumerate(events):
        for error in validate.iter_errors(event):
            raise ValueError(f"event {number}: /{'/'.join(map(str, error.absolute_path))}: {error.message}")
    kinds = [event["event"] for event in events]
    if kinds.count("result") != 1 or kinds[-1] != "result":
        raise ValueError(f"exactly one result, last: {kinds}")
    if len(kinds) > 1 and (kinds[0] != "start" or kinds.count("start") != 1):
        raise ValueError(f"exactly one start, first: {kinds}")
    if len({event["id"] for event in events}) != 1:
        raise ValueError("events of several calls")
    times = [event["t"] for event in events]
    if times != sorted(times):
        raise ValueError("t goes back")


if __name__ == "__main__":
    lines = sys.stdin.buffer.read().splitlines(keepends=True)
    for number, line in enumerate(lines):
        if len(line) > 65536 or not line.endswith(b"\n"):
            sys.exit(f"line {number}: {len(line)} bytes")
    check([json.loads(line) for line in lines])
