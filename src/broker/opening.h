/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_OPENING_H
#define TC_BROKER_OPENING_H

#include <fcntl.h>

#include "broker/resolve.h"

/* One open that is being performed: open.c, and opening_write.c for what goes through the twin. */
struct tc_opening {
    struct tc_stopped *stopped;
    uint64_t flags, mode;
    int base;             /* where a relative path starts; owned, or the root */
    uint64_t patience;    /* until when a lease is waited for; milliseconds, 0 before the first is met */
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

/**
 * After an attempt to open: true when somebody held a lease on the file (-EWOULDBLOCK) and it should be made again,
 * since the holder was told to give it up. Pauses before. When patience has ended *fd stays as it is.
 */
bool tc_opening_again(struct tc_opening *opening, int *fd);

/** What is opened here is opened without waiting and never becomes the broker's terminal. */
static inline uint64_t tc_opening_quietly(uint64_t flags)
{
    return flags | O_NONBLOCK | O_NOCTTY;
}

/** The real tree is read-only there: resolve, judge, open in the twin. A descriptor or -errno. */
int tc_opening_write(struct tc_opening *opening);

/** tc_twin_same() for what the call wants, with patience for leases. */
int tc_opening_twin_same(struct tc_opening *opening, const struct tc_object *object);

/** Nothing stands there and O_CREAT was given: find the directory, judge the name, make it. */
int tc_opening_create(struct tc_opening *opening);

#endif
