/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/plan.h"
#include "simulator.h"
#include "unit.h"

/*
 * The second program in the simulator: every number of every set of groups on
 * both architectures, against a list of names that libseccomp gives numbers.
 */

#define GARBAGE 0xdeadbeef00000000u
#define ALL (TC_NOTIFY_EXECUTE * 2 - 1)

static const uint32_t architectures[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

/* The names of each group, by bit. */
static const char *const members[][40] = {
    {"open", "openat", "creat"},
    {"mkdir",     "mkdirat",   "mknod",       "mknodat",      "rmdir",        "unlink",    "unlinkat",
     "rename",    "renameat",  "renameat2",   "link",         "linkat",       "symlink",   "symlinkat",
     "truncate",  "chmod",     "fchmod",      "fchmodat",     "fchmodat2",    "chown",     "fchown",
     "lchown",    "fchownat",  "utime",       "utimes",       "futimesat",    "utimensat", "setxattr",
     "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "bind"},
    {"access", "faccessat", "faccessat2"},
    {"inotify_add_watch"},
    {"connect"},
    {"execve", "execveat"},
};

static int number_of(uint32_t architecture, const char *name)
{
    int number = seccomp_syscall_resolve_name_arch(architecture, name);

    if (number == __NR_SCMP_ERROR && strcmp(name, "fchmodat2") == 0) /* newer than Debian 12's libseccomp */
        return 452;
    ck_assert_msg(number != __NR_SCMP_ERROR, "'%s' is no call", name);
    return number;
}

/* Is the call of that number in one of the groups? */
static bool is_member(uint32_t architecture, unsigned groups, int number)
{
    for (size_t group = 0; group < TC_COUNT(members); group++)
        for (size_t i = 0; groups & (1u << group) && members[group][i] != NULL; i++)
            if (number_of(architecture, members[group][i]) == number)
                return true;
    return false;
}

struct made {
    const struct sock_filter *items;
    size_t count;
    uint32_t architecture;
};

static struct made make(struct tc_arena *arena, unsigned groups, uint32_t architecture)
{
    const uint8_t *program;
    size_t size;

    ck_assert_int_eq(tc_notify_make(arena, groups, architecture, &program, &size), 0);
    ck_assert_uint_eq(size % sizeof(struct sock_filter), 0);
    return (struct made){(const struct sock_filter *)(const void *)program, size / sizeof(struct sock_filter),
                         architecture};
}

static uint32_t action(const struct made *made, int number, unsigned argument, uint64_t value)
{
    struct seccomp_data data = {.nr = number, .arch = made->architecture};

    for (size_t i = 0; i < 6; i++)
        data.args[i] = i == argument ? value : UINT64_MAX & ~(uint64_t)O_PATH;
    return simulate(made->items, made->count, &data);
}

/* By group, whether a number is in it. */
static void list_members(uint32_t architecture, bool ret[TC_COUNT(members)][600])
{
    for (unsigned group = 0; group < TC_COUNT(members); group++)
        for (int number = 0; number < 600; number++)
            ret[group][number] = is_member(architecture, 1u << group, number);
}

START_TEST(test_every_number_of_every_set)
{
    tc_auto_arena arena = tc_arena_new();

    for (size_t a = 0; a < TC_COUNT(architectures); a++) {
        bool listed[TC_COUNT(members)][600];

        list_members(architectures[a], listed);
        for (unsigned groups = 1; groups <= ALL; groups++) {
            struct made made = make(arena, groups, architectures[a]);

            for (int number = 0; number < 600; number++) {
                bool expected = false;

                for (unsigned group = 0; group < TC_COUNT(members); group++)
                    expected = expected || (groups & (1u << group) && listed[group][number]);
                if (action(&made, number, 6, 0) != (expected ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW))
                    ck_abort_msg("call %d of groups %x on %x", number, groups, architectures[a]);
            }
            ck_assert_uint_eq(action(&made, -1, 6, 0), SECCOMP_RET_ALLOW);
            ck_assert_uint_eq(action(&made, 0x40000000 | 2, 6, 0), SECCOMP_RET_ALLOW); /* x32: refused by the first */
        }
    }
}
END_TEST

static const struct {
    const char *call;
    unsigned argument;
    uint64_t value;
    bool stopped;
} rows[] = {
    {"open", 1, O_RDONLY, true},
    {"open", 1, O_RDWR | O_CREAT | O_CLOEXEC, true},
    {"open", 1, O_PATH, false},
    {"open", 1, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_RDWR, false},
    {"openat", 2, O_RDONLY, true},
    {"openat", 2, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, true},
    {"openat", 2, O_PATH | O_CLOEXEC, false},
    {"openat", 2, 3, true},
    {"openat", 1, O_PATH, true}, /* a pointer that happens to have the bit */
    {"creat", 1, 0, true},
    {"access", 1, F_OK, false},
    {"access", 1, R_OK, true},
    {"access", 1, W_OK, true},
    {"access", 1, X_OK, true},
    {"access", 1, 8, true},
    {"faccessat", 2, F_OK, false},
    {"faccessat", 2, R_OK | W_OK | X_OK, true},
    {"faccessat2", 2, F_OK, false},
    {"faccessat2", 2, R_OK, true},
    {"faccessat2", 3, 0, true},
    {"linkat", 4, 0, true},
    {"unlinkat", 2, 0, true},
    {"read", 1, 0, false},
    {"ftruncate", 1, 0, false},
    {"stat", 1, 0, false},
    {"readlinkat", 1, 0, false},
    {"chdir", 0, 0, false},
    {"sendmsg", 1, 0, false},
    {"seccomp", 1, 0, false},
    {"exit_group", 0, 0, false},
};

START_TEST(test_arguments)
{
    tc_auto_arena arena = tc_arena_new();

    for (size_t a = 0; a < TC_COUNT(architectures); a++) {
        struct made made = make(arena, ALL, architectures[a]);

        for (size_t i = 0; i < TC_COUNT(rows); i++) {
            int number = number_of(architectures[a], rows[i].call);
            uint32_t wanted = rows[i].stopped ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;

            if (number < 0) /* not on this architecture */
                continue;
            ck_assert_msg(action(&made, number, rows[i].argument, rows[i].value) == wanted, "row %zu", i);
            ck_assert_msg(action(&made, number, rows[i].argument, rows[i].value | GARBAGE) == wanted, "row %zu", i);
        }
    }
}
END_TEST

START_TEST(test_other_architectures)
{
    tc_auto_arena arena = tc_arena_new();
    const uint8_t *program;
    size_t size;

    for (size_t a = 0; a < TC_COUNT(architectures); a++) {
        struct made made = make(arena, ALL, architectures[a]);

        made.architecture = architectures[1 - a];
        for (int number = 0; number < 600; number++)
            ck_assert_uint_eq(action(&made, number, 6, 0), SECCOMP_RET_ERRNO | ENOSYS);
    }
    ck_assert_int_eq(tc_notify_make(arena, ALL, AUDIT_ARCH_I386, &program, &size), -EINVAL);
    ck_assert_int_eq(tc_notify_make(arena, 0, AUDIT_ARCH_X86_64, &program, &size), -EINVAL);
}
END_TEST

START_TEST(test_size)
{
    tc_auto_arena arena = tc_arena_new();

    /* The kernel walks the whole program once per number when it is loaded. */
    ck_assert_uint_le(make(arena, TC_NOTIFY_CONNECT, tc_notify_native()).count, 8);
    for (size_t a = 0; a < TC_COUNT(architectures); a++)
        ck_assert_uint_le(make(arena, ALL, architectures[a]).count, 200);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("filter-notify", test_every_number_of_every_set, test_arguments,
                               test_other_architectures, test_size, NULL));
}
