/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A blocked signal is queued even where it is ignored (signal(7)), so what shall stay ignored is not blocked. */
static void add_unless_ignored(sigset_t *set, int signal)
{
    struct sigaction action;

    if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(set, signal);
}

/* SIGCHLD ignored, or with SA_NOCLDWAIT, would take the exit status of init away before it is read. */
static void set_dispositions(struct tc_signals *signals)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &signals->saved_child);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &signals->saved_pipe);
}

int tc_signals_open(struct tc_signals *signals)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    add_unless_ignored(&set, SIGINT);
    add_unless_ignored(&set, SIGHUP);
    add_unless_ignored(&set, SIGQUIT); /* by default it would leave the caller's terminal as --tty has set it */
    add_unless_ignored(&set, SIGTSTP);
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0)
        return -errno;
    sigprocmask(SIG_BLOCK, &set, &signals->saved_mask);
    set_dispositions(signals);
    return 0;
}

int tc_signals_read(struct tc_signals *signals, bool *ret_terminal)
{
    struct signalfd_siginfo info;

    if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    *ret_terminal = info.ssi_code == SI_KERNEL;
    return (int)info.ssi_signo;
}

static void stop_as_by_default(void)
{
    struct sigaction action, saved;
    sigset_t set, mask;

    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_DFL;
    sigaction(SIGTSTP, &action, &saved);
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGTSTP, &saved, NULL);
}

void tc_signals_stop(bool terminal)
{
    if (terminal)
        stop_as_by_default();
    else
        raise(SIGSTOP);
}

void tc_signals_close(struct tc_signals *signals)
{
    bool terminal;

    if (signals->fd < 0)
        return;
    while (tc_signals_read(signals, &terminal) != 0)
        ;
    tc_cleanup_fd(&signals->fd);
    sigaction(SIGCHLD, &signals->saved_child, NULL);
    sigaction(SIGPIPE, &signals->saved_pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->saved_mask, NULL);
}
