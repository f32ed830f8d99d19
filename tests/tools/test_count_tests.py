# SPDX-License-Identifier: Apache-2.0
"""tools/count_tests.py counts the points of TAP programs, and other programs as one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "count_tests.py"


@pytest.mark.parametrize("tests, counts", [
    ([("OK", "ok 1 - a\nok 2 - b\n1..2\n")], "2 0 0"),
    ([("FAIL", "ok 1 - a\nnot ok 2 - b\n")], "1 1 0"),
    ([("OK", "ok 1 - a\nok 2 - b # SKIP no such thing\n")], "1 0 1"),
    ([("OK", "okay\n")], "1 0 0"),
    ([("OK", "")], "1 0 0"),
    ([("FAIL", "")], "0 1 0"),
    ([("TIMEOUT", "ok 1 - a\n")], "1 1 0"),
    ([("ERROR", "ok 1 - a\nok 2 - b\n")], "2 1 0"),
    ([("SKIP", "")], "0 0 1"),
    ([("OK", "ok 1\n"), ("FAIL", "not ok 1\n"), ("OK", None)], "2 1 0"),
])
def test_counts(tmp_path, tests, counts):
    log = tmp_path / "testlog.json"
    log.write_text("".join(json.dumps({"name": "t", "result": result, "stdout": text}) + "\n" for result, text in tests))
    subprocess.run([sys.executable, SCRIPT, log, tmp_path / "counts", tmp_path / "closing"], check=True)
    assert (tmp_path / "counts").read_text().strip() == counts
    assert (tmp_path / "closing").read_text().startswith(f"{len(tests)} programs")
