# SPDX-License-Identifier: Apache-2.0
"""What a program changes where a broker performs it: whole tools work, and what no name may get is refused."""

import json
import os

import pytest

ALLOW = {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}


@pytest.fixture
def mediated(cell):
    """Everything allowed but some names: each write is performed by the broker."""
    rules = [{"pattern": pattern, "operations": ["write"], "effect": "deny", "priority": 100, "reason": "by name"}
             for pattern in ("**/.env", "keep/**")]
    return cell.policy([*rules, ALLOW])


def errors(cell, attempts, policy, **more):
    """The errno's name, or None, of each attempt: (function of os, arguments...)."""
    code = r"""
import errno, json, os, sys
found = []
for name, *arguments in json.loads(sys.argv[1]):
    try:
        getattr(os, name)(*arguments)
    except OSError as error:
        found.append(errno.errorcode[error.errno])
    else:
        found.append(None)
print(json.dumps(found))
"""
    return json.loads(cell.python(code, json.dumps(attempts), policy=policy, **more).succeeded().text)


TOOLS = r"""
set -e
mkdir -p proj/src && echo int >proj/src/a.c && chmod 640 proj/src/a.c && ln -s src/a.c proj/link
cp -a proj copy && diff -r proj copy && test "$(stat -c %a copy/src/a.c)" = 640 && test -L copy/link
mv copy moved && ln moved/src/a.c hard && test "$(stat -c %h hard)" = 2
touch -d 2001-02-03 hard && test "$(stat -c %Y moved/src/a.c)" = "$(stat -c %Y hard)"
tar cf t.tar moved && mkdir out && tar xf t.tar -C out && diff -r moved out/moved
truncate -s 100 hard && test "$(stat -c %s hard)" = 100
install -m 755 proj/src/a.c tool && test -x tool
sed -i s/int/long/ proj/src/a.c && grep -q long proj/src/a.c
rm -r moved out t.tar tool hard && ls -A
"""


def test_tools(cell, mediated):
    done = cell.run("sh", "-c", TOOLS, policy=mediated)
    assert done.succeeded().text == "proj\n"
    assert done.result["denials"] == 0
    assert (cell.workspace / "proj/src/a.c").read_text() == "long\n"


def test_what_was_made_belongs_to_the_owner(cell, mediated):
    cell.run("sh", "-c", "umask 027; mkdir d; mkfifo d/p; ln -s x d/l; echo >d/f", policy=mediated).succeeded()
    owner = cell.workspace.stat()
    for name, mode in {"d": 0o40750, "d/p": 0o10640, "d/l": 0o120777, "d/f": 0o100640}.items():
        found = (cell.workspace / name).lstat()
        assert (found.st_uid, found.st_gid, found.st_mode) == (owner.st_uid, owner.st_gid, mode), name


def test_set_id_bits_and_devices_are_for_nobody(cell, mediated):
    cell.write("f", "x")
    attempts = [["chmod", "f", 0o4755], ["chmod", "f", 0o2755], ["mknod", "d", 0o20666, 0x103], ["mknod", "w", 0o20666, 0],
                ["mknod", "s", 0o104755, 0], ["chmod", "f", 0o755]]
    assert errors(cell, attempts, mediated) == ["EPERM"] * 5 + [None]
    assert sorted(os.listdir(cell.workspace)) == ["f"] and cell.workspace.joinpath("f").stat().st_mode == 0o100755


def test_mount_points_stay(cell, mediated):
    """The broker performs changes where the cell's mounts are not; it must not take them away."""
    for name in ("sub", "dir", "inner"):
        path = cell.directory(name) if name == "inner" else cell.workspace / name
        path.mkdir(exist_ok=True)
        cell.identity.own(path)
    attempts = [["rmdir", "sub"], ["rename", "sub", "other"], ["rename", "dir", "sub"], ["rename", "dir", "sub/dir"],
                ["mkdir", "sub/new"], ["rmdir", "dir"]]
    mount = ["-m", f"{cell.area / 'inner'}:/workspace/sub:rw"]
    assert errors(cell, attempts, mediated, options=mount) == ["EBUSY", "EBUSY", "EBUSY", "EXDEV", None, None]
    assert os.listdir(cell.area / "inner") == ["new"] and os.listdir(cell.workspace) == ["sub"]


def test_scratch_and_system_are_the_kernels_affair(cell, mediated):
    cell.write("f", "x")
    attempts = [["mkdir", "/tmp/d"], ["rename", "/tmp/d", "/tmp/e"], ["rename", "f", "/tmp/f"], ["link", "f", "/tmp/f"],
                ["rmdir", "/tmp/e"], ["mkdir", "/usr/x"], ["chmod", "/usr", 0o700], ["unlink", "/usr/bin/env"],
                ["mkdir", "/workspace"], ["mkdir", "none/x"]]
    assert errors(cell, attempts, mediated) == [None, None, "EXDEV", "EXDEV", None, "EROFS", "EROFS", "EROFS", "EEXIST",
                                                "ENOENT"]


def test_denied_names_are_told_with_both_names(cell, mediated):
    cell.write(".env", "x")
    cell.write("f", "x")
    assert errors(cell, [["rename", ".env", "y"], ["link", "f", "keep"], ["rename", "f", "g/.env"]], mediated) == [
        "EACCES", None, "ENOENT"]
    done = cell.run("mv", ".env", "y", policy=mediated)
    (denied,) = done.of("denied")
    assert (denied["operation"], denied["target"], denied["to"]) == ("write", "/workspace/.env", "/workspace/y")
    assert (cell.workspace / ".env").read_text() == "x"
