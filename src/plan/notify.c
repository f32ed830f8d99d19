/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "plan/plan.h"

/*
 * Theory of operation
 *
 * The program is small and differs with the groups, so that it is made here
 * and not when toolcell is built. Numbers that follow each other and have no
 * argument tests form a run; a binary tree over the runs ends in the return of
 * one. Each leaf carries its own returns: then every jump is short.
 *
 * What it lets go on the kernel remembers by number (seccomp_cache_prepare,
 * Linux 5.11), so that calls in no group cost what they cost without it.
 */

#define NONE UINT16_MAX /* the architecture has no such call */

/* By which value a call goes on although its group is notified. */
enum exception { ALWAYS, HAS_O_PATH, IS_ZERO };

struct call {
    uint16_t x86_64, aarch64;
    unsigned group;
    enum exception unless;
    unsigned char argument; /* that is looked at */
};

/* The numbers: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h. tests/filter compares them
 * with libseccomp's. */
static const struct call calls[] = {
    {2, NONE, TC_NOTIFY_OPEN, HAS_O_PATH, 1}, /* open */
    {257, 56, TC_NOTIFY_OPEN, HAS_O_PATH, 2}, /* openat */
    {85, NONE, TC_NOTIFY_OPEN, ALWAYS, 0},    /* creat */
    {83, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* mkdir */
    {258, 34, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* mkdirat */
    {133, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0}, /* mknod */
    {259, 33, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* mknodat */
    {84, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* rmdir */
    {87, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* unlink */
    {263, 35, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* unlinkat */
    {82, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* rename */
    {264, 38, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* renameat */
    {316, 276, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* renameat2 */
    {86, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* link */
    {265, 37, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* linkat */
    {88, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* symlink */
    {266, 36, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* symlinkat */
    {76, 45, TC_NOTIFY_CHANGE, ALWAYS, 0},    /* truncate */
    {90, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* chmod */
    {91, 52, TC_NOTIFY_CHANGE, ALWAYS, 0},    /* fchmod */
    {268, 53, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* fchmodat */
    {452, 452, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* fchmodat2 */
    {92, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* chown */
    {93, 55, TC_NOTIFY_CHANGE, ALWAYS, 0},    /* fchown */
    {94, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0},  /* lchown */
    {260, 54, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* fchownat */
    {132, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0}, /* utime */
    {235, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0}, /* utimes */
    {261, NONE, TC_NOTIFY_CHANGE, ALWAYS, 0}, /* futimesat */
    {280, 88, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* utimensat */
    {188, 5, TC_NOTIFY_CHANGE, ALWAYS, 0},    /* setxattr */
    {189, 6, TC_NOTIFY_CHANGE, ALWAYS, 0},    /* lsetxattr */
    {190, 7, TC_NOTIFY_CHANGE, ALWAYS, 0},    /* fsetxattr */
    {197, 14, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* removexattr */
    {198, 15, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* lremovexattr */
    {199, 16, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* fremovexattr */
    {49, 200, TC_NOTIFY_CHANGE, ALWAYS, 0},   /* bind */
    {21, NONE, TC_NOTIFY_ACCESS, IS_ZERO, 1}, /* access */
    {269, 48, TC_NOTIFY_ACCESS, IS_ZERO, 2},  /* faccessat */
    {439, 439, TC_NOTIFY_ACCESS, IS_ZERO, 2}, /* faccessat2 */
    {254, 27, TC_NOTIFY_WATCH, ALWAYS, 0},    /* inotify_add_watch */
    {42, 203, TC_NOTIFY_CONNECT, ALWAYS, 0},  /* connect */
    {59, 221, TC_NOTIFY_EXECUTE, ALWAYS, 0},  /* execve */
    {322, 281, TC_NOTIFY_EXECUTE, ALWAYS, 0}, /* execveat */
};

const char *const tc_notify_names[] = {"open", "change", "access", "watch", "connect", "execute", NULL};
_Static_assert(TC_NOTIFY_EXECUTE == 1 << (TC_COUNT(tc_notify_names) - 2), "a name for every group");

/* Numbers from first to last with one answer. */
struct run {
    uint32_t first, last;
    enum exception unless;
    unsigned char argument;
};

#define LEAF_MOST 5 /* instructions of a leaf; each but one comes with a branch above it */
#define PROGRAM_MOST (TC_COUNT(calls) * (LEAF_MOST + 1) + 8)
#define REACH 255 /* of a conditional jump */
/* No subtree is longer than half of all, so that every branch reaches. */
_Static_assert((TC_COUNT(calls) / 2 + 1) * (LEAF_MOST + 1) <= REACH + 1, "branches reach");

struct program {
    struct sock_filter *items;
    size_t count;
};

static void put(struct program *program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
    program->items[program->count++] = (struct sock_filter){.code = code, .k = value, .jt = yes, .jf = no};
}

static void put_argument(struct program *program, const struct run *run)
{
    /* Flags and modes are ints: the kernel does not look at the upper half (both architectures are little-endian). */
    put(program, BPF_LD | BPF_W | BPF_ABS,
        (uint32_t)(offsetof(struct seccomp_data, args) + run->argument * sizeof(uint64_t)), 0, 0);
}

static void put_leaf(struct program *program, const struct run *run)
{
    switch (run->unless) {
    case ALWAYS:
        put(program, BPF_JMP | BPF_JGE | BPF_K, run->first, 0, 2);
        put(program, BPF_JMP | BPF_JGT | BPF_K, run->last, 1, 0);
        break;
    case HAS_O_PATH:
        put(program, BPF_JMP | BPF_JEQ | BPF_K, run->first, 0, 3);
        put_argument(program, run);
        put(program, BPF_JMP | BPF_JSET | BPF_K, O_PATH, 1, 0);
        break;
    case IS_ZERO:
        put(program, BPF_JMP | BPF_JEQ | BPF_K, run->first, 0, 3);
        put_argument(program, run);
        put(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
        break;
    }
    put(program, BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
    put(program, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void put_tree(struct program *program, const struct run *runs, size_t count)
{
    size_t half = count / 2, branch = program->count;

    if (count == 1) {
        put_leaf(program, runs);
        return;
    }
    put(program, BPF_JMP | BPF_JGE | BPF_K, runs[half].first, 0, 0);
    put_tree(program, runs, half);
    program->items[branch].jt = (uint8_t)(program->count - branch - 1);
    put_tree(program, runs + half, count - half);
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *left = a, *right = b;

    return left->first < right->first ? -1 : left->first > right->first;
}

static size_t collect_runs(unsigned groups, uint32_t architecture, struct run *ret)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < TC_COUNT(calls); i++) {
        uint16_t number = architecture == AUDIT_ARCH_X86_64 ? calls[i].x86_64 : calls[i].aarch64;

        if ((calls[i].group & groups) && number != NONE)
            ret[count++] = (struct run){number, number, calls[i].unless, calls[i].argument};
    }
    qsort(ret, count, sizeof(*ret), compare_runs);
    for (size_t i = 0; i < count; i++) {
        bool follows = kept > 0 && ret[i].unless == ALWAYS && ret[kept - 1].unless == ALWAYS &&
                       ret[i].first == ret[kept - 1].last + 1;

        if (follows)
            ret[kept - 1].last = ret[i].last;
        else
            ret[kept++] = ret[i];
    }
    return kept;
}

uint32_t tc_notify_native(void)
{
#if defined(__x86_64__)
    return AUDIT_ARCH_X86_64;
#else
    return AUDIT_ARCH_AARCH64;
#endif
}

int tc_notify_make(struct tc_arena *arena, unsigned groups, uint32_t architecture, const uint8_t **ret,
                   size_t *ret_size)
{
    struct run runs[TC_COUNT(calls)];
    struct program program = {0};
    size_t count;

    if (architecture != AUDIT_ARCH_X86_64 && architecture != AUDIT_ARCH_AARCH64)
        return -EINVAL;
    count = collect_runs(groups, architecture, runs);
    if (count == 0)
        return -EINVAL;
    program.items = tc_arena_array(arena, PROGRAM_MOST, sizeof(*program.items));
    if (program.items == NULL)
        return -ENOMEM;
    put(&program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    put(&program, BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
    put(&program, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
    put(&program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    put_tree(&program, runs, count);
    *ret = (const uint8_t *)program.items;
    *ret_size = program.count * sizeof(*program.items);
    return 0;
}
