/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_GROUPS_H
#define TC_PLAN_GROUPS_H

/*
 * Control groups of this host: where a group for a call could be made, by whom
 * each limit would be enforced there, and what stands against it.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "plan/mounts.h"

/* The first three enforce limits; the others tell of usage alone. */
enum tc_controller {
    TC_CONTROLLER_CPU,
    TC_CONTROLLER_MEMORY,
    TC_CONTROLLER_PIDS,
    TC_CONTROLLER_CPUACCT, /* version 1: version 2 tells of CPU time in every group */
    TC_CONTROLLER_IO,      /* version 2: another group of version 1 would cost more than /proc, which tells the same */
    TC_CONTROLLER_COUNT
};

#define TC_CONTROLLER_BIT(controller) (1u << (controller))
#define TC_CONTROLLERS_LIMITING                                                                                        \
    (TC_CONTROLLER_BIT(TC_CONTROLLER_CPU) | TC_CONTROLLER_BIT(TC_CONTROLLER_MEMORY) |                                  \
     TC_CONTROLLER_BIT(TC_CONTROLLER_PIDS))

/* What keeps a controller from being used. */
enum tc_group_lack {
    TC_GROUP_USABLE,
    TC_GROUP_ABSENT,     /* it is mounted nowhere */
    TC_GROUP_UNSEEN,     /* the caller's own group lies outside of what is mounted */
    TC_GROUP_READ_ONLY,  /* mounted read-only */
    TC_GROUP_FORBIDDEN,  /* the caller may change no group above its own */
    TC_GROUP_NOT_HANDED, /* version 2: the groups it may change were not given the controller */
    TC_GROUP_OCCUPIED,   /* version 2: the group that would have to hand it on holds processes */
    TC_GROUP_LACK_COUNT
};

struct tc_fact_controller {
    unsigned version; /* 1 or 2; 0: absent */
    enum tc_group_lack lack;
    const char *directory; /* where a group for a call can be made, or NULL; the same for all of version 2 */
    bool hand_on;          /* version 2: groups there do not have it yet, but may be given it */
    bool in_scope;         /* the directory is a scope's that toolcell has entered, or NULL while it is only offered */
};

/* A transient scope of a service manager, for a call that could not have a group without. */
enum tc_scope_state {
    TC_SCOPE_NONE,    /* nobody looked: no limit needs one */
    TC_SCOPE_LACKING, /* there is nobody to ask, or it was asked for in vain */
    TC_SCOPE_OFFERED, /* there is a manager to ask */
    TC_SCOPE_ENTERED  /* toolcell is in it */
};

struct tc_fact_scope {
    enum tc_scope_state state;
    bool system;        /* of the system's manager, else of the user's own */
    const char *slice;  /* unit that the caller lies in and that the scope shall lie in; NULL: the manager's choice */
    const char *reason; /* TC_SCOPE_LACKING: one clause; and what to do about it, or NULL */
    const char *remedy;
};

struct tc_fact_groups {
    bool looked; /* false: nothing in the call needs a group, nobody looked */
    bool vacate; /* version 2: the directory is the caller's own group, which it has to leave first for one below */
    struct tc_fact_controller controllers[TC_CONTROLLER_COUNT];
    struct tc_fact_scope scope;
};

/** The kernel's name of a controller: "memory". */
const char *tc_controller_name(enum tc_controller controller);

/** One clause: what stands against a controller; NULL for TC_GROUP_USABLE. */
const char *tc_group_lack_reason(enum tc_group_lack lack);

/** What to do about it. */
const char *tc_group_lack_remedy(const struct tc_fact_controller *controller);

/**
 * Look where a group for a call could be made. Opens and reads; changes nothing. For version 1 that is below the
 * caller's own group in each hierarchy; for version 2, which gives controllers only to groups of a group without
 * processes, the nearest group above the caller's own that may be changed and has what is wanted; else the caller's
 * own, where nobody but the caller lives in it.
 *
 * @param mounts  the caller's mount table
 * @param wanted  TC_CONTROLLER_BIT()s that are needed; the others are taken where they cost nothing
 * @param ret     filled in, its texts in the arena
 * @return 0 or -errno (-ENOMEM; /proc/self/cgroup cannot be read)
 */
int tc_groups_gather(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                     struct tc_fact_groups *ret);

/** As tc_groups_gather(), but for version 2 in the caller's own group or nowhere. */
int tc_groups_gather_own(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                         struct tc_fact_groups *ret);

/** As tc_groups_gather() or, with own_only, tc_groups_gather_own(), from a text in the form of /proc/self/cgroup. */
int tc_groups_find(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, unsigned wanted,
                   bool own_only, struct tc_fact_groups *ret);

/** Which controllers a call's group has: none when none of the wanted can be had, else all that can and are of use. */
unsigned tc_groups_usable(const struct tc_fact_groups *groups, unsigned wanted);

#endif
