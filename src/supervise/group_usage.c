/* SPDX-License-Identifier: Apache-2.0 */
/* What the control groups of a call tell: the same things under other names in the two versions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/cgroup.h"
#include "supervise/group_leaf.h"

static uint64_t read_number(const struct tc_group_leaf *leaf, const char *file, const char *key)
{
    uint64_t number;

    return leaf == NULL || tc_cgroup_number(leaf->directory, file, key, &number) < 0 ? UINT64_MAX : number;
}

uint64_t tc_group_oom_kills(const struct tc_group *group)
{
    const struct tc_group_leaf *leaf = tc_group_find(group, TC_CONTROLLER_MEMORY);
    uint64_t kills = leaf == NULL         ? 0
                     : leaf->version == 2 ? read_number(leaf, "memory.events", "oom_kill")
                                          : read_number(leaf, "memory.oom_control", "oom_kill");

    return kills == UINT64_MAX ? 0 : kills;
}

/* Version 1 samples at ticks what was user's and what was system's; only their sum is exact. */
static int read_cpuacct(const struct tc_group_leaf *leaf, uint64_t *ret_user_us, uint64_t *ret_system_us)
{
    uint64_t all = read_number(leaf, "cpuacct.usage", NULL);
    uint64_t user = read_number(leaf, "cpuacct.usage_user", NULL);
    uint64_t system = read_number(leaf, "cpuacct.usage_sys", NULL);

    if (all == UINT64_MAX || user == UINT64_MAX || system == UINT64_MAX)
        return -ENODATA;
    *ret_system_us =
        user + system == 0 ? all / 1000 : (uint64_t)((double)all * (double)system / (double)(user + system)) / 1000;
    *ret_user_us = all / 1000 - *ret_system_us;
    return 0;
}

int tc_group_cpu(const struct tc_group *group, uint64_t *ret_user_us, uint64_t *ret_system_us)
{
    const struct tc_group_leaf *leaf = tc_group_find(group, TC_CONTROLLER_CPUACCT);
    uint64_t user, system;

    if (leaf != NULL)
        return read_cpuacct(leaf, ret_user_us, ret_system_us);
    for (size_t i = 0; group != NULL && i < group->count && leaf == NULL; i++)
        leaf = group->leaves[i].version == 2 ? &group->leaves[i] : NULL;
    user = read_number(leaf, "cpu.stat", "user_usec");
    system = read_number(leaf, "cpu.stat", "system_usec");
    if (user == UINT64_MAX || system == UINT64_MAX)
        return -ENODATA;
    *ret_user_us = user;
    *ret_system_us = system;
    return 0;
}

/* The sum over all devices: "8:0 rbytes=4096 wbytes=0 ...". */
static uint64_t add_up(const char *text, const char *word)
{
    uint64_t sum = 0;

    while ((text = strstr(text, word)) != NULL) {
        text += strlen(word);
        sum += strtoull(text, NULL, 10);
    }
    return sum;
}

static void read_io(const struct tc_group_leaf *leaf, struct tc_group_usage *ret)
{
    char text[16384];

    if (leaf == NULL || tc_cgroup_read(leaf->directory, "io.stat", text, sizeof text) < 0)
        return;
    ret->io_read = add_up(text, " rbytes=");
    ret->io_write = add_up(text, " wbytes=");
}

void tc_group_read(const struct tc_group *group, struct tc_group_usage *ret)
{
    const struct tc_group_leaf *memory = tc_group_find(group, TC_CONTROLLER_MEMORY);
    const struct tc_group_leaf *pids = tc_group_find(group, TC_CONTROLLER_PIDS);

    *ret = (struct tc_group_usage){.user_us = UINT64_MAX,
                                   .system_us = UINT64_MAX,
                                   .io_read = UINT64_MAX,
                                   .io_write = UINT64_MAX,
                                   .oom_kills = tc_group_oom_kills(group)};
    ret->memory_peak =
        read_number(memory, memory != NULL && memory->version == 1 ? "memory.max_usage_in_bytes" : "memory.peak", NULL);
    ret->pids_peak = read_number(pids, "pids.peak", NULL);
    ret->pids_denied = read_number(pids, "pids.events", "max");
    tc_group_cpu(group, &ret->user_us, &ret->system_us);
    read_io(tc_group_find(group, TC_CONTROLLER_IO), ret);
}
