#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validate the JSON of every golden case against the plan's schema. Usage: check_schema.py GOLDEN SCHEMA CASE..."""
import json
import pathlib
import subprocess
import sys

import jsonschema


def main(golden, schema, *cases):
    """Print a TAP line for each case; the exit status tells whether all were valid."""
    validator = jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema).read_text(encoding="utf-8")))
    plans, failed = 0, 0
    print(f"1..{len(cases) + 1}")
    for number, case in enumerate(cases, 1):
        printed = subprocess.run([golden, "--json", case], check=True, capture_output=True).stdout
        errors = list(validator.iter_errors(json.loads(printed))) if printed else []
        plans += bool(printed)
        failed += bool(errors)
        print(f"{'not ok' if errors else 'ok'} {number} - {pathlib.Path(case).name}")
        for error in errors:
            print(f"# {error.json_path}: {error.message}")
    print(f"{'ok' if plans >= 10 else 'not ok'} {len(cases) + 1} - {plans} cases give a plan")
    return 1 if failed or plans < 10 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
