/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: which versions are mounted, which controllers each has, and
 * whether the caller may make a group below his own. The mounts are found by
 * file system type, wherever they are; the caller's own groups in
 * /proc/self/cgroup, whose lines read NUMBER:CONTROLLERS:PATH with an empty
 * list for version 2.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "doctor/probe.h"
#include "plan/host.h"
#include "plan/mounts.h"

/* What limits need. */
static const char *const wanted[] = {"cpu", "memory", "pids"};
#define WANTED TC_COUNT(wanted)

/* Where one controller is found. */
struct place {
    unsigned version;      /* 0: nowhere */
    const char *directory; /* the caller's own group there, or NULL when it is not visible */
};

struct groups {
    struct tc_arena *arena;
    const char *unified;           /* mount point of version 2, or NULL */
    const char *unified_directory; /* the caller's own group there, or NULL */
    struct place places[WANTED];
};

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

/* The mount of a hierarchy. Version 1 hierarchies are mounted at the names of their controllers. */
static const struct tc_mount *find_mount(const struct tc_mounts *mounts, const char *controllers, size_t length)
{
    for (size_t i = mounts->count; i-- > 0;) {
        const struct tc_mount *mount = &mounts->list[i];
        const char *name = strrchr(mount->target, '/');

        if (length == 0 && strcmp(mount->filesystem, "cgroup2") == 0)
            return mount;
        if (length > 0 && strcmp(mount->filesystem, "cgroup") == 0 && name != NULL && strlen(name + 1) == length &&
            strncmp(name + 1, controllers, length) == 0)
            return mount;
    }
    return NULL;
}

/* The directory of a group, or NULL when it lies outside of what is mounted. */
static const char *locate(struct tc_arena *arena, const struct tc_mount *mount, const char *path, size_t length)
{
    size_t root = strlen(mount->root);

    if (strcmp(mount->root, "/") == 0)
        root = 0;
    if (length < root || strncmp(path, mount->root, root) != 0 || (length > root && path[root] != '/'))
        return NULL;
    return tc_arena_printf(arena, "%s%.*s", mount->target, (int)(length - root), path + root);
}

static void note_unified(struct groups *groups, const struct tc_mount *mount, const char *directory)
{
    char path[512], text[1024];
    ssize_t length;

    groups->unified = mount->target;
    groups->unified_directory = directory;
    snprintf(path, sizeof path, "%s/cgroup.controllers", mount->target);
    length = tc_host_read(path, text, sizeof text);
    for (size_t i = 0; i < WANTED && length > 0; i++)
        if (has_word(text, (size_t)length, wanted[i]))
            groups->places[i] = (struct place){2, directory};
}

static void note_line(struct groups *groups, const struct tc_mounts *mounts, const char *line, size_t length)
{
    const char *controllers = memchr(line, ':', length);
    const char *path =
        controllers == NULL ? NULL : memchr(controllers + 1, ':', length - (size_t)(controllers + 1 - line));
    const struct tc_mount *mount;
    const char *directory;
    size_t list;

    if (path == NULL)
        return;
    list = (size_t)(path - ++controllers);
    path++;
    mount = find_mount(mounts, controllers, list);
    if (mount == NULL)
        return;
    directory = locate(groups->arena, mount, path, length - (size_t)(path - line));
    if (list == 0)
        note_unified(groups, mount, directory);
    for (size_t i = 0; i < WANTED; i++)
        if (list > 0 && has_word(controllers, list, wanted[i]))
            groups->places[i] = (struct place){1, directory};
}

static int look(struct groups *groups)
{
    struct tc_mounts mounts;
    char text[16384];
    ssize_t length = tc_host_read("/proc/self/cgroup", text, sizeof text);
    int r = tc_mounts_read(groups->arena, &mounts, NULL);

    if (length < 0)
        return (int)length;
    for (const char *line = text; r == 0 && *line != '\0';) {
        size_t size = strcspn(line, "\n");

        note_line(groups, &mounts, line, size);
        line += size + (line[size] == '\n');
    }
    return r;
}

static void append_names(struct tc_buf *out, const struct groups *groups, unsigned version)
{
    for (size_t i = 0; i < WANTED; i++)
        if (groups->places[i].version == version)
            tc_buf_printf(out, " %s", wanted[i]);
}

static unsigned count_version(const struct groups *groups, unsigned version)
{
    unsigned count = 0;

    for (size_t i = 0; i < WANTED; i++)
        count += groups->places[i].version == version;
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
             nowhere == WANTED                             ? TC_STATE_MISSING
             : nowhere > 0 || count_version(groups, 1) > 0 ? TC_STATE_DEGRADED
                                                           : TC_STATE_OK,
             "%s", text.data != NULL ? text.data : "out of memory");
    if (nowhere > 0)
        tc_remedy(ret, "mount cgroup2 at /sys/fs/cgroup, on a kernel with these controllers");
    else if (count_version(groups, 1) > 0)
        tc_remedy(ret, "boot with systemd.unified_cgroup_hierarchy=1 for version 2 alone");
}

void tc_probe_cgroup(const struct tc_examination *so_far, struct tc_finding *ret)
{
    tc_auto_arena arena = tc_arena_new();
    struct groups groups = {.arena = arena};
    int r = arena == NULL ? -ENOMEM : look(&groups);

    (void)so_far;
    if (r < 0)
        tc_found_error(ret, r, "control groups cannot be looked at");
    else
        tell_groups(&groups, ret);
}

/* ---- delegation ---- */

/* Make a group below this one and remove it. */
static int make_group(const char *directory)
{
    char path[1024];
    int length = snprintf(path, sizeof path, "%s/toolcell-doctor-%d", directory, (int)getpid());

    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    if (mkdir(path, 0700) < 0)
        return -errno;
    return rmdir(path) < 0 ? -errno : 0;
}

/* Version 2 hands controllers on only where this file may be written; as root it always may. */
static int hand_on(const char *directory)
{
    char path[1024];
    int length = snprintf(path, sizeof path, "%s/cgroup.subtree_control", directory);

    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    return access(path, W_OK) < 0 ? -errno : 0;
}

/* A group of version 2 has no more controllers to hand on than its parents gave it, whatever the root has. */
static int was_given(const char *directory, const char *controller)
{
    char path[1024], text[1024];
    int length = snprintf(path, sizeof path, "%s/cgroup.controllers", directory);
    ssize_t size;

    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    size = tc_host_read(path, text, sizeof text);
    if (size < 0)
        return (int)size;
    return has_word(text, (size_t)size, controller) ? 0 : -EOPNOTSUPP;
}

static int try_place(const struct place *place, const char *controller)
{
    int r;

    if (place->directory == NULL)
        return -ENOENT;
    r = make_group(place->directory);
    if (r == 0 && place->version == 2)
        r = hand_on(place->directory);
    return r == 0 && place->version == 2 ? was_given(place->directory, controller) : r;
}

static void try_places(const struct groups *groups, uid_t uid, struct tc_finding *ret)
{
    tc_auto_buf good = {0};
    int worst = 0;
    unsigned working = 0;

    for (size_t i = 0; i < WANTED; i++) {
        int r = groups->places[i].version == 0 ? -ENOENT : try_place(&groups->places[i], wanted[i]);

        if (r < 0) {
            worst = r;
            continue;
        }
        working++;
        tc_buf_printf(&good, " %s", wanted[i]);
    }
    if (working == WANTED) {
        tc_found(ret, TC_STATE_OK, "a group was made and removed below the caller's own, for%s", good.data);
        return;
    }
    tc_found_error(ret, worst, "no group can be made below the caller's own");
    if (working > 0)
        tc_found(ret, TC_STATE_DEGRADED, "groups can be made below the caller's own, but only for%s", good.data);
    if (uid != 0)
        tc_remedy(ret, "start toolcell in a delegated group: systemd-run --user --scope -p Delegate=yes");
    else
        tc_remedy(ret, "give root a writable group: an outer container must not mount it read-only");
}

void tc_probe_cgroup_delegation(const struct tc_examination *so_far, struct tc_finding *ret)
{
    tc_auto_arena arena = tc_arena_new();
    struct groups groups = {.arena = arena};
    int r;

    if (tc_lacks(so_far, TC_CHECK_CGROUP, ret))
        return;
    r = arena == NULL ? -ENOMEM : look(&groups);
    if (r < 0)
        tc_found_error(ret, r, "control groups cannot be looked at");
    else
        try_places(&groups, so_far->uid, ret);
}
