/* SPDX-License-Identifier: Apache-2.0 */
#include "init/command.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "init/block.h"
#include "init/listener.h"
#include "kernel/clone.h"
#include "kernel/raw.h"

/* Everything the child needs; it shares init's memory until it executes, while init waits (CLONE_VFORK). */
struct job {
    const struct tc_exec_block *block;
    const int *streams;
    char **argv, **envp;
    struct tc_command_failure *failure;
};

static int fail(struct job *job, enum tc_init_step step, long result)
{
    job->failure->error = (int)-result;
    job->failure->step = step;
    return 1;
}

/* What is below `above` stays: besides the streams the control socket, when it is still needed. */
static long set_streams(const int given[3], int above)
{
    int streams[3];

    /* First out of the way of the numbers 0 to 2, then into their places; nothing else stays open. */
    for (int i = 0; i < 3; i++) {
        long fd = given[i] > 2 ? given[i] : tc_raw3(__NR_fcntl, given[i], F_DUPFD_CLOEXEC, 3);

        if (fd < 0)
            return fd;
        streams[i] = (int)fd;
    }
    for (int i = 0; i < 3; i++) {
        long fd = tc_raw3(__NR_dup3, streams[i], i, 0);

        if (fd < 0)
            return fd;
    }
    return tc_raw3(__NR_close_range, above, ~0U, 0);
}

#define NULL_DEVICE (1 << 8 | 3) /* Documentation/admin-guide/devices.txt; makedev() is a function of the C library */

/*
 * An empty stdin is the host's /dev/null, on the host's mount: its times could be set through it, and it cannot be
 * opened again as /dev/stdin. The cell's own takes its place.
 */
static long replace_null(void)
{
    struct stat status = {0}; /* the kernel's on the architectures there are (x86-64, aarch64) */
    long fd = tc_raw2(__NR_fstat, 0, &status);

    if (fd < 0)
        return fd;
    if ((status.st_mode & S_IFMT) != S_IFCHR || status.st_rdev != NULL_DEVICE)
        return 0;
    fd = tc_raw4(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    return tc_raw3(__NR_dup3, fd, 0, 0);
}

/* A limit above what the caller of toolcell has itself cannot be had; then the caller's holds. */
static long set_limit(const struct tc_exec_limit *limit)
{
    struct rlimit wanted = {.rlim_cur = limit->soft, .rlim_max = limit->hard};
    struct rlimit held = {0};
    long r = tc_raw4(__NR_prlimit64, 0, limit->resource, 0, &held);

    if (r < 0)
        return r;
    if (wanted.rlim_max > held.rlim_max)
        wanted.rlim_max = held.rlim_max;
    if (wanted.rlim_cur > wanted.rlim_max)
        wanted.rlim_cur = wanted.rlim_max;
    return tc_raw4(__NR_prlimit64, 0, limit->resource, &wanted, 0);
}

static long set_limits(const struct tc_exec_block *block)
{
    for (uint32_t i = 0; i < block->limit_count; i++) {
        long r = set_limit(&block->limits[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

/* The kernel writes "(unreachable)" before a path that does not lead back to the root (getcwd(2); CVE-2024-21626). */
static long enter_directory(const char *cwd)
{
    static char path[PATH_MAX];
    long r = tc_raw1(__NR_chdir, cwd);

    if (r < 0)
        return r;
    r = tc_raw2(__NR_getcwd, path, sizeof path);
    if (r < 0)
        return r;
    return path[0] == '/' ? 0 : -ENOENT;
}

/* Ignored signals stay ignored across execve, and who started toolcell may have ignored some. */
static void reset_signals(void)
{
    struct {
        unsigned long handler, flags, restorer;
        uint64_t mask;
    } standard = {0};
    uint64_t none = 0;

    for (int number = 1; number <= 64; number++)
        if (number != SIGKILL && number != SIGSTOP)
            tc_raw4(__NR_rt_sigaction, number, &standard, 0, sizeof standard.mask);
    tc_raw4(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
}

static int run(void *argument)
{
    struct job *job = argument;
    const struct tc_exec_block *block = job->block;
    bool notified = block->notify_count > 0;
    long r = set_streams(job->streams, notified ? TC_INIT_CONTROL_FD + 1 : TC_INIT_CONTROL_FD);

    if (r >= 0)
        r = replace_null();
    if (r < 0)
        return fail(job, TC_INIT_STEP_BLOCK, r);
    r = tc_raw0(__NR_setsid);           /* in toolcell's own session the caller's terminal would be the command's too */
    if (r >= 0 && block->terminal != 0) /* its stdin may be empty, its output is the terminal */
        r = tc_raw3(__NR_ioctl, 1, TIOCSCTTY, 0);
    if (r < 0)
        return fail(job, TC_INIT_STEP_SESSION, r);
    tc_raw1(__NR_umask, block->umask);
    r = enter_directory(tc_block_string(block, block->cwd));
    if (r < 0)
        return fail(job, TC_INIT_STEP_CWD, r);
    reset_signals();
    /* Late: what comes after it may be stopped, and is judged as the command's. */
    r = notified ? tc_listener_make(block) : 0;
    if (r < 0)
        return fail(job, TC_INIT_STEP_MEDIATION, r);
    /* After it: the limit of open files is one of descriptors on their way, too, all those of the user's together. */
    r = set_limits(block);
    if (r < 0)
        return fail(job, TC_INIT_STEP_LIMITS, r);
    r = tc_command_execute(tc_block_string(block, block->program), tc_block_string(block, block->path_list), job->argv,
                           job->envp);
    return fail(job, TC_INIT_STEP_EXEC, -r);
}

static void fill(const struct tc_exec_block *block, uint32_t table, uint32_t count, char **ret)
{
    for (uint32_t i = 0; i < count; i++)
        ret[i] = (char *)tc_block_item(block, table, i);
    ret[count] = NULL;
}

static pid_t start(const struct tc_exec_block *block, const int streams[3], struct tc_command_failure *failure)
{
    static char stack[16384] __attribute__((aligned(16)));
    /* One pointer before argv for the shell of a script, one after each list for its end. */
    size_t size = ((size_t)block->argc + block->envc + 3) * sizeof(char *);
    long memory = tc_raw6(__NR_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct job job = {.block = block, .streams = streams, .failure = failure};
    pid_t pid;

    if (memory < 0) {
        fail(&job, TC_INIT_STEP_BLOCK, memory);
        return -1;
    }
    job.argv = (char **)memory + 1;
    job.envp = job.argv + block->argc + 1;
    fill(block, block->argv, block->argc, job.argv);
    fill(block, block->envv, block->envc, job.envp);
    pid = tc_clone_shared(CLONE_VFORK | SIGCHLD, stack, sizeof stack, run, &job, NULL);
    if (pid < 0)
        fail(&job, TC_INIT_STEP_EXEC, pid);
    tc_raw2(__NR_munmap, memory, size);
    return failure->error != 0 ? -1 : pid;
}

pid_t tc_command_start(int block_fd, uint32_t size, const int streams[3], struct tc_command_failure *failure,
                       uint64_t *ret_deadline_ms)
{
    long end = tc_raw3(__NR_lseek, block_fd, 0, 2 /* SEEK_END */);
    const struct tc_exec_block *block;
    long memory = -EINVAL;
    pid_t pid;

    *failure = (struct tc_command_failure){.error = EINVAL, .step = TC_INIT_STEP_BLOCK};
    if (size > 0 && end >= 0 && end >= (long)size) /* reading behind the end of a file would be SIGBUS */
        memory = tc_raw6(__NR_mmap, 0, size, PROT_READ, MAP_PRIVATE, block_fd, 0);
    if (memory < 0)
        return -1;
    block = tc_block_check((const void *)memory, size);
    if (block == NULL) {
        tc_raw2(__NR_munmap, memory, size);
        return -1;
    }
    *failure = (struct tc_command_failure){0};
    *ret_deadline_ms = block->deadline_ms;
    pid = start(block, streams, failure);
    tc_raw2(__NR_munmap, memory, size);
    return pid;
}
