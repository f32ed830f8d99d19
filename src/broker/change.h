/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_CHANGE_H
#define TC_BROKER_CHANGE_H

#include <string.h>

#include "broker/resolve.h"

/*
 * Performing what changes a mediated tree.
 *
 * A handler finds out whether the call is about a mediated mount. When it is
 * not, or cannot be told, the kernel goes on with the call (TC_TO_FLOOR): the
 * caller gets exactly its own errors, and whatever it does with arguments that
 * it changes meanwhile meets a mounted tree that is read-only where not
 * everything is allowed.
 */

/* Instead of 0 or -errno: the kernel performs the call after all. */
#define TC_TO_FLOOR 1

/* Answer with a result: 0, -errno or TC_TO_FLOOR. */
void tc_change_answer(struct tc_stopped *stopped, int result);

/* Attempts in which the tree changed between judging and performing. */
#define TC_CHANGE_RACES_MOST 16

/* A name that is made, removed or moved. */
struct tc_entry {
    int base;                 /* where a relative path starts; the caller's directory at the time of the call */
    char text[PATH_MAX];      /* as the caller wrote it */
    struct tc_object parent;  /* real tree */
    char name[NAME_MAX + 1];  /* last component */
    char spelt[NAME_MAX + 2]; /* the same with one slash after it where the caller wrote any */
    char path[PATH_MAX];      /* of parent and name: what is judged */
    char given[PATH_MAX];
    struct statx found; /* what stood there: found.stx_mask is 0 when nothing did */
    int twin;           /* parent in the twin, while it is changed */
};

#define TC_ENTRY_NONE                                                                                                  \
    {                                                                                                                  \
        .base = TC_NO_FD, .parent = TC_OBJECT_NONE, .twin = TC_NO_FD                                                   \
    }

/**
 * Copy a name of the call from the caller, once.
 * @param directory  argument of call with the directory, or TC_NO_ARGUMENT
 * @param path       argument with the name
 * @return 0 or TC_TO_FLOOR
 */
int tc_entry_read(struct tc_stopped *stopped, int8_t directory, int8_t path, struct tc_entry *ret);

/** Find its directory and look what stands there; may be called again. 0, TC_TO_FLOOR, -ENAMETOOLONG. */
int tc_entry_find(struct tc_stopped *stopped, struct tc_entry *entry);

/** True when something stands there, by the last tc_entry_find(). */
static inline bool tc_entry_exists(const struct tc_entry *entry)
{
    return entry->found.stx_mask != 0;
}

static inline bool tc_entry_is_directory(const struct tc_entry *entry)
{
    return tc_entry_exists(entry) && S_ISDIR(entry->found.stx_mode);
}

/** True when what stands there has names below it, or leads to what has. */
static inline bool tc_entry_leads_on(const struct tc_entry *entry)
{
    return tc_entry_exists(entry) && (S_ISDIR(entry->found.stx_mode) || S_ISLNK(entry->found.stx_mode));
}

/** True when the caller wrote slashes after it. */
static inline bool tc_entry_is_slashed(const struct tc_entry *entry)
{
    return entry->spelt[strlen(entry->name)] != '\0';
}

/** True when it is a mount point in the cell: nobody removes or moves that. The twin's kernel would not know. */
static inline bool tc_entry_is_mount(const struct tc_entry *entry)
{
    return tc_entry_exists(entry) && entry->found.stx_mnt_id != entry->parent.stat.stx_mnt_id;
}

/**
 * Open its directory in the twin, by exactly the path that was judged. The mount must be locked.
 * @return 0; -ESTALE: it changed, begin again
 */
int tc_entry_open(struct tc_stopped *stopped, struct tc_entry *entry);

void tc_entry_release(struct tc_stopped *stopped, struct tc_entry *entry);

/** Held while a tree is changed; never while the caller is looked at or anybody is asked. */
void tc_change_lock(struct tc_stopped *stopped, const struct tc_broker_mount *mount);
void tc_change_unlock(struct tc_stopped *stopped, const struct tc_broker_mount *mount);

#endif
