/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hierarchies are found by file system type in the mount table, the
 * caller's own groups in /proc/self/cgroup, whose lines read
 * NUMBER:CONTROLLERS:PATH with an empty list for version 2 (cgroups(7)).
 *
 * Version 2 gives controllers to the groups below a group only where that holds
 * no processes itself, the real root excepted, and the caller's own group holds
 * at least toolcell. So the walk goes upwards from there. Who is not root
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

#include "base/cleanup.h"
#include "plan/host.h"

static const char *const names[TC_CONTROLLER_COUNT] = {[TC_CONTROLLER_CPU] = "cpu",
                                                       [TC_CONTROLLER_MEMORY] = "memory",
                                                       [TC_CONTROLLER_PIDS] = "pids",
                                                       [TC_CONTROLLER_CPUACCT] = "cpuacct",
                                                       [TC_CONTROLLER_IO] = "io"};

const char *tc_controller_name(enum tc_controller controller)
{
    return names[controller];
}

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

/* ---- finding the hierarchies ---- */

/* True when a list separated by any of ", \n" has the word. */
static bool has_word(const char *list, size_t length, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i + size <= length; i++)
        if ((i == 0 || strchr(" ,", list[i - 1]) != NULL) && strncmp(list + i, word, size) == 0 &&
            (i + size == length || strchr(" ,\n", list[i + size]) != NULL))
            return true;
    return false;
}

/* The last mount of a hierarchy: version 1 names its controllers among the options. */
static const struct tc_mount *find_mount(const struct tc_mounts *mounts, const char *controller)
{
    for (size_t i = mounts->count; i-- > 0;) {
        const struct tc_mount *mount = &mounts->list[i];

        if (controller == NULL ? strcmp(mount->filesystem, "cgroup2") == 0
                               : strcmp(mount->filesystem, "cgroup") == 0 &&
                                     has_word(mount->options, strlen(mount->options), controller))
            return mount;
    }
    return NULL;
}

/* The caller's own group: the path of the line that has the controller (NULL: of version 2). */
static const char *find_own(struct tc_arena *arena, const char *own, const char *controller)
{
    for (const char *line = own; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t size = strcspn(line, "\n");
        const char *list = memchr(line, ':', size);
        const char *path = list == NULL ? NULL : memchr(list + 1, ':', size - (size_t)(list + 1 - line));
        size_t length;

        if (path == NULL)
            continue;
        length = (size_t)(path - ++list);
        if (controller == NULL ? length == 0 : has_word(list, length, controller))
            return tc_arena_copy(arena, path + 1, size - (size_t)(path + 1 - line));
    }
    return NULL;
}

/* The directory of a group, or NULL when it lies outside of what is mounted. */
static const char *locate(struct tc_arena *arena, const struct tc_mount *mount, const char *path)
{
    size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

    if (strncmp(path, mount->root, root) != 0 || (path[root] != '\0' && path[root] != '/') ||
        strncmp(path, "/..", 3) == 0)
        return NULL;
    return tc_arena_printf(arena, "%s%s", mount->target, strcmp(path + root, "/") == 0 ? "" : path + root);
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

static ssize_t read_file(const char *directory, const char *file, char *text, size_t size)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s", directory, file);

    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    return tc_host_read(path, text, size);
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
    ssize_t length = read_file(directory, "/cgroup.type", text, sizeof text);

    if (length == -ENOENT)
        return true;
    if (length < 0 || strcmp(text, "domain\n") != 0)
        return false;
    return read_file(directory, "/cgroup.procs", text, sizeof text) == 0;
}

/* What a group of version 2 has to hand on, and what it does hand on, as bits. */
static unsigned read_controllers(const char *directory, const char *file)
{
    char text[4096];
    ssize_t length = read_file(directory, file, text, sizeof text);
    unsigned found = 0;

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT && length > 0; i++)
        if (has_word(text, (size_t)length, names[i]))
            found |= TC_CONTROLLER_BIT(i);
    return found;
}

static enum tc_group_lack try_unified(const char *directory, unsigned wanted, unsigned *ret_handed)
{
    enum tc_group_lack lack = try_directory(directory);

    *ret_handed = 0;
    if (lack != TC_GROUP_USABLE)
        return lack;
    *ret_handed = read_controllers(directory, "/cgroup.subtree_control");
    if ((wanted & ~*ret_handed) == 0)
        return TC_GROUP_USABLE;
    if ((wanted & ~read_controllers(directory, "/cgroup.controllers")) != 0)
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
    const struct tc_mount *mount = find_mount(mounts, names[which]);
    const char *path = mount == NULL ? NULL : find_own(arena, own, names[which]);
    const char *directory = path == NULL ? NULL : locate(arena, mount, path);

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
};

/* One place for all that is wanted; else for the first that can be had anywhere. */
static void choose_place(struct tc_arena *arena, struct unified *unified, unsigned wanted)
{
    enum tc_group_lack lack;

    unified->place = walk(arena, unified->mount, unified->own, wanted, &unified->handed, &lack);
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
                         struct tc_fact_groups *ret)
{
    struct unified unified = {.mount = find_mount(mounts, NULL)};
    const char *path = unified.mount == NULL ? NULL : find_own(arena, own, NULL);

    if (path == NULL)
        return;
    unified.own = locate(arena, unified.mount, path);
    unified.present = read_controllers(unified.mount->target, "/cgroup.controllers");
    if (unified.own != NULL && (wanted & unified.present) != 0)
        choose_place(arena, &unified, wanted & unified.present);
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if (unified.present & TC_CONTROLLER_BIT(i))
            ret->controllers[i] = judge_unified(arena, &unified, i, (wanted & TC_CONTROLLER_BIT(i)) != 0);
}

int tc_groups_find(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, unsigned wanted,
                   struct tc_fact_groups *ret)
{
    *ret = (struct tc_fact_groups){.looked = true};
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++) {
        ret->controllers[i].lack = TC_GROUP_ABSENT;
        find_separate(arena, mounts, own, i, &ret->controllers[i]);
    }
    find_unified(arena, mounts, own, wanted, ret);
    return 0;
}

int tc_groups_gather(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                     struct tc_fact_groups *ret)
{
    char own[16384];
    ssize_t length = tc_host_read("/proc/self/cgroup", own, sizeof own);

    /* A kernel without control groups has no such file. */
    if (length < 0 && length != -ENOENT)
        return (int)length;
    return tc_groups_find(arena, mounts, length < 0 ? "" : own, wanted, ret);
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
        if (groups->controllers[i].directory != NULL && (!is_idle(groups, i) || (wanted & TC_CONTROLLER_BIT(i))))
            usable |= TC_CONTROLLER_BIT(i);
    return (usable & wanted) == 0 ? 0 : usable;
}
