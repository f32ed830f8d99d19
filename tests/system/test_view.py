# SPDX-License-Identifier: Apache-2.0
"""What of the host can be seen from inside: the rootfs, a named part of /etc, and nothing else."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from harness import as_root

SECRETS = ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/ssh", "/etc/machine-id", "/etc/sudoers", "/etc/sudoers.d",
           "/etc/ssl/private", "/etc/crontab", "/etc/cron.d", "/etc/fstab", "/etc/security",
           "/etc/pam.d", "/etc/docker", "/etc/kubernetes", "/etc/krb5.keytab", "/etc/systemd", "/etc/apt", "/etc/toolcell"]
HIDDEN = ["/home", "/root", "/var", "/run", "/mnt", "/srv", "/media", "/boot", "/sys", "/lost+found", "/work"]


def exists(cell, paths):
    """Those of the paths that show anything inside: a file with content, a directory with entries."""
    code = """
        import json, os, sys
        seen = {}
        for path in json.loads(sys.argv[1]):
            try:
                if os.path.isdir(path):
                    if os.listdir(path): seen[path] = os.listdir(path)
                elif open(path, "rb").read(1): seen[path] = "content"
            except OSError: pass
        print(json.dumps(seen))
    """
    return cell.python(code, json.dumps(paths)).succeeded().answer


def test_no_secret_of_etc(cell):
    there = [path for path in SECRETS if os.path.exists(path)]
    assert "/etc/shadow" in there and "/etc/pam.d" in there, "the control: the host has them"
    assert exists(cell, SECRETS) == {}


def test_nothing_below_the_places_of_users_and_services(cell):
    seen = exists(cell, HIDDEN)
    assert seen == {"/home": ["agent"], "/var": ["tmp"]}, seen
    assert exists(cell, ["/home/agent", "/var/tmp"]) == {}, "both are fresh"


def test_the_root_lists_only_what_was_built(cell):
    code = "import os, json; print(json.dumps(sorted(os.listdir('/'))))"
    seen = set(cell.python(code).succeeded().answer)
    built = {"bin", "dev", "etc", "home", "opt", "proc", "run", "sbin", "tmp", "usr", "var", "workspace", *(
        name for name in os.listdir("/") if name.startswith("lib"))}
    assert seen <= built, seen - built
    assert {"usr", "bin", "etc", "tmp", "proc", "dev", "workspace"} <= seen


def test_how_the_host_was_booted_and_built(cell):
    masked = ["/proc/cmdline", "/proc/config.gz"]
    assert exists(cell, masked) == {}
    assert exists(cell, ["/proc/version"]) == {"/proc/version": "content"}, "the control: uname tells that as well"
    assert len(open(masked[0], "rb").read()) > 0, "the control: the host has it"
    assert all(cell.run("cat", path).succeeded().text == "" for path in masked if os.path.exists(path))


def test_what_programs_need_of_etc_is_there(cell):
    for path in ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs",
                 "/etc/alternatives", "/etc/localtime"):
        if os.path.exists(path):
            cell.run("test", "-e", path).succeeded()


def test_no_host_path_in_mountinfo(cell):
    """The root field of a bind mount is its path on the host."""
    lines = cell.run("cat", "/proc/self/mountinfo").succeeded().text.splitlines()
    hidden = [str(cell.area), str(cell.identity.home)]
    declared = str(cell.workspace)
    for line in lines:
        root, target = line.split(" ")[3:5]
        assert not target.startswith(tuple(hidden)), line
        if root == declared:
            assert target == "/workspace", line
        else:
            assert not root.startswith(tuple(hidden)), line
            assert root.split("/")[1] not in ("home", "root", "var", "run", "mnt", "srv", "work"), line
    assert any(line.split(" ")[4] == "/workspace" for line in lines), "the control: the workspace is a mount"


@as_root
def test_the_control_group_of_the_host_is_not_named(cell):
    mounts = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line]
    if not mounts:
        pytest.skip("no cgroup2 mount")
    group = Path(mounts[0]) / "toolcell-test-group"
    group.mkdir(exist_ok=True)
    try:
        prefix = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "-"]
        control = subprocess.run([*prefix, "cat", "/proc/self/cgroup"], capture_output=True, text=True, check=True)
        assert group.name in control.stdout, "the control: the caller is in that group"
        assert group.name not in cell.run("cat", "/proc/self/cgroup", prefix=prefix).succeeded().text
    finally:
        group.rmdir()


def test_processes_of_the_host_are_not_seen(cell):
    code = "import os, json; print(json.dumps([int(p) for p in os.listdir('/proc') if p.isdigit()]))"
    pids = cell.python(code).succeeded().answer
    assert len(pids) <= 3 and max(pids) < 100 and 1 in pids
    assert len([name for name in os.listdir("/proc") if name.isdigit()]) > 3, "the control: the host has more"


def test_init_shows_nothing_of_the_host(cell):
    code = """
        import json, os
        seen = {}
        for name in ("cmdline", "environ", "maps", "mem", "auxv", "stack", "syscall"):
            try: seen[name] = open(f"/proc/1/{name}", "rb").read(4096).decode(errors="replace")
            except OSError as error: seen[name] = None
        for name in ("exe", "cwd", "root", "fd/0", "fd/3", "ns/mnt"):
            try: seen[name] = os.readlink(f"/proc/1/{name}")
            except OSError: seen[name] = None
        print(json.dumps(seen))
    """
    seen = cell.python(code, env={"HOST_SECRET": "s3cr3t"}, options=["--env", "API_KEY=s3cr3t"]).succeeded().answer
    text = json.dumps(seen)
    for word in ("s3cr3t", str(cell.area), str(cell.binary), "HOST_SECRET", "--env"):
        assert word not in text, f"{word}: {text}"
    for name in ("environ", "maps", "mem", "auxv", "exe", "cwd", "root", "fd/0", "fd/3"):
        assert not seen[name], (name, seen[name])


def test_init_can_neither_be_traced_nor_killed(cell):
    code = """
        import ctypes, os, errno, json
        libc = ctypes.CDLL(None, use_errno=True)
        def attempt(result): return None if result >= 0 else errno.errorcode[ctypes.get_errno()]
        answers = [attempt(libc.ptrace(16, 1, 0, 0))]  # PTRACE_ATTACH
        for number in (9, 15, 19):
            os.kill(1, number)
        os.kill(os.getppid(), 9)
        try: os.kill(-1, 0)
        except OSError: pass
        print(json.dumps(answers))
    """
    assert cell.python(code).succeeded().answer == ["EPERM"]


def test_the_runtime_binary_is_nowhere(cell):
    """CVE-2019-5736: overwriting the runtime through /proc/*/exe."""
    before = cell.binary.read_bytes()
    code = """
        import os
        for pid in [name for name in os.listdir("/proc") if name.isdigit()] + ["self"]:
            try: path = os.readlink(f"/proc/{pid}/exe")
            except OSError: continue
            if "toolcell" in path: print(path)
            try: os.open(f"/proc/{pid}/exe", os.O_WRONLY | os.O_TRUNC); print("opened", pid)
            except OSError: pass
    """
    assert cell.python(code).succeeded().text == ""
    assert cell.binary.read_bytes() == before


@pytest.mark.parametrize("path", [
    "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches",
    "/proc/sys/user/max_user_namespaces", "/proc/self/uid_map", "/proc/self/oom_score_adj", "/proc/1/oom_score_adj",
    "/proc/sys/net/ipv4/ip_forward", "/proc/self/setgroups"])
def test_kernel_settings_cannot_be_written(cell, path):
    code = f"""
        value = open({path!r}).read() if {path!r} != "/proc/sysrq-trigger" else "h"
        value = "-1000" if "oom_score" in {path!r} else value
        with open({path!r}, "w") as file: file.write(value)
        print("written")
    """
    assert b"written" not in cell.python(code).stdout
    if os.geteuid() == 0 and os.path.exists(path) and "/user/" not in path:  # those need CAP_SYS_RESOURCE
        assert os.access(path.replace("/1/", "/self/"), os.W_OK), "the control: root of the host could"


@pytest.mark.parametrize("path", ["/proc/kcore", "/proc/kmsg", "/proc/timer_list", "/proc/scsi/scsi",
                                  "/proc/kpageflags", "/sys/firmware", "/sys/kernel/security", "/sys/fs/cgroup"])
def test_kernel_files_that_tell_too_much_are_closed(cell, path):
    assert exists(cell, [path]) == {}


def test_the_rootfs_cannot_be_written(cell):
    code = """
        import errno, json, os
        def attempt(call, *args):
            try: call(*args); return None
            except OSError as error: return errno.errorcode[error.errno]
        print(json.dumps([attempt(open, p, "w") for p in ("/usr/x", "/usr/bin/python3", "/etc/passwd", "/x", "/bin/sh")] +
                         [attempt(os.mkdir, "/usr/d"), attempt(os.mkdir, "/d"), attempt(os.unlink, "/etc/hosts"),
                          attempt(os.rename, "/etc/hosts", "/etc/h"), attempt(os.chmod, "/usr", 0o777),
                          attempt(os.symlink, "x", "/etc/l")]))
    """
    answers = cell.python(code).succeeded().answer
    assert set(answers) <= {"EROFS", "EACCES", "EPERM"}, answers
