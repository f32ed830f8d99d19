# SPDX-License-Identifier: Apache-2.0
"""Supplementary groups of whoever starts a cell: what is left of them in it. SECURITY.md says the same."""

import os
import subprocess

import doctoring
import pytest
from harness import PYTHON, as_root, as_user

GROUP = 59321  # nobody's
OTHER = 59322  # an owner, nobody either

REACH = """
import os
def tries(name, what):
    try: what(); print(name, end=" ")
    except OSError: pass
tries("shared", lambda: open("shared").read())
tries("changed", lambda: open("shared", "r+").close())
tries("outside", lambda: open("../outside").read())
tries("withheld", lambda: open("withheld").read())
tries("given", lambda: os.chown("own", -1, %d))
tries("dropped", lambda: os.setgroups([]))
""" % GROUP


@pytest.fixture
def files(cell):
    """shared and outside are open to the group alone, withheld to all but the group."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to make files of another group")
    cell.write("own")
    for path, mode in ((cell.workspace / "shared", 0o660), (cell.area / "outside", 0o660), (cell.workspace / "withheld", 0o604)):
        path.write_text("text")
        os.chown(path, OTHER, GROUP)
        path.chmod(mode)
    cell.known.add("outside")
    return cell


@as_user
def test_those_of_an_ordinary_caller_stay(files):
    """With all they give and withhold in the mounts, and nothing outside of them."""
    done = files.python(REACH, extra_groups=[GROUP])
    assert done.succeeded().text == "shared changed "
    shown = files.run("id", "-G", extra_groups=[GROUP]).succeeded().text
    assert shown == "1000 65534\n"


@as_user
def test_doctor_tells_of_them(files):
    checks = [doctoring.ask(files, extra_groups=groups).checks["caller-groups"] for groups in ([GROUP, OTHER], [])]
    assert [check["state"] for check in checks] == ["degraded", "ok"]
    assert checks[0]["detail"].startswith("2 ") and "setpriv" in checks[0]["remedy"]


@as_user
def test_without_them_nothing_is_reached(files):
    """The remedy: a caller that has none."""
    assert files.python(REACH, extra_groups=[]).succeeded().text == "withheld "


@as_root
def test_those_of_root_do_not_stay(files):
    assert files.python(REACH, extra_groups=[GROUP]).succeeded().text == "withheld "
    assert files.run("id", "-G", extra_groups=[GROUP]).succeeded().text == "1000\n"


@as_user
def test_the_control_reaches_more_outside(files):
    done = files.outside(REACH, extra_groups=[GROUP])
    assert done.stdout == b"shared changed outside given "
    everything = subprocess.run([PYTHON, "-c", REACH], cwd=files.workspace, capture_output=True, check=True)
    assert b"dropped" in everything.stdout
