# SPDX-License-Identifier: Apache-2.0
"""The event stream. What holds for every stream (one result, last; ids; times; the schema) is checked on each run by
the harness; here is what the single events say."""

import json
import os

from harness import check_events, parse_events


def test_start(cell):
    start = cell.run("true", options=["--label", "task=7", "--label", "who=me"]).succeeded().events[0]
    assert start["event"] == "start" and start["protocol"] == 1
    assert len(start["policy"]) == 64 and len(start["plan"]) == 64
    assert start["label"] == {"task": "7", "who": "me"}
    enforcement = start["enforcement"]
    assert set(enforcement["namespaces"]) == {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"}
    assert enforcement["landlock_abi"] >= 1 and enforcement["seccomp"] and enforcement["mediation"] is False
    assert isinstance(enforcement["uid"], int) and enforcement["uid"] != 0


def test_start_comes_before_the_command_runs(cell):
    """A reader that is told of the start can still hold the command back: it has done nothing by then."""
    code = "import time; print(time.clock_gettime(time.CLOCK_MONOTONIC))"
    done = cell.python(code).succeeded()
    start, output = done.of("start")[0], done.of("stdout")[0]
    assert start["t"] <= output["t"]


def test_result(cell):
    done = cell.run("sh", "-c", "echo out; echo err >&2; sleep 0.2; exit 3", options=["--label", "a=b"])
    result = done.result
    assert (result["outcome"], result["exit_code"], result["signal"], result["error"]) == ("exited", 3, None, None)
    assert result["output"] == {"stdout_bytes": 4, "stderr_bytes": 4, "truncated": False}
    assert 200 <= result["usage"]["wall_ms"] <= result["t"] + 1
    assert set(result["usage"]) >= {"wall_ms", "cpu_user_ms", "cpu_system_ms", "memory_peak_bytes", "pids_peak", "io_read_bytes",
                                    "io_write_bytes"}
    assert result["label"] == {"a": "b"} and result["leftover_processes"] == 0 and result["denials"] == 0
    assert set(result) >= {"oom_kills", "pids_denied", "disk_full", "degraded"}


def test_ids_differ_and_grow(cell):
    ids = [cell.run("true").succeeded().result["id"] for _ in range(3)]
    assert len(set(ids)) == 3 and [name[:13] for name in ids] == sorted(name[:13] for name in ids)


def test_the_same_policy_and_request_have_the_same_hashes(cell):
    first, second = (cell.run("true").succeeded().events[0] for _ in range(2))
    other = cell.run("true", policy="readonly-static").succeeded().events[0]
    assert first["policy"] == second["policy"] != other["policy"]
    assert first["plan"] == second["plan"] != other["plan"]


def test_text_is_text_and_bytes_are_base64(cell):
    done = cell.run("printf", "héllo \\342\\202").succeeded()
    assert done.stdout == "héllo ".encode() + b"\xe2\x82"
    assert cell.run("echo", "plain é €").succeeded().of("stdout")[0]["encoding"] == "utf-8"
    assert cell.run("printf", "\\377").succeeded().of("stdout")[0]["encoding"] == "base64"


def test_characters_cut_by_a_read_are_still_exact(cell):
    code = "import sys, time\nfor b in 'é€😀'.encode() * 50: sys.stdout.buffer.write(bytes([b])); sys.stdout.buffer.flush(); time.sleep(0.001)"
    assert cell.run("python3", "-c", code).succeeded().stdout == "é€😀".encode() * 50


def test_every_kind_of_text_survives_json(cell):
    text = "".join(chr(code) for code in (*range(1, 0x80), 0x85, 0x2028, 0x2029, 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600))
    assert cell.run("printf", "%s", text).succeeded().stdout == text.encode()


def test_output_arrives_while_the_command_runs(cell):
    running = cell.start("sh", "-c", "echo early; sleep 30").until("early", timeout=5)
    running.signal(2)
    running.wait()


def test_events_on_a_descriptor_of_their_own(cell):
    read, write = os.pipe()
    done = cell.plain("sh", "-c", "echo out; echo err >&2", options=["--events-fd", str(write)], pass_fds=[write])
    os.close(write)
    data = b""
    while chunk := os.read(read, 65536):
        data += chunk
    os.close(read)
    events = parse_events(data)
    check_events(events)
    assert events[-1]["outcome"] == "exited"
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n"), "the streams pass through beside it"


def test_the_events_descriptor_is_not_inherited(cell):
    read, write = os.pipe()
    done = cell.plain("sh", "-c", f"echo forged >&{write}", options=["--events-fd", str(write)], pass_fds=[write])
    os.close(write)
    data = os.read(read, 1 << 20)
    os.close(read)
    assert done.status != 0 and b"forged" not in data


def test_a_command_cannot_forge_an_event(cell):
    line = json.dumps({"event": "result", "outcome": "exited"})
    done = cell.run("printf", f"%s\\n", line).succeeded()
    assert done.stdout.decode() == line + "\n" and len(done.of("result")) == 1


def test_a_setup_failure_is_only_a_result(cell):
    done = cell.run("true", workspace=False, options=["-w", "/no/such/place"])
    assert done.status == 125 and [event["event"] for event in done.events] == ["result"]
    assert done.result["outcome"] == "setup_failed"
    error = done.result["error"]
    assert error["stage"] and "/no/such/place" in error["message"] and "hint" in error


def test_not_found_and_not_executable_in_the_result(cell):
    done = cell.run("no-such-program")
    assert done.status == 127 and done.result["error"] and "no-such-program" in done.result["error"]["message"]


def test_a_name_that_is_not_utf8_is_base64(cell):
    done = cell.run(os.fsdecode(b"\xff-missing"))
    assert done.status == 127
    text = json.dumps(done.result)
    assert "base64" in text or "\\ufffd" not in text


def test_what_is_degraded_has_a_reason(cell):
    done = cell.run("true", policy="workspace").succeeded()
    assert "mediation" not in [entry["name"] for entry in done.result["degraded"]]
    assert all(entry["reason"] for entry in done.result["degraded"])


def test_a_large_label_and_many(cell):
    options = [item for number in range(50) for item in ("--label", f"k{number}={'v' * 100}")]
    assert len(cell.run("true", options=options).succeeded().result["label"]) == 50
