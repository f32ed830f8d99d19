# SPDX-License-Identifier: Apache-2.0
"""Sizes of files and functions. The format puts a function's braces into the first column, so lines are enough."""
import re
import statistics

FILE_LINES = 400
FUNCTION_LINES = 80
NAME = re.compile(r"(\w+)\s*\(")


def functions(text):
    """Yield (name, first line, lines of the body) for each function of C text."""
    start, head = None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            match = NAME.search(head)
            if match:
                yield match.group(1), start, number - start - 1
            start, head = None, ""
        elif start is None and line and not line[0].isspace() and line[0] not in "#/*}":
            head = line


def check(tree):
    """Return what is too long; note the medians."""
    findings, lengths = [], []
    for name in tree.under("src", ".c", ".h") + tree.under("tests", ".c", ".h", ".py") + tree.under("tools", ".py", ".sh"):
        text = tree.text(name) or ""
        lines = text.count("\n")
        if lines > FILE_LINES and not tree.excepted("file", name):
            findings.append(f"{name}: {lines} lines, more than {FILE_LINES}")
        if not name.endswith(".c"):
            continue
        for function, line, length in functions(text):
            if name.startswith("src/"):
                lengths.append(length)
            if length > FUNCTION_LINES and not tree.excepted("function", f"{name}:{function}"):
                findings.append(f"{name}:{line}: {function}() has {length} lines, more than {FUNCTION_LINES}")
    if len(lengths) < 2:
        return findings, []
    deciles = statistics.quantiles(lengths, n=10)
    return findings, [f"{len(lengths)} functions in src/, median {statistics.median(lengths):g} lines, "
                      f"90th percentile {deciles[8]:g}, longest {max(lengths)}"]
