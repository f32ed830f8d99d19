# SPDX-License-Identifier: Apache-2.0
"""What agents really run works in a cell: interpreters, a compiler, a shell's tricks, git."""

import shutil

import pytest

PRESETS = ["static", "workspace"]  # the ruleset without a broker, and the default

HELLO = '#include <stdio.h>\nint main(void) { printf("%d\\n", 6 * 7); return 0; }\n'

QUEUE = """
import multiprocessing as m
def work(numbers, answers):
    for number in iter(numbers.get, None):
        answers.put(number * number)
numbers, answers = m.Queue(), m.Queue()
workers = [m.Process(target=work, args=(numbers, answers)) for _ in range(3)]
for worker in workers: worker.start()
for number in range(20): numbers.put(number)
for _ in workers: numbers.put(None)
print(sum(answers.get(timeout=10) for _ in range(20)))
for worker in workers: worker.join()
"""

GIT_IDENTITY = ["--env", "GIT_AUTHOR_NAME=A", "--env", "GIT_AUTHOR_EMAIL=a@example.org", "--env", "GIT_COMMITTER_NAME=A",
                "--env", "GIT_COMMITTER_EMAIL=a@example.org"]


@pytest.fixture(params=PRESETS)
def policy(request):
    return request.param


def test_python(cell, policy):
    done = cell.run("python3", "-c", "print(6*7)", policy=policy).succeeded()
    assert done.text == "42\n"
    assert done.result["outcome"] == "exited" and done.result["exit_code"] == 0


def test_gcc_compiles_a_program_that_runs(cell, policy):
    cell.write("hello.c", HELLO)
    done = cell.run("sh", "-c", "gcc -O2 -o hello hello.c && ./hello", policy=policy).succeeded()
    assert done.text == "42\n"
    made = (cell.workspace / "hello").stat()
    assert (made.st_uid, made.st_gid) == (cell.identity.uid, cell.identity.gid), "a file made keeps the workspace's owner"


@pytest.mark.skipif(not shutil.which("node", path="/usr/bin:/usr/local/bin"), reason="no node below /usr")
def test_node(cell, policy):
    assert cell.run("node", "-e", "console.log(6*7)", policy=policy).succeeded().text == "42\n"


def test_process_substitution(cell, policy):
    cell.run("bash", "-c", "diff <(echo a) <(echo a)", policy=policy).succeeded()
    assert cell.run("bash", "-c", "diff <(echo a) <(echo b)", policy=policy).status == 1


def test_multiprocessing_with_a_queue(cell, policy):
    assert cell.run("python3", "-c", QUEUE, policy=policy).succeeded().text == f"{sum(n * n for n in range(20))}\n"


@pytest.mark.parametrize("ruleset", ["static", "git"])
def test_git_init_and_commit(cell, ruleset):
    script = "git init -q . && echo text > file && git add file && git commit -q -m first && git log --format=%s%an"
    done = cell.run("sh", "-c", script, policy=ruleset, options=GIT_IDENTITY).succeeded()
    assert done.text == "firstA\n"
    assert (cell.workspace / ".git" / "HEAD").read_text().startswith("ref:")


def test_rename_across_directories(cell, policy):
    """Landlock without the right to reparent turns this into EXDEV."""
    cell.run("sh", "-c", "mkdir a b && touch a/f && python3 -c 'import os; os.rename(\"a/f\", \"b/f\")' && test -f b/f",
             policy=policy).succeeded()


def test_make_and_a_pipeline(cell, policy):
    cell.write("Makefile", "all:\n\t@seq 1 1000 | sort -n | tail -1 | tee out\n")
    assert cell.run("make", "-j2", policy=policy).succeeded().text == "1000\n"
    assert (cell.workspace / "out").read_text() == "1000\n"


def test_threads_start(cell, policy):
    """glibc tries clone3 first; it must see ENOSYS, not EPERM."""
    code = "import threading as t; l=[t.Thread(target=lambda: None) for _ in range(8)]; [x.start() for x in l]; [x.join() for x in l]"
    cell.run("python3", "-c", code, policy=policy).succeeded()
