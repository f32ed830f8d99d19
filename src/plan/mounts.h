/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_MOUNTS_H
#define TC_PLAN_MOUNTS_H

/*
 * The caller's mount table, read once from /proc/self/mountinfo.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct tc_mount {
    uint64_t id;
    const char *device; /* "MAJOR:MINOR" */
    const char *root;   /* what of its file system is mounted */
    const char *target;
    const char *filesystem;
    const char *options; /* of the file system: "rw,memory" */
};

struct tc_mounts {
    const struct tc_mount *list; /* in the kernel's order: later ones cover earlier ones */
    size_t count;
};

/** Parse a mount table; malformed lines are -EBADMSG. text is copied into the arena as needed. */
int tc_mounts_parse(struct tc_arena *arena, const char *text, size_t length, struct tc_mounts *ret,
                    struct tc_error *err);

/** Read and parse the caller's own table. */
int tc_mounts_read(struct tc_arena *arena, struct tc_mounts *ret, struct tc_error *err);

/** The mount with an id, or NULL. */
const struct tc_mount *tc_mounts_find(const struct tc_mounts *mounts, uint64_t id);

/** The mount a canonical path lies on, by the longest target (the last of equals), or NULL. */
const struct tc_mount *tc_mounts_containing(const struct tc_mounts *mounts, const char *path);

/** "MAJOR:MINOR PATH" of a canonical path on a mount; NULL when out of memory. */
const char *tc_mounts_position(struct tc_arena *arena, const struct tc_mount *mount, const char *path);

/** True when no mount covers part of the host's /proc, so that the kernel lets a user namespace mount a new one. */
bool tc_mounts_proc_visible(const struct tc_mounts *mounts);

/** Compare two positions ("MAJOR:MINOR PATH"): equal, or the first below the second in the same file system. */
bool tc_position_below(const char *inner, const char *outer);

#endif
