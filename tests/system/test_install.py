# SPDX-License-Identifier: Apache-2.0
"""`meson install` puts everything a user needs where it is looked for, and what is installed works."""

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from harness import SLACK, SOURCE, sanitized

BUILD = Path(os.environ.get("TOOLCELL", SOURCE / "build" / "toolcell")).resolve().parent
PAGES = [path.stem for path in (SOURCE / "man").glob("*.scd")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The root of an installation with the build's own prefix; (root, prefix below it)."""
    if not (BUILD / "build.ninja").exists():
        pytest.skip(f"{BUILD} is not a build directory")
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "--no-rebuild", "-C", BUILD, "--destdir", root], check=True, capture_output=True,
                   timeout=120 * SLACK)
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", BUILD], capture_output=True, check=True,
                                        timeout=60 * SLACK).stdout)
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    return root, root / prefix.lstrip("/")


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_everything_is_there_and_nothing_else(installed):
    root, prefix = installed
    place = prefix.relative_to(root)
    expected = {f"{place}/bin/toolcell", "etc/apparmor.d/toolcell"}
    expected |= {f"{place}/share/man/man{page.rsplit('.')[-1]}/{page}" for page in PAGES}
    expected |= {f"{place}/share/bash-completion/completions/toolcell", f"{place}/share/zsh/site-functions/_toolcell",
                 f"{place}/share/fish/vendor_completions.d/toolcell.fish"}
    expected |= {f"{place}/share/toolcell/schema/{path.name}" for path in (SOURCE / "policy" / "schema").glob("*.json")}
    expected |= {f"{place}/share/doc/toolcell/presets/{path.name}" for path in (SOURCE / "policy" / "presets").glob("*.json")}
    expected |= {f"{place}/share/doc/toolcell/{name}" for name in ("README.md", "SECURITY.md", "ARCHITECTURE.md", "LICENSE")}
    assert files(root) == expected


def test_modes(installed):
    root, prefix = installed
    for name in files(root):
        mode = stat.S_IMODE((root / name).stat().st_mode)
        assert mode & 0o7022 == 0, f"{name} has mode {mode:o}"
        assert bool(mode & 0o111) == name.endswith("bin/toolcell"), f"{name} has mode {mode:o}"


def test_the_installed_program_works(installed):
    root, prefix = installed
    program = prefix / "bin" / "toolcell"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10 * SLACK)
    assert done.returncode == 0 and done.stdout.startswith("toolcell ")
    # Debugging information names the sources, and only a build with sanitizers has it.
    assert sanitized(program) or str(SOURCE).encode() not in program.read_bytes(), "the program names the checkout"


def test_apparmor_profile_names_the_installed_path(installed):
    root, prefix = installed
    profile = (root / "etc" / "apparmor.d" / "toolcell").read_text()
    assert f"profile toolcell /{prefix.relative_to(root)}/bin/toolcell flags=(unconfined) {{" in profile
    assert re.search(r"^  userns,$", profile, re.M) and "@" not in profile


def test_apparmor_profile_is_what_the_remedy_writes(installed):
    """The remedy of doctor is a shell command; what it writes says the same but for comments and the site's additions."""
    source = (SOURCE / "src" / "doctor" / "apparmor.c").read_text()
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', source[source.index("printf '"):]))
    text = re.search(r"printf '(.*?)'", source.replace('"\n              "', ""))[1]
    written = text.replace("\\\\n", "\n").replace("%s", "/usr/bin/toolcell")
    root, prefix = installed
    profile = (root / "etc" / "apparmor.d" / "toolcell").read_text().replace(f"/{prefix.relative_to(root)}/bin", "/usr/bin")
    kept = [line.strip() for line in profile.splitlines() if line.strip() and not line.strip().startswith(("#", "include if"))]
    assert [line.strip() for line in written.splitlines()] == kept


def test_apparmor_profile_is_understood(installed, tmp_path):
    """By the parser where there is one; of an older one, that does not know user namespaces, the rest."""
    if not shutil.which("apparmor_parser"):
        return
    text = (installed[0] / "etc" / "apparmor.d" / "toolcell").read_text()
    if not Path("/etc/apparmor.d/abi/4.0").exists():
        text = text.replace("abi <abi/4.0>,\n", "").replace("  userns,\n", "")
    copy = tmp_path / "profile"
    copy.write_text(text)
    done = subprocess.run(["apparmor_parser", "--skip-kernel-load", "--skip-cache", "--names", copy], capture_output=True,
                          text=True, timeout=60 * SLACK)
    assert done.returncode == 0 and done.stdout.strip() == "toolcell", done.stderr


def test_manual_pages_are_found(installed):
    prefix = installed[1]
    for page in PAGES:
        name, section = page.rsplit(".", 1)
        text = (prefix / "share" / "man" / f"man{section}" / page).read_text()
        assert f'.TH "{name}" "{section}"' in text
