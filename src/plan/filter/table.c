/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/filter/table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

/*
 * Theory of operation
 *
 * The filter is the last thing a cell loads and holds for all of its life. It
 * is one program for every plan that needs no broker: everything not named
 * here is left to the kernel, which judges it with the cell's namespaces, no
 * capabilities, the mounts and Landlock. What is named here are the calls for
 * which that is not enough: because the host sees the effect (set-id bits),
 * because the other mechanisms do not reach it (datagrams to host sockets,
 * leases, io_uring), or because no tool call needs that much kernel.
 *
 * Refused calls answer EPERM, or ENOSYS where programs probe for a call and
 * have a way without it (clone3: glibc falls back on ENOSYS only). Nothing is
 * killed: new C libraries probe. i386 and x32 calls answer ENOSYS.
 *
 * The generator turns the table into one classic BPF program per architecture
 * with libseccomp; calls that an architecture does not have are left out there.
 */

/* Not in older headers. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define TMPFILE_BIT 020000000 /* O_TMPFILE without O_DIRECTORY; the same on x86-64 and aarch64 */
#define SETDELEG 1040         /* F_SETDELEG, Linux 6.19 */

#define SET_ID_BITS (S_ISUID | S_ISGID)
#define NAMESPACE_BITS                                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define EQUAL(arg, bits, wanted)                                                                                       \
    {                                                                                                                  \
        .kind = FILTER_EQUAL, .argument = (arg), .mask = (uint32_t)(bits), .value = (wanted)                           \
    }
#define IS(arg, wanted) EQUAL(arg, 0xffffffff, (uint32_t)(wanted))
#define ANY(arg, bits)                                                                                                 \
    {                                                                                                                  \
        .kind = FILTER_ANY_BIT, .argument = (arg), .value = (uint32_t)(bits)                                           \
    }
#define NOT_IN(arg, bits, list)                                                                                        \
    {                                                                                                                  \
        .kind = FILTER_NOT_IN, .argument = (arg), .mask = (uint32_t)(bits), .values = (list),                          \
        .count = sizeof(list) / sizeof((list)[0])                                                                      \
    }

#define POINTER(arg)                                                                                                   \
    {                                                                                                                  \
        .kind = FILTER_POINTER, .argument = (arg)                                                                      \
    }
#define NULL_AT(arg)                                                                                                   \
    {                                                                                                                  \
        .kind = FILTER_NULL, .argument = (arg)                                                                         \
    }

#define ALWAYS(name)                                                                                                   \
    {                                                                                                                  \
        .call = (name), .error = EPERM                                                                                 \
    }
#define MISSING(name)                                                                                                  \
    {                                                                                                                  \
        .call = (name), .error = ENOSYS                                                                                \
    }
#define WHEN(name, first)                                                                                              \
    {                                                                                                                  \
        .call = (name), .error = EPERM, .test_count = 1, .tests = { first }                                            \
    }
#define WHEN2(name, first, second)                                                                                     \
    {                                                                                                                  \
        .call = (name), .error = EPERM, .test_count = 2, .tests = { first, second }                                    \
    }
#define WHEN3(name, first, second, third)                                                                              \
    {                                                                                                                  \
        .call = (name), .error = EPERM, .test_count = 3, .tests = { first, second, third }                             \
    }

#define PRETEND(name, first)                                                                                           \
    {                                                                                                                  \
        .call = (name), .error = 0, .test_count = 1, .tests = { first }                                                \
    }
#define PRETEND3(name, first, second, third)                                                                           \
    {                                                                                                                  \
        .call = (name), .error = 0, .test_count = 3, .tests = { first, second, third }                                 \
    }

static const struct filter_rule set_id_rules[] = {
    WHEN("chmod", ANY(1, SET_ID_BITS)),
    WHEN("fchmod", ANY(1, SET_ID_BITS)),
    WHEN("fchmodat", ANY(2, SET_ID_BITS)),
    WHEN("mkdir", ANY(1, SET_ID_BITS)),
    WHEN("mkdirat", ANY(2, SET_ID_BITS)),
    WHEN("mknod", ANY(1, SET_ID_BITS)),
    WHEN("mknodat", ANY(2, SET_ID_BITS)),
    WHEN("creat", ANY(1, SET_ID_BITS)),
    WHEN2("open", ANY(1, O_CREAT | TMPFILE_BIT), ANY(2, SET_ID_BITS)),
    WHEN2("openat", ANY(2, O_CREAT | TMPFILE_BIT), ANY(3, SET_ID_BITS)),
    MISSING("openat2"),
};

static const struct filter_rule device_rules[] = {
    WHEN("mknod", EQUAL(1, S_IFMT, S_IFCHR)),   WHEN("mknod", EQUAL(1, S_IFMT, S_IFBLK)),
    WHEN("mknodat", EQUAL(2, S_IFMT, S_IFCHR)), WHEN("mknodat", EQUAL(2, S_IFMT, S_IFBLK)),
    WHEN("renameat2", ANY(4, RENAME_WHITEOUT)),
};

static const uint32_t unix_types[] = {SOCK_STREAM, SOCK_SEQPACKET};

static const struct filter_rule datagram_rules[] = {
    WHEN2("socket", IS(0, AF_UNIX), NOT_IN(1, 0xf, unix_types)),
    WHEN2("socketpair", IS(0, AF_UNIX), NOT_IN(1, 0xf, unix_types)),
};

static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
static const uint32_t netlink_protocols[] = {NETLINK_ROUTE};

static const struct filter_rule family_rules[] = {
    WHEN("socket", NOT_IN(0, 0xffffffff, families)),
    WHEN("socketpair", NOT_IN(0, 0xffffffff, families)),
    WHEN2("socket", IS(0, AF_NETLINK), NOT_IN(2, 0xffffffff, netlink_protocols)),
    WHEN2("socketpair", IS(0, AF_NETLINK), NOT_IN(2, 0xffffffff, netlink_protocols)),
};

static const struct filter_rule lease_rules[] = {
    WHEN("fcntl", IS(1, F_SETLEASE)), WHEN("fcntl", IS(1, F_NOTIFY)), WHEN("fcntl", IS(1, SETDELEG)),
    ALWAYS("fanotify_init"),          ALWAYS("fanotify_mark"),
};

static const struct filter_rule bypass_rules[] = {
    ALWAYS("io_uring_setup"),    ALWAYS("io_uring_enter"),    ALWAYS("io_uring_register"),
    ALWAYS("name_to_handle_at"), ALWAYS("open_by_handle_at"), ALWAYS("uselib"),
};

static const struct filter_rule mount_rules[] = {
    ALWAYS("mount"),    ALWAYS("umount2"), ALWAYS("pivot_root"), ALWAYS("chroot"),        ALWAYS("fsopen"),
    ALWAYS("fsconfig"), ALWAYS("fsmount"), ALWAYS("fspick"),     ALWAYS("move_mount"),    ALWAYS("open_tree"),
    ALWAYS("swapon"),   ALWAYS("swapoff"), ALWAYS("quotactl"),   ALWAYS("mount_setattr"), ALWAYS("quotactl_fd"),
};

static const struct filter_rule namespace_rules[] = {
    WHEN("clone", ANY(0, NAMESPACE_BITS)),
    WHEN("unshare", ANY(0, NAMESPACE_BITS | CLONE_NEWTIME)),
    ALWAYS("setns"),
    MISSING("clone3"),
};

static const struct filter_rule kernel_rules[] = {
    ALWAYS("bpf"),           ALWAYS("perf_event_open"), ALWAYS("userfaultfd"),
    ALWAYS("keyctl"),        ALWAYS("add_key"),         ALWAYS("request_key"),
    ALWAYS("kexec_load"),    ALWAYS("kexec_file_load"), ALWAYS("init_module"),
    ALWAYS("finit_module"),  ALWAYS("delete_module"),   ALWAYS("reboot"),
    ALWAYS("acct"),          ALWAYS("syslog"),          ALWAYS("iopl"),
    ALWAYS("ioperm"),        ALWAYS("lookup_dcookie"),  ALWAYS("nfsservctl"),
    ALWAYS("create_module"), ALWAYS("get_kernel_syms"), ALWAYS("query_module"),
    ALWAYS("_sysctl"),       ALWAYS("vhangup"),         ALWAYS("modify_ldt"),
};

/* Linux and 32-bit Linux, without randomization, under an old version's name; 0xffffffff only asks. */
static const uint32_t personalities[] = {
    PER_LINUX, PER_LINUX32,           ADDR_NO_RANDOMIZE, PER_LINUX32 | ADDR_NO_RANDOMIZE,
    UNAME26,   PER_LINUX32 | UNAME26, 0xffffffff};

static const struct filter_rule personality_rules[] = {
    WHEN("personality", NOT_IN(0, 0xffffffff, personalities)),
};

/* getrlimit and setrlimit are prlimit64 in today's C libraries. `ulimit -c 0` asks for what is so already, and an error
 * would end the shell. */
static const struct filter_rule resource_rules[] = {
    PRETEND("setrlimit", IS(0, RLIMIT_CORE)),
    PRETEND3("prlimit64", IS(1, RLIMIT_CORE), POINTER(2), NULL_AT(3)),
    WHEN3("prlimit64", IS(1, RLIMIT_CORE), POINTER(2), POINTER(3)),
    WHEN2("prlimit64", IS(0, 1), POINTER(2)),
};

#define TIOCLINUX_REQUEST 0x541c

static const struct filter_rule terminal_rules[] = {
    WHEN("ioctl", IS(1, TIOCSTI)),
    WHEN("ioctl", IS(1, TIOCLINUX_REQUEST)),
    WHEN("ioctl", IS(1, TIOCSETD)),
};

#define GROUP(list, why)                                                                                               \
    {                                                                                                                  \
        .reason = (why), .rules = (list), .count = sizeof(list) / sizeof((list)[0])                                    \
    }

const struct filter_group filter_groups[] = {
    GROUP(set_id_rules, "a set-id file is one on the host too, nosuid inside does not change that; the mode of openat2 "
                        "lies in memory"),
    GROUP(device_rules, "device nodes, the whiteouts that need no capability included, would appear on the host"),
    GROUP(datagram_rules, "datagrams carry addresses in memory, which reach host sockets through read-only mounts; "
                          "a raw one becomes a datagram socket"),
    GROUP(family_rules,
          "vsock reaches the hypervisor, the others large parts of the kernel that tool calls do not need"),
    GROUP(lease_rules, "leases and notifications make host programs wait, or tell names that may not be listed"),
    GROUP(bypass_rules, "ways to files that do not pass the calls which are judged"),
    GROUP(mount_rules, "the tree is built before the command starts and stays as it is"),
    GROUP(namespace_rules, "a new user namespace would give back capabilities over it; the flags of clone3 lie in "
                           "memory"),
    GROUP(kernel_rules, "parts of the kernel with a history of escapes, and administration"),
    GROUP(personality_rules, "makes every mapping executable, maps page zero, or turns on what other systems did"),
    GROUP(resource_rules, "a core limit of 0 lets a crash start the host's core handler, which the limit 1 of the cell "
                          "does not; a limit of init is the end of the cell"),
    GROUP(terminal_rules, "pushes input into a terminal, or changes its line discipline"),
};
const size_t filter_group_count = sizeof(filter_groups) / sizeof(filter_groups[0]);

const uint32_t filter_unknown_calls[] = {
    452, /* fchmodat2: C libraries fall back to fchmodat, whose mode is judged */
};
const size_t filter_unknown_call_count = sizeof(filter_unknown_calls) / sizeof(filter_unknown_calls[0]);
