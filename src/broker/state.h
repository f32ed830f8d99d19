/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_STATE_H
#define TC_BROKER_STATE_H

/*
 * What the broker's threads share. Made by start.c before there are threads
 * and read-only from then on, but for what says otherwise.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/broker.h"

/* One mount of the cell's tree as the plan attached it. */
struct tc_broker_mount {
    uint64_t id; /* STATX_MNT_ID in the real tree */
    const char *target;
    size_t target_length;
    bool mediated; /* read-only in the real tree, writable in the twin */
    bool data;     /* relative patterns speak about it: a name in it that is stale is not believed */
    bool root;     /* the private tree of the cell itself, in which the others stand */
    bool scratch;  /* made for the cell: no mount of the host lies in it */
    bool procfs;
    unsigned access;      /* TC_ACCESS_* that the cell's Landlock domain grants there */
    pthread_mutex_t lock; /* mediated: held around what changes the tree; never while the caller is read or asked */
};

struct tc_question; /* a worker that waits for an answer; ask.c */
struct tc_worker;

struct tc_broker_state {
    const struct tc_plan *plan;
    const struct tc_ruleset *rules;
    const struct tc_view *view;

    int channel;
    int listener; /* set before any worker takes its first call */
    int proc;     /* O_PATH: the procfs of the host, in which callers are looked up; also the working directory */
    int own;      /* O_PATH: the broker's own directory of descriptors there ("self/fd") */
    int root;     /* O_PATH: the cell's tree; also the root directory */
    int twin;
    int diag;
    pthread_mutex_t diag_lock; /* around its use: replies are for who asked */

    struct tc_broker_mount *mounts;
    size_t mount_count;
    bool thread_pidfds;   /* pidfds of threads that lead no process: Linux 6.9 */
    atomic_uint refusals; /* looks at callers in a row that needed CAP_SYS_PTRACE (caller.c) */
    struct tc_broker_counts *counts;

    /* ---- asks and denials: under lock ---- */
    pthread_mutex_t lock;
    pthread_cond_t answered; /* an ask was answered, or its caller is gone */
    struct tc_question *asks;
    uint32_t last_ask;
    struct tc_told *told; /* report.c */
};

#endif
