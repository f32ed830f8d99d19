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
};

struct tc_fact_groups {
    bool looked; /* false: nothing in the call needs a group, nobody looked */
    struct tc_fact_controller controllers[TC_CONTROLLER_COUNT];
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
 * processes, the nearest group above the caller's own that may be changed and has what is wanted.
 *
 * @param mounts  the caller's mount table
 * @param wanted  TC_CONTROLLER_BIT()s that are needed; the others are taken where they cost nothing
 * @param ret     filled in, its texts in the arena
 * @return 0 or -errno (-ENOMEM; /proc/self/cgroup cannot be read)
 */
int tc_groups_gather(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                     struct tc_fact_groups *ret);

/** As tc_groups_gather(), from a text in the form of /proc/self/cgroup. */
int tc_groups_find(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, unsigned wanted,
                   struct tc_fact_groups *ret);

/** Which controllers a call's group has: none when none of the wanted can be had, else all that can and are of use. */
unsigned tc_groups_usable(const struct tc_fact_groups *groups, unsigned wanted);

#endif
