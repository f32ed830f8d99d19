# SPDX-License-Identifier: Apache-2.0
"""A command in a cell that does what the test says, call by call, so that the host can move things in between."""

import json
import subprocess
from pathlib import Path

AGENT = """
import errno, json, os, sys
def read(path):
    with open(path, "rb") as file: return file.read().decode()
def write(path, text):
    with open(path, "wb") as file: file.write(text.encode())
def append(path, text):
    with open(path, "ab") as file: file.write(text.encode())
def hold(path): return os.open(path, os.O_RDONLY | os.O_DIRECTORY)
def read_at(fd, path):
    with open(os.open(path, os.O_RDONLY, dir_fd=fd), "rb") as file: return file.read().decode()
def list_at(fd, path):
    other = os.open(path, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
    try: return sorted(os.listdir(other))
    finally: os.close(other)
def list(path): return sorted(os.listdir(path))
def chmod(path, mode): os.chmod(path, mode)
def run(*argv):
    import subprocess
    return subprocess.run(argv, capture_output=True).returncode
calls = {**globals(), **{name: getattr(os, name) for name in
         "mkdir rmdir unlink rename link symlink truncate chdir getcwd readlink utime".split()}}
print("ready", flush=True)
for line in sys.stdin:
    name, *args = json.loads(line)
    try: answer = [None, calls[name](*args)]
    except OSError as error: answer = [errno.errorcode[error.errno], None]
    print(json.dumps(answer), flush=True)
"""


class Agent:
    """`agent.read(path)` gives what was read; a refusal raises Refused with the name of the errno."""

    def __init__(self, cell, **more):
        self.running = cell.start("python3", "-c", AGENT, events=False, stdin=subprocess.PIPE, **more)
        self.running.until("ready\n")
        self._answers = 1

    def __getattr__(self, name):
        def call(*args):
            self.running.process.stdin.write((json.dumps([name, *map(_plain, args)]) + "\n").encode())
            error, value = json.loads(self.running.line(self._answers))
            self._answers += 1
            if error:
                raise Refused(error)
            return value

        return call

    def refuses(self, name, *args):
        """The errno's name when the operation fails, else None."""
        try:
            getattr(self, name)(*args)
        except Refused as refusal:
            return str(refusal)
        return None

    def finish(self):
        self.running.process.stdin.close()
        return self.running.wait()


class Refused(Exception):
    """The cell's kernel said no."""


def _plain(value):
    return str(value) if isinstance(value, Path) else value
