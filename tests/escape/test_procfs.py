# SPDX-License-Identifier: Apache-2.0
"""Procfs, sysfs and control groups: no file there leads to the host's binary or changes the host."""

import hashlib
import os

import pytest
from attempts import UNSHARE, needs_namespaces, outside
from harness import as_root


def test_the_runtime_binary_is_out_of_reach(cell, binary):
    """CVE-2019-5736: through /proc/PID/exe of the runtime, while it starts and while it runs."""
    before = hashlib.sha256(binary.read_bytes()).digest()
    code = """
        import os, sys
        for _ in range(200):
            for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
                for name in ("exe", "root", "cwd"):
                    try: target = os.readlink(f"/proc/{pid}/{name}")
                    except OSError: continue
                    if "toolcell" in target: print(pid, name, target)
                try: os.write(os.open(f"/proc/{pid}/exe", os.O_WRONLY), b"x"); print("wrote to", pid)
                except OSError: pass
    """
    assert cell.python(code).succeeded().text == ""
    assert hashlib.sha256(binary.read_bytes()).digest() == before
    needs_namespaces(cell)
    control = outside(cell, *UNSHARE, "sh", "-c", "readlink /proc/1/exe")
    assert control.stdout.startswith(b"/usr/bin/"), "the control: pid 1 of bare namespaces is a program of the host"


SETTINGS = ["kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/poweroff_cmd", "kernel/yama/ptrace_scope",
            "kernel/randomize_va_space", "kernel/sysrq", "kernel/ns_last_pid", "kernel/hostname", "kernel/domainname",
            "vm/overcommit_memory", "vm/drop_caches", "fs/binfmt_misc/register", "fs/suid_dumpable", "fs/file-max",
            "user/max_user_namespaces", "user/max_inotify_instances", "net/ipv4/ip_forward",
            "net/ipv4/ping_group_range", "net/ipv4/ip_unprivileged_port_start", "kernel/keys/maxkeys",
            "kernel/msgmax", "kernel/shmmax", "fs/mqueue/msg_max"]


def test_settings_cannot_be_changed(cell):
    code = """
        import os, sys
        for name in sys.argv[1:]:
            path = "/proc/sys/" + name
            try: content = open(path).read()
            except OSError: content = "1\\n"
            try: fd = os.open(path, os.O_WRONLY)
            except OSError: continue
            try: os.write(fd, content.encode()); print("wrote", name)
            except OSError: pass
    """
    assert cell.python(code, *SETTINGS).succeeded().text == ""


@as_root
def test_the_control_writes_a_setting(cell):
    path = "/proc/sys/vm/swappiness"
    code = f"content = open('{path}').read(); open('{path}', 'w').write(content); print('wrote')"
    assert cell.outside(code).stdout == b"wrote\n"
    assert cell.python(code).status != 0


def test_nothing_of_procfs_takes_writes_but_one_s_own(cell):
    """Whatever opens for writing must lie below a process of the cell, or be nothing but a question."""
    code = """
        import os
        for top, directories, files in os.walk("/proc"):
            directories[:] = [name for name in directories if not name.isdigit() and name not in ("self", "thread-self")]
            for name in files:
                path = os.path.join(top, name)
                try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)); print(path)
                except OSError: pass
    """
    writable = set(cell.python(code).succeeded().text.split())
    # Pressure triggers are the opener's own; ns_last_pid asks for a capability at the write; what is masked is /dev/null.
    harmless = {f"/proc/pressure/{name}" for name in ("cpu", "io", "memory", "irq")}
    assert writable <= harmless | {"/proc/sys/kernel/ns_last_pid", "/proc/locks", "/proc/keys", "/proc/cmdline", "/proc/config.gz"}


def test_sysfs_and_control_groups_are_not_there(cell):
    script = "ls -d /sys /sys/fs/cgroup /sys/kernel /dev/cgroup; grep -c -E ' (cgroup2?|sysfs|securityfs|debugfs|tracefs|bpf) ' /proc/self/mountinfo"
    done = cell.run("sh", "-c", script)
    assert done.text == "0\n" and os.path.isdir("/sys")


def test_control_groups_show_no_path_of_the_host(cell):
    text = cell.run("cat", "/proc/self/cgroup", "/proc/1/cgroup").succeeded().text
    assert {line.rpartition(":")[2] for line in text.splitlines()} <= {"/"}


@pytest.mark.parametrize("name", ["kcore", "kmsg", "sysrq-trigger", "timer_list", "slabinfo", "vmallocinfo", "kpagecount",
                                  "pagetypeinfo", "kpageflags"])
def test_files_of_the_kernel_s_memory(cell, name):
    done = cell.run("sh", "-c", f"test ! -e /proc/{name} || head -c1 /proc/{name} >/dev/null")
    assert done.status == 0 and not os.path.exists(f"/proc/{name}") or b"Permission denied" in done.stderr, done


def test_own_files_that_a_container_runtime_would_write(cell):
    """A lower oom score, other ids, an identity for the audit log: none is to be had."""
    code = """
        import os
        for path, text in (("oom_score_adj", "-1000"), ("oom_adj", "-17"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1"),
                           ("setgroups", "allow"), ("timens_offsets", "monotonic 1 0"), ("attr/exec", "x")):
            try: os.write(os.open("/proc/self/" + path, os.O_WRONLY), text.encode()); print(path)
            except OSError: pass
    """
    assert cell.python(code).succeeded().text == ""
