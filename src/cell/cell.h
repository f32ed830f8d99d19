/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CELL_CELL_H
#define TC_CELL_CELL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "init/protocol.h"
#include "plan/plan.h"

/* A living cell, seen from outside. */
struct tc_cell {
    pid_t pid;   /* init, in the caller's pid namespace */
    int pidfd;   /* of init; readable when it is dead */
    int control; /* SOCK_SEQPACKET to init, close-on-exec */
    int lease;   /* holds the host id while open, or TC_NO_FD */
    uid_t host_uid;
    gid_t host_gid;
    unsigned last_reply; /* type of the last reply accepted: what may come next depends on it */
};

#define TC_CELL_EMPTY ((struct tc_cell){.pid = -1, .pidfd = TC_NO_FD, .control = TC_NO_FD, .lease = TC_NO_FD})

/**
 * Build the cell a plan describes and start its init. Returns when init has
 * said READY: sealed, without capabilities, running nothing. On failure
 * nothing is left behind. Must be called from a single-threaded process. An
 * ignored SIGCHLD is set to its default, and stays so: the status and times of
 * a cell could not be had otherwise. Signals are blocked meanwhile (some
 * milliseconds; 30 s at most where a mount hangs).
 *
 * @param plan  borrowed for the call
 * @param ret   the cell, to be released with tc_cell_release()
 * @return 0 or -errno; err->stage names the stage ("namespaces", "identity", "mounts", "network", "landlock",
 *         "seccomp", "init"), err->hint the remedy
 */
int tc_cell_launch(const struct tc_plan *plan, struct tc_cell *ret, struct tc_error *err);

/**
 * Ask init to run the plan's command.
 * @param in     descriptor for the command's input, borrowed (sent, the caller still closes its own)
 * @param out    the same for its output
 * @param error  the same for its errors
 */
int tc_cell_exec(struct tc_cell *cell, const struct tc_plan *plan, int in, int out, int error, struct tc_error *err);

/** Send a signal to every process of the cell but init. 0 or -errno; never blocks. */
int tc_cell_signal(struct tc_cell *cell, int signal);

/**
 * Receive one message of init without blocking and check it.
 * @return 1 (ret is set), 0 (nothing there), -EPIPE (init closed or died), -EPROTO (it said something impossible)
 */
int tc_cell_receive(struct tc_cell *cell, struct tc_init_reply *ret);

/** Kill every process of the cell. Does not wait; the pidfd becomes readable when all are dead. */
void tc_cell_kill(struct tc_cell *cell);

/** CPU time of a cell that is dead (the pidfd is readable): reaps init. Microseconds; 0 or -errno. */
int tc_cell_reap(struct tc_cell *cell, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status);

/** Kill what still lives, reap it, and close everything. Safe on an empty cell. */
void tc_cell_release(struct tc_cell *cell);

#endif
