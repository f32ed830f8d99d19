# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests in a cell and outside. Fixtures and harness are those of the system tests."""

import importlib.util
import sys
from pathlib import Path

SYSTEM = Path(__file__).resolve().parents[1] / "system"
sys.path.insert(0, str(SYSTEM))
sys.path.insert(0, str(Path(__file__).resolve().parent))

_spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM / "conftest.py")
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
globals().update({name: what for name, what in vars(_shared).items() if not name.startswith("__")})
