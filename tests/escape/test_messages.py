# SPDX-License-Identifier: Apache-2.0
"""What a command or a request writes cannot pose as toolcell's own words, nor reach the caller's terminal raw."""

import json
import os

import pytest

NASTY = "x\x1b[2J\x1b]0;title\x07\n\rtoolcell: forged\x9b31m\u202e"


def one_plain_line(text):
    assert text.count("\n") == 1 and text.startswith("toolcell: "), text
    assert not [character for character in text[:-1] if ord(character) < 32 or 0x7f <= ord(character) < 0xa0], repr(text)


@pytest.mark.parametrize("arguments", [
    ["--cwd", f"/{NASTY}"], ["-m", f"/{NASTY}:/x"], ["-m", f"/tmp:{NASTY}"], ["--env", NASTY], ["--label", NASTY],
    [f"--{NASTY}"], ["--timeout", NASTY], ["--memory", NASTY], ["--net", NASTY], ["-r", f"/{NASTY}"],
    ["-p", f"/{NASTY}.json"], ["-p", NASTY], ["--tmpfs", NASTY], ["--stdin", NASTY], ["--events-fd", NASTY],
    [f"--allow-degraded={NASTY}"], ["--pass-env", f"{NASTY}="], ["--request", f"/{NASTY}"],
    ["--user", NASTY], ["--ask", NASTY], ["--rootfs", NASTY], ["--session", NASTY]])
def test_options(cell, arguments):
    done = cell.plain("true", options=arguments)
    assert done.status == 125
    one_plain_line(done.messages)


def test_a_program_s_name(cell):
    done = cell.plain(f"/{NASTY}")
    assert done.status == 127
    one_plain_line(done.messages)


@pytest.mark.parametrize("document", [
    {"version": 1, NASTY: 1}, {"version": 1, "rules": [{NASTY: 1}]}, {"version": 1, "extends": NASTY},
    {"version": 1, "rules": [{"pattern": "**", "operations": NASTY, "effect": "allow"}]},
    {"version": 1, "rules": [{"pattern": NASTY, "operations": "connect", "effect": "allow"}]},
    {"version": 1, "limits": {"wall": NASTY}}, {"version": 1, "environment": {"set": {NASTY: "x"}}},
    {"version": 1, "commands": [{"argv": [NASTY], "effect": NASTY}]}])
def test_policies(cell, document):
    path = cell.policy()
    path.write_text(json.dumps(document))
    done = cell.plain("true", policy=path)
    if done.status == 125:  # some names are merely odd
        one_plain_line(done.messages)
    else:
        assert done.status in (0, 126)


def test_reasons_of_rules(cell):
    policy = cell.policy([{"pattern": "**", "operations": "execute", "effect": "deny", "reason": NASTY}])
    done = cell.plain("true", policy=policy)
    assert done.status == 126
    one_plain_line(done.messages)


def test_names_in_the_workspace(cell):
    """Of a mount point, of the project's policy and of a directory that is none."""
    os.symlink(NASTY, cell.workspace / ".toolcell.json")
    done = cell.plain("true", options=["--project-policy"])
    if done.messages:
        one_plain_line(done.messages)
    (cell.workspace / NASTY).write_text("")
    done = cell.plain("true", options=["--cwd", f"/workspace/{NASTY}"])
    assert done.status == 125
    one_plain_line(done.messages)


def test_lookalike_events_are_data(cell):
    """The command's lines arrive inside events, whatever they say and however they are cut."""
    forged = json.dumps({"event": "result", "id": "0", "t": 0, "outcome": "exited", "exit_code": 0})
    code = """
        import os, sys, time
        line = b"\\n" + sys.argv[1].encode() + b"\\n"
        os.write(1, line); os.write(2, line)
        for byte in line: os.write(1, bytes([byte]))
        os.write(1, b"\\xe2\\x80\\xa8\\xff\\0" + line)
        sys.exit(3)
    """
    done = cell.python(code, forged)
    assert done.status == 3 and done.result["exit_code"] == 3
    assert done.stdout.count(forged.encode()) == 3 and done.stderr.count(forged.encode()) == 1


@pytest.mark.parametrize("way", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", "/dev/stderr"])
def test_no_other_way_to_the_stream_of_events(cell, way):
    forged = '{"event":"result"}'
    done = cell.run("sh", "-c", f"echo '{forged}' > {way}; exit 4")
    assert done.status == 4 and done.result["exit_code"] == 4


def test_no_descriptor_of_the_events(cell):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    code = "import os\nfor fd in range(3, 256):\n    try: os.write(fd, b'forged')\n    except OSError: pass"
    done = cell.python(code, options=["--events-fd", write], events=False, pass_fds=(write,))
    os.close(write)
    lines = os.read(read, 1 << 20).splitlines()
    os.close(read)
    assert done.status == 0 and [json.loads(line)["event"] for line in lines] == ["start", "result"]
