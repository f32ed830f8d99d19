/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_LAYOUT_H
#define TC_PLAN_LAYOUT_H

/*
 * Where things stand in the cell's tree: the targets of the workspace, the
 * declared mounts and tmpfs, and what they lie in. Used by the facts (to look
 * at what will be found there) and by the compiler.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/request.h"

struct tc_place {
    const char *target;                /* absolute, clean */
    size_t index;                      /* into facts->points: workspace 0, then mounts, then tmpfs */
    const char *where;                 /* who asked, for messages */
    const struct tc_fact_path *source; /* NULL for a tmpfs */
    enum tc_mount_mode mode;           /* sources only */
    uint64_t size;                     /* tmpfs only */
};

struct tc_layout {
    struct tc_place *places; /* sorted by target: a place comes after the place it lies in */
    size_t count;
};

/** Names of the cell's own directories. */
#define TC_CELL_HOME "/home/agent"
#define TC_CELL_WORKSPACE "/workspace"

extern const char *const tc_scratch_targets[]; /* "/tmp", ...; NULL-terminated */

/**
 * Compute the layout. Needs the sources among the facts.
 * @return 0, -EINVAL (a target that is not absolute, has "..", stands twice, or would hide what the cell needs),
 * -ENOMEM
 */
int tc_layout_make(struct tc_arena *arena, const struct tc_request *request, const struct tc_facts *facts,
                   struct tc_layout *ret, struct tc_error *err);

/** The innermost place whose target strictly contains path, or NULL. */
const struct tc_place *tc_layout_parent(const struct tc_layout *layout, const char *path);

/** The place at index (workspace 0, then mounts, then tmpfs). */
const struct tc_place *tc_layout_at(const struct tc_layout *layout, size_t index);

/** The rootfs entry (a directory, not a link) that path lies in or equals, or NULL. */
const struct tc_fact_entry *tc_layout_entry(const struct tc_facts *facts, const char *path);

/** The scratch directory of the cell's own that path lies in or equals, or NULL. */
const char *tc_layout_scratch(const char *path);

#endif
