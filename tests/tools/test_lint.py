# SPDX-License-Identifier: Apache-2.0
"""tools/lint finds what it says it finds: each rule is shown one file that breaks it and one that does not."""

import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))

from linting import layers, programs, sizes, tree, words  # noqa: E402 - the path above comes first

LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"


@pytest.fixture
def make(tmp_path):
    """Lay out files and return them as a Tree."""
    def lay_out(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tree.Tree(tmp_path)
    return lay_out


@pytest.mark.parametrize("name, include, fine", [
    ("src/policy/a.c", '"base/error.h"', True),
    ("src/policy/a.c", '"policy/load.h"', True),
    ("src/policy/a.c", '"kernel/mount.h"', False),
    ("src/policy/a.c", '"plan/plan.h"', False),
    ("src/policy/a.c", "<sys/mount.h>", False),
    ("src/policy/a.c", "<linux/landlock.h>", False),
    ("src/policy/a.c", "<string.h>", True),
    ("src/base/a.c", '"policy/load.h"', False),
    ("src/kernel/a.c", '"policy/load.h"', False),
    ("src/kernel/a.c", "<sys/mount.h>", True),
    ("src/cell/a.c", '"init/protocol.h"', True),
    ("src/cell/a.c", '"init/block.h"', False),
    ("src/cell/a.c", '"policy/load.h"', False),
    ("src/init/a.c", '"base/error.h"', False),
    ("src/supervise/a.c", '"cell/cell.h"', True),
    ("src/plan/a.c", '"cell/cell.h"', False),
    ("src/cli/a.c", '"supervise/supervise.h"', True),
    ("src/base/a.c", '"elsewhere/a.h"', False),
    ("tests/unit/policy/test_a.c", '"policy/load.h"', True),
    ("tests/unit/policy/test_a.c", '"plan/plan.h"', False),
])
def test_layers(make, name, include, fine):
    findings, _ = layers.check(make({name: f"#include {include}\n"}))
    assert (findings == []) == fine, findings


def test_a_directory_that_is_no_layer(make):
    assert layers.check(make({"src/util/a.c": ""}))[0]


def test_header_cycles(make):
    files = {"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/c.h"\n', "src/base/c.h": ""}
    assert layers.check(make(files))[0] == []
    findings, _ = layers.check(make(files | {"src/base/c.h": '#include "base/a.h"\n'}))
    assert findings == ["cycle: base/a.h -> base/b.h -> base/c.h -> base/a.h"]


def function(lines):
    return LICENCE + "int f(void)\n{\n" + "    g();\n" * lines + "}\n"


@pytest.mark.parametrize("text, fine", [
    (function(80), True), (function(81), False), (LICENCE + "int a;\n" * 399, True), (LICENCE + "int a;\n" * 400, False),
])
def test_sizes(make, text, fine):
    assert (sizes.check(make({"src/base/a.c": text}))[0] == []) == fine


def test_an_exception_needs_a_reason_and_a_use(make):
    files = {"src/base/a.c": function(90), "tools/lint.exceptions": "function src/base/a.c:f # a table of states\n"}
    source = make(files)
    assert sizes.check(source)[0] == [] and source.unused_exceptions() == []
    assert tree.Tree(make(files | {"src/base/a.c": function(1)}).top).unused_exceptions() == ["function src/base/a.c:f"]
    with pytest.raises(SystemExit):
        make(files | {"tools/lint.exceptions": "function src/base/a.c:f\n"})


@pytest.mark.parametrize("line, fine", [
    ("strcpy(a, b);", False), ("system(a);", False), ("x = strtok(a, b);", False), ("alloca(3);", False),
    ("/* strcpy(a, b) is not safe */", True), ('puts("system(1)");', True), ("file_system(a);", True),
    ("ops->system(a);", True), ("snprintf(a, 1, b);", True), ("// system(1)", True),
])
def test_banned_functions(make, line, fine):
    assert (words.check_words(make({"src/base/a.c": line + "\n"}))[0] == []) == fine


@pytest.mark.parametrize("line, fine", [
    ("see /wor" "k/main", False), ("see /workspace", True), ("../wor" "k/x", True), ("TO" "DO: later", False),
    ("as in iss" "ue 7", False), ("see #" "12", False), ("owner/project#" "12, #" "13", True), ("#if 0", True),
])
def test_words(make, line, fine):
    assert (words.check_words(make({"notes.md": line + "\n"}))[0] == []) == fine


@pytest.mark.parametrize("name, text, fine", [
    ("a.c", LICENCE, True), ("a.c", "int a;\n", False), ("a.c", LICENCE + "int a; \n", False),
    ("a.c", LICENCE + "\tint a;\n", False), ("a.c", LICENCE + "int a;", False), ("a.c", LICENCE + "\n", False),
    ("script", "#!/bin/sh\necho\n", False), ("script", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n", True),
    ("tests/vectors/a.jsonl", "{}  ", True), ("tests/fuzz/base/corpus/glob/a", b"\xff\xfe", True),
])
def test_text(make, name, text, fine):
    assert (words.check_text(make({name: text}))[0] == []) == fine


@pytest.mark.parametrize("subject, fine", [
    ("base: add text and paths", True), ("tests/system: cover it", True), ("cell, init: part them", True),
    ("Base: add", False), ("add text", False), ("base: add.", False), ("base:add", False),
])
def test_subjects(subject, fine):
    assert bool(words.SUBJECT.match(subject)) == fine


@pytest.mark.parametrize("text, fine", [
    ('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}', True),
    ('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "objekt"}', False),
    ('{"type": "object"}', False), ("{", False),
])
def test_schemas(make, text, fine):
    assert (programs.check_schemas(make({"policy/schema/a.json": text}))[0] == []) == fine


@pytest.mark.parametrize("text, fine", [("print(1)\n", True), ("print(\n", False)])
def test_python(make, text, fine):
    assert (programs.check_python(make({"a.py": text}))[0] == []) == fine
