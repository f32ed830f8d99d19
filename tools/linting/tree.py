# SPDX-License-Identifier: Apache-2.0
"""The files a lint run looks at, and the exceptions granted."""
import pathlib
import re
import subprocess

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


class Tree:
    """A checkout: its files (tracked, or new and not ignored) and its text."""

    def __init__(self, top):
        self.top = pathlib.Path(top)
        self.files = sorted(self._list())
        self._texts = {}
        self._exceptions = self._read_exceptions()
        self._used = set()

    def _list(self):
        if (self.top / ".git").exists():
            listed = subprocess.run(
                ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.top, check=True, capture_output=True).stdout.decode()
            return [name for name in listed.split("\0") if name and (self.top / name).is_file()]
        return [str(path.relative_to(self.top)) for path in self.top.rglob("*")
                if path.is_file() and not path.relative_to(self.top).parts[0].startswith("build")]

    def match(self, *patterns):
        """Return the names that match one of the glob patterns ('**' spans directories)."""
        return [name for name in self.files if any(pathlib.PurePath("/" + name).match(pattern) for pattern in patterns)]

    def under(self, directory, *suffixes):
        """Return the names below a directory that end in one of the suffixes."""
        return [name for name in self.files if name.startswith(directory + "/") and name.endswith(suffixes or ("",))]

    def text(self, name):
        """Return a file's text; None when it is not UTF-8 (a corpus, an image)."""
        if name not in self._texts:
            try:
                self._texts[name] = (self.top / name).read_bytes().decode()
            except UnicodeDecodeError:
                self._texts[name] = None
        return self._texts[name]

    def code(self, name):
        """Return C text with comments and string contents blanked, lines kept."""
        def blank(match):
            found = match.group()
            if found[0] == "/":
                return "\n" * found.count("\n") or " "
            return found[0] * 2
        return COMMENT_OR_STRING.sub(blank, self.text(name) or "")

    def excepted(self, check, subject):
        """True when tools/lint.exceptions grants this."""
        if (check, subject) in self._exceptions:
            self._used.add((check, subject))
            return True
        return False

    def unused_exceptions(self):
        """Return exceptions that nothing needed."""
        return [" ".join(key) for key in sorted(self._exceptions - self._used)]

    def _read_exceptions(self):
        granted = set()
        path = self.top / "tools" / "lint.exceptions"
        for line in path.read_text().splitlines() if path.exists() else []:
            if line.strip() and not line.startswith("#"):
                entry, _, reason = line.partition(" # ")
                check, subject = entry.split(None, 1)
                if not reason.strip():
                    raise SystemExit(f"tools/lint.exceptions: no reason given: {line}")
                granted.add((check, subject.strip()))
        return granted
