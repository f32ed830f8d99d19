/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of one call.
 *
 * Life. They are made before the cell, so that it is born in them; limited when
 * init is up; read when everything is dead; removed after the result. Nothing
 * of that is the cell's to see: its cgroup namespace begins at its own group,
 * and no file system of groups is mounted in it.
 *
 * Orphans. When toolcell is killed its cell dies with it, and an empty group
 * stays. Whoever makes the next one beside it removes it: a group belongs to
 * who holds the lock on its directory, and a lock dies with its holder. So
 * nothing is guessed from names, times or process numbers, and no lock file
 * can be there without its group, or the other way round.
 *
 * Place. Where the facts say so, toolcell itself first leaves its own group for
 * `supervisor` below it, since a group that hands on controllers may hold no
 * processes. At the end it returns, unless that group is a scope of its own,
 * which ends with it.
 *
 * What ends a cell is the death of its init; its pid namespace leaves nobody
 * out. Killing by group is for orphans only.
 */
#include "supervise/group.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup.h"
#include "plan/host.h"
#include "supervise/group_leaf.h"

#define TRIES 8
#define REMOVE_MS 500u
#define SWEEP_MOST 64 /* orphans removed at one start */
#define PERIOD_US 100000u
#define PERIOD_LONG_US 1000000u
#define PIDS_MOST (4u << 20) /* as many as there can be, and as the file takes (PID_MAX_LIMIT) */
#define QUOTA_MIN_US 1000u   /* kernel/sched/core.c: min_cfs_quota_period */

/* ---- making ---- */

/* Version 2: groups of a group have what it hands on. */
static int hand_on(struct tc_group *group, const struct tc_fact_groups *facts, unsigned controllers, int parent,
                   struct tc_error *err)
{
    char *text = group->handed;
    size_t length = 0;
    int r;

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if ((controllers & TC_CONTROLLER_BIT(i)) && facts->controllers[i].hand_on)
            length += (size_t)snprintf(text + length, sizeof group->handed - length, "+%s ", tc_controller_name(i));
    r = length == 0 ? 0 : tc_cgroup_write(parent, "cgroup.subtree_control", text);
    return r < 0 ? tc_error_set(err, r, "hand on control group controllers (%.*s)", (int)length - 1, text) : 0;
}

static int prepare_parent(struct tc_group *group, const struct tc_fact_groups *facts, unsigned controllers, int parent,
                          struct tc_error *err)
{
    int r = facts->vacate ? tc_cgroup_vacate(parent) : 0;

    if (r < 0)
        return tc_error_set(err, r, "leave toolcell's own control group for one below it");
    group->vacated = facts->vacate && facts->scope.state != TC_SCOPE_ENTERED; /* that ends with us */
    return hand_on(group, facts, controllers, parent, err);
}

/* Leave the caller's group as it was found. */
static void restore_parent(struct tc_group *group, int parent)
{
    for (char *sign = group->handed; (sign = strchr(sign, '+')) != NULL;)
        *sign = '-';
    if (group->handed[0] == '\0' || tc_cgroup_write(parent, "cgroup.subtree_control", group->handed) == 0)
        tc_cgroup_return(parent);
}

static int add_leaf(struct tc_group *group, const struct tc_fact_groups *facts, unsigned controllers,
                    enum tc_controller which, struct tc_error *err)
{
    const struct tc_fact_controller *fact = &facts->controllers[which];
    struct tc_group_leaf *leaf;

    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->leaves[i].place, fact->directory) == 0) {
            group->leaves[i].controllers |= TC_CONTROLLER_BIT(which);
            return 0;
        }
    leaf = &group->leaves[group->count++];
    *leaf = (struct tc_group_leaf){.parent = tc_cgroup_open(fact->directory),
                                   .directory = TC_NO_FD,
                                   .place = fact->directory,
                                   .version = fact->version,
                                   .controllers = TC_CONTROLLER_BIT(which)};
    if (leaf->parent < 0)
        return tc_error_set(err, leaf->parent, "open control group '%s'", fact->directory);
    return fact->version == 2 ? prepare_parent(group, facts, controllers, leaf->parent, err) : 0;
}

static void remove_leaves(struct tc_group *group, unsigned timeout_ms)
{
    for (size_t i = 0; i < group->count; i++) {
        struct tc_group_leaf *leaf = &group->leaves[i];

        if (leaf->directory >= 0)
            tc_cgroup_remove(leaf->parent, group->name, timeout_ms);
        tc_cleanup_fd(&leaf->directory);
    }
}

static int make_leaves(struct tc_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        int fd = tc_cgroup_make(group->leaves[i].parent, group->name);

        if (fd < 0) {
            remove_leaves(group, 0);
            return fd;
        }
        group->leaves[i].directory = fd;
    }
    return 0;
}

/* A sweep may take a group away before it is locked: then all are made anew, under another name. */
static int make_all(struct tc_group *group, const char *id, struct tc_error *err)
{
    int r = -EAGAIN;

    for (int i = 0; i < TRIES && (r == -EAGAIN || r == -EEXIST); i++) {
        snprintf(group->name, sizeof group->name, TC_GROUP_PREFIX "%s", id);
        /* The length stays: it tells our names from others. */
        group->name[sizeof TC_GROUP_PREFIX - 1] = (char)(i == 0 ? id[0] : 'f' + i);
        r = make_leaves(group);
    }
    return r < 0 ? tc_error_set(err, r, "make a control group below '%s'", group->leaves[0].place) : 0;
}

static int open_joins(struct tc_group *group, struct tc_error *err)
{
    struct tc_cell_groups *joins = &group->joins;

    joins->unified = TC_NO_FD;
    for (size_t i = 0; i < group->count; i++) {
        int fd;

        if (group->leaves[i].version == 2) {
            joins->unified = group->leaves[i].directory;
            continue;
        }
        fd = tc_cgroup_open_file(group->leaves[i].directory, "tasks");
        if (fd < 0)
            return tc_error_set(err, fd, "join a control group below '%s'", group->leaves[i].place);
        joins->joins[joins->join_count++] = fd;
    }
    return 0;
}

int tc_group_make(const struct tc_fact_groups *facts, unsigned controllers, const char *id, struct tc_group **ret,
                  struct tc_error *err)
{
    struct tc_group *group;
    int r = 0;

    *ret = NULL;
    if (controllers == 0)
        return 0;
    group = calloc(1, sizeof *group);
    if (group == NULL)
        return tc_error_set(err, -ENOMEM, "make a control group");
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT && r == 0; i++)
        if (controllers & TC_CONTROLLER_BIT(i))
            r = add_leaf(group, facts, controllers, i, err);
    if (r == 0)
        r = make_all(group, id, err);
    if (r == 0)
        r = open_joins(group, err);
    if (r < 0) {
        tc_group_free(group);
        tc_error_hint(err, "leave out the limits of memory, CPU share and processes; 'toolcell doctor' tells what is "
                           "possible here");
        return tc_error_stage(err, "limits");
    }
    *ret = group;
    return 0;
}

const struct tc_cell_groups *tc_group_joins(const struct tc_group *group)
{
    return group == NULL ? NULL : &group->joins;
}

/* ---- limiting ---- */

static int write_number(int group, const char *file, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    return tc_cgroup_write(group, file, text);
}

/* Quotas have a smallest size: a small share is one of a longer time. */
static int limit_cpu(const struct tc_group_leaf *leaf, uint64_t thousandths)
{
    uint64_t period_us = thousandths * (PERIOD_US / 1000) < QUOTA_MIN_US ? PERIOD_LONG_US : PERIOD_US;
    uint64_t quota_us;
    char text[48];
    int r;

    /* More than there are is no limit. */
    if (__builtin_mul_overflow(thousandths, period_us / 1000, &quota_us) || quota_us > INT64_MAX / 1000000)
        return 0;
    if (leaf->version == 2) {
        snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, quota_us, period_us);
        return tc_cgroup_write(leaf->directory, "cpu.max", text);
    }
    r = write_number(leaf->directory, "cpu.cfs_period_us", period_us);
    return r < 0 ? r : write_number(leaf->directory, "cpu.cfs_quota_us", quota_us);
}

/* Version 1 counts what waits in sockets apart, and only where it is limited; a kernel without INET has neither. */
static int limit_sockets(const struct tc_group_leaf *leaf, uint64_t bytes)
{
    int r = write_number(leaf->directory, "memory.kmem.tcp.limit_in_bytes", bytes);

    return r == -ENOENT ? 0 : r;
}

/* Without the second half a hog would go on in swap. A kernel that does not account for swap has no such file; version
 * 1 can then still be told not to swap. */
static int limit_memory(const struct tc_group_leaf *leaf, uint64_t bytes)
{
    int r = write_number(leaf->directory, leaf->version == 2 ? "memory.max" : "memory.limit_in_bytes", bytes);

    if (r < 0)
        return r;
    if (leaf->version == 2) {
        r = tc_cgroup_write(leaf->directory, "memory.swap.max", "0");
        return r == -ENOENT ? 0 : r;
    }
    r = write_number(leaf->directory, "memory.memsw.limit_in_bytes", bytes);
    if (r == -ENOENT || r == -EOPNOTSUPP)
        r = tc_cgroup_write(leaf->directory, "memory.swappiness", "0");
    return r < 0 ? r : limit_sockets(leaf, bytes);
}

static int limit_pids(const struct tc_group_leaf *leaf, uint64_t count)
{
    return count > PIDS_MOST ? 0 : write_number(leaf->directory, "pids.max", count);
}

const struct tc_group_leaf *tc_group_find(const struct tc_group *group, enum tc_controller which)
{
    for (size_t i = 0; group != NULL && i < group->count; i++)
        if (group->leaves[i].controllers & TC_CONTROLLER_BIT(which))
            return &group->leaves[i];
    return NULL;
}

static const struct {
    enum tc_limit limit;
    enum tc_controller controller;
    int (*set)(const struct tc_group_leaf *leaf, uint64_t value);
} limits[] = {
    {TC_LIMIT_CPUS, TC_CONTROLLER_CPU, limit_cpu},
    {TC_LIMIT_MEMORY, TC_CONTROLLER_MEMORY, limit_memory},
    {TC_LIMIT_PIDS, TC_CONTROLLER_PIDS, limit_pids},
};

/* The kernel kills nobody with the lowest score for memory, and the cell has toolcell's: who needs more would wait for
 * ever instead. */
static int check_killable(struct tc_error *err)
{
    char score[16];

    if (tc_host_read("/proc/self/oom_score_adj", score, sizeof score) < 0 || strcmp(score, "-1000\n") != 0)
        return 0;
    tc_error_plain(err, -EPERM,
                   "limit 'memory': who starts toolcell is exempt from being killed for memory, and so "
                   "would the cell be (oom_score_adj is -1000)");
    tc_error_hint(err, "choom -n 0 -- toolcell ..., or OOMScoreAdjust= of its service");
    return tc_error_stage(err, "limits");
}

int tc_group_limit(const struct tc_group *group, const struct tc_plan *plan, struct tc_error *err)
{
    for (size_t i = 0; i < TC_COUNT(limits); i++) {
        const struct tc_group_leaf *leaf = tc_group_find(group, limits[i].controller);
        int r;

        if (!(plan->group & TC_CONTROLLER_BIT(limits[i].controller)) || !(plan->limits.set & 1u << limits[i].limit))
            continue;
        if (limits[i].limit == TC_LIMIT_MEMORY && check_killable(err) < 0)
            return err->code;
        r = leaf == NULL ? -ENOENT : limits[i].set(leaf, plan->limits.value[limits[i].limit]);
        if (r < 0) {
            tc_error_set(err, r, "limit '%s': write it to the control group", tc_limit_name(limits[i].limit));
            return tc_error_stage(err, "limits");
        }
    }
    return 0;
}

void tc_group_hurry(const struct tc_group *group)
{
    const struct tc_group_leaf *leaf = tc_group_find(group, TC_CONTROLLER_CPU);
    uint64_t throttled = 0;

    /* The first quota on a host and the end of the last one rewrite the scheduler's code on every CPU: not for nothing.
     */
    if (leaf == NULL ||
        (tc_cgroup_number(leaf->directory, "cpu.stat", "nr_throttled", &throttled) == 0 && throttled == 0))
        return;
    if (leaf->version == 2)
        tc_cgroup_write(leaf->directory, "cpu.max", "max");
    else
        tc_cgroup_write(leaf->directory, "cpu.cfs_quota_us", "-1");
}

/* ---- removing ---- */

static bool is_ours(const char *name)
{
    return strncmp(name, TC_GROUP_PREFIX, sizeof TC_GROUP_PREFIX - 1) == 0 &&
           strlen(name) == sizeof TC_GROUP_PREFIX - 1 + TC_UUID_SIZE - 1;
}

/* Returns true when it was one. */
static bool remove_orphan(int parent, const char *name)
{
    tc_auto_fd group = tc_cgroup_open_below(parent, name);

    if (group < 0 || tc_cgroup_lock(group) < 0)
        return false;
    tc_cgroup_kill(group);
    tc_cgroup_remove(parent, name, 0); /* if it is too early for that, the next start does it */
    return true;
}

static void sweep_leaf(const struct tc_group_leaf *leaf, const char *own)
{
    DIR *parent;
    struct dirent *entry;
    int copy = tc_cgroup_open_below(leaf->parent, "."), removed = 0;

    parent = copy < 0 ? NULL : fdopendir(copy);
    if (parent == NULL) {
        tc_cleanup_fd(&copy);
        return;
    }
    while (removed < SWEEP_MOST && (entry = readdir(parent)) != NULL)
        if (is_ours(entry->d_name) && strcmp(entry->d_name, own) != 0)
            removed += remove_orphan(leaf->parent, entry->d_name);
    closedir(parent);
}

void tc_group_sweep(const struct tc_group *group)
{
    for (size_t i = 0; group != NULL && i < group->count; i++)
        sweep_leaf(&group->leaves[i], group->name);
}

void tc_group_free(struct tc_group *group)
{
    if (group == NULL)
        return;
    for (size_t i = 0; i < group->joins.join_count; i++)
        tc_cleanup_fd(&group->joins.joins[i]);
    remove_leaves(group, REMOVE_MS);
    for (size_t i = 0; i < group->count; i++) {
        if (group->vacated && group->leaves[i].version == 2)
            restore_parent(group, group->leaves[i].parent);
        tc_cleanup_fd(&group->leaves[i].parent);
    }
    free(group);
}
