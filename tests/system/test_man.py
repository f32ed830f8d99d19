# SPDX-License-Identifier: Apache-2.0
"""The man pages and --help name the same verbs, options, arguments and exit statuses."""

import re
import subprocess

import pytest

from harness import SLACK, SOURCE

PAGES = {name: (SOURCE / "man" / f"{name}.scd").read_text()
         for name in ("toolcell.1", "toolcell-run.1", "toolcell-doctor.1", "toolcell-policy.5", "toolcell-events.5")}


@pytest.fixture
def help_of(binary):
    def run(*words):
        done = subprocess.run([binary, *words, "--help"], capture_output=True, text=True, timeout=10 * SLACK, check=True)
        assert done.stderr == ""
        return done.stdout

    return run


def section(page, title):
    """The text of one section of a page."""
    found = re.search(rf"^# {title}\n(.*?)(?=^# |\Z)", PAGES[page], re.M | re.S)
    assert found, f"{page} has no section {title}"
    return found[1]


def plain(text):
    """The text without scdoc's escapes and emphasis."""
    return re.sub(r"(?<!\\)[*_]", "", text).replace("\\", "")


def options_of_page(text):
    """{long name: (short name, argument)} of definitions such as `*-p, --policy* _NAME|FILE_`."""
    found = {}
    for line in re.findall(r"^(\*-.*)$", text, re.M):
        match = re.fullmatch(r"(?:-(\w), )?--([a-z-]+)(.*)", plain(line))
        assert match, line
        found[match[2]] = (match[1], match[3].strip())
    return found


def options_of_help(text):
    found = {}
    for line in text.split("options:\n")[1].split("\n\n")[0].splitlines():
        match = re.match(r"  (?:-(\w), |    )--([a-z-]+)(\S*(?: [A-Zhnd]\S*)?)(?:  |$)", line)
        if match:
            found[match[2]] = (match[1], match[3].strip())
    return found


def statuses_of_page(text):
    return re.findall(r"^\*([0-9][0-9N+-]*)\*$", text, re.M)


def statuses_of_help(text):
    return re.findall(r"^  ([0-9]\S*) ", text.split("exit status:\n")[1], re.M)


def test_options_of_run(help_of):
    documented, printed = options_of_page(section("toolcell-run.1", "OPTIONS")), options_of_help(help_of("run"))
    assert len(printed) > 30
    assert documented == printed


def test_options_of_doctor(help_of):
    assert options_of_page(section("toolcell-doctor.1", "OPTIONS")) == options_of_help(help_of("doctor"))


@pytest.mark.parametrize("verb", ["explain", "plan", "show"])
def test_verbs_of_policy_take_the_options_of_run(help_of, verb):
    assert options_of_help(help_of("policy", verb)) == options_of_help(help_of("run"))


def test_options_of_check(help_of):
    assert set(options_of_help(help_of("policy", "check"))) == {"json", "help", "workspace", "mount"}


def test_options_without_a_verb(help_of):
    printed = re.findall(r"--[a-z]+", help_of().split("options:\n")[1].split("\n\n")[0])
    documented = re.findall(r"--[a-z]+", plain("\n".join(re.findall(r"^\*-.*$", section("toolcell.1", "OPTIONS"), re.M))))
    assert sorted(documented) == sorted(printed) == ["--help", "--json", "--version"]


def test_verbs(help_of):
    printed = set(re.findall(r"^  (\w+(?: \w+)?)  ", help_of().split("verbs:\n")[1].split("\n\n")[0], re.M))
    documented = set(re.findall(r"^\*(\w+(?: \w+)?)\*$", section("toolcell.1", "VERBS"), re.M))
    assert documented == printed | {"help"}
    synopsis = set(re.findall(r"^\*toolcell (\w+(?: \w+)?)\*", section("toolcell.1", "SYNOPSIS"), re.M))
    assert synopsis == documented


@pytest.mark.parametrize("verb", ["run", "policy check", "policy explain", "policy plan", "policy show", "doctor"])
def test_usage_lines(help_of, verb):
    page = f"toolcell-{verb}.1" if verb in ("run", "doctor") else "toolcell.1"
    lines = [plain(line).rstrip("+") for line in section(page, "SYNOPSIS").splitlines()]
    assert help_of(*verb.split()).splitlines()[0] == f"usage: {next(line for line in lines if f'toolcell {verb} ' in line)}"


def test_statuses(help_of):
    for verb in ("run", "doctor"):
        assert statuses_of_page(section(f"toolcell-{verb}.1", "EXIT STATUS")) == statuses_of_help(help_of(verb))
    explain, others = section("toolcell.1", "EXIT STATUS").split("All other verbs")
    assert statuses_of_page(explain) == statuses_of_help(help_of("policy", "explain"))
    for verb in ("check", "plan", "show"):
        assert statuses_of_page(others) == statuses_of_help(help_of("policy", verb))


@pytest.mark.parametrize("verb", ["run", "doctor"])
def test_meanings_of_statuses(help_of, verb):
    page = plain(section(f"toolcell-{verb}.1", "EXIT STATUS"))
    for line in help_of(verb).split("exit status:\n")[1].strip().splitlines():
        status, meaning = line.split(None, 1)
        assert f"{status}\n\t{meaning}" in page


def test_help_forms(binary):
    def output(*words):
        return subprocess.run([binary, *words], capture_output=True, text=True, timeout=10 * SLACK, check=True).stdout

    assert output("help") == output("--help") == output("-h")
    assert output("help", "run") == output("run", "--help") == output("run", "-h") == output("run", "-q", "--help")
    assert output("help", "policy", "explain") == output("policy", "explain", "--help")
    assert output("help", "policy") == output("policy", "--help")
    assert "policy check" in output("help", "policy")


def test_events_and_outcomes_are_those_of_the_schema():
    schema = SOURCE / "policy" / "schema" / "event.json"
    outcomes = set(re.findall(r"^\*([a-z_]+)\*$", section("toolcell-events.5", "OUTCOMES"), re.M))
    assert all(f'"{outcome}"' in schema.read_text() for outcome in outcomes) and len(outcomes) == 10
