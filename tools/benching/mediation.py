# SPDX-License-Identifier: Apache-2.0
"""What mediation costs: the same work in the same cell, under a static ruleset and under the preset `workspace`.

Work is timed inside the cell (tests/bench/opens.c), so that the start of the call does not dilute it; the start is a row
of its own. The two runs of a pair take turns, and each row gives their medians and the ratio of these.

The rows called floor tell what the kernel asks when another process performs an open, without anything of toolcell:
`continued` stops each open and lets it go on, `performed` reads the path, opens and hands over, and looks at nothing.
"""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

FILES, SIZE, FILES_A_SOURCE = 5000, 2700, 125
# name, command, at most this ratio (None: told only)
WORK = (
    ("python3 -c 'import json'", ["run", "python3", "-c", "import json"], 1.20),
    ("git status, {files} files", ["run", "git", "-C", "repository", "status", "--porcelain"], 1.3),
    ("make -j2, {sources} C files", ["run", "make", "-B", "-j2", "-C", "sources"], 1.6),
    ("grep -r, {files} files of 2.7 KB", ["run", "grep", "-r", "-c", "needle of hay", "repository/tree"], 5),
    ("open and close, 1 opener", ["open", "file", "5000", "1"], 12),
    ("open and close, 8 openers", ["open", "file", "1000", "8"], None),
)
FLOORS = ("continued", "performed")
START = ("start of `true`", ["true"], 1.15)
CELLS = ("static", "mediated")


def count_sources(files):
    """How many C files go with so many files to search."""
    return -(-files // FILES_A_SOURCE)


def fill_workspace(workspace, files, opens, environment):
    """Make what the work is done on."""
    tree = workspace / "repository" / "tree"
    text = ("a line of a file that is neither long nor short\n" * (SIZE // 48 + 1))[:SIZE - 14] + "needle of hay\n"
    for number in range(files):
        directory = tree / str(number // 100)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{number}.txt").write_text(text, encoding="ascii")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", tree.parent] + words, check=True, env=environment)
    sources = workspace / "sources"
    sources.mkdir()
    names = [f"part{number}" for number in range(count_sources(files))]
    for name in names:
        (sources / f"{name}.c").write_text(f"#include <stdio.h>\nvoid {name}(void);\nvoid {name}(void)\n"
                                           "{\n    puts(__func__);\n}\n", encoding="ascii")
    (sources / "Makefile").write_text("CC = /usr/bin/cc\nall: " + " ".join(f"{name}.o" for name in names) + "\n",
                                      encoding="ascii")
    (workspace / "file").write_text("text\n", encoding="ascii")
    shutil.copy2(opens, workspace / "opens")


def take(command, environment, directory=None):
    """Run what prints nanoseconds, return milliseconds."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=directory, check=False)
    if done.returncode != 0 or not done.stdout.strip().isdigit():
        sys.exit(f"bench: {' '.join(map(str, command))} failed with {done.returncode}")
    return int(done.stdout) / 1e6


def take_turns(cells, rounds):
    """Run functions in turn after one warm-up, in a row's other order every other round; return the lists of times."""
    times = {name: [] for name in cells}
    for number in range(rounds + 1):
        for name in sorted(cells, reverse=number % 2 == 1):
            time = cells[name]()
            if number > 0:
                times[name].append(time)
    return times


def make_row(name, times, aim):
    """Return a row of the report."""
    static, mediated = (statistics.median(times[cell]) for cell in CELLS)
    return {"name": name, "static_ms": round(static, 4), "mediated_ms": round(mediated, 4),
            "ratio": round(mediated / static, 2), "aim": aim, "runs": len(times["static"])}


def start_times(spawner, calls, rounds, environment):
    """Return the times of whole calls; the loop that starts them is C, Python's own costs more than what is measured."""
    words = [word for cell in CELLS for word in [","] + calls[cell] + START[1]]
    done = subprocess.run([spawner, "5", str(rounds * 10)] + words, stdout=subprocess.PIPE, text=True, check=True,
                          env=environment)
    times = {cell: [] for cell in CELLS}
    for line in done.stdout.splitlines():
        index, nanoseconds, status = map(int, line.split())
        if status:
            sys.exit(f"bench: the start of a {CELLS[index]} cell failed with status {status}")
        times[CELLS[index]].append(nanoseconds / 1e6)
    return times


def measure(arguments, spawner, policy, directory, environment):
    """Return the rows of the report: pairs with their ratio, then the floors.

    arguments are those of tools/bench; policy is a file with a static ruleset; directory stays the caller's.
    """
    rounds, sizes = arguments.rounds or 9, {"files": arguments.files, "sources": count_sources(arguments.files)}
    workspace = pathlib.Path(directory) / "mediation"
    workspace.mkdir()
    fill_workspace(workspace, arguments.files, arguments.opens, environment)
    run = [os.path.abspath(arguments.binary), "run", "-w", str(workspace)]
    calls = {"static": run + ["-p", policy, "--"], "mediated": run + ["-p", "workspace", "--"]}
    check_mediated(calls["mediated"][:-1], environment)
    rows = [make_row(START[0], start_times(spawner, calls, rounds, environment), START[2])]
    for name, command, aim in WORK:
        work = ["./opens"] + command
        pair = {cell: lambda cell=cell, work=work: take(calls[cell] + work, environment) for cell in CELLS}
        rows.append(make_row(name.format(**sizes), take_turns(pair, rounds), aim))
    native = {"static": lambda: take(["./opens"] + WORK[-2][1], environment, workspace)}
    for floor in FLOORS:
        pair = dict(native, mediated=lambda floor=floor: take(["./opens", floor, "file", "5000"], environment, workspace))
        rows.append(make_row(f"floor: open and close, {floor}", take_turns(pair, rounds), None))
    return rows


def check_mediated(run, environment):
    """End, unless the preset needs the broker here, and has one: else two equal things would be compared."""
    plan = subprocess.run([run[0], "policy", "plan"] + run[2:], stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if "\nneeds a broker" not in plan.stdout or subprocess.run(run + ["true"], env=environment, check=False).returncode != 0:
        sys.exit("bench: the preset is not mediated here")


def print_rows(rows):
    """Print the rows as a table."""
    print(f"\n{'mediation':44} {'static':>11} {'mediated':>11} {'ratio':>7} {'at most':>8}")
    for row in rows:
        small = row["static_ms"] < 0.5
        static, mediated = (row[f"{cell}_ms"] * (1000 if small else 1) for cell in CELLS)
        unit = "us" if small else "ms"
        reached = "" if row["aim"] is None else "  reached" if row["ratio"] <= row["aim"] else "  missed"
        aim = "" if row["aim"] is None else f"{row['aim']:.2f}"
        print(f"{row['name']:44} {static:8.2f} {unit} {mediated:8.2f} {unit} {row['ratio']:7.2f} {aim:>8}{reached}")
