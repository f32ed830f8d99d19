# SPDX-License-Identifier: Apache-2.0
"""What may not stand in the text: banned functions, machine paths, leftovers; and how commits are titled."""
import re
import subprocess

BANNED = {
    "strcpy": "tc_text or snprintf", "strcat": "struct tc_buf", "strncpy": "snprintf", "strncat": "struct tc_buf",
    "stpcpy": "struct tc_buf", "sprintf": "snprintf", "vsprintf": "vsnprintf", "gets": "read",
    "system": "posix_spawn", "popen": "posix_spawn", "strtok": "strtok_r or tc_text", "alloca": "an arena",
    "strdupa": "an arena", "mktemp": "mkstemp", "tmpnam": "mkstemp", "tempnam": "mkstemp", "tmpfile": "memfd_create",
    "atoi": "tc_text", "atol": "tc_text", "atof": "strtod", "rand": "getrandom", "srand": "getrandom",
    "random": "getrandom", "readdir_r": "readdir", "asctime": "strftime", "ctime": "strftime", "gmtime": "gmtime_r",
    "localtime": "localtime_r", "strerror": "tc_error", "setjmp": "error codes", "longjmp": "error codes",
    "vfork": "clone in src/cell", "abort": "error codes", "usleep": "clock_nanosleep", "signal": "sigaction",
}
BANNED_CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
WORDS = [
    (re.compile(r"(?<![\w.])/wor" r"k/(?!/)"), "a path of one machine"),
    (re.compile(r"\bissues? #?\d+", re.I), "a ticket number"),
    (re.compile(r"(?<![&\w/])#\d+\b(?! *(define|if|x))"), "a ticket number"),
    (re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), "a leftover marker"),
    (re.compile(r"\b(deb\.debian\.org|registry\.npmjs\.org|proxy\.golang\.org|crates\.io|files\.pythonhosted)\b"),
     "the name of a registry host"),
]
PUBLIC_SOURCE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
SUBJECT = re.compile(r"^[a-z][a-z0-9_/.-]*(, ?[a-z][a-z0-9_/.-]*)*: \S.*[^.\s]$")
SPDX = re.compile(r"SPDX-License-Identifier: Apache-2\.0")
NEEDS_SPDX = (".c", ".h", ".S", ".py", ".sh", ".scd", "meson.build", "meson_options.txt")
# Data of others and bytes that are inputs of tests.
DATA = ("tests/vectors/", "LICENSE")
TEXT_SUFFIXES = NEEDS_SPDX + (".md", ".json", ".jsonl", ".txt", ".supp", ".suppressions", ".exceptions")


def is_data(name):
    """True for inputs of tests, which are as they are."""
    return name.startswith(DATA) or "/corpus/" in name


def is_script(tree, name):
    """True for a file that starts with an interpreter line."""
    return (tree.text(name) or "").startswith("#!")


def check_text(tree):
    """Return lines that break the plain rules of text."""
    findings = []
    for name in tree.files:
        text = tree.text(name)
        if is_data(name) or not text or not (name.endswith(TEXT_SUFFIXES) or is_script(tree, name)):
            continue
        if (name.endswith(NEEDS_SPDX) or is_script(tree, name)) and not SPDX.search("\n".join(text.splitlines()[:3])):
            findings.append(f"{name}: no SPDX licence line among the first three")
        if not text.endswith("\n") or text.endswith("\n\n"):
            findings.append(f"{name}: must end in exactly one newline")
        for number, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                findings.append(f"{name}:{number}: trailing blanks")
            # scdoc indents lists and literal text with tabs.
            if "\t" in line and not name.endswith(".scd"):
                findings.append(f"{name}:{number}: a tab")
    return findings, []


def check_words(tree):
    """Return banned functions in C and words that do not belong into the repository."""
    findings = []
    for name in tree.files:
        text = tree.text(name)
        if text is None or is_data(name):
            continue
        if name.endswith((".c", ".h")) and name.startswith("src/"):
            for number, line in enumerate(tree.code(name).split("\n"), 1):
                for match in BANNED_CALL.finditer(line):
                    if not tree.excepted("banned", f"{name}:{match.group(1)}"):
                        findings.append(f"{name}:{number}: {match.group(1)}() is banned; use {BANNED[match.group(1)]}")
        for number, line in enumerate(text.split("\n"), 1):
            for pattern, what in WORDS:
                match = pattern.search(line)
                # "owner/project#12" is a source, like a man page.
                if match and not (what == "a ticket number" and PUBLIC_SOURCE.search(line)) and not tree.excepted("word", f"{name}:{match.group()}"):
                    findings.append(f"{name}:{number}: '{match.group()}': {what}")
    return findings, []


def check_subjects(tree):
    """Return commits whose subject has another form."""
    if not (tree.top / ".git").exists():
        return [], ["no history here"]
    log = subprocess.run(["git", "-c", "safe.directory=*", "log", "--no-merges", "--abbrev=8", "--format=%h %s"], cwd=tree.top,
                         check=True, capture_output=True, text=True).stdout.splitlines()
    findings = []
    for line in log:
        commit, _, subject = line.partition(" ")
        if (len(subject) > 100 or not SUBJECT.match(subject)) and not tree.excepted("subject", commit):
            findings.append(f"{commit}: subject is not 'module: imperative summary' of at most 100 characters: {subject}")
    return findings, [f"{len(log)} commits"]
