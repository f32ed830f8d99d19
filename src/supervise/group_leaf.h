/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_GROUP_LEAF_H
#define TC_SUPERVISE_GROUP_LEAF_H

/* Private to the files of this layer that know what a call's groups are made of. */

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "supervise/group.h"

#define TC_GROUP_PREFIX "toolcell-"
#define TC_GROUP_NAME_SIZE (sizeof TC_GROUP_PREFIX + TC_UUID_SIZE)
#define TC_GROUP_LEAVES TC_CONTROLLER_COUNT

/* The group in one hierarchy. */
struct tc_group_leaf {
    int parent, directory;
    const char *place; /* path of the parent, borrowed while the group is made */
    unsigned version;
    unsigned controllers; /* TC_CONTROLLER_BIT()s */
};

struct tc_group {
    char name[TC_GROUP_NAME_SIZE];
    struct tc_group_leaf leaves[TC_GROUP_LEAVES];
    size_t count;
    struct tc_cell_groups joins;
    bool vacated;    /* toolcell has left its own group, of version 2, for one below it */
    char handed[64]; /* what that hands on since then, as the kernel takes it: "+memory +pids" */
};

_Static_assert(TC_GROUP_LEAVES <= TC_CELL_JOINS, "every group can be joined");

/** The group that has a controller, or NULL. */
const struct tc_group_leaf *tc_group_find(const struct tc_group *group, enum tc_controller which);

#endif
