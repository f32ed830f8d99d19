/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/pidfd.h"

#include <signal.h>
#include <stddef.h>

#include "kernel/raw.h"

int tc_pidfd_signal(int pidfd, int signal)
{
    return (int)tc_raw4(__NR_pidfd_send_signal, pidfd, signal, 0, 0);
}

int tc_pidfd_open(pid_t pid)
{
    return (int)tc_raw2(__NR_pidfd_open, pid, 0);
}

int tc_pidfd_kill(int pidfd, pid_t child)
{
    if (tc_pidfd_signal(pidfd, SIGKILL) == 0)
        return 0;
    return (int)tc_raw2(__NR_kill, child, SIGKILL);
}
