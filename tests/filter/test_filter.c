/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "rows.h"
#include "simulator.h"
#include "unit.h"

/*
 * The programs as they are loaded, in a simulator: call and arguments against
 * the expected action, on each architecture that has the call. Every row is
 * tried again with garbage in the upper half of each argument, which the
 * kernel does not look at.
 */

#define GARBAGE 0xdeadbeef00000000u

static uint32_t action(const struct tc_filter *filter, uint32_t architecture, int call, const uint64_t *arguments,
                       uint64_t garbage)
{
    struct seccomp_data data = {.nr = call, .arch = architecture};

    for (size_t i = 0; i < 6; i++)
        data.args[i] = (arguments == NULL ? 0 : arguments[i]) | garbage;
    return simulate((const struct sock_filter *)(const void *)filter->program,
                    filter->size / sizeof(struct sock_filter), &data);
}

static uint32_t wanted(int expected)
{
    if (expected == ALLOWED)
        return SECCOMP_RET_ALLOW;
    return SECCOMP_RET_ERRNO | (uint32_t)(expected == PRETENDED ? 0 : expected);
}

static void expect(const struct tc_filter *filter, const char *call, const uint64_t *arguments, int expected)
{
    int number = seccomp_syscall_resolve_name_arch(filter->architecture, call);

    if (number == __NR_SCMP_ERROR)
        ck_abort_msg("'%s' is no call", call);
    if (number < 0) /* not on this architecture */
        return;
    /* Compared by hand: a passed ck_assert() costs a write each, and there are many. */
    if (action(filter, filter->architecture, number, arguments, 0) != wanted(expected) ||
        action(filter, filter->architecture, number, arguments, GARBAGE) != wanted(expected))
        ck_abort_msg("%s(%llx, %llx, %llx, %llx) on %x is not %s", call, (unsigned long long)arguments[0],
                     (unsigned long long)arguments[1], (unsigned long long)arguments[2],
                     (unsigned long long)arguments[3], filter->architecture,
                     expected == ALLOWED ? "allowed" : "refused as expected");
}

START_TEST(test_rows)
{
    for (size_t i = 0; i < tc_filter_count; i++)
        for (size_t k = 0; k < row_count; k++)
            expect(&tc_filters[i], rows[k].call, rows[k].arguments, rows[k].expected);
}
END_TEST

/* A pointer is one in its upper half as well, so that these rows have no garbage there. */
START_TEST(test_pointers)
{
    for (size_t i = 0; i < tc_filter_count; i++)
        for (size_t k = 0; k < pointer_row_count; k++) {
            int call = seccomp_syscall_resolve_name_arch(tc_filters[i].architecture, pointer_rows[k].call);

            ck_assert_msg(action(&tc_filters[i], tc_filters[i].architecture, call, pointer_rows[k].arguments, 0) ==
                              wanted(pointer_rows[k].expected),
                          "row %zu", k);
        }
}
END_TEST

START_TEST(test_every_socket_type)
{
    for (size_t i = 0; i < tc_filter_count; i++)
        for (unsigned type = 0; type < 0x10000; type++) {
            unsigned low = type & 0xf;
            int expected = low == SOCK_STREAM || low == SOCK_SEQPACKET ? ALLOWED : EPERM;

            expect(&tc_filters[i], "socket", (const uint64_t[6]){AF_UNIX, type}, expected);
            expect(&tc_filters[i], "socketpair", (const uint64_t[6]){AF_UNIX, type}, expected);
        }
}
END_TEST

static bool is_known_family(uint32_t family)
{
    return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

START_TEST(test_every_family)
{
    for (size_t i = 0; i < tc_filter_count; i++) {
        for (uint32_t family = 0; family < 0x10000; family++)
            expect(&tc_filters[i], "socket", (const uint64_t[6]){family, SOCK_STREAM},
                   is_known_family(family) ? ALLOWED : EPERM);
        for (unsigned bit = 16; bit < 32; bit++)
            expect(&tc_filters[i], "socket", (const uint64_t[6]){AF_INET | 1u << bit, SOCK_STREAM}, EPERM);
        for (uint32_t protocol = 0; protocol < 0x1000; protocol++)
            expect(&tc_filters[i], "socket", (const uint64_t[6]){AF_NETLINK, SOCK_RAW, protocol},
                   protocol == NETLINK_ROUTE ? ALLOWED : EPERM);
    }
}
END_TEST

START_TEST(test_every_mode_and_open_flag)
{
    for (size_t i = 0; i < tc_filter_count; i++)
        for (uint32_t mode = 0; mode < 0x2000; mode++) {
            int expected = mode & 06000 ? EPERM : ALLOWED;

            expect(&tc_filters[i], "fchmod", (const uint64_t[6]){3, mode}, expected);
            expect(&tc_filters[i], "openat", (const uint64_t[6]){3, 0, O_CREAT | O_TRUNC | O_RDWR, mode}, expected);
            expect(&tc_filters[i], "openat", (const uint64_t[6]){3, 0, O_TRUNC | O_RDWR, mode}, ALLOWED);
        }
}
END_TEST

START_TEST(test_other_architectures)
{
    static const uint64_t arguments[6] = {0};

    for (size_t i = 0; i < tc_filter_count; i++)
        for (int call = 0; call < 600; call++) {
            uint32_t other = tc_filters[i].architecture == AUDIT_ARCH_X86_64 ? AUDIT_ARCH_I386 : AUDIT_ARCH_ARM;

            ck_assert(action(&tc_filters[i], other, call, arguments, 0) == wanted(ENOSYS));
            ck_assert(action(&tc_filters[i], 0, call, arguments, 0) == wanted(ENOSYS));
        }
}
END_TEST

START_TEST(test_x32)
{
    for (size_t i = 0; i < tc_filter_count; i++)
        for (int call = 0; call < 600; call++)
            ck_assert(action(&tc_filters[i], tc_filters[i].architecture, 0x40000000 | call, NULL, 0) == wanted(ENOSYS));
}
END_TEST

/* The list of every call that is printed for people (policy/seccomp/calls.txt), which must tell what happens. */
struct listed {
    char name[40];
    char answer[16];
};

#define NUMBERS 600

static size_t read_list(const char *architecture, struct listed *ret)
{
    const char *path = getenv("TOOLCELL_CALLS");
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    char line[256];
    size_t count = 0;

    ck_assert_msg(file != NULL, "TOOLCELL_CALLS names no list");
    while (fgets(line, sizeof(line), file) != NULL) {
        char of[16];
        struct listed one;
        int number;

        if (sscanf(line, "%15s %d %39s %15s", of, &number, one.name, one.answer) != 4 || strcmp(of, architecture) != 0)
            continue;
        ck_assert(number >= 0 && number < NUMBERS && ret[number].name[0] == '\0');
        ret[number] = one;
        count++;
    }
    fclose(file);
    return count;
}

static uint32_t listed_action(const struct listed *one)
{
    if (one->name[0] == '\0' || strcmp(one->answer, "ENOSYS") == 0)
        return wanted(ENOSYS);
    return wanted(strcmp(one->answer, "allow") == 0 ? ALLOWED : EPERM);
}

/* A call with conditions is tried in rows, where it is allowed and where it is not. */
static void check_rows_of(const char *call)
{
    bool allowed = false;
    bool refused = false;

    for (size_t i = 0; i < row_count + pointer_row_count; i++) {
        const struct row *row = i < row_count ? &rows[i] : &pointer_rows[i - row_count];

        if (strcmp(row->call, call) != 0)
            continue;
        allowed = allowed || row->expected == ALLOWED;
        refused = refused || row->expected != ALLOWED;
    }
    ck_assert_msg(allowed && refused, "no rows of both kinds for %s", call);
}

START_TEST(test_every_number)
{
    static const uint64_t zeros[6] = {0};
    static const uint64_t ones[6] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};

    for (size_t i = 0; i < tc_filter_count; i++) {
        struct listed list[NUMBERS] = {0};
        uint32_t architecture = tc_filters[i].architecture;

        ck_assert(read_list(architecture == AUDIT_ARCH_X86_64 ? "x86_64" : "aarch64", list) > 300);
        for (int call = 0; call < NUMBERS; call++) {
            if (strcmp(list[call].answer, "arguments") == 0) {
                check_rows_of(list[call].name);
                continue;
            }
            if (action(&tc_filters[i], architecture, call, zeros, 0) != listed_action(&list[call]) ||
                action(&tc_filters[i], architecture, call, ones, 0) != listed_action(&list[call]))
                ck_abort_msg("call %d (%s) on %x is not what the list says", call, list[call].name, architecture);
        }
    }
}
END_TEST

START_TEST(test_newer_calls)
{
    /* futex_waitv, cachestat, map_shadow_stack, futex_wake, statmount, mseal */
    static const int there[] = {449, 451, 453, 454, 457, 462};

    for (size_t i = 0; i < tc_filter_count; i++) {
        uint32_t architecture = tc_filters[i].architecture;

        for (int call = 463; call < 2000; call++) /* setxattrat, open_tree_attr and what is yet to come */
            ck_assert(action(&tc_filters[i], architecture, call, NULL, 0) == wanted(ENOSYS));
        ck_assert(action(&tc_filters[i], architecture, 9999, NULL, 0) == wanted(ENOSYS));
        ck_assert(action(&tc_filters[i], architecture, -1, NULL, 0) == wanted(ENOSYS));
        for (size_t k = 0; k < sizeof(there) / sizeof(there[0]); k++)
            ck_assert(action(&tc_filters[i], architecture, there[k], NULL, 0) == wanted(ALLOWED));
    }
}
END_TEST

START_TEST(test_size)
{
    ck_assert_ptr_nonnull(tc_filter_native());
    for (size_t i = 0; i < tc_filter_count; i++)
        ck_assert(tc_filters[i].size % sizeof(struct sock_filter) == 0 &&
                  tc_filters[i].size / sizeof(struct sock_filter) <= BPF_MAXINSNS);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("filter", test_rows, test_pointers, test_every_socket_type, test_every_family,
                               test_every_mode_and_open_flag, test_other_architectures, test_x32, test_every_number,
                               test_newer_calls, test_size, NULL));
}
