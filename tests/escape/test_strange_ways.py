# SPDX-License-Identifier: Apache-2.0
"""Ways to a denied file that programs seldom take: calls, flags and spellings that no list of cases names. The control is
the same program in a cell whose rules deny none of it, and outside for what no cell may do."""

import os

from attempts import all_refused, succeeded

ALL = ["read", "write", "list", "execute"]
RULES = [{"pattern": "**/.env", "operations": ALL, "effect": "deny", "priority": 100},
         {"pattern": "half", "operations": ["read"], "effect": "deny", "priority": 100},
         {"pattern": "**", "operations": ALL, "effect": "allow"}]
OTHER = [{"pattern": "**/another.env", "operations": ALL, "effect": "deny", "priority": 100}, RULES[-1]]
# Refused to every cell whose files a broker opens, whatever the rules say; and what this kernel or its file system lacks.
ALWAYS = {"access mode 3", "half, mode 3", "handle", "a held one, linked", "new call for attributes", "new call for flags",
          "whiteout device", "whiteout of a move", "unnamed, linked", "deep", "deep, written", "deep, made", "deep, from there"}
LEVELS = 200  # of 25 bytes: more than PATH_MAX


def furnish(cell):
    cell.write(".env", "#!/bin/sh\n", mode=0o755)
    cell.write("half", "half")
    cell.write("deep/f")
    at = os.open(cell.workspace / "deep", os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("directory-of-a-long-name", dir_fd=at)
        os.chown("directory-of-a-long-name", cell.identity.uid, cell.identity.gid, dir_fd=at)
        below = os.open("directory-of-a-long-name", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.mkdir("n", dir_fd=at)
    os.chown("n", cell.identity.uid, cell.identity.gid, dir_fd=at)
    fd = os.open(".env", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at)
    os.write(fd, b"the secret")
    os.fchown(fd, cell.identity.uid, cell.identity.gid)
    os.close(fd)
    os.close(at)


def test_none_of_them_leads_to_a_denied_file(cell, probe):
    furnish(cell)
    before = os.stat(cell.workspace / ".env")
    answers = probe("strange").inside(policy=cell.policy(RULES))
    assert len(answers) == 34
    all_refused(answers)
    all_refused({name: error for name, error in answers.items() if name not in ALWAYS}, "EACCES")
    assert os.stat(cell.workspace / ".env").st_ctime_ns == before.st_ctime_ns
    assert not (cell.workspace / "new/.env").exists()


def test_where_nothing_is_denied_they_do(cell, probe):
    furnish(cell)
    answers = probe("strange").inside(policy=cell.policy(OTHER))
    assert succeeded(answers) == set(answers) - ALWAYS, answers


def test_outside_more_of_them_do(cell, probe):
    furnish(cell)
    answers = probe("strange").outside()
    assert succeeded(answers) >= {"access mode 3", "half, mode 3", "deep", "deep, written", "deep, made", "deep, from there",
                                  "whiteout device"}, answers
