# SPDX-License-Identifier: Apache-2.0
"""A virtual environment in a workspace whose names are judged: made there, and what is in it runs, as outside."""

import base64
import hashlib
import subprocess
import zipfile

import pytest

from harness import SLACK
from test_cpython import mediated

# Made in the workspace: a script that names the environment's interpreter, a library, a compiled module in it.
USE = """
    set -e
    {environment}
    printf '#!%s/.venv/bin/python\\nimport sys\\nprint(sys.prefix)\\n' "$PWD" >script
    chmod +x script
    ./script
    printf 'int answer(void) {{ return 42; }}\\n' >answer.c
    cc -shared -fPIC answer.c -o .venv/lib/libanswer.so
    cp "$(/usr/bin/python3 -c 'import _queue; print(_queue.__file__)')" .venv/lib/python3*/site-packages/
    .venv/bin/python - <<'PYTHON'
import ctypes, glob, importlib.machinery, importlib.util
print(ctypes.CDLL(".venv/lib/libanswer.so").answer())
loader = importlib.machinery.ExtensionFileLoader("_queue", glob.glob(".venv/lib/python3*/site-packages/_queue*.so")[0])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_queue", loader))
loader.exec_module(module)
queue = module.SimpleQueue()
queue.put("compiled")
print(queue.get())
PYTHON
    echo 'the token' >token.secret || echo refused
"""


def use(cell, environment, timeout=60):
    """What that says in the cell and outside. Outside the last line is missing: there the name may be made."""
    code = USE.format(environment=environment)
    done = cell.run("bash", "-c", code, policy=mediated(cell), timeout=timeout).succeeded()
    assert [event["target"] for event in done.of("denied")] == ["/workspace/token.secret"]
    subprocess.run(["rm", "-r", ".venv", "script", "answer.c"], cwd=cell.workspace, check=True)
    native = subprocess.run(["bash", "-c", code], cwd=cell.workspace, env=cell.environment(), capture_output=True, text=True,
                            timeout=timeout * SLACK, check=True, **cell.identity.popen())
    assert done.text.replace("/workspace/", f"{cell.workspace}/") == native.stdout + "refused\n"
    return done.text


def test_an_environment_and_what_runs_in_it(cell):
    text = use(cell, "python3 -m venv --without-pip .venv")
    assert text == "/workspace/.venv\n42\ncompiled\nrefused\n"


def make_wheel(cell):
    """A package with one program, as pip takes it without a network."""
    path = cell.workspace / "told-1-py3-none-any.whl"
    files = {"told.py": "def main():\n    print('told')\n",
             "told-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: told\nVersion: 1\n",
             "told-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             "told-1.dist-info/entry_points.txt": "[console_scripts]\ntold = told:main\n"}

    def row(name, text):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        return f"{name},sha256={digest},{len(text)}"

    files["told-1.dist-info/RECORD"] = "\n".join([*(row(*each) for each in files.items()), "told-1.dist-info/RECORD,,\n"])
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    cell.identity.own(path)


@pytest.mark.long
def test_pip_installs_a_package_there(cell):
    if subprocess.run(["/usr/bin/python3", "-c", "import ensurepip"], capture_output=True).returncode:
        pytest.skip("needs Debian's package python3-venv")
    make_wheel(cell)
    text = use(cell, """python3 -m venv .venv && .venv/bin/pip install -q --no-index --disable-pip-version-check ./told-1-py3-none-any.whl
        .venv/bin/told""", timeout=120)
    assert text == "told\n/workspace/.venv\n42\ncompiled\nrefused\n"
