/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_SIGNALS_H
#define TC_SUPERVISE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* The caller's signals while a call runs, taken from a descriptor. */
struct tc_signals {
    int fd;
    sigset_t saved_mask;
    struct sigaction saved_pipe, saved_child;
};

/**
 * Take INT, TERM, HUP, QUIT and TSTP, whatever dispositions and mask were inherited; ignore PIPE; let children be
 * waited for. INT, HUP, QUIT and TSTP stay ignored when they were (nohup, a background job). Whoever starts a child
 * afterwards must reset its mask and dispositions.
 *
 * @return 0 or -errno; undone by tc_signals_close()
 */
int tc_signals_open(struct tc_signals *signals);

/**
 * The next signal, 0 when none is there. Never blocks.
 * @param ret_terminal  true when it was typed at a terminal, not sent by a process
 */
int tc_signals_read(struct tc_signals *signals, bool *ret_terminal);

/**
 * Stop this process, and return once it has been continued.
 * @param terminal  as SIGTSTP does by default: not at all in an orphaned process group, where nobody would continue it
 */
void tc_signals_stop(bool terminal);

/** Restore what was there; signals that came in the meantime are dropped. Safe when open failed. */
void tc_signals_close(struct tc_signals *signals);

#endif
