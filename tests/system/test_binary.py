# SPDX-License-Identifier: Apache-2.0
"""What the built program is, seen from outside: every shared library costs a tenth of a millisecond of each start."""

import re
import subprocess

import harness

SANITIZERS = re.compile(r"lib(asan|ubsan|lsan|tsan)\.so")
# The sanitizers' runtimes bring these.
THEIRS = {"libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}


def readelf(binary, what):
    return subprocess.run(["readelf", "--wide", what, binary], check=True, stdout=subprocess.PIPE, text=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def needed(binary):
    libraries = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf(binary, "--dynamic")))
    sanitizers = {name for name in libraries if SANITIZERS.match(name)}
    return libraries - sanitizers - (THEIRS if sanitizers else set())


def test_only_libc_is_loaded(binary):
    assert needed(binary) == {"libc.so.6"}


def test_addresses_are_random_and_relocations_read_only(binary):
    assert "DYN (" in readelf(binary, "--file-header")
    assert "GNU_RELRO" in readelf(binary, "--program-headers")
    assert re.search(r"\bNOW\b", readelf(binary, "--dynamic"))


def test_stack_is_not_executable(binary):
    line = next(line for line in readelf(binary, "--program-headers").splitlines() if "GNU_STACK" in line)
    assert "RWE" not in line


def test_nothing_of_the_machine_it_was_built_on_is_inside(binary):
    """(Debugging information names the sources, and only a build with sanitizers has it.)"""
    assert SANITIZERS.search(readelf(binary, "--dynamic")) or str(harness.SOURCE).encode() not in binary.read_bytes()
