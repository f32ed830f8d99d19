/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CELL_LAUNCH_H
#define TC_CELL_LAUNCH_H

/*
 * What the two sides of a launch share. See cell.c for how they take turns.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "cell/cell.h"
#include "kernel/limits.h"
#include "kernel/netif.h"
#include "kernel/userns.h"
#include "plan/plan.h"

struct tc_launch_ends {
    int control[2]; /* parent's end, init's end (in the parent until the child has it) */
    int report[2];  /* pipe: the child's struct tc_error, or nothing when init was executed */
};

/* The parent's. The child changes nothing in it but what is marked as its own; before the handover it reads only what
 * tc_cell_begin() has set. Descriptor numbers mean the parent's table unless they are the child's own. */
struct tc_launch {
    enum tc_net net; /* set by tc_cell_begin(), as the next eight */
    struct tc_cell_groups groups;
    struct tc_error failure; /* why there is no child; code 0: there is one, or with -Dlaunch=fork will be */
    struct tc_cell cell;     /* pid and pidfd while it lives */
    int dumpable;            /* what to set it back to, or -1 */
    void *stack;             /* of the child, NULL where it has a memory of its own */
    struct tc_launch_ends ends;
    struct tc_launch_ends inherited; /* the same numbers as of the clone, for the child: the parent closes its own */
    struct tc_netif_request loopback;
    const struct tc_plan *plan; /* set before the handover begins, as the rest */
    bool privileged;            /* started by root: ids by lease or fixed, mounts prepared by the parent */
    uid_t host_uid;             /* what the cell's one user is outside */
    gid_t host_gid;
    uint32_t foreign; /* first of the host ids that stand for everybody else in id-mapped mounts */
    int lease;
    struct tc_userns_holder id_map_holder;
    int *received; /* the child's own: per step, the mount that the parent has prepared, or TC_NO_FD */
    int *kept;     /* the child's own: per step, a mount that turns read-only at the end, or behind the twin */
    dev_t *own;    /* the child's own: devices of the file systems it made itself; room for step_count + 2 */
};

#define TC_LAUNCH_NAMESPACES "make the cell's namespaces" /* what failed when one of them cannot be had */

/* What is changed in the parent while it clones and while it builds. */
struct tc_launch_guard {
    sigset_t signals;
    struct tc_limits_before limits;
    bool raised;
};

/* What the child knows on its way. Lives on its own stack. */
struct tc_child {
    const struct tc_launch *launch;
    const struct tc_plan *plan;
    int control, report, image;
    bool all_received; /* no further packet of the handover comes */
    int ruleset;       /* Landlock, or TC_NO_FD when the plan does without */
    int root;          /* the private tree */
    int scratch;       /* the scratch file system, attached below the private root, or TC_NO_FD */
    int parent;        /* directory of the last target that something was made at; parent_path says which */
    const char *parent_path;
    size_t parent_length;
    int proc; /* a procfs for settings of the namespaces, or TC_NO_FD */
    size_t own_count;
};

/* begin.c */

/** Make the child. 0 or -errno with its stage. */
int tc_launch_spawn(struct tc_launch *launch, struct tc_error *err);
/** Close what the parent still holds and free the launch. The child must have left its memory. */
void tc_launch_free(struct tc_launch *launch);
/** Block signals and raise limits; undo it, which is due after a failure as well. */
int tc_launch_guard(struct tc_launch_guard *ret, struct tc_error *err);
void tc_launch_unguard(const struct tc_launch_guard *guard);

/* handover.c */

#define TC_HANDOVER_FDS 8      /* in a packet: few, so that the child need not wait for many */
#define TC_HANDOVER_IMAGE (-1) /* in place of a step: init */

struct tc_handover_packet {
    uint32_t last; /* 0: another packet follows */
    uint32_t count;
    int32_t steps[TC_HANDOVER_FDS]; /* what each descriptor is for: the source of a step, or TC_HANDOVER_IMAGE */
};

/* The parent's side. */
struct tc_handover {
    int socket; /* borrowed */
    struct tc_handover_packet packet;
    int fds[TC_HANDOVER_FDS];
};

/** Parent: let the child go on; descriptors follow. Each of these returns 0 or -errno. A child that is gone is no
 * error. */
int tc_handover_begin(struct tc_handover *handover, const struct tc_launch *launch);
/** Give the source of a step, or the image of init; takes fd. */
int tc_handover_give(struct tc_handover *handover, int step, int fd);
/** Nothing follows. */
int tc_handover_end(struct tc_handover *handover);
/** Close what waits to be sent. */
void tc_handover_drop(struct tc_handover *handover);

/** Child: wait for one packet. 0, -ECANCELED when the parent has gone, -EMFILE when a limit leaves no room, or another
 *  -errno. */
int tc_handover_receive(struct tc_child *child);

/**
 * Parent, when init has been executed: take the descriptors that a stage of the child sent with its magic.
 * @return 1; 0 when the child was killed, which is told where READY is awaited; -EPROTO, and nothing is taken
 */
int tc_handover_take(const struct tc_cell *cell, uint32_t magic, int *ret_fds, size_t count);

/* identity.c */

/** Choose the host ids of the cell, taking a lease where the plan wants one. */
int tc_identity_choose(struct tc_launch *launch, struct tc_error *err);
/** Parent, privileged: write the child's id maps. */
int tc_identity_map_child(const struct tc_launch *launch, pid_t pid, struct tc_error *err);

/* enter.c */

/** Stage: become uid and gid 1000 of the new user namespace. */
int tc_identity_enter(struct tc_child *child, struct tc_error *err);

/* source.c */

/** Parent, privileged: open, check and copy every bind source with the rights of root, and give it to the child. */
int tc_source_prepare_all(struct tc_launch *launch, struct tc_handover *handover, struct tc_error *err);
/** A detached copy of a step's source with all its attributes: the prepared one, or made now. Returns a new descriptor,
 *  or the prepared one: the child never closes either, execve does. */
int tc_source_open(struct tc_child *child, size_t step, struct tc_error *err);
/** A COPY step's source, opened for reading and verified like the others. Returns a new descriptor. */
int tc_source_read(const struct tc_step *step, struct tc_error *err);
/** MOUNT_ATTR_* for a step's flags. */
unsigned tc_source_attributes(const struct tc_step *step);

/* Directory of the private root that carries the scratch file system while the tree is built; no target. */
#define TC_SCRATCH_PLACE ".toolcell-scratch"

/* target.c */

/** Note a file system as the cell's own, so that things may be created in it. */
int tc_target_own(struct tc_child *child, int fd);
/** The directory that holds a target, in the cell's own file systems; missing parents are made.
 *  ret_name points into target. Returns an O_PATH descriptor that belongs to child and is good until the next call. */
int tc_target_parent(struct tc_child *child, const struct tc_step *step, const char **ret_name, struct tc_error *err);
/** The directory at a step's target, made if it is missing. Returns a new O_PATH descriptor. */
int tc_target_directory(struct tc_child *child, const struct tc_step *step, struct tc_error *err);
/** Attach a mount at a step's target, whose mount point is made unless the step is nested. */
int tc_target_attach(struct tc_child *child, const struct tc_step *step, int mount, bool directory,
                     struct tc_error *err);

/* entry.c */

/** Make what a step of that kind says, with its Landlock rule. */
int tc_entry_directory(struct tc_child *child, const struct tc_step *step, struct tc_error *err);
int tc_entry_symlink(struct tc_child *child, const struct tc_step *step, struct tc_error *err);
int tc_entry_file(struct tc_child *child, const struct tc_step *step, struct tc_error *err);
int tc_entry_copy(struct tc_child *child, const struct tc_step *step, struct tc_error *err);

/* tree.c */

/** Stages: the empty private root; the plan's steps; the root becomes the root; what was kept writable is not. */
int tc_tree_begin(struct tc_child *child, struct tc_error *err);
int tc_tree_build(struct tc_child *child, struct tc_error *err);
int tc_tree_enter(struct tc_child *child, struct tc_error *err);
int tc_tree_close(struct tc_child *child, struct tc_error *err);

/* twin.c */

/** Stage: where calls are notified, hand the tree (and its twin) to the parent, then turn mediated mounts read-only. */
int tc_twin_send(struct tc_child *child, struct tc_error *err);
/** Parent, when init has been executed: take what that stage sent into the cell; nothing where no call is notified. */
int tc_twin_receive(struct tc_cell *cell, const struct tc_plan *plan, struct tc_error *err);

/* pty.c */

/** Stage: where the command gets a terminal, make it and hand both its ends to the parent. */
int tc_pty_send(struct tc_child *child, struct tc_error *err);
/** Parent, after tc_twin_receive(): take what that stage sent into the cell; nothing where there is no terminal. */
int tc_pty_receive(struct tc_cell *cell, const struct tc_plan *plan, struct tc_error *err);

/* rules.c */

/** Add the Landlock rule of an open file or directory; access is TC_ACCESS_*. */
int tc_rules_allow(const struct tc_child *child, int fd, bool directory, unsigned access);
/** Stages: an empty ruleset; entering it. */
int tc_rules_begin(struct tc_child *child, struct tc_error *err);
int tc_rules_enter(struct tc_child *child, struct tc_error *err);

/* child.c */

/** Run all stages of a struct tc_launch. Returns only on failure, after reporting it. */
int tc_child_main(void *argument);

/* hint.c */

/** Add a remedy to an error of the launch where a cause is known. Looks at settings of the host. */
void tc_hint_add(const struct tc_launch *launch, struct tc_error *err);

#endif
