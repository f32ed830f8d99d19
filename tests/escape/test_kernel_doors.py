# SPDX-License-Identifier: Apache-2.0
"""Nested namespaces, unmounting, keyrings and other doors of the kernel: refused, and open without a cell."""

import pytest
from attempts import all_refused, needs_namespaces, succeeded


def test_namespaces(probe, cell):
    needs_namespaces(cell)
    attempt = probe("kernel")
    all_refused(attempt.inside("namespaces"), "EPERM", "ENOSYS")
    assert {"unshare", "clone", "clone3"} <= succeeded(attempt.outside("namespaces"))


def test_the_tree_can_be_neither_covered_nor_uncovered(probe, cell):
    """CVE-2021-41133 and its like: the newer mount calls count as well as the old ones."""
    needs_namespaces(cell)
    attempt = probe("kernel")
    answers = attempt.inside("mounts")
    all_refused(answers, "EPERM")
    assert succeeded(attempt.bare("mounts")) == set(answers)


def test_read_only_mounts_cannot_be_uncovered(probe, cell):
    """What is below a read-only mount, or may be written in it, is not reached by taking the mount away."""
    secret = cell.directory("volume")
    cell.write("f", "kept", where=secret)
    code = "umount /volume; umount -l /volume; mount -o remount,rw /volume; echo x > /volume/f; rm -f /volume/f; touch /volume/g"
    cell.run("sh", "-c", code, options=["-m", f"{secret}:/volume:ro"])
    assert [entry.name for entry in secret.iterdir()] == ["f"] and (secret / "f").read_text() == "kept"


def test_keyrings(probe):
    attempt = probe("kernel")
    answers = attempt.inside("keyrings")
    all_refused(answers, "EPERM")
    assert succeeded(attempt.outside("keyrings")) == set(answers)


def test_ways_around_the_judged_calls(probe, cell):
    attempt = probe("kernel")
    answers = attempt.inside("reach")
    all_refused(answers, "EPERM")
    control = succeeded(attempt.outside("reach"))
    # A host may shut some of these for everybody: io_uring_disabled, perf_event_paranoid, unprivileged_userfaultfd.
    assert {"name_to_handle_at", "lease", "personality"} <= control, control


def test_a_seccomp_filter_of_ones_own_opens_nothing(cell):
    """Filters only ever add up: the strictest answer counts."""
    code = """
        import ctypes, struct
        libc = ctypes.CDLL(None, use_errno=True)
        program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))  # return ALLOW
        filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(program)))
        print(libc.prctl(22, 2, filter, 0, 0), libc.unshare(0x10000000), ctypes.get_errno())
    """
    assert cell.python(code).succeeded().text == "0 -1 1\n"


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_ALG", "AF_PACKET", "AF_BLUETOOTH", "AF_KEY"])
def test_socket_families_that_reach_beyond(cell, family):
    code = f"""
        import socket
        number = {{"AF_KEY": 15}}.get("{family}") or getattr(socket, "{family}", 40)
        answers = []
        for kind in (1, 2, 3, 5):
            try: socket.socket(number, kind).close(); answers.append("made")
            except OSError as error: answers.append(error.errno)
        print(*answers)
    """
    assert set(cell.python(code).succeeded().text.split()) == {"1"}, "EPERM from the filter, whatever the kernel has"
    if family != "AF_PACKET" or cell.identity.uid == 0:  # needs a capability outside too
        assert cell.outside(code).stdout != b"1 1 1 1\n", "the control: the kernel itself answers in other ways"
