# SPDX-License-Identifier: Apache-2.0
"""Checks that other programs do: clang-format, clang, scdoc, bash, shellcheck, Python, jsonschema."""
import concurrent.futures
import json
import os
import shutil
import subprocess

from linting import words


def run(tree, command, **options):
    """Run a program in the tree; return (status, output of both streams)."""
    done = subprocess.run(command, cwd=tree.top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)
    return done.returncode, done.stdout


def missing(program):
    """Return a finding when a program is not installed."""
    return [] if shutil.which(program) else [f"{program} is not installed (tools/check installs it)"]


def each(tree, names, command):
    """Run a command on each name, two at a time; return findings."""
    def one(name):
        status, output = run(tree, command(name))
        return [f"{name}: {output.strip() or 'exit status %d' % status}"] if status else []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(one, names), [])


def check_format(tree):
    """clang-format over every C file."""
    names = tree.under("src", ".c", ".h") + tree.under("tests", ".c", ".h") + tree.under("tools", ".c", ".h")
    if missing("clang-format") or not names:
        return missing("clang-format"), []
    status, output = run(tree, ["clang-format", "--dry-run", "-Werror", *names])
    lines = [line for line in output.splitlines() if ": error:" in line]
    files = sorted({line.split(":")[0] for line in lines})
    return ([f"{name}: not formatted (clang-format -i {name})" for name in files]
            or ([output] if status else [])), [f"{len(names)} files"]


def check_documentation(tree):
    """Each header compiles alone and its documentation comments are right."""
    if missing("clang"):
        return missing("clang"), []
    names = tree.under("src", ".h")
    reports = each(tree, names, lambda name: [
        "clang", "-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-Isrc", "-x", "c", "-Wdocumentation",
        "-Wno-pragma-once-outside-header", "-Werror", name])
    # A header is reported again by each that includes it.
    lines = {line for report in reports for line in report.splitlines() if "error:" in line}
    return sorted(lines) or reports, [f"{len(names)} headers"]


def check_man(tree):
    """scdoc over every page."""
    names = tree.match("*.scd")
    if missing("scdoc"):
        return missing("scdoc"), []
    findings = []
    for name in names:
        status, output = run(tree, ["scdoc"], input=tree.text(name))
        if status:
            findings.append(f"{name}: {output.strip()}")
    return findings, [f"{len(names)} pages"]


def scripts(tree, interpreter):
    """Return files whose first line names an interpreter."""
    return [name for name in tree.files
            if (tree.text(name) or "").startswith("#!") and interpreter in tree.text(name).split("\n", 1)[0]]


def check_shell(tree):
    """bash -n, and shellcheck."""
    names = sorted(set(scripts(tree, "bash") + scripts(tree, "/sh") + tree.match("*.sh")))
    findings = each(tree, names, lambda name: ["bash", "-n", name])
    if missing("shellcheck") or not names:
        return findings + missing("shellcheck"), []
    status, output = run(tree, ["shellcheck", "-x", "-P", "SCRIPTDIR", "-e", "SC1091", "-f", "gcc", *names])
    return findings + (output.splitlines() if status else []), [f"{len(names)} scripts"]


def check_python(tree):
    """Compile every Python file in memory."""
    names = sorted(set(scripts(tree, "python") + tree.match("*.py")))
    findings = []
    for name in names:
        try:
            compile(tree.text(name), name, "exec")
        except SyntaxError as problem:
            findings.append(f"{name}:{problem.lineno}: {problem.msg}")
    return findings, [f"{len(names)} files"]


def check_schemas(tree):
    """JSON parses; schemas are schemas."""
    findings = []
    names = [name for name in tree.match("*.json") if not words.is_data(name)]
    for name in names:
        try:
            document = json.loads(tree.text(name))
        except ValueError as problem:
            # Policy files may have comments; toolcell's own reader tests those.
            if not tree.excepted("json", name):
                findings.append(f"{name}: {problem}")
            continue
        if name.startswith("policy/schema/"):
            findings += check_schema(name, document)
    return findings, [f"{len(names)} files"]


def check_schema(name, document):
    """Return what is wrong with one schema."""
    try:
        import jsonschema
    except ImportError:
        return ["python3-jsonschema is not installed (tools/check installs it)"]
    if "$schema" not in document:
        return [f"{name}: no $schema"]
    try:
        jsonschema.validators.validator_for(document).check_schema(document)
    except jsonschema.SchemaError as problem:
        return [f"{name}: {problem.message}"]
    return []
