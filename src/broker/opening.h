/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_OPENING_H
#define TC_BROKER_OPENING_H

#include "broker/resolve.h"

/* One open that is being performed: open.c, and opening_write.c for what goes through the twin. */
struct tc_opening {
    struct tc_stopped *stopped;
    uint64_t flags, mode;
    int base;             /* where a relative path starts; owned */
    bool granted;         /* what was opened has been judged */
    bool linked;          /* links were met: the name as given is judged too */
    char path[PATH_MAX];  /* as the caller wrote it */
    char given[PATH_MAX]; /* made when it is needed */
};

/** True when the call wants to write, truncate or make a nameless file. */
bool tc_opening_writes(const struct tc_opening *opening);

/** The name as given, absolute; NULL when the resolved one is all there is to judge. */
const char *tc_opening_given(struct tc_opening *opening);

/** Judge an object for what the call wants of it. 0, -EACCES, -EINTR. */
int tc_opening_judge(struct tc_opening *opening, const struct tc_object *object);

/** Open in the real tree, without waiting but for leases. A descriptor or -errno. */
int tc_opening_try(struct tc_opening *opening, int directory, const char *path, uint64_t flags, uint64_t resolve);

/** The real tree is read-only there: resolve, judge, open in the twin. A descriptor or -errno. */
int tc_opening_write(struct tc_opening *opening);

/** Nothing stands there and O_CREAT was given: find the directory, judge the name, make it. */
int tc_opening_create(struct tc_opening *opening);

#endif
