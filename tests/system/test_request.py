# SPDX-License-Identifier: Apache-2.0
"""The request as JSON: every key, and options beside it."""

import base64
import json

import pytest


def request(cell, document, **more):
    """Run with the document on stdin; nothing passes through argv."""
    text = document if isinstance(document, str) else json.dumps({"version": 1, **document})
    more.setdefault("options", [])
    return cell.run(workspace=False, stdin=text.encode(), **{**more, "options": ["--request", "-", *more["options"]]})


def test_the_least(cell):
    assert request(cell, {"argv": ["echo", "hi"]}).succeeded().text == "hi\n"


def test_every_key(cell):
    extra = cell.directory("extra")
    cell.write("data", "declared", where=extra)
    cell.write("sub/f", "x")
    script = "pwd; echo $A $B; cat; cat /extra/data; df -k --output=size /cache | tail -1; ulimit -n; ls /workspace"
    document = {
        "argv": ["sh", "-c", script], "cwd": "/workspace/sub", "env": {"A": "set"}, "pass_env": ["B"],
        "stdin": {"data": base64.b64encode(b"in\xff\n").decode(), "encoding": "base64"},
        "workspace": {"source": str(cell.workspace), "mode": "ro", "target": "/workspace"},
        "mounts": [{"source": str(extra), "target": "/extra", "mode": "ro"}], "tmpfs": [{"target": "/cache", "size": "4M"}],
        "rootfs": "host", "net": "none",
        "policy": {"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "allow"}]},
        "limits": {"wall": "20s", "open_files": 77}, "tty": False, "ask": "deny", "allow_degraded": ["mediation"],
        "label": {"k": "v"},
    }
    done = request(cell, document, policy=None, env={"B": "passed"}).succeeded()
    assert done.stdout == b"/workspace/sub\nset passed\nin\xff\ndeclared   4096\n77\nsub\n" or \
        done.stdout.split() == b"/workspace/sub set passed in\xff declared4096 77 sub".split() or \
        done.stdout.split() == b"/workspace/sub set passed in\xff declared 4096 77 sub".split(), done.stdout
    assert done.result["label"] == {"k": "v"}


def test_an_option_overrides_its_key(cell):
    document = {"argv": ["sleep", "5"], "limits": {"wall": "20s"}, "label": {"k": "file", "other": "kept"}, "cwd": "/tmp"}
    done = request(cell, document, options=["--timeout", "200ms", "--label", "k=option"])
    assert done.status == 124 and done.result["label"]["k"] == "option"
    assert request(cell, {"argv": ["pwd"], "cwd": "/tmp"}, options=["--cwd", "/workspace"]).succeeded().text == "/workspace\n"


def test_argv_beside_it_overrides_argv(cell):
    assert request(cell, {"argv": ["false"]}).status == 1


def test_from_a_file(cell):
    path = cell.area / "request.json"
    cell.known.add(path.name)
    path.write_text(json.dumps({"version": 1, "argv": ["echo", "hi"]}))
    path.chmod(0o644)
    assert cell.run(options=["--request", path]).succeeded().text == "hi\n"


def test_stdin_as_text(cell):
    assert request(cell, {"argv": ["cat"], "stdin": {"data": "é\n", "encoding": "utf-8"}}).succeeded().text == "é\n"
    assert request(cell, {"argv": ["cat"], "stdin": "none"}).succeeded().text == ""


def test_large_stdin_and_many_arguments(cell):
    data = "x" * (2 << 20)
    done = request(cell, {"argv": ["wc", "-c"], "stdin": {"data": data, "encoding": "utf-8"}})
    assert done.succeeded().text.strip() == str(2 << 20)
    argv = ["sh", "-c", "echo $#", "-", *["x" * 1000] * 1000]
    assert request(cell, {"argv": argv}).succeeded().text == "1000\n"


def test_arguments_that_are_not_utf8(cell):
    argv = ["printf", "%s", {"base64": base64.b64encode(b"\xff\xfe").decode()}]
    assert request(cell, {"argv": argv}).succeeded().stdout == b"\xff\xfe"


def test_a_preset_by_name(cell):
    assert request(cell, {"argv": ["echo", "hi"], "policy": "workspace"},
                   policy=None).succeeded().text == "hi\n"


def test_comments_as_in_policies(cell):
    done = request(cell, '{"version": 1, /* why */ "argv": ["echo", "hi"] // end\n}')
    assert done.status in (0, 125)


BAD = {
    "": "", "line": '{"version": 1, "argv": [', "/argv": {"argv": []}, "/argv/0": {"argv": [7]}, "/nonsense": {"argv": ["true"], "nonsense": 1},
    "/env": {"argv": ["true"], "env": ["A=B"]}, "/env/A": {"argv": ["true"], "env": {"A": 7}}, "/stdin": {"argv": ["true"], "stdin": "maybe"},
    "/stdin/encoding": {"argv": ["true"], "stdin": {"data": "x", "encoding": "rot13"}},
    "/stdin/data": {"argv": ["true"], "stdin": {"data": "!!!", "encoding": "base64"}},
    "/mounts/0/mode": {"argv": ["true"], "mounts": [{"source": "/usr", "target": "/x", "mode": "upside-down"}]},
    "/mounts/0": {"argv": ["true"], "mounts": [{"source": "/usr"}]}, "/limits/wall": {"argv": ["true"], "limits": {"wall": "soon"}},
    "/limits/walll": {"argv": ["true"], "limits": {"walll": "1s"}}, "/tty": {"argv": ["true"], "tty": "yes"},
    "/net": {"argv": ["true"], "net": "everything"}, "/label": {"argv": ["true"], "label": 1}, "/version": '{"version": 9, "argv": ["true"]}',
    "argv": {}, "twice": '{"version": 1, "argv": ["true"], "argv": ["touch", "ran"]}', "/cwd": {"argv": ["true"], "cwd": 7},
    "/policy/rules/0/effect": {"argv": ["true"], "policy": {"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "x"}]}},
    "/workspace/mode": {"argv": ["true"], "workspace": {"source": ".", "mode": "sideways"}},
    "/tmpfs/0/size": {"argv": ["true"], "tmpfs": [{"target": "/c", "size": "big"}]}, "\\u0000": {"argv": ["touch", "a\0b"]},
}


@pytest.mark.parametrize("place", BAD)
def test_malformed_requests_are_named(cell, place):
    """One clear line that names the place, exit 125, and the command has not run."""
    done = request(cell, BAD[place], policy=None if place.startswith("/policy") else "static")
    assert done.status == 125, done
    assert done.messages.startswith("toolcell: ") and done.messages.count("\n") <= 2, done.messages
    if place.startswith("/"):
        assert place in done.messages, done.messages
    assert list(cell.workspace.iterdir()) == []


@pytest.mark.parametrize("text", ["null", "7", '"x"', "[]", "{}", "[" * 200000, '{"a":' * 50000, "\xff", '{"version":1e999,"argv":["true"]}',
                                  "{}{}", '{"version":1,"argv":["true"]} x'])
def test_hostile_documents(cell, text):
    done = request(cell, text)
    assert done.status == 125 and done.messages.startswith("toolcell: ")
