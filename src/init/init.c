/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cell's first process. A static image without a C library, executed from
 * a sealed memfd when the cell is already sealed, so that nothing of the host
 * is left in its memory, its /proc entries or its descriptors.
 *
 * One loop over two descriptors: the control socket (requests of the
 * supervisor; its end means death) and a signalfd (children that ended). All
 * signals stay blocked. The states are few: waiting for EXEC, running the
 * command, ended. When the command has ended everything else is killed and
 * reaped before the supervisor is told, so that EXITED means "nothing runs".
 *
 * Init has no capabilities and the same filter and rules as the command, and
 * once the command runs a second, narrower filter of its own. It is not
 * dumpable, so no process of the cell can look into it or change it. When it
 * exits, the kernel kills whatever still lives in its pid namespace; every
 * impossible situation is therefore answered by exiting.
 */

#include <asm/statfs.h>
#include <errno.h>
#include <linux/prctl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "init/command.h"
#include "init/narrow.h"
#include "init/protocol.h"
#include "kernel/raw.h"

#define EXEC_FDS 4
#define REAPED_AT_ONCE 256
#define ENDED_AT_MOST 4096 /* a storm of forks could otherwise make more than are reaped, for ever */

struct state {
    int signals;          /* signalfd for SIGCHLD */
    bool asked;           /* EXEC came */
    pid_t command;        /* while it lives, else 0 */
    bool unreaped;        /* more children may have ended than were waited for */
    uint64_t deadline_ms; /* CLOCK_MONOTONIC, or 0 */
};

static void leave(int status) __attribute__((noreturn));
static void leave(int status)
{
    for (;;)
        tc_raw1(__NR_exit_group, status);
}

static uint64_t now_ms(void)
{
    struct timespec now = {0};

    tc_raw2(__NR_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void reply(struct tc_init_reply message)
{
    message.magic = TC_INIT_MAGIC;
    if (tc_raw6(__NR_sendto, TC_INIT_CONTROL_FD, (long)&message, sizeof message, MSG_NOSIGNAL, 0, 0) < 0)
        leave(TC_INIT_LEFT);
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* All scratch is one file system; only a tmpfs that was asked for can stand in this place, and that is scratch too. */
static uint32_t scratch_is_full(void)
{
    struct statfs scratch = {0};

    if (tc_raw2(__NR_statfs, "/dev/shm", &scratch) < 0)
        return 0;
    return (scratch.f_blocks > 0 && scratch.f_bavail == 0) || (scratch.f_files > 0 && scratch.f_ffree == 0);
}

/* Who had ended before is nobody who was left behind, although nobody had waited for him yet. */
static void reap_ended(void)
{
    for (int i = 0; i < ENDED_AT_MOST; i++)
        if (tc_raw4(__NR_wait4, -1, 0, WNOHANG | __WALL, 0) <= 0)
            return;
}

/*
 * kill(-1) holds the lock that a fork needs to finish, and a process with a
 * fatal signal cannot fork: one kill reaches all.
 */
static void finish(struct state *state, int status)
{
    struct tc_init_reply message = {.type = TC_INIT_EXITED, .value = status, .pid = (uint32_t)state->command};
    struct rusage usage = {0};
    long killed;

    message.full = scratch_is_full(); /* before deleted files that are still open go with their processes */
    reap_ended();
    killed = tc_raw2(__NR_kill, -1, SIGKILL);
    for (;;) {
        int ended = 0;
        /* Where a filter around toolcell forbids kill(), nobody who still lives can be waited for. */
        long pid = tc_raw4(__NR_wait4, -1, &ended, __WALL | (killed < 0 ? WNOHANG : 0), 0);

        if (pid == 0)
            leave(TC_INIT_LEFT); /* and the kernel kills them */
        if (pid < 0 && pid != -EINTR)
            break;
        if (pid > 0 && WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL)
            message.leftover++;
    }
    tc_raw2(__NR_getrusage, RUSAGE_CHILDREN, &usage);
    message.user_us = microseconds(&usage.ru_utime);
    message.system_us = microseconds(&usage.ru_stime);
    state->command = 0;
    reply(message);
}

/*
 * A storm of forks can leave children faster than they are waited for. So the
 * command's end is acted on at once (it is init's first child, which the kernel
 * finds first), and requests and the deadline get their turn in between.
 */
static void reap(struct state *state)
{
    struct signalfd_siginfo unused;

    tc_raw3(__NR_read, state->signals, &unused, sizeof unused);
    state->unreaped = false;
    for (int i = 0; i < REAPED_AT_ONCE; i++) {
        int status = 0;
        long pid = tc_raw4(__NR_wait4, -1, &status, WNOHANG | __WALL, 0);

        if (pid < 0 && pid != -ECHILD && pid != -EINTR)
            leave(TC_INIT_LEFT); /* the command's end would never be seen */
        if (pid <= 0)
            return;
        if (pid == state->command) {
            finish(state, status);
            return;
        }
    }
    state->unreaped = true;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tc_raw1(__NR_close, fds[i]);
}

static void execute(struct state *state, const struct tc_init_request *request, const int fds[EXEC_FDS])
{
    struct tc_command_failure failure;
    uint64_t deadline_ms = 0;

    state->asked = true;
    state->command = tc_command_start(fds[3], request->block_size, fds, &failure, &deadline_ms);
    close_all(fds, EXEC_FDS);
    if (state->command < 0) {
        state->command = 0;
        reply((struct tc_init_reply){.type = TC_INIT_FAILED, .value = failure.error, .step = failure.step});
        return;
    }
    if (deadline_ms > 0)
        state->deadline_ms = now_ms() + deadline_ms;
    reply((struct tc_init_reply){.type = TC_INIT_STARTED, .pid = (uint32_t)state->command});
    /* Last, since what init starts inherits its filters, and nothing is started after this. */
    if (tc_narrow() < 0)
        leave(TC_INIT_LEFT);
}

/* Receive one request; returns how many descriptors came with it. */
static size_t receive(struct tc_init_request *request, int fds[EXEC_FDS])
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(EXEC_FDS * sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = request, .iov_len = sizeof *request};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    long length = tc_raw3(__NR_recvmsg, TC_INIT_CONTROL_FD, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *header = &control.align;
    size_t count;

    if (length != (long)sizeof *request || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        leave(length == 0 ? 0 : TC_INIT_LEFT);
    if (message.msg_controllen < sizeof *header)
        return 0;
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        leave(TC_INIT_LEFT);
    count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (count > EXEC_FDS)
        leave(TC_INIT_LEFT);
    for (size_t i = 0; i < count; i++)
        fds[i] = ((const int *)(const void *)CMSG_DATA(header))[i];
    return count;
}

static void serve(struct state *state)
{
    struct tc_init_request request = {0};
    int fds[EXEC_FDS];
    size_t count = receive(&request, fds);

    if (request.magic != TC_INIT_MAGIC)
        leave(TC_INIT_LEFT);
    if (request.type == TC_INIT_EXEC && count == EXEC_FDS && !state->asked)
        execute(state, &request, fds);
    else if (request.type == TC_INIT_SIGNAL && count == 0 && request.value > 0 && request.value <= 64)
        tc_raw2(__NR_kill, -1, request.value);
    else
        leave(TC_INIT_LEFT);
}

/* How long to wait for something to do, NULL for ever; leaves when the deadline has passed. */
static struct timespec *remaining(const struct state *state, struct timespec *ret)
{
    uint64_t now = state->deadline_ms > 0 ? now_ms() : 0;

    if (state->deadline_ms > 0 && now >= state->deadline_ms)
        leave(TC_INIT_LEFT);
    *ret = (struct timespec){0};
    if (state->unreaped)
        return ret;
    if (state->deadline_ms == 0)
        return NULL;
    *ret = (struct timespec){.tv_sec = (time_t)((state->deadline_ms - now) / 1000),
                             .tv_nsec = (long)((state->deadline_ms - now) % 1000) * 1000000};
    return ret;
}

static void start(struct state *state)
{
    uint64_t all = ~(uint64_t)0;
    uint64_t child = (uint64_t)1 << (SIGCHLD - 1);
    struct {
        unsigned long handler, flags, restorer;
        uint64_t mask;
    } standard = {0};

    /* A filter around toolcell may forbid any of these, and each is a part of what a cell promises. */
    if (tc_raw5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        leave(TC_INIT_LEFT_VISIBLE);
    if (tc_raw5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        leave(TC_INIT_LEFT_UNBOUND);
    tc_raw5(__NR_prctl, PR_SET_NAME, "init", 0, 0, 0); /* a name only */
    /* SIGCHLD inherited as ignored would make the kernel reap children itself and lose their times. */
    if (tc_raw4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all) < 0 ||
        tc_raw4(__NR_rt_sigaction, SIGCHLD, &standard, 0, sizeof standard.mask) < 0)
        leave(TC_INIT_LEFT_SIGNALS);
    state->signals = (int)tc_raw4(__NR_signalfd4, -1, &child, sizeof child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (state->signals < 0)
        leave(TC_INIT_LEFT_SIGNALS);
    /* A supervisor that died before PR_SET_PDEATHSIG shows as the end of the socket in the first turn of the loop. */
    reply((struct tc_init_reply){.type = TC_INIT_READY});
}

void tc_init_main(void) __attribute__((noreturn, used));
void tc_init_main(void)
{
    struct state state = {0};

    start(&state);
    for (;;) {
        struct pollfd watched[] = {{.fd = TC_INIT_CONTROL_FD, .events = POLLIN},
                                   {.fd = state.signals, .events = POLLIN}};
        struct timespec timeout;
        long r = tc_raw5(__NR_ppoll, watched, 2, remaining(&state, &timeout), 0, 8);

        if (r < 0 && r != -EINTR)
            leave(TC_INIT_LEFT);
        if (watched[1].revents != 0 || state.unreaped)
            reap(&state);
        if (watched[0].revents != 0)
            serve(&state);
    }
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall tc_init_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tbl tc_init_main\n\tbrk 1\n");
#endif
