/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define GRACE_MS 2000 /* for a killed process to be gone; one that hangs in the kernel may take for ever */

/* A finding must arrive whole or not at all. */
_Static_assert(sizeof(struct tc_finding) <= 4096, "a write of more than PIPE_BUF bytes may be split");

static void answer(tc_probe *probe, const struct tc_examination *so_far, pid_t parent, int report)
{
    struct tc_finding finding = {.state = TC_STATE_MISSING};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent) {
        probe(so_far, &finding);
        if (write(report, &finding, sizeof finding) < 0)
            _exit(1);
    }
    _exit(0);
}

/* The wait status, or -1 when it is not gone in time. */
static int reap(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int status;

    for (int waited_ms = 0; waited_ms < GRACE_MS; waited_ms += 5) {
        pid_t got = waitpid(pid, &status, WNOHANG);

        if (got == pid)
            return status;
        if (got < 0 && errno != EINTR)
            return -1;
        nanosleep(&pause, NULL);
    }
    return -1;
}

/* Wait for the report until it comes, the other end is closed, or time is up. */
static ssize_t receive(int report, int timeout_ms, struct tc_finding *ret)
{
    struct pollfd watched = {.fd = report, .events = POLLIN};
    int ready;

    do
        ready = poll(&watched, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return -ETIMEDOUT;
    return read(report, ret, sizeof *ret);
}

static void tell_death(int status, struct tc_finding *ret)
{
    if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        tc_found(ret, TC_STATE_MISSING, "a seccomp filter around toolcell kills whoever tries");
        tc_remedy(ret, "loosen the filter of the outer container");
    } else if (status >= 0 && WIFSIGNALED(status)) {
        tc_found(ret, TC_STATE_MISSING, "the probe was ended by signal %d", WTERMSIG(status));
    } else {
        tc_found(ret, TC_STATE_MISSING, "the probe ended without an answer");
    }
}

int tc_probe_run(tc_probe *probe, const struct tc_examination *so_far, int timeout_ms, struct tc_finding *ret)
{
    tc_auto_fd reading = TC_NO_FD;
    pid_t parent = getpid();
    int report[2];
    ssize_t length;
    int status;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) < 0)
        return -errno;
    reading = report[0];
    pid = fork();
    if (pid == 0)
        answer(probe, so_far, parent, report[1]);
    close(report[1]);
    if (pid < 0)
        return -errno;
    length = receive(reading, timeout_ms, ret);
    if (length != (ssize_t)sizeof *ret)
        *ret = (struct tc_finding){.state = TC_STATE_MISSING};
    if (length == -ETIMEDOUT)
        kill(pid, SIGKILL);
    status = reap(pid);
    if (length == -ETIMEDOUT)
        tc_found(ret, TC_STATE_MISSING, "no answer within %d s; the probe was ended", timeout_ms / 1000);
    else if (length != (ssize_t)sizeof *ret)
        tell_death(status, ret);
    /* What a probe that was killed had started has died with it, and is the caller's now. */
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return 0;
}

int tc_apart_run(int (*work)(void))
{
    pid_t parent = getpid();
    pid_t pid = fork();
    int status;

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        int r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent ? work() : -ECANCELED;

        _exit(r < 0 ? -r : 0);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}
