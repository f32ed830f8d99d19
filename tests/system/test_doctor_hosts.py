# SPDX-License-Identifier: Apache-2.0
"""What `toolcell doctor` says of hosts that lack something: it is missing, it alone, and the remedy names the cause."""

import os
import subprocess
from pathlib import Path

import pytest

import doctoring
import harness
from doctoring import (CLONE_NEWNET, CLONE_NEWUSER, EACCES, ENOSYS, EPERM, LOST, NEW_LISTENER, filtered, poorer,
                       settings)
from harness import SLACK, as_root, as_user


@pytest.fixture
def doctor(cell):
    return lambda *prefix, **more: doctoring.ask(cell, *prefix, **more)


def test_control_without_a_poorer_host(doctor):
    """The same detour without the loss finds what the test after it misses."""
    assert doctor(*filtered("errno", "nothing")).works == doctor().works


@as_user
def test_control_of_the_namespace_alone(doctor):
    assert doctor(*poorer()).works == doctor().works


@as_user
def test_root_of_a_namespace_has_no_ids_to_give(doctor):
    answer = doctor("unshare", "--user", "--map-root-user")
    assert answer.document["uid"] == 0 and not answer.works
    assert answer.state("user-namespaces") == "ok" and answer.state("id-maps") == "missing"
    assert "/etc/toolcell/uids" in answer.checks["id-maps"]["remedy"]


@as_user
def test_no_user_namespaces_left(doctor):
    answer = doctor(*poorer("echo 0 >/proc/sys/user/max_user_namespaces"))
    assert not answer.works and answer.state("user-namespaces") == "missing"
    assert "user.max_user_namespaces" in answer.checks["user-namespaces"]["remedy"]
    assert answer.checks["mount-namespace"]["detail"] == "not tried: it needs user-namespaces"
    assert not answer.enforces["isolation"] and not answer.enforces["network-none"]


@as_user
def test_no_network_namespaces_left(doctor):
    answer = doctor(*poorer("echo 0 >/proc/sys/user/max_net_namespaces"))
    assert not answer.works and answer.state("user-namespaces") == "ok"
    assert answer.state("network-namespace") == "missing"
    assert "user.max_net_namespaces" in answer.checks["network-namespace"]["remedy"]


@as_root
def test_masked_proc_as_root(doctor):
    answer = doctor("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /proc/timer_list && exec "$@"', "sh")
    assert answer.lacking() == {"procfs", "run"}
    assert "--allow-degraded=proc" in answer.checks["procfs"]["remedy"]
    assert "mounted over a part of /proc" in answer.checks["procfs"]["remedy"]


@as_user
def test_masked_proc_as_user(doctor):
    answer = doctor(*poorer("mount --bind /dev/null /proc/timer_list"))
    assert answer.state("procfs") == "missing" and not answer.works
    assert answer.state("mount-api") == "ok"
    assert "mounted over a part of /proc" in answer.checks["procfs"]["remedy"]


@as_user
def test_apparmor_takes_capabilities_away(cell, doctor):
    """As Ubuntu does it: the namespace is made, the ids are mapped, and then capabilities are lost inside."""
    line = settings(cell, apparmor_restrict_unprivileged_userns=1)
    answer = doctor(*poorer(line), *LOST)
    check = answer.checks["user-namespaces"]
    assert check["state"] == "missing" and "capabilities are lost inside" in check["detail"] and not answer.works
    assert "kernel.apparmor_restrict_unprivileged_userns" in check["remedy"]
    assert f"profile toolcell {cell.binary} flags=(unconfined)" in check["remedy"]
    assert check["remedy"].endswith("apparmor_parser -r /etc/apparmor.d/toolcell")


@as_user
def test_capabilities_are_lost_without_apparmor(doctor):
    """Control: the same loss where no setting explains it is not put down to AppArmor."""
    check = doctor(*LOST).checks["user-namespaces"]
    assert check["state"] == "missing" and "capabilities are lost inside" in check["detail"]
    assert "AppArmor" not in check["remedy"]


@as_user
def test_apparmor_refuses_user_namespaces(cell, doctor):
    line = settings(cell, apparmor_restrict_unprivileged_userns=1)
    answer = doctor(*poorer(line), *filtered("errno", "clone", EACCES, 0, CLONE_NEWUSER))
    assert "/etc/apparmor.d/toolcell" in answer.checks["user-namespaces"]["remedy"]


@as_user
def test_user_namespaces_are_switched_off_for_users(cell, doctor):
    line = settings(cell, unprivileged_userns_clone=0)
    answer = doctor(*poorer(line), *filtered("errno", "clone", EPERM, 0, CLONE_NEWUSER))
    assert "kernel.unprivileged_userns_clone=1" in answer.checks["user-namespaces"]["remedy"]


@as_root
@pytest.mark.skipif(not os.path.exists("/proc/sys/vm/memfd_noexec"), reason="Linux before 6.3 has no vm.memfd_noexec")
def test_programs_in_memory_are_forbidden(doctor):
    """The setting belongs to a pid namespace since Linux 6.6."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", 'echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"', "sh"]
    answer = doctor(*prefix)
    assert answer.lacking() - {"cgroup-delegation"} == {"memfd-exec", "run"}
    assert answer.checks["memfd-exec"]["remedy"] == "sysctl vm.memfd_noexec=1 or 0"


@as_root
@pytest.mark.parametrize("place", ["/sys/fs/cgroup", "/mnt"])
def test_version_2_alone_is_found_by_its_type(doctor, place):
    """In a mount namespace of its own; which controllers it has depends on what version 1 has taken."""
    line = f"umount -l -R /sys/fs/cgroup && mount -t cgroup2 none {place} && exec \"$@\""
    answer = doctor("unshare", "--mount", "sh", "-c", line, "sh")
    assert answer.works and answer.checks["cgroup"]["detail"].startswith(f"version 2 at {place} with")
    assert "version 1" not in answer.checks["cgroup"]["detail"]


@as_root
def test_no_control_groups_at_all(doctor):
    answer = doctor("unshare", "--mount", "sh", "-c", 'umount -l -R /sys/fs/cgroup && exec "$@"', "sh")
    assert answer.works and answer.lacking() == {"cgroup", "cgroup-delegation"}
    assert answer.checks["cgroup"]["detail"] == "not found: cpu memory pids"


@as_root
@pytest.mark.unified
def test_a_group_hands_on_only_what_it_was_given(doctor):
    """In a container, whose root is a group that was given less than the host's. The control was given all."""
    checks = []
    for given in ("+cpu +memory +pids", "+memory"):
        host = Path(harness.unified(), f"toolcell-test-{os.getpid()}")
        outer = host / "outer"
        (outer / "inner").mkdir(parents=True)
        (host / "cgroup.subtree_control").write_text(given)
        enter = f'echo $$ > {outer}/cgroup.procs && exec unshare --cgroup --mount sh -c "$0" sh "$@"'
        inside = ('umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && echo $$ > /sys/fs/cgroup/inner/cgroup.procs && '
                  f'echo {given} > /sys/fs/cgroup/cgroup.subtree_control && exec "$@"')
        try:
            checks.append(doctor("sh", "-c", enter, inside).checks["cgroup-delegation"])
        finally:
            (outer / "inner").rmdir()
            outer.rmdir()
            host.rmdir()
    assert checks[0]["state"] == "ok" and checks[0]["detail"].endswith("cpu by version 2, memory by version 2, pids by version 2")
    assert checks[1]["state"] == "degraded" and checks[1]["detail"].endswith("but only for memory by version 2"), checks


def test_filter_forbids_user_namespaces(doctor):
    answer = doctor(*filtered("errno", "clone", EPERM, 0, CLONE_NEWUSER))
    assert answer.state("user-namespaces") == "missing" and not answer.works
    assert "seccomp filter forbids clone(CLONE_NEWUSER)" in answer.checks["user-namespaces"]["remedy"]
    assert answer.state("seccomp-notify") == "ok" and answer.state("landlock") != "missing"


def test_filter_forbids_network_namespaces(doctor):
    answer = doctor(*filtered("errno", "unshare", EPERM, 0, CLONE_NEWNET))
    assert answer.lacking() - {"cgroup-delegation"} == {"network-namespace", "run"}
    assert "seccomp filter" in answer.checks["network-namespace"]["remedy"]


def test_no_landlock(doctor):
    answer = doctor(*filtered("errno", "landlock_create_ruleset", ENOSYS))
    assert answer.lacking() - {"cgroup-delegation"} == {"landlock", "run"}
    assert answer.checks["landlock"]["remedy"] and "Landlock" in answer.checks["run"]["detail"]
    assert not answer.enforces["rules-static"] and not answer.enforces["network-host"]


@pytest.mark.parametrize("code", [EPERM, ENOSYS])
def test_no_listener(doctor, code):
    answer = doctor(*filtered("errno", "seccomp", code, 1, NEW_LISTENER))
    assert answer.state("seccomp-notify") == "missing" and answer.checks["seccomp-notify"]["remedy"]
    assert answer.state("seccomp-filter") == "ok"
    assert not answer.enforces["rules-mediated"]


def test_a_listener_is_there_already(doctor):
    answer = doctor(*filtered("listen", "nothing"))
    assert answer.state("seccomp-notify") == "missing"
    assert "there already" in answer.checks["seccomp-notify"]["detail"]
    assert answer.state("seccomp-filter") == "ok"


def test_a_filter_that_was_not_really_loaded(doctor):
    """What answers 0 and loads nothing is found out by using what was to be refused."""
    answer = doctor(*filtered("errno", "seccomp", 0))
    assert answer.state("seccomp-filter") == "missing" and "does not hold" in answer.checks["seccomp-filter"]["detail"]


def test_whoever_tries_is_killed(doctor):
    answer = doctor(*filtered("kill", "landlock_create_ruleset"))
    assert answer.state("landlock") == "missing"
    assert "kills whoever tries" in answer.checks["landlock"]["detail"]
    assert answer.state("seccomp-filter") == "ok" and not answer.works


@pytest.mark.parametrize("call, check", [("mount_setattr", "mount-api"), ("close_range", "close-range"),
                                         ("pidfd_send_signal", "pidfd")])
def test_an_old_kernel(doctor, call, check):
    answer = doctor(*filtered("errno", call, ENOSYS))
    assert answer.state(check) == "missing" and "newer kernel" in answer.checks[check]["remedy"]


def test_nothing_can_be_started(cell):
    """Where not even a process can be made it says so and does not guess."""
    calm = cell.environment(ASAN_OPTIONS="detect_leaks=0")  # looking for leaks needs a process as well
    done = subprocess.run([*map(str, filtered("errno", "clone", 11)), str(cell.binary), "doctor"], capture_output=True,
                          text=True, cwd=cell.workspace, env=calm, timeout=60 * SLACK, **cell.identity.popen())
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith("toolcell: start a process to try kernel: ") and done.stderr.count("\n") == 1


def test_a_probe_that_hangs_is_ended(doctor):
    """One call, which of the probes one alone makes, never returns: that probe is ended after 5 s, and the others go on.
    The trial ends too, by itself: its broker makes that call."""
    answer = doctor(*filtered("hang", "chroot"))
    ended = [name for name, check in answer.checks.items() if "no answer within 5 s; the probe was ended" == check["detail"]]
    assert ended == ["overlay"] and answer.lacking() >= {"overlay", "run"}
