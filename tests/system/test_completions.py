# SPDX-License-Identifier: Apache-2.0
"""Completions for bash, zsh and fish name exactly the verbs and options that --help names."""

import re
import shutil
import subprocess

import pytest

from harness import SLACK, SOURCE

COMPLETIONS = SOURCE / "completions"
VERBS = ["run", "policy check", "policy explain", "policy plan", "policy show", "doctor"]
PRESETS = {path.stem for path in (SOURCE / "policy" / "presets").glob("*.json")}


def helped(binary, *words):
    return subprocess.run([binary, *words, "--help"], capture_output=True, text=True, timeout=10 * SLACK, check=True).stdout


def options_of_help(binary, verb):
    """{"--json", "-h", "--help", …}"""
    lines = helped(binary, *verb.split()).split("options:\n")[1].split("\n\n")[0]
    return {name for line in re.findall(r"^  +(-.*)$", lines, re.M) for name in re.findall(r"(?:^|, )(--?[a-z][a-z-]*)", line)}


def first_words(binary):
    lines = helped(binary).split("verbs:\n")[1].split("\n\n")[0]
    return set(re.findall(r"^  (\w+)", lines, re.M)) | {"help"}


def needs(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    return shell


def test_files_are_what_the_option_table_says(binary):
    done = subprocess.run([SOURCE / "tools" / "completions", "--check", binary], capture_output=True, text=True, timeout=60 * SLACK)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_check_finds_a_difference(binary, tmp_path):
    """Control: with one file changed in a copy it does not pass."""
    for name in ("completions", "tools", "policy"):
        shutil.copytree(SOURCE / name, tmp_path / name)
    changed = tmp_path / "completions" / "toolcell.fish"
    changed.write_text(changed.read_text().replace(" -l json ", " -l jsn "))
    done = subprocess.run([tmp_path / "tools" / "completions", "--check", binary], capture_output=True, text=True, timeout=60 * SLACK)
    assert done.returncode == 1 and "toolcell.fish" in done.stdout


def test_every_verb_is_known_here(binary):
    assert set(re.findall(r"^  (\w+(?: \w+)?)  ", helped(binary).split("verbs:\n")[1].split("\n\n")[0], re.M)) == set(VERBS)


# ---- bash ----

def bash(*words, cwd=None):
    """What is offered for the last word. "=" is a word of its own, as in bash."""
    script = 'source "$1"; shift; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _toolcell; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", COMPLETIONS / "toolcell.bash", "toolcell", *words],
                          capture_output=True, text=True, timeout=10 * SLACK, check=True, cwd=cwd)
    assert done.stderr == ""
    return {line for line in done.stdout.split("\n") if line}


@pytest.mark.parametrize("verb", VERBS)
def test_bash_options(binary, verb):
    assert bash(*verb.split(), "-") == options_of_help(binary, verb)


def test_bash_verbs(binary):
    assert bash("") == first_words(binary) | {"--help", "--version"}
    assert bash("policy", "") == bash("help", "policy", "") == {verb.split()[1] for verb in VERBS if " " in verb}
    assert bash("help", "") == first_words(binary)


def test_bash_values(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "rules.json").write_text("{}")
    assert bash("run", "--net", "") == bash("run", "--net", "=", "") == {"none", "egress", "host"}
    assert bash("run", "--net", "=", "eg") == bash("run", "--json", "--net", "eg") == {"egress"}
    assert bash("run", "--net", "=") == {"none", "egress", "host"}
    assert bash("run", "-w", "", cwd=tmp_path) == {"tree"}
    assert bash("run", "-p", "", cwd=tmp_path) == PRESETS | {"tree", "rules.json"}
    assert bash("policy", "check", "st", cwd=tmp_path) == {"strict"}
    assert bash("run", "--timeout", "", cwd=tmp_path) == set()
    assert bash("policy", "explain", "--json", "wr") == {"write"}


def test_bash_leaves_the_command_alone():
    """What follows the program is its own: no option of toolcell is offered there."""
    assert bash("run", "--json", "make", "-") == set()
    assert bash("run", "--", "make", "--js") == set()
    assert "cat" in bash("run", "--net", "none", "ca") and "cat" in bash("run", "--", "ca")
    assert bash("run", "--net", "none", "--js") == {"--json"}


# ---- zsh ----

def zsh(*words):
    """What the completion function hands to the ones of zsh."""
    script = """
        _arguments() { print -rl -- "$@" }
        _describe() { print -rl -- "${(@P)2}" }
        source_it() { words=(toolcell "$@"); CURRENT=${#words}; source "$file" }
        file=$1; shift; source_it "$@"
    """
    done = subprocess.run(["zsh", "-f", "-c", script, "zsh", COMPLETIONS / "_toolcell", *words], capture_output=True,
                          text=True, timeout=10 * SLACK, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("verb", VERBS)
def test_zsh_options(binary, verb):
    needs("zsh")
    lines = zsh(*verb.split(), "-")
    named = {match[1] for line in lines if (match := re.match(r"\*(--?[a-z][a-z-]*?)(?:=-|=|\+)?\[", line))}
    assert named == options_of_help(binary, verb)
    assert lines[:3] == ["-s", "-S", ":"]


def test_zsh_verbs(binary):
    needs("zsh")
    assert {line.split(":")[0] for line in zsh("")} == {line.split(":")[0] for line in zsh("help", "")} == first_words(binary)
    assert {line.split(":")[0] for line in zsh("policy", "")} == {verb.split()[1] for verb in VERBS if " " in verb}


# ---- fish ----

def fish(line, home, cwd=None):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {COMPLETIONS}/toolcell.fish; complete -C '{line}'"],
                          capture_output=True, text=True, timeout=20 * SLACK, check=True, cwd=cwd,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(home), "XDG_RUNTIME_DIR": str(home)})
    assert done.stderr == ""
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


@pytest.mark.parametrize("verb", VERBS)
def test_fish_options(binary, tmp_path, verb):
    needs("fish")
    named = fish(f"toolcell {verb} --", tmp_path) | fish(f"toolcell {verb} -", tmp_path)
    named = {name.rstrip("=") for name in named}
    assert named == options_of_help(binary, verb)


def test_fish_verbs_and_values(binary, tmp_path):
    needs("fish")
    assert fish("toolcell ", tmp_path) == fish("toolcell help ", tmp_path) == first_words(binary)
    assert fish("toolcell policy ", tmp_path) == {verb.split()[1] for verb in VERBS if " " in verb}
    assert fish("toolcell run --net ", tmp_path) == {"none", "egress", "host"}
    assert PRESETS <= fish("toolcell run -p ", tmp_path, cwd=tmp_path)
