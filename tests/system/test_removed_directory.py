# SPDX-License-Identifier: Apache-2.0
"""Calls from a working directory that was removed: the same where a broker performs them as where nothing is mediated."""

import pytest
from harness import STATIC

NAMED = [{"pattern": "**/.env", "operations": ["read", "write"], "effect": "deny", "priority": 1},
         {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]

CALLS = """
import errno, json, os, shutil
top = os.getcwd()
def fresh():
    os.chdir(top)
    shutil.rmtree("t", ignore_errors=True)
    for path in "t/a/b", "t/e", "t/d": os.makedirs(path)
    for path in "t/f", "t/d/g": open(path, "w").close()
    os.chdir("t/a/b"); os.rmdir("../b")
calls = {"rmdir": os.rmdir, "unlink": os.unlink, "mkdir": os.mkdir, "mkfifo": os.mkfifo, "symlink": lambda path: os.symlink("x", path),
    "rename": lambda path: os.rename(path, path + "2"), "rename to": lambda path: os.rename("../../f", path),
    "link": lambda path: os.link("../../f", path), "link from": lambda path: os.link(path, "../../l"),
    "chmod": lambda path: os.chmod(path, 0o700), "truncate": lambda path: os.truncate(path, 0), "utime": os.utime, "list": os.listdir,
    "open": lambda path: os.close(os.open(path, os.O_RDONLY)), "write": lambda path: os.close(os.open(path, os.O_WRONLY)),
    "create": lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)), "access": lambda path: os.access(path, os.W_OK) or os.rmdir("/")}
paths = ["../../a", "../../e", "../../f", "../../d", "../../new", "../x", "x", "./x", "x/", ".", "..", "../.", "../b", "../../a/b", "../../d/g",
         "../../d/new", "", "/x", f"{top}/t/new", f"{top}/t/e", "/usr", "/tmp/none/x"]
found = {}
for name, call in calls.items():
    for path in paths:
        fresh()
        try: call(path); found[f"{name} {path}"] = None
        except OSError as error: found[f"{name} {path}"] = errno.errorcode[error.errno]
os.chdir(top)
shutil.rmtree("t")
print(json.dumps(found))
"""

# What has no name cannot be judged: the directory itself, by a name that is none.
NAMELESS = {"open .", "list .", "chmod .", "utime .", "access .", "link from ."}


def test_the_same_as_without_a_broker(cell):
    plain = cell.python(CALLS, policy=STATIC).succeeded().answer
    mediated = cell.python(CALLS, policy=cell.policy(NAMED), timeout=60).succeeded().answer
    assert len(plain) > 350 and len(set(plain.values())) > 6
    different = {what: (plain[what], mediated[what]) for what in plain if plain[what] != mediated[what]}
    assert set(different) <= NAMELESS, different
    assert {answer for _, answer in different.values()} <= {"ENOENT", "EROFS", "EACCES", "EBUSY"}, different


@pytest.mark.parametrize("path", ["../.env", "../../a/.env", "../../../.env", "../b/../.env"])
def test_names_are_judged_all_the_same(cell, path):
    code = """
        import os, sys
        os.makedirs("t/a/b"); os.chdir("t/a/b"); os.rmdir("../b")
        for call in os.mkdir, os.mkfifo, lambda path: os.symlink("x", path), lambda path: open(path, "w"), lambda path: os.rename("../plain", path):
            open("../plain", "w").close()
            try: call(sys.argv[1]); print("done")
            except OSError as error: print(error.strerror)
    """
    if "/b/" not in path:  # which is gone
        assert cell.python(code, path, policy=cell.policy(NAMED)).succeeded().text == "Permission denied\n" * 5
        (cell.workspace / "t").rename(cell.workspace / "before")
    text = cell.python(code, path, policy=cell.policy(NAMED[1:])).succeeded().text
    assert text.startswith("No such file" if "/b/" in path else "done\n"), "the control"
