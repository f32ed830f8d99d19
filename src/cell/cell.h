/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CELL_CELL_H
#define TC_CELL_CELL_H

#include <stdbool.h>
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
    int master;          /* with plan->tty, until they are taken from here: the terminal's master, O_NONBLOCK, */
    int slave;           /* and what the command gets; else TC_NO_FD */
    unsigned last_reply; /* type of the last reply accepted: what may come next depends on it */
    /* Only where calls are notified (plan->notify), else TC_NO_FD: what a broker works with. */
    bool notified;
    int root;     /* the cell's tree, O_PATH */
    int diag;     /* NETLINK_SOCK_DIAG socket of its network namespace */
    int twin;     /* its tree with the mediated mounts writable, or TC_NO_FD when there is none */
    int listener; /* from LISTENER on, until it is taken from here */
};

#define TC_CELL_EMPTY                                                                                                  \
    ((struct tc_cell){.pid = -1,                                                                                       \
                      .pidfd = TC_NO_FD,                                                                               \
                      .control = TC_NO_FD,                                                                             \
                      .lease = TC_NO_FD,                                                                               \
                      .master = TC_NO_FD,                                                                              \
                      .slave = TC_NO_FD,                                                                               \
                      .root = TC_NO_FD,                                                                                \
                      .diag = TC_NO_FD,                                                                                \
                      .twin = TC_NO_FD,                                                                                \
                      .listener = TC_NO_FD})

/* The control groups that the cell is to live in, as descriptors of the caller, borrowed until the cell is built. */
#define TC_CELL_JOINS 8
struct tc_cell_groups {
    int unified;              /* directory of one of version 2, or TC_NO_FD */
    int joins[TC_CELL_JOINS]; /* files "tasks" of groups of version 1, open for writing */
    size_t join_count;
};

/* A launch that has begun: what needs no plan is under way in a process of its own. */
struct tc_launch;

/**
 * Begin a launch before its plan is known, so that the kernel makes the
 * namespaces while the plan is made. Must be called from a single-threaded
 * process whose descriptors 0 to 2 are open. Until the launch is awaited or
 * abandoned the caller shares its memory with a child that uses nothing of the
 * C library; if the caller dies, so does the child. An ignored SIGCHLD is set
 * to its default, and stays so: the status and times of a cell could not be had
 * otherwise.
 *
 * @param net     what the plan will say of the network
 * @param groups  where the cell lives from its first moment on, so that it never sees another group as its own; copied;
 *                NULL: in the caller's
 * @return a new launch, for the three functions that follow. What fails is told by tc_cell_build(); NULL (out of
 *         memory) may be passed on to it
 */
struct tc_launch *tc_cell_begin(enum tc_net net, const struct tc_cell_groups *groups);

/** End a launch: kill its process, reap it, and free everything. NULL is no launch. */
void tc_cell_abandon(struct tc_launch *launch);

/**
 * Have the cell built that a plan describes. Returns while that goes on. Does
 * not wait for anybody but the file systems of the plan's sources; signals are
 * blocked meanwhile.
 *
 * @param launch  borrowed; after a failure there is nothing to be done but tc_cell_abandon()
 * @param plan    borrowed until the launch ends
 * @return 0 or -errno; err->stage names the stage ("namespaces", "identity", "mounts", "init"), err->hint the remedy;
 *         -EINVAL: the launch was begun for another kind of network
 */
int tc_cell_build(struct tc_launch *launch, const struct tc_plan *plan, struct tc_error *err);

/**
 * Wait until the cell is built and its init is executed. Blocks for some
 * milliseconds; 30 s at most where a mount hangs. On failure nothing is left
 * behind.
 *
 * @param launch  taken in any case
 * @param ret     the cell, to be released with tc_cell_release(). Nothing may be asked of it before
 *                tc_cell_await_ready()
 * @return 0 or -errno; err->stage names the stage ("namespaces", "identity", "mounts", "network", "landlock",
 *         "seccomp", "mediation", "terminal", "init"), err->hint the remedy
 */
int tc_cell_await_init(struct tc_launch *launch, struct tc_cell *ret, struct tc_error *err);

/**
 * Wait until init has said READY: sealed, without capabilities, running
 * nothing; and check that it is who it has to be. Blocks for 30 s at most.
 * @return 0, or -errno: the cell has been released and is empty
 */
int tc_cell_await_ready(struct tc_cell *cell, struct tc_error *err);

/** Begin, build and await a cell, where there is nothing to be done in between. As those four; on failure nothing is
 * left. */
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
 * Receive one message of init without blocking and check it. With LISTENER, which comes before STARTED where calls are
 * notified and nowhere else, the descriptor is in cell->listener: a seccomp listener, the cell's until it is taken.
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
