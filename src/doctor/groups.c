/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: which versions are mounted and which controllers each has;
 * and whether a group for a call can be made, as a call would make it and where
 * a call would (src/plan/groups.c), for all three limits at once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "doctor/probe.h"
#include "kernel/cgroup.h"
#include "plan/groups.h"
#include "plan/mounts.h"
#include "plan/scope.h"
#include "systemd/manager.h"

#define REMOVE_MS 1000u

/* What limits need, in the order in which they are told. */
static const enum tc_controller wanted[] = {TC_CONTROLLER_CPU, TC_CONTROLLER_MEMORY, TC_CONTROLLER_PIDS};
#define WANTED TC_COUNT(wanted)

struct groups {
    const char *unified; /* mount point of version 2, or NULL */
    struct tc_fact_groups facts;
};

/* As a call would that has all these limits; with some of them it would not be worse off. */
static int take_scope(struct tc_arena *arena, const struct tc_mounts *mounts, struct tc_fact_groups *facts)
{
    int r = tc_scope_look(arena, mounts, TC_CONTROLLERS_LIMITING, true, facts);

    return r < 0 ? r : tc_scope_take(arena, mounts, TC_CONTROLLERS_LIMITING, facts);
}

static int look(struct tc_arena *arena, bool scope, struct groups *ret)
{
    struct tc_mounts mounts;
    int r = arena == NULL ? -ENOMEM : tc_mounts_read(arena, &mounts, NULL);

    *ret = (struct groups){.unified = NULL};
    for (size_t i = 0; r == 0 && i < mounts.count; i++)
        if (strcmp(mounts.list[i].filesystem, "cgroup2") == 0)
            ret->unified = mounts.list[i].target;
    if (r == 0)
        r = tc_groups_gather(arena, &mounts, TC_CONTROLLERS_LIMITING, &ret->facts);
    return r < 0 || !scope ? r : take_scope(arena, &mounts, &ret->facts);
}

static void append_names(struct tc_buf *out, const struct groups *groups, unsigned version)
{
    for (size_t i = 0; i < WANTED; i++)
        if (groups->facts.controllers[wanted[i]].version == version)
            tc_buf_printf(out, " %s", tc_controller_name(wanted[i]));
}

static unsigned count_version(const struct groups *groups, unsigned version)
{
    unsigned count = 0;

    for (size_t i = 0; i < WANTED; i++)
        count += groups->facts.controllers[wanted[i]].version == version;
    return count;
}

static void tell_groups(const struct groups *groups, struct tc_finding *ret)
{
    tc_auto_buf text = {0};
    unsigned nowhere = count_version(groups, 0);

    if (groups->unified != NULL)
        tc_buf_printf(&text, "version 2 at %s%s", groups->unified,
                      count_version(groups, 2) > 0 ? " with" : " without controllers");
    append_names(&text, groups, 2);
    if (count_version(groups, 1) > 0)
        tc_buf_printf(&text, "%sversion 1 with", groups->unified != NULL ? "; " : "");
    append_names(&text, groups, 1);
    if (nowhere > 0)
        tc_buf_printf(&text, "%snot found:", text.length > 0 ? "; " : "");
    append_names(&text, groups, 0);
    tc_found(ret,
             nowhere == WANTED ? TC_STATE_MISSING
             : nowhere > 0     ? TC_STATE_DEGRADED
                               : TC_STATE_OK,
             "%s", text.data != NULL ? text.data : "out of memory");
    if (nowhere > 0)
        tc_remedy(ret, "mount cgroup2 at /sys/fs/cgroup, on a kernel with these controllers");
}

void tc_probe_cgroup(const struct tc_examination *so_far, struct tc_finding *ret)
{
    tc_auto_arena arena = tc_arena_new();
    struct groups groups;
    int r = look(arena, false, &groups);

    (void)so_far;
    if (r < 0)
        tc_found_error(ret, r, "control groups cannot be looked at");
    else
        tell_groups(&groups, ret);
}

/* ---- delegation ---- */

/* The scope that this process is in is its own. */
static int leave(const struct groups *groups)
{
    const struct tc_fact_groups *facts = &groups->facts;
    tc_auto_fd scope = TC_NO_FD;

    for (size_t i = 0; i < WANTED && facts->scope.state == TC_SCOPE_ENTERED; i++)
        if (facts->controllers[wanted[i]].in_scope) {
            scope = tc_cgroup_open(facts->controllers[wanted[i]].directory);
            return scope < 0 ? scope : tc_cgroup_vacate(scope);
        }
    return 0;
}

/* Make a group there and remove it. */
static int make_group(const char *directory, const char *hand_on)
{
    tc_auto_fd parent = tc_cgroup_open(directory);
    tc_auto_fd group = TC_NO_FD;
    char name[64];
    int r;

    if (parent < 0)
        return parent;
    snprintf(name, sizeof name, "+%s", hand_on == NULL ? "" : hand_on);
    r = hand_on == NULL ? 0 : tc_cgroup_write(parent, "cgroup.subtree_control", name);
    if (r < 0)
        return r;
    snprintf(name, sizeof name, "toolcell-doctor-%d", (int)getpid());
    group = tc_cgroup_make(parent, name);
    return group < 0 ? group : tc_cgroup_remove(parent, name, REMOVE_MS);
}

/* 0, the kernel's -errno, or 1: what stands against it was seen without trying. */
static int try_controller(const struct tc_fact_controller *fact, enum tc_controller which)
{
    return fact->directory == NULL ? 1 : make_group(fact->directory, fact->in_scope ? tc_controller_name(which) : NULL);
}

static void tell_first_lack(const struct tc_fact_controller *fact, const struct tc_fact_scope *scope,
                            enum tc_controller which, int r, struct tc_finding *ret)
{
    bool in_vain = scope->state == TC_SCOPE_LACKING && fact->version == 2;
    struct tc_error err = {0};

    if (r < 0) {
        tc_error_set(&err, r, "%s: make a group in %s", tc_controller_name(which), fact->directory);
        tc_found(ret, TC_STATE_MISSING, "%s", err.message);
        tc_remedy(ret, "an outer container or a security module forbids it");
        return;
    }
    tc_found(ret, TC_STATE_MISSING, "%s: %s%s%s", tc_controller_name(which), tc_group_lack_reason(fact->lack),
             in_vain ? ", and no systemd scope can be had: " : "", in_vain ? scope->reason : "");
    tc_remedy(ret, "%s", in_vain && scope->remedy != NULL ? scope->remedy : tc_group_lack_remedy(fact));
}

static void try_groups(const struct groups *groups, struct tc_finding *ret)
{
    tc_auto_buf good = {0};
    unsigned working = 0;

    for (size_t i = 0; i < WANTED; i++) {
        const struct tc_fact_controller *fact = &groups->facts.controllers[wanted[i]];
        int r = try_controller(fact, wanted[i]);

        if (r == 0)
            tc_buf_printf(&good, "%s %s by version %u", working++ == 0 ? "" : ",", tc_controller_name(wanted[i]),
                          fact->version);
        else if (ret->detail[0] == '\0')
            tell_first_lack(fact, &groups->facts.scope, wanted[i], r, ret);
    }
    if (working > 0 && groups->facts.scope.state == TC_SCOPE_ENTERED)
        tc_buf_printf(&good, ", in a transient scope of %s", tc_manager_name(groups->facts.scope.system));
    if (tc_buf_failed(&good))
        tc_found_error(ret, -ENOMEM, "the groups that were made cannot be told");
    else if (working == WANTED)
        tc_found(ret, TC_STATE_OK, "a group for a call was made and removed:%s", good.data);
    else if (working > 0)
        tc_found(ret, TC_STATE_DEGRADED, "groups for calls can be made, but only for%s", good.data);
}

void tc_probe_cgroup_delegation(const struct tc_examination *so_far, struct tc_finding *ret)
{
    tc_auto_arena arena = tc_arena_new();
    struct groups groups;
    int r;

    if (tc_lacks(so_far, TC_CHECK_CGROUP, ret))
        return;
    r = look(arena, true, &groups);
    if (r < 0)
        tc_found_error(ret, r, "control groups cannot be looked at");
    else if ((r = leave(&groups)) < 0)
        tc_found_error(ret, r, "a scope of systemd was made, but its group cannot be left for one below");
    else
        try_groups(&groups, ret);
}
