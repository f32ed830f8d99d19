/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel asks for isolation, without anything that toolcell adds: the floor under every figure of tools/bench.
 *
 * usage: floor namespaces PROGRAM
 *        floor tree WORKSPACE PROGRAM
 *
 * `namespaces` clones once into new user, mount, pid, network, ipc and uts namespaces, executes the program in them and
 * waits for it. `tree` also does what a program in a tree of its own cannot be without: id maps, private mounts, a
 * tmpfs as root with the system (read-only), the workspace and /dev/null bound into it, procfs, and the old root
 * detached. No rules, no limits, no streams, no init: nothing of that is free, but it is not the namespaces that cost
 * it.
 *
 * Like init it has no C library, and nothing is checked beyond what has to succeed: the start of a C library would be a
 * good part of the figure.
 */
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include "kernel/clone.h"
#include "kernel/raw.h"

#define MNT_DETACH 2 /* <sys/mount.h> and <linux/mount.h> do not go together */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* Where the tree is built; it lies over this directory in the new mount namespace only. */
#define PLACE "/tmp"

static const char *const system_names[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

struct task {
    const char *workspace; /* NULL: no tree */
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

/* In the new namespaces, in memory shared with the parent, which waits until this executes the program. */
static int run(void *argument)
{
    const struct task *task = argument;

    if (task->workspace != NULL)
        build_tree(task);
    must(tc_raw3(__NR_execve, task->argv[0], task->argv, task->environ), task->argv[0]);
    return 1;
}

static char stack[16384] __attribute__((aligned(16)));

void floor_main(long *start) __attribute__((noreturn, used));
void floor_main(long *start)
{
    long count = *start;
    char **argv = (char **)(start + 1);
    struct task task = {.environ = argv + count + 1};
    int status = 0;
    pid_t pid;

    if (count == 3 && argv[1][0] == 'n') {
        task.argv = argv + 2;
    } else if (count == 4 && argv[1][0] == 't') {
        task.workspace = argv[2];
        task.argv = argv + 3;
    } else {
        say("usage: floor namespaces PROGRAM\n       floor tree WORKSPACE PROGRAM\n");
        leave(2);
    }
    task.uid = (unsigned)tc_raw0(__NR_geteuid);
    task.gid = (unsigned)tc_raw0(__NR_getegid);
    pid = tc_clone_shared(NAMESPACES | CLONE_VFORK | SIGCHLD, stack, sizeof stack, run, &task, NULL);
    must(pid, "clone");
    while (tc_raw4(__NR_wait4, pid, &status, 0, 0) < 0)
        ;
    leave(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall floor_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tmov x0, sp\n\tbl floor_main\n\tbrk 1\n");
#endif
