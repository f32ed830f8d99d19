/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "doctor/probe.h"
#include "init/image.h"
#include "init/protocol.h"
#include "kernel/clone.h"
#include "kernel/memfd.h"
#include "kernel/openat2.h"
#include "kernel/pidfd.h"

/* ---- pidfd ---- */

static int use_pidfd(void)
{
    int pidfd = TC_NO_FD;
    pid_t pid = tc_clone_copied(CLONE_PIDFD | SIGCHLD, &pidfd);
    struct pollfd watched = {.fd = pidfd, .events = POLLIN};
    int r;

    if (pid < 0)
        return (int)pid;
    if (pid == 0) {
        poll(NULL, 0, 10000);
        _exit(0);
    }
    r = pidfd < 0 ? -ENOSYS : tc_pidfd_signal(pidfd, SIGKILL);
    if (r < 0)
        kill(pid, SIGKILL);
    else if (poll(&watched, 1, 2000) != 1)
        r = -ETIMEDOUT;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    tc_cleanup_fd(&pidfd);
    return r;
}

void tc_probe_pidfd(const struct tc_examination *so_far, struct tc_finding *ret)
{
    int r = use_pidfd();

    (void)so_far;
    if (r == 0)
        tc_found(ret, TC_STATE_OK, "a process was ended and awaited through one");
    else
        tc_found_error(ret, r, "a process cannot be ended through one");
}

/* ---- descriptors ---- */

void tc_probe_openat2(const struct tc_examination *so_far, struct tc_finding *ret)
{
    tc_auto_fd fd = tc_openat2(AT_FDCWD, "/", O_PATH, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

    (void)so_far;
    if (fd >= 0)
        tc_found(ret, TC_STATE_OK, "a path was opened without following links");
    else
        tc_found_error(ret, fd, "paths cannot be opened without following links");
}

void tc_probe_close_range(const struct tc_examination *so_far, struct tc_finding *ret)
{
    (void)so_far;
    if (close_range(~0U, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        tc_found(ret, TC_STATE_OK, "descriptors can be closed at the start of a program");
    else
        tc_found_error(ret, -errno, "descriptors cannot be closed at the start of a program");
}

/* ---- a program in memory ---- */

/* init itself ends with 1 where there is no control socket; what failed before that is told apart by its status. */
#define INIT_LEFT 1
#define NOT_STARTED 128

/* The cells' own init. It ends at once here. */
static int execute_image(void)
{
    char name[] = "init";
    char *argv[] = {name, NULL};
    char *envp[] = {NULL};
    tc_auto_fd image = tc_memfd_sealed("init", tc_init_image, tc_init_image_size, true);

    if (image == TC_INIT_CONTROL_FD)
        image = fcntl(image, F_DUPFD_CLOEXEC, TC_INIT_CONTROL_FD + 1);
    close(TC_INIT_CONTROL_FD);
    if (image >= 0) {
        execveat(image, "", argv, envp, AT_EMPTY_PATH);
        return -NOT_STARTED - errno;
    }
    return -NOT_STARTED + image;
}

void tc_probe_memfd_exec(const struct tc_examination *so_far, struct tc_finding *ret)
{
    int r = tc_apart_run(execute_image);

    (void)so_far;
    if (r == -INIT_LEFT) {
        tc_found(ret, TC_STATE_OK, "the cells' init was executed from memory");
        return;
    }
    tc_found_error(ret, r <= -NOT_STARTED ? r + NOT_STARTED : -EIO, "the cells' init cannot be executed from memory");
    if (tc_setting("/proc/sys/vm/memfd_noexec") == '2')
        tc_remedy(ret, "sysctl vm.memfd_noexec=1 or 0");
}
