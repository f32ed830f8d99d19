# SPDX-License-Identifier: Apache-2.0
"""Streams: byte-exact both ways, apart, and never more than asked for."""

import os
import socket
import subprocess

import pytest

from harness import SLACK

EVERY_BYTE = bytes(range(256)) * 64
BOTH = """
import sys
data = bytes(range(256)) * 64
sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
sys.stderr.buffer.write(data[::-1]); sys.stderr.buffer.flush()
"""


def test_every_byte_both_ways_without_events(cell):
    done = cell.plain("python3", "-c", BOTH)
    assert done.stdout == EVERY_BYTE and done.stderr == EVERY_BYTE[::-1]


def test_every_byte_with_events(cell):
    done = cell.run("python3", "-c", BOTH).succeeded()
    assert done.stdout == EVERY_BYTE and done.stderr == EVERY_BYTE[::-1]
    assert done.result["output"] == {"stdout_bytes": len(EVERY_BYTE), "stderr_bytes": len(EVERY_BYTE), "truncated": False}


def test_stdin_is_passed_through(cell):
    data = os.urandom(3 << 20)
    assert cell.plain("cat", stdin=data).succeeded().stdout == data


def test_in_the_middle_of_a_pipeline(cell):
    line = " ".join(cell.command(["tr", "a-z", "A-Z"], events=False))
    done = subprocess.run(["sh", "-c", f"printf 'abc\\n' | {line} | cat"], cwd=cell.workspace, capture_output=True,
                          env=cell.environment(), timeout=20 * SLACK, **cell.identity.popen())
    assert (done.stdout, done.stderr) == (b"ABC\n", b"")


def test_stdin_none(cell):
    assert cell.plain("cat", stdin=b"x", options=["--stdin", "none"]).succeeded().stdout == b""


def test_stdin_inherit_with_events(cell):
    assert cell.run("cat", stdin=b"x", options=["--stdin", "inherit"]).succeeded().stdout == b"x"


def test_a_command_that_does_not_read_its_stdin(cell):
    assert cell.plain("true", stdin=bytes(1 << 20)).status == 0


def test_a_command_that_closes_its_stdin_early(cell):
    assert cell.plain("head", "-c", "1", stdin=b"x" * (1 << 20)).succeeded().stdout == b"x"


def test_stdin_that_stays_open_does_not_hold_the_call(cell):
    read, write = os.pipe()
    done = cell.plain("true", stdin=read)
    os.close(write)
    os.close(read)
    assert done.status == 0 and done.seconds < 5 * SLACK


def test_nothing_is_added_to_a_pipeline(cell):
    done = cell.plain("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.status, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


def test_a_terminal_on_stdin_is_not_given_away(cell):
    ours, theirs = os.openpty()
    try:
        done = cell.plain("sh", "-c", "cat; test -t 0 && echo tty; exit 0", stdin=theirs)
        assert done.succeeded().stdout == b""
    finally:
        os.close(ours)
        os.close(theirs)


def test_both_streams_in_one_pipe(cell):
    done = cell.plain("sh", "-c", "echo a; echo b >&2", stderr=subprocess.STDOUT)
    assert sorted(done.stdout.split()) == [b"a", b"b"]


def test_standard_output_to_a_file(cell):
    path = cell.area / "out"
    cell.known.add("out")
    with open(path, "wb") as file:
        process = cell.spawn(cell.command(["sh", "-c", "seq 1 1000"], events=False), stdout=file)
        assert process.wait(20 * SLACK) == 0
        process.stderr.close()
    assert path.read_bytes() == b"".join(b"%d\n" % n for n in range(1, 1001))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_standard_output_that_is_full(cell):
    with open("/dev/full", "wb") as file:
        process = cell.spawn(cell.command(["echo", "x"], events=False), stdout=file)
        assert process.wait(20 * SLACK) != 0, "what could not be delivered is not a success"
        process.stderr.close()


def test_output_of_a_leftover_is_not_lost_before_the_end(cell):
    done = cell.run("sh", "-c", "(echo early; sleep 300) & sleep 0.3; echo late").succeeded()
    assert sorted(done.stdout.split()) == [b"early", b"late"]


def test_streams_may_be_reopened_by_name(cell):
    done = cell.run("sh", "-c", "echo a > /dev/stdout; echo b > /dev/stderr; echo c > /proc/self/fd/1").succeeded()
    assert done.stdout == b"a\nc\n" and done.stderr == b"b\n"


def test_no_stream_leads_to_another_cell(cell):
    done = cell.run("sh", "-c", "cat /proc/self/fd/1 <&- & sleep 0.1; echo x")
    assert done.status == 0


def test_a_stdin_for_writing_only_is_empty(cell):
    """As nohup(1) leaves it."""
    with open(os.devnull, "wb") as null:
        assert cell.plain("wc", "-c", stdin=null).succeeded().text == "0\n"


def test_a_socket_is_read_by_default(cell):
    """As Node.js and ssh start their children."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"text")
        ours.shutdown(socket.SHUT_WR)
        assert cell.plain("cat", stdin=theirs).succeeded().text == "text"
