/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_cell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

enum fake_fault fake_fault;
int fake_status;
int fake_errno;
enum tc_init_step fake_step;
uint64_t fake_cpu_us;

/* ---- init ---- */

static int control;

static void say(enum tc_init_reply_type type, int value)
{
    struct tc_init_reply reply = {.magic = TC_INIT_MAGIC, .type = type, .value = value, .pid = 2};

    if (type == TC_INIT_FAILED)
        reply.step = fake_fault == FAKE_FAILED_STEP ? fake_step : TC_INIT_STEP_EXEC;
    if (fake_fault == FAKE_STATUS)
        reply.user_us = fake_cpu_us;
    if (send(control, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
        _exit(3);
}

static void say_exited(int status, uint32_t leftover)
{
    struct tc_init_reply reply = {
        .magic = TC_INIT_MAGIC, .type = TC_INIT_EXITED, .value = status, .leftover = leftover};

    if (send(control, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
        _exit(3);
}

static void receive_exec(int fds[3])
{
    char space[CMSG_SPACE(3 * sizeof(int))];
    struct tc_init_request request;
    struct iovec vector = {.iov_base = &request, .iov_len = sizeof request};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};

    if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof request || CMSG_FIRSTHDR(&message) == NULL)
        _exit(3);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 3 * sizeof(int));
}

static void misbehave(void)
{
    switch (fake_fault) {
    case FAKE_DIES_BEFORE_STARTED:
        _exit(5);
    case FAKE_SHORT_MESSAGE:
        send(control, "hello", 5, 0);
        break;
    case FAKE_BAD_MAGIC: {
        struct tc_init_reply reply = {.magic = 7, .type = TC_INIT_STARTED};

        send(control, &reply, sizeof reply, 0);
        break;
    }
    case FAKE_STARTED_TWICE:
        say(TC_INIT_STARTED, 0);
        say(TC_INIT_STARTED, 0);
        break;
    case FAKE_EXITED_FIRST:
        say(TC_INIT_EXITED, 0);
        break;
    case FAKE_FAILED_AFTER_STARTED:
        say(TC_INIT_STARTED, 0);
        say(TC_INIT_FAILED, ENOENT);
        break;
    case FAKE_BAD_STATUS:
        say(TC_INIT_STARTED, 0);
        say(TC_INIT_EXITED, 0x137f);
        break;
    case FAKE_UNKNOWN_TYPE:
        say((enum tc_init_reply_type)99, 0);
        break;
    case FAKE_STATUS:
        say(TC_INIT_STARTED, 0);
        say(TC_INIT_EXITED, fake_status);
        break;
    case FAKE_FAILED_STEP:
        say(TC_INIT_FAILED, fake_errno);
        break;
    case FAKE_NONE:
    case FAKE_LAUNCH_FAILS:
    case FAKE_EXEC_FAILS:
    case FAKE_DIES_AFTER_STARTED:
    case FAKE_CLOSES_AFTER_STARTED:
    case FAKE_DEAF:
        return;
    }
    for (;;)
        pause();
}

static pid_t start(const struct tc_plan *plan, const int fds[3])
{
    int report[2], error = 0;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) < 0 || (pid = fork()) < 0)
        _exit(3);
    if (pid == 0) {
        for (int i = 0; i < 3; i++)
            dup2(fds[i], i);
        execvp(plan->argv[0], (char *const *)plan->argv);
        error = errno;
        if (write(report[1], &error, sizeof error) < 0)
            _exit(3);
        _exit(127);
    }
    close(report[1]);
    if (read(report[0], &error, sizeof error) > 0) {
        say(TC_INIT_FAILED, error);
        pause();
    }
    close(report[0]);
    return pid;
}

static uint32_t kill_rest(void)
{
    uint32_t count = 0;

    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        count++;
    return count;
}

static void serve_request(void)
{
    struct tc_init_request request;
    ssize_t length = recv(control, &request, sizeof request, MSG_DONTWAIT);

    if (length == 0)
        _exit(0);
    if (length > 0 && fake_fault != FAKE_DEAF)
        kill(-1, request.value);
}

/* Poll for the command's end every 2 ms: plain, and quick enough for tests. */
static void serve(pid_t command)
{
    struct pollfd poll_fd = {.fd = control, .events = POLLIN};
    int status;
    pid_t pid;

    for (;;) {
        if (poll(&poll_fd, 1, 2) > 0)
            serve_request();
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid == command) {
                say_exited(status, kill_rest());
                pause();
            }
        }
    }
}

static void init_main(const struct tc_plan *plan)
{
    int fds[3];
    pid_t command;
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    receive_exec(fds);
    misbehave();
    command = start(plan, fds);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    say(TC_INIT_STARTED, 0);
    if (fake_fault == FAKE_DIES_AFTER_STARTED)
        _exit(5);
    if (fake_fault == FAKE_CLOSES_AFTER_STARTED) {
        close(control);
        for (;;)
            pause();
    }
    serve(command);
}

/* ---- cell.h ---- */

/* Only its release counts: what is not freed is a leak to the sanitizer. */
struct tc_launch {
    const struct tc_plan *plan;
};

struct tc_launch *tc_cell_begin(enum tc_net net, const struct tc_cell_groups *groups)
{
    struct tc_launch *launch = malloc(sizeof *launch);

    (void)net;
    (void)groups;
    return launch;
}

void tc_cell_abandon(struct tc_launch *launch)
{
    free(launch);
}

int tc_cell_await_ready(struct tc_cell *cell, struct tc_error *err)
{
    (void)cell;
    (void)err;
    return 0;
}

int tc_cell_build(struct tc_launch *launch, const struct tc_plan *plan, struct tc_error *err)
{
    (void)err;
    launch->plan = plan;
    return 0;
}

int tc_cell_await_init(struct tc_launch *launch, struct tc_cell *ret, struct tc_error *err)
{
    const struct tc_plan *plan = launch->plan;
    int pair[2], pidfd = -1;
    long pid;

    free(launch);
    *ret = TC_CELL_EMPTY;
    if (fake_fault == FAKE_LAUNCH_FAILS) {
        tc_error_set(err, -EPERM, "create the namespaces");
        tc_error_hint(err, "sysctl user.max_user_namespaces");
        return tc_error_stage(err, "namespaces");
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return tc_error_set(err, -errno, "socketpair");
    pid = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
    if (pid < 0)
        return tc_error_set(err, -errno, "clone");
    if (pid == 0) {
        /* As exec does: whatever the supervisor has open must not live on in the cell. */
        control = dup3(pair[1], 3, O_CLOEXEC) < 0 ? pair[1] : 3;
        close_range(4, ~0U, 0);
        init_main(plan);
    }
    close(pair[1]);
    ret->pid = (pid_t)pid;
    ret->pidfd = pidfd;
    ret->control = pair[0];
    ret->host_uid = geteuid() == 0 ? 4242 : geteuid(); /* an ordinary user has none but his own to give pipes to */
    return 0;
}

int tc_cell_exec(struct tc_cell *cell, const struct tc_plan *plan, int in, int out, int error, struct tc_error *err)
{
    int fds[3] = {in, out, error};
    char space[CMSG_SPACE(sizeof fds)] __attribute__((aligned(sizeof(struct cmsghdr)))) = {0};
    struct tc_init_request request = {.magic = TC_INIT_MAGIC, .type = TC_INIT_EXEC};
    struct iovec vector = {.iov_base = &request, .iov_len = sizeof request};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    (void)plan;
    if (fake_fault == FAKE_EXEC_FAILS)
        return tc_error_set(err, -E2BIG, "send the command");
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(header), fds, sizeof fds);
    return sendmsg(cell->control, &message, MSG_NOSIGNAL) < 0 ? tc_error_set(err, -errno, "send") : 0;
}

int tc_cell_signal(struct tc_cell *cell, int signal)
{
    struct tc_init_request request = {.magic = TC_INIT_MAGIC, .type = TC_INIT_SIGNAL, .value = signal};

    return send(cell->control, &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int tc_cell_receive(struct tc_cell *cell, struct tc_init_reply *ret)
{
    ssize_t length = recv(cell->control, ret, sizeof *ret, MSG_DONTWAIT);

    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
    if (length == 0)
        return -EPIPE;
    return length == (ssize_t)sizeof *ret && ret->magic == TC_INIT_MAGIC ? 1 : -EPROTO;
}

void tc_cell_kill(struct tc_cell *cell)
{
    if (cell->pid > 0)
        kill(cell->pid, SIGKILL); /* by pid: valgrind knows no pidfd_send_signal */
}

int tc_cell_reap(struct tc_cell *cell, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status)
{
    struct rusage usage;
    pid_t pid = wait4(cell->pid, ret_status, 0, &usage);

    if (pid < 0)
        return -errno;
    cell->pid = -1;
    *ret_user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
    *ret_system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
    return 0;
}

void tc_cell_release(struct tc_cell *cell)
{
    tc_cell_kill(cell);
    if (cell->pid > 0)
        waitpid(cell->pid, NULL, 0);
    cell->pid = -1;
    tc_cleanup_fd(&cell->pidfd);
    tc_cleanup_fd(&cell->control);
}
