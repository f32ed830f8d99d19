# SPDX-License-Identifier: Apache-2.0
"""The escape suite: what hostile code tries, one file per class, as root and as an ordinary user.

Each attempt is also made where the control under test is off (outside any cell, or under bare unshare) and must
succeed there; else it would prove nothing. Fixtures and harness are those of the system tests.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

SYSTEM = Path(__file__).resolve().parents[1] / "system"
sys.path.insert(0, str(SYSTEM))
sys.path.insert(0, str(Path(__file__).resolve().parent))


def _load():
    spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_shared = _load()
globals().update({name: what for name, what in vars(_shared).items() if not name.startswith("__")})

import attempts  # noqa: E402 - the paths above come first


@pytest.fixture(scope="session")
def probes(base):
    return attempts.Probes(base / "probes")


@pytest.fixture
def probe(probes, cell):
    """probe("name") is an attempt of tests/escape/probes/name.c."""
    return lambda name: attempts.Attempt(cell, probes.build(name))
