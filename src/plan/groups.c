/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 2 gives controllers to the groups below a group only where that holds
 * no processes itself, the real root excepted, and the caller's own group holds
 * at least toolcell. So the walk goes upwards from there. Where it finds nothing
 * and toolcell is alone in its own group, it can leave that for one below: the
 * last choice, since moving a process takes the kernel long. But the first one
 * in a unit of a service manager: the groups above are the manager's, and what
 * limits the unit is meant for the call as well. Who is not root
 * may move a process only within the part that is delegated to it: the common
 * ancestor of both groups, which is the one found here, must let its
 * cgroup.procs be written.
 */
#include "plan/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan/hierarchy.h"
#include "plan/host.h"

static const struct {
    const char *reason, *remedy;
} lacks[TC_GROUP_LACK_COUNT] = {
    [TC_GROUP_ABSENT] = {"control groups with this controller are mounted nowhere",
                         "mount cgroup2 at /sys/fs/cgroup, on a kernel with this controller"},
    [TC_GROUP_UNSEEN] = {"toolcell's own control group lies outside of what is mounted",
                         "mount cgroup2 anew in the mount namespace of toolcell"},
    [TC_GROUP_READ_ONLY] = {"control groups are mounted read-only",
                            "an outer container must mount /sys/fs/cgroup writable"},
    [TC_GROUP_FORBIDDEN] = {"no control group may be made here by the caller",
                            "start toolcell in a delegated group: systemd-run --user --scope -p Delegate=yes"},
    [TC_GROUP_NOT_HANDED] = {"the control groups that the caller may change were not given this controller",
                             "have it handed on: systemd-run --user --scope -p Delegate=yes, or as root "
                             "cgroup.subtree_control of each group above"},
    [TC_GROUP_OCCUPIED] = {"the control group that would have to hand on this controller holds processes itself",
                           "move what runs there into a group below it, and start toolcell from such a one"},
};

const char *tc_group_lack_reason(enum tc_group_lack lack)
{
    return lacks[lack].reason;
}

const char *tc_group_lack_remedy(const struct tc_fact_controller *controller)
{
    if (controller->lack == TC_GROUP_FORBIDDEN && controller->version == 1)
        return "run toolcell as root, or in a group of its own that an administrator gives to the user (chown), or "
               "boot with systemd.unified_cgroup_hierarchy=1";
    return lacks[controller->lack].remedy;
}

/* ---- what may be done in a group ---- */

static int may_write(const char *directory, const char *file)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s", directory, file);

    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static enum tc_group_lack try_directory(const char *directory)
{
    int r = may_write(directory, "");

    if (r == 0)
        r = may_write(directory, "/cgroup.procs");
    if (r == 0)
        return TC_GROUP_USABLE;
    return r == -EROFS ? TC_GROUP_READ_ONLY : r == -ENOENT ? TC_GROUP_UNSEEN : TC_GROUP_FORBIDDEN;
}

/* A group that hands on controllers must be without processes; the real root, which has no type, need not. */
static bool is_free(const char *directory)
{
    char text[4096];
    ssize_t length = tc_hierarchy_read(directory, "/cgroup.type", text, sizeof text);

    if (length == -ENOENT)
        return true;
    if (length < 0 || strcmp(text, "domain\n") != 0)
        return false;
    return tc_hierarchy_read(directory, "/cgroup.procs", text, sizeof text) == 0;
}

/* Whether toolcell, which has one thread, is all that lives in a group. */
static bool is_alone(const char *directory)
{
    char text[64], own[24];

    snprintf(own, sizeof own, "%d\n", (int)getpid());
    return tc_hierarchy_read(directory, "/cgroup.type", text, sizeof text) > 0 && strcmp(text, "domain\n") == 0 &&
           tc_hierarchy_read(directory, "/cgroup.procs", text, sizeof text) > 0 && strcmp(text, own) == 0;
}

static enum tc_group_lack try_unified(const char *directory, unsigned wanted, unsigned *ret_handed)
{
    enum tc_group_lack lack = try_directory(directory);

    *ret_handed = 0;
    if (lack != TC_GROUP_USABLE)
        return lack;
    *ret_handed = tc_hierarchy_controllers(directory, "/cgroup.subtree_control");
    if ((wanted & ~*ret_handed) == 0)
        return TC_GROUP_USABLE;
    if ((wanted & ~tc_hierarchy_controllers(directory, "/cgroup.controllers")) != 0)
        return TC_GROUP_NOT_HANDED;
    if (may_write(directory, "/cgroup.subtree_control") < 0)
        return TC_GROUP_FORBIDDEN;
    return is_free(directory) ? TC_GROUP_USABLE : TC_GROUP_OCCUPIED;
}

/* The nearest group, from the caller's own upwards to the mount, where a group with all of wanted can be made. Where
 * there is none: what stands against the nearest that may be changed. */
static const char *walk(struct tc_arena *arena, const struct tc_mount *mount, const char *own, unsigned wanted,
                        unsigned *ret_handed, enum tc_group_lack *ret_lack)
{
    size_t top = strlen(mount->target);
    char *directory = tc_arena_printf(arena, "%s", own);

    *ret_lack = TC_GROUP_UNSEEN;
    while (directory != NULL) {
        enum tc_group_lack lack = try_unified(directory, wanted, ret_handed);
        char *slash = strrchr(directory, '/');

        if (lack == TC_GROUP_USABLE)
            return directory;
        if (*ret_lack == TC_GROUP_UNSEEN || (lack != TC_GROUP_FORBIDDEN && lack != TC_GROUP_READ_ONLY))
            *ret_lack = lack;
        if (slash == NULL || (size_t)(slash - directory) < top)
            return NULL;
        *slash = '\0';
    }
    return NULL;
}

/* ---- the two versions ---- */

static void find_separate(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own,
                          enum tc_controller which, struct tc_fact_controller *ret)
{
    const struct tc_mount *mount = tc_hierarchy_mount(mounts, tc_controller_name(which));
    const char *path = mount == NULL ? NULL : tc_hierarchy_path(arena, own, tc_controller_name(which));
    const char *directory = path == NULL ? NULL : tc_hierarchy_directory(arena, mount, path);

    if (path == NULL)
        return;
    *ret = (struct tc_fact_controller){.version = 1, .lack = TC_GROUP_UNSEEN};
    if (directory == NULL)
        return;
    ret->lack = try_directory(directory);
    if (ret->lack == TC_GROUP_USABLE)
        ret->directory = directory;
}

struct unified {
    const struct tc_mount *mount;
    const char *own;   /* directory of the caller's own group, or NULL */
    unsigned present;  /* controllers that version 2 has on this host */
    const char *place; /* where groups of calls are made, or NULL */
    unsigned handed;   /* what groups there have already */
    bool vacate;       /* it is the caller's own, which has to be left */
};

/* Take the caller's own group for what it could hand on once it is left. */
static void choose_own(struct unified *unified, unsigned wanted)
{
    if (wanted == 0 || try_unified(unified->own, wanted, &unified->handed) != TC_GROUP_OCCUPIED ||
        !is_alone(unified->own))
        return;
    unified->place = unified->own;
    unified->vacate = true;
}

/* By its name: a manager marks what it has delegated for root alone. */
static bool is_unit(const char *directory)
{
    const char *suffix = strrchr(directory, '.');

    return suffix != NULL && (strcmp(suffix, ".scope") == 0 || strcmp(suffix, ".service") == 0);
}

/* One place for all that is wanted; else for the first that can be had anywhere. */
static void choose_place(struct tc_arena *arena, struct unified *unified, unsigned wanted, bool own_only)
{
    enum tc_group_lack lack;

    if (own_only)
        choose_own(unified, wanted & tc_hierarchy_controllers(unified->own, "/cgroup.controllers"));
    else if (is_unit(unified->own))
        choose_own(unified, wanted);
    if (own_only || unified->place != NULL)
        return;
    unified->place = walk(arena, unified->mount, unified->own, wanted, &unified->handed, &lack);
    if (unified->place == NULL)
        choose_own(unified, wanted);
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT && unified->place == NULL; i++)
        if (wanted & TC_CONTROLLER_BIT(i))
            unified->place = walk(arena, unified->mount, unified->own, TC_CONTROLLER_BIT(i), &unified->handed, &lack);
}

static struct tc_fact_controller judge_unified(struct tc_arena *arena, const struct unified *unified,
                                               enum tc_controller which, bool wanted)
{
    struct tc_fact_controller found = {.version = 2, .lack = TC_GROUP_UNSEEN};
    unsigned bit = TC_CONTROLLER_BIT(which), handed;

    if (unified->place != NULL && (unified->handed & bit)) {
        found.lack = TC_GROUP_USABLE;
        found.directory = unified->place;
    } else if (unified->place != NULL && wanted) {
        found.lack = try_unified(unified->place, bit, &handed);
        if (found.lack == TC_GROUP_OCCUPIED && unified->vacate)
            found.lack = TC_GROUP_USABLE;
        found.hand_on = found.lack == TC_GROUP_USABLE;
        found.directory = found.hand_on ? unified->place : NULL;
    } else if (unified->own != NULL) {
        walk(arena, unified->mount, unified->own, bit, &handed, &found.lack);
        if (found.lack == TC_GROUP_USABLE || !wanted)
            found.lack = TC_GROUP_NOT_HANDED;
    }
    return found;
}

static void find_unified(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, unsigned wanted,
                         bool own_only, struct tc_fact_groups *ret)
{
    struct unified unified = {.mount = tc_hierarchy_mount(mounts, NULL)};
    const char *path = unified.mount == NULL ? NULL : tc_hierarchy_path(arena, own, NULL);

    if (path == NULL)
        return;
    unified.own = tc_hierarchy_directory(arena, unified.mount, path);
    unified.present = tc_hierarchy_controllers(unified.mount->target, "/cgroup.controllers");
    if (unified.own != NULL && (wanted & unified.present) != 0)
        choose_place(arena, &unified, wanted & unified.present, own_only);
    ret->vacate = unified.vacate;
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if (unified.present & TC_CONTROLLER_BIT(i))
            ret->controllers[i] = judge_unified(arena, &unified, i, (wanted & TC_CONTROLLER_BIT(i)) != 0);
}

int tc_groups_find(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, unsigned wanted,
                   bool own_only, struct tc_fact_groups *ret)
{
    *ret = (struct tc_fact_groups){.looked = true};
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++) {
        ret->controllers[i].lack = TC_GROUP_ABSENT;
        find_separate(arena, mounts, own, i, &ret->controllers[i]);
    }
    find_unified(arena, mounts, own, wanted, own_only, ret);
    return 0;
}

static int gather(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted, bool own_only,
                  struct tc_fact_groups *ret)
{
    char own[16384];
    ssize_t length = tc_host_read("/proc/self/cgroup", own, sizeof own);

    /* A kernel without control groups has no such file. */
    if (length < 0 && length != -ENOENT)
        return (int)length;
    return tc_groups_find(arena, mounts, length < 0 ? "" : own, wanted, own_only, ret);
}

int tc_groups_gather(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                     struct tc_fact_groups *ret)
{
    return gather(arena, mounts, wanted, false, ret);
}

int tc_groups_gather_own(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                         struct tc_fact_groups *ret)
{
    return gather(arena, mounts, wanted, true, ret);
}

/* The CPU group of version 1 lets no real-time process in, and tells nothing: of no use but to limit. */
static bool is_idle(const struct tc_fact_groups *groups, enum tc_controller which)
{
    return which == TC_CONTROLLER_CPU && groups->controllers[which].version == 1;
}

unsigned tc_groups_usable(const struct tc_fact_groups *groups, unsigned wanted)
{
    unsigned usable = 0;

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT && groups->looked; i++)
        if ((groups->controllers[i].directory != NULL || groups->controllers[i].in_scope) &&
            (!is_idle(groups, i) || (wanted & TC_CONTROLLER_BIT(i))))
            usable |= TC_CONTROLLER_BIT(i);
    return (usable & wanted) == 0 ? 0 : usable;
}
