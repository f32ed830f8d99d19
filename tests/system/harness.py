# SPDX-License-Identifier: Apache-2.0
"""What every system test stands on: who starts a cell, where it works, how it is started and what came back.

A test asks for the fixture `cell` and calls `cell.run("true")` (events on stdout, parsed and checked) or
`cell.plain("true")` (streams passed through). `cell.start()` gives a call that is still running, `cell.agent()` one
that performs file operations on request, and `cell.outside()` runs the same Python outside any cell: the positive
control of an attempt that must fail inside.
"""

import base64
import dataclasses
import json
import os
import re
import signal
import subprocess
import textwrap
import threading
import time
from pathlib import Path

import pytest

import agent
import judging
import leftovers

SOURCE = Path(__file__).resolve().parents[2]
SLACK = float(os.environ.get("TOOLCELL_TEST_SLACK", "1"))  # multiplies every time limit, for loaded machines
PYTHON = "/usr/bin/python3"
# Where the search for leaks is switched off, that is meant for every toolcell: it waits for ever where wait4 is missing.
SANITIZERS = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
STATIC = "static"  # the policy that allows everything, enforced without a broker

as_root = pytest.mark.parametrize("identity", ["root"], indirect=True)
as_user = pytest.mark.parametrize("identity", ["user"], indirect=True)

POLICIES = {
    STATIC: [{"pattern": "**", "operations": "all", "effect": "allow"}],
    "readonly-static": [{"pattern": "**", "operations": ["read", "execute", "connect"], "effect": "allow"}],
}


@dataclasses.dataclass(frozen=True)
class Identity:
    """Who starts toolcell."""

    name: str
    uid: int
    gid: int
    home: Path

    def popen(self):
        """Arguments that make a child of subprocess run as this identity."""
        return {} if self.uid == os.getuid() else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path):
        os.chown(path, self.uid, self.gid, follow_symlinks=False)
        return path


@dataclasses.dataclass
class Outcome:
    """What one call gave back. With events, stdout and stderr are the command's and `messages` toolcell's own."""

    status: int
    stdout: bytes
    stderr: bytes
    messages: str
    events: list
    seconds: float

    @property
    def result(self):
        return self.events[-1] if self.events else None

    @property
    def text(self):
        return self.stdout.decode()

    @property
    def answer(self):
        """The command's stdout as JSON."""
        assert self.stdout, f"the command said nothing: {self}"
        return json.loads(self.stdout)

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def succeeded(self):
        assert self.status == 0, f"exit status {self.status}: {self.messages} {self.stderr!r} {self.result}"
        return self


def sanitized(binary):
    """Built with a sanitizer, whose runtime needs memory of its own."""
    return b"__asan_init" in Path(binary).read_bytes()


def unified():
    """Where version 2 of the control groups is mounted with what limits need, or None: a hybrid host has it without."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = line.split(" ")[4]
        if " - cgroup2 " in line and {"cpu", "memory", "pids"} <= set(Path(place, "cgroup.controllers").read_text().split()):
            return place
    return None


def grouped(test):
    """Run a test as whoever can have control groups on this host: root, or a user whose group was delegated to him."""
    who = "root" if os.geteuid() == 0 or not unified() else "user"
    return pytest.mark.parametrize("identity", [who], indirect=True)(test)


def groups_of(*calls):
    """The directories of the control groups of started calls, wherever they are on this host: named after the call."""
    ids = [json.loads(call.sofar()["stdout"].split(b"\n")[0])["id"] for call in calls]
    return {path for path, _, _ in os.walk("/sys/fs/cgroup") if os.path.basename(path) in {f"toolcell-{id}" for id in ids}}


def decode(event):
    """The bytes of a stdout or stderr event."""
    data = event["data"]
    return base64.b64decode(data) if event.get("encoding") == "base64" else data.encode()


def check_events(events):
    """What holds for the events of every call, whatever it did."""
    assert events, "no event at all"
    kinds = [event["event"] for event in events]
    assert kinds.count("result") == 1 and kinds[-1] == "result", f"one result, last: {kinds}"
    assert kinds == ["result"] or (kinds[0] == "start" and kinds.count("start") == 1), f"start first: {kinds}"
    assert len({event["id"] for event in events}) == 1
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", events[0]["id"])
    times = [event["t"] for event in events]
    assert times == sorted(times), "t goes back"
    validate = _validator()
    for event in events:
        for error in validate(event):
            raise AssertionError(f"against the schema at {list(error.absolute_path)}: {error.message}: {event}")


def _validator():
    """iter_errors of the events' schema."""
    schema = SOURCE / "policy" / "schema" / "event.json"
    if not hasattr(_validator, "cached"):
        import events_schema

        _validator.cached = events_schema.validator(schema).iter_errors
    return _validator.cached


def parse_events(stdout):
    lines = stdout.split(b"\n")
    assert lines[-1] == b"", f"the last line is not ended: {lines[-1][:200]!r}"
    for line in lines[:-1]:
        assert len(line) < 64 * 1024, "a line longer than 64 KiB"
    return [json.loads(line.decode("utf-8")) for line in lines[:-1]]


class Running:
    """A toolcell that was started and not waited for. Its output is collected by a thread, so it never blocks."""

    def __init__(self, process, events):
        self.process, self.pid, self._events = process, process.pid, events
        self._begin = time.monotonic()
        self._data = {"stdout": bytearray(), "stderr": bytearray()}
        self._ended = set()
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._collect, args=(name,), daemon=True)
                         for name in self._data if getattr(process, name)]
        for thread in self._threads:
            thread.start()

    def _collect(self, name):
        stream = getattr(self.process, name)
        while True:
            try:
                chunk = os.read(stream.fileno(), 1 << 16)
            except (OSError, ValueError):
                return
            with self._changed:
                self._data[name] += chunk
                if not chunk:
                    self._ended.add(name)
                self._changed.notify_all()
            if not chunk:
                return

    def until(self, text, stream="stdout", timeout=15):
        """Wait until the stream contains the text (for events: the JSON line does)."""
        wanted = text if isinstance(text, bytes) else text.encode()
        with self._changed:
            self._changed.wait_for(lambda: wanted in self._data[stream] or stream in self._ended, timeout * SLACK)
            seen = wanted in self._data[stream]
        if not seen:
            self._note_end()
        with self._changed:
            assert wanted in self._data[stream], f"never saw {text!r}: {self.sofar()}"
        return self

    def line(self, number, timeout=30):
        """Wait for this line of stdout, counted from 0, and return it."""
        lines = []

        def there():
            lines[:] = bytes(self._data["stdout"]).split(b"\n")
            return len(lines) > number + 1 or "stdout" in self._ended

        with self._changed:
            self._changed.wait_for(there, timeout * SLACK)
            assert len(lines) > number + 1, f"no line {number}: {self.sofar()}"
        return lines[number]

    def _note_end(self):
        try:
            status = self.process.wait(2)
        except subprocess.TimeoutExpired:
            return
        for thread in self._threads:  # the last words may still be on their way
            thread.join(5 * SLACK)
        judging.note(status, *self.sofar().values())

    def sofar(self):
        return {name: bytes(data) for name, data in self._data.items()}

    def signal(self, number):
        self.process.send_signal(number)

    def processes(self):
        """Host pids of everything below this toolcell, init first."""
        return leftovers.descendants(self.pid)

    def wait(self, timeout=30):
        try:
            status = self.process.wait(timeout * SLACK)
        except subprocess.TimeoutExpired:
            self.kill()
            judging.note(None, *self.sofar().values())
            pytest.fail(f"still running after {timeout} s: {self.sofar()}")
        seconds = time.monotonic() - self._begin
        for thread in self._threads:
            thread.join(5 * SLACK)
        out, err = bytes(self._data["stdout"]), bytes(self._data["stderr"])
        judging.note(status, out, err)
        if not self._events or status < 0:
            return Outcome(status, out, err, err.decode(errors="replace"), [], seconds)
        events = parse_events(out)
        check_events(events)
        streams = {kind: b"".join(decode(e) for e in events if e["event"] == kind) for kind in ("stdout", "stderr")}
        return Outcome(status, streams["stdout"], streams["stderr"], err.decode(errors="replace"), events, seconds)

    def kill(self):
        for pid in [self.pid, *self.processes()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


class Cell:
    """One test's place: an identity, a workspace of its own, and the ways to start toolcell there."""

    def __init__(self, binary, identity, area, policies):
        self.binary, self.identity, self.area, self._policies = binary, identity, area, policies
        self.known = set()
        self._running = []
        self.workspace = self.directory("work")

    def directory(self, name, mode=0o755):
        """A directory beside the workspace, owned by the identity."""
        path = self.area / name
        path.mkdir(mode=mode)
        path.chmod(mode)
        self.known.add(name.split("/")[0])
        return self.identity.own(path)

    def write(self, name, content="", mode=0o644, where=None):
        """A file of the identity in the workspace (or below `where`), its directories made as needed."""
        path = (where or self.workspace) / name
        missing = [parent for parent in path.parents if not parent.exists()]
        for parent in reversed(missing):
            parent.mkdir()
            self.identity.own(parent)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return self.identity.own(path)

    def policy(self, rules=(), **keys):
        """A policy file with these rules, outside the workspace; its path."""
        number = len(list(self._policies.glob("test-*.json")))
        path = self._policies / f"test-{os.getpid()}-{number}.json"
        path.write_text(json.dumps({"version": 1, "rules": list(rules), **keys}))
        path.chmod(0o644)
        return path

    def environment(self, **more):
        home = self.identity.home
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "runtime"),
                **SANITIZERS, **more}

    def command(self, argv, options=(), policy=STATIC, events=True, workspace=True):
        line = [str(self.binary), "run"]
        if events:
            line.append("--json")
        if workspace:
            line += ["-w", str(self.workspace)]
        if policy in POLICIES:
            line += ["-p", str(self._policies / f"{policy}.json")]
        elif policy:
            line += ["-p", str(policy)]
        line += [str(option) for option in options]
        return line + (["--", *map(str, argv)] if argv else [])

    def spawn(self, line, cwd=None, env=None, **popen):
        for name in ("stdout", "stderr"):
            popen.setdefault(name, subprocess.PIPE)
        popen.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(line, cwd=cwd or self.workspace, env=self.environment(**(env or {})), bufsize=0,
                                **{**self.identity.popen(), **popen})

    def start(self, *argv, options=(), policy=STATIC, events=True, workspace=True, prefix=(), **popen):
        line = [*prefix, *self.command(argv, options, policy, events, workspace)]
        running = Running(self.spawn(line, **popen), events)
        self._running.append(running)
        return running

    def run(self, *argv, timeout=30, stdin=None, **more):
        """Run a command with --json to its end. stdin is the bytes to feed it, or a descriptor as for subprocess."""
        if stdin is not None:
            more["stdin"] = subprocess.PIPE if isinstance(stdin, bytes) else stdin
        running = self.start(*argv, **more)
        if isinstance(stdin, bytes):
            _feed(running.process.stdin, stdin)
        return running.wait(timeout)

    def plain(self, *argv, **more):
        """Run a command with its streams passed through."""
        return self.run(*argv, events=False, **more)

    def python(self, code, *args, **more):
        return self.run("python3", "-c", textwrap.dedent(code), *args, **more)

    def outside(self, code, *args, cwd=None, **popen):
        """The same Python as the same identity, in the workspace, but in no cell."""
        return subprocess.run([PYTHON, "-c", textwrap.dedent(code), *map(str, args)], cwd=cwd or self.workspace,
                              capture_output=True, timeout=60 * SLACK, **{**self.identity.popen(), **popen})

    def refused(self, outcome, *words, status=125):
        """The call did not start: one line that names the reason."""
        assert outcome.status == status, f"exit status {outcome.status}: {outcome.messages} {outcome.result}"
        lines = outcome.messages.strip().splitlines()
        assert lines and all(line.startswith("toolcell: ") for line in lines), outcome.messages
        for word in words:
            assert word in outcome.messages, f"{word!r} is not named: {outcome.messages}"
        if outcome.events:
            assert [event["event"] for event in outcome.events] == ["result"]
        return outcome

    def agent(self, **more):
        return agent.Agent(self, **more)

    def close(self):
        for running in self._running:
            if running.process.poll() is None:
                running.kill()
            for stream in (running.process.stdin, running.process.stdout, running.process.stderr):
                if stream:
                    stream.close()


def _feed(stream, data):
    def write():
        try:
            stream.write(data)
        except BrokenPipeError:
            pass
        stream.close()

    if len(data) <= 4096:
        write()
    else:
        threading.Thread(target=write, daemon=True).start()
