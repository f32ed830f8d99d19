/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel asks for isolation, without anything that toolcell adds: the floor under every figure of tools/bench.
 *
 * usage: floor namespaces PROGRAM
 *        floor tree WORKSPACE PROGRAM
 *        floor confined WORKSPACE PROGRAM
 *
 * `namespaces` clones once into new user, mount, pid, network, ipc and uts namespaces, executes the program in them and
 * waits for it. `tree` also does what a program in a tree of its own cannot be without: id maps, private mounts, a
 * tmpfs as root with the system (read-only), the workspace and /dev/null bound into it, procfs, and the old root
 * detached. `confined` adds what a cell cannot be without: Landlock, empty capability sets, the very filter of
 * toolcell's cells, and a first process that is executed when all of that holds, starts the program and waits for it.
 * No rules, no limits, no streams, no result: nothing of that is free, but it is not the isolation that costs it.
 *
 * Like init it has no C library, and nothing is checked beyond what has to succeed: the start of a C library would be a
 * good part of the figure.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kernel/caps.h"
#include "kernel/clone.h"
#include "kernel/landlock.h"
#include "kernel/raw.h"
#include "kernel/seccomp.h"
#include "plan/filter.h"

#define MNT_DETACH 2 /* <sys/mount.h> and <linux/mount.h> do not go together */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* Where the tree is built; it lies over this directory in the new mount namespace only. */
#define PLACE "/tmp"

static const char *const system_names[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

struct task {
    const char *workspace; /* NULL: no tree */
    int first;             /* a copy of this program, to be executed as the first process; -1: none */
    char **argv;
    char **environ;
    unsigned uid, gid;
};

static size_t text_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

static void leave(int status) __attribute__((noreturn));
static void leave(int status)
{
    for (;;)
        tc_raw1(__NR_exit_group, status);
}

static void say(const char *text)
{
    tc_raw3(__NR_write, 2, text, text_length(text));
}

/* End the attempt, by name, unless the kernel did as it was told. */
static long must(long result, const char *what)
{
    if (result >= 0)
        return result;
    say("floor: ");
    say(what);
    say(" failed\n");
    leave(1);
}

static void write_file(const char *path, const char *text)
{
    long fd = must(tc_raw4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0), path);

    must(tc_raw3(__NR_write, fd, text, text_length(text)), path);
    tc_raw1(__NR_close, fd);
}

/* "1000 ID 1": the caller is user 1000 inside. */
static void write_map(const char *path, unsigned id)
{
    char text[32] = "1000 ", digits[12];
    size_t length = 5, count = 0;

    do
        digits[count++] = (char)('0' + id % 10);
    while ((id /= 10) != 0);
    while (count > 0)
        text[length++] = digits[--count];
    text[length++] = ' ';
    text[length++] = '1';
    text[length] = '\0';
    write_file(path, text);
}

static void make_directory(const char *name)
{
    must(tc_raw3(__NR_mkdirat, AT_FDCWD, name, 0755), name);
}

static void make_file(const char *name)
{
    tc_raw1(__NR_close, must(tc_raw4(__NR_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), name));
}

static void bind(const char *source, const char *target, uint64_t attributes)
{
    struct mount_attr change = {.attr_set = attributes};

    must(tc_raw5(__NR_mount, source, target, 0, MS_BIND | MS_REC, 0), target);
    must(tc_raw5(__NR_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &change, sizeof change), target);
}

/* The system as it stands: a directory is bound, a link is made again, what is missing stays away. */
static void attach_system(const char *name)
{
    char path[16] = "/", link[64];
    size_t length = text_length(name);
    long got;

    for (size_t i = 0; i < length; i++)
        path[1 + i] = name[i];
    path[1 + length] = '\0';
    got = tc_raw4(__NR_readlinkat, AT_FDCWD, path, link, sizeof link - 1);
    if (got > 0) {
        link[got] = '\0';
        must(tc_raw3(__NR_symlinkat, link, AT_FDCWD, name), name);
    } else if (tc_raw3(__NR_faccessat, AT_FDCWD, path, 0) == 0) {
        make_directory(name);
        bind(path, name, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    }
}

static void build_tree(const struct task *task)
{
    long workspace;

    write_file("/proc/self/setgroups", "deny");
    write_map("/proc/self/uid_map", task->uid);
    write_map("/proc/self/gid_map", task->gid);
    must(tc_raw5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0), "private mounts");
    workspace =
        must(tc_raw3(__NR_open_tree, AT_FDCWD, task->workspace, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE),
             task->workspace);
    must(tc_raw5(__NR_mount, "tmpfs", PLACE, "tmpfs", 0, 0), "tmpfs");
    must(tc_raw1(__NR_chdir, PLACE), "chdir");
    for (size_t i = 0; i < sizeof system_names / sizeof *system_names; i++)
        attach_system(system_names[i]);
    make_directory("etc");
    make_file("etc/ld.so.cache");
    bind("/etc/ld.so.cache", "etc/ld.so.cache", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    make_directory("dev");
    make_file("dev/null");
    bind("/dev/null", "dev/null", MOUNT_ATTR_NOSUID);
    make_directory("workspace");
    must(tc_raw5(__NR_move_mount, workspace, "", AT_FDCWD, "workspace", MOVE_MOUNT_F_EMPTY_PATH), "workspace");
    make_directory("proc");
    must(tc_raw5(__NR_mount, "proc", "proc", "proc", 0, 0), "procfs");
    must(tc_raw2(__NR_pivot_root, ".", "."), "pivot_root");
    must(tc_raw2(__NR_umount2, ".", MNT_DETACH), "detaching the old root");
    must(tc_raw1(__NR_chdir, "/workspace"), "chdir");
}

static void allow(int ruleset, const char *path, uint64_t rights)
{
    long fd = must(tc_raw4(__NR_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0), path);

    must(tc_landlock_allow(ruleset, (int)fd, rights), path);
    tc_raw1(__NR_close, fd);
}

/* Nothing more than each of the three must have. */
static void confine(void)
{
    const struct tc_filter *filter = tc_filter_native();
    unsigned abi = (unsigned)must(tc_landlock_abi(), "Landlock");
    uint64_t all = tc_landlock_rights(abi), look = TC_LANDLOCK_READ_FILE | TC_LANDLOCK_READ_DIR;
    int ruleset = (int)must(tc_landlock_new(abi, abi >= 6), "a Landlock ruleset");

    must(tc_raw5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    allow(ruleset, "/", TC_LANDLOCK_READ_DIR);
    allow(ruleset, "/usr", look | TC_LANDLOCK_EXECUTE);
    allow(ruleset, "/etc", look);
    allow(ruleset, "/dev", look | TC_LANDLOCK_WRITE_FILE);
    allow(ruleset, "/proc", look | TC_LANDLOCK_WRITE_FILE);
    allow(ruleset, "/workspace", all);
    must(tc_landlock_restrict(ruleset), "a Landlock domain");
    must(tc_caps_drop_all(), "empty capability sets");
    must(filter == NULL ? -1 : tc_seccomp_load(filter->program, filter->size), "the filter");
}

/* In the new namespaces, in memory shared with the parent, which waits until this executes the program. */
static int run(void *argument)
{
    const struct task *task = argument;
    char *first[] = {(char *)"floor", (char *)"first", task->argv[0], NULL};

    if (task->workspace != NULL)
        build_tree(task);
    if (task->first >= 0) {
        confine();
        must(tc_raw5(__NR_execveat, task->first, "", first, task->environ, AT_EMPTY_PATH), "the first process");
    }
    must(tc_raw3(__NR_execve, task->argv[0], task->argv, task->environ), task->argv[0]);
    return 1;
}

/* Of no file: Landlock grants no execution outside of the tree. */
static int copy_self(void)
{
    long from = must(tc_raw4(__NR_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0), "/proc/self/exe");
    long to = must(tc_raw2(__NR_memfd_create, "first", MFD_CLOEXEC), "memfd");

    while (must(tc_raw4(__NR_sendfile, to, from, 0, 1 << 20), "copying the first process") > 0)
        ;
    tc_raw1(__NR_close, from);
    return (int)to;
}

static char stack[16384] __attribute__((aligned(16)));

/* The first process of the confined floor has to start and wait, no more. */
static int start(void *argument)
{
    const struct task *task = argument;

    must(tc_raw3(__NR_execve, task->argv[0], task->argv, task->environ), task->argv[0]);
    return 1;
}

static int run_and_wait(struct task *task, unsigned long flags, int (*function)(void *))
{
    pid_t pid = tc_clone_shared(flags | CLONE_VFORK | SIGCHLD, stack, sizeof stack, function, task, NULL);
    int status = 0;

    must(pid, "clone");
    while (tc_raw4(__NR_wait4, pid, &status, 0, 0) < 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void floor_main(long *words) __attribute__((noreturn, used));
void floor_main(long *words)
{
    long count = *words;
    char **argv = (char **)(words + 1);
    struct task task = {.environ = argv + count + 1, .first = -1};

    if (count == 3 && argv[1][0] == 'f') {
        task.argv = argv + 2;
        leave(run_and_wait(&task, 0, start));
    }
    if (count == 3 && argv[1][0] == 'n') {
        task.argv = argv + 2;
    } else if (count == 4 && (argv[1][0] == 't' || argv[1][0] == 'c')) {
        if (argv[1][0] == 'c')
            task.first = copy_self();
        task.workspace = argv[2];
        task.argv = argv + 3;
    } else {
        say("usage: floor namespaces PROGRAM\n       floor tree WORKSPACE PROGRAM\n       floor confined WORKSPACE "
            "PROGRAM\n");
        leave(2);
    }
    task.uid = (unsigned)tc_raw0(__NR_geteuid);
    task.gid = (unsigned)tc_raw0(__NR_getegid);
    leave(run_and_wait(&task, NAMESPACES, run));
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall floor_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tmov x0, sp\n\tbl floor_main\n\tbrk 1\n");
#endif
