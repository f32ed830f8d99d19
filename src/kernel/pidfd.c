/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/pidfd.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int tc_pidfd_signal(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

int tc_pidfd_kill(int pidfd, pid_t child)
{
    if (tc_pidfd_signal(pidfd, SIGKILL) == 0)
        return 0;
    return kill(child, SIGKILL) < 0 ? -errno : 0;
}
