/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

const char *const tc_scratch_targets[] = {"/tmp", "/dev/shm", TC_CELL_HOME, NULL};

#define TARGET_LIMIT 1024  /* mounts and tmpfs of one cell */
#define TARGET_LENGTH 4000 /* the kernel's PATH_MAX, with room for what lies below */

static bool has_parent_component(const char *path)
{
    for (; *path != '\0'; path += strcspn(path, "/"), path += strspn(path, "/"))
        if (strncmp(path, "..", 2) == 0 && (path[2] == '/' || path[2] == '\0'))
            return true;
    return false;
}

static int clean_target(struct tc_arena *arena, struct tc_place *place, const char *given, struct tc_error *err)
{
    if (given[0] != '/')
        return tc_error_plain(err, -EINVAL, "%s: the target '%s' is not an absolute path", place->where, given);
    if (has_parent_component(given))
        return tc_error_plain(err, -EINVAL, "%s: the target '%s' contains '..'", place->where, given);
    if (strlen(given) > TARGET_LENGTH)
        return tc_error_plain(err, -EINVAL, "%s: the target is longer than %d bytes", place->where, TARGET_LENGTH);
    place->target = tc_path_clean(arena, "/", given);
    return place->target == NULL ? tc_error_set(err, -ENOMEM, "%s", place->where) : 0;
}

static int place_source(struct tc_arena *arena, struct tc_place *place, const struct tc_mount_request *request,
                        const struct tc_fact_path *source, struct tc_error *err)
{
    const char *target = request->target;

    place->where = request->where != NULL ? request->where : "workspace";
    place->source = source;
    place->mode = request->mode;
    if (target == NULL)
        target = place->index == 0 ? TC_CELL_WORKSPACE : source->canonical;
    else if (strcmp(target, "@same") == 0)
        target = source->canonical;
    if (target == NULL)
        return tc_error_plain(err, -ENOENT, "%s: '%s' does not exist", place->where, source->given);
    return clean_target(arena, place, target, err);
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct tc_place *)a)->target, ((const struct tc_place *)b)->target);
}

/* Where a target hides something every cell needs. /proc, /dev and /sys are the cell's own as a whole. */
static const char *hidden_by(const struct tc_facts *facts, const struct tc_place *place)
{
    static const char *const whole[] = {"/proc", "/dev", "/sys", NULL};
    static const char *const kept[] = {"/etc/passwd",        "/etc/group",    "/etc/hosts",
                                       "/etc/nsswitch.conf", "/etc/hostname", "/etc/mtab",
                                       "/etc/resolv.conf",   "/var/tmp",      NULL};

    for (const char *const *path = whole; *path != NULL; path++)
        if (tc_path_below(place->target, *path) && !(place->source == NULL && strcmp(place->target, "/dev/shm") == 0))
            return *path;
    for (const char *const *path = kept; *path != NULL; path++)
        if (tc_path_below(*path, place->target))
            return *path;
    for (const char *const *path = tc_scratch_targets; *path != NULL; path++)
        if (tc_path_below(*path, place->target) && !(place->source == NULL && strcmp(place->target, *path) == 0))
            return *path;
    for (size_t i = 0; i < facts->rootfs_count; i++)
        if (tc_path_below(facts->rootfs[i].target, place->target) && strcmp(place->target, "/opt") != 0)
            return facts->rootfs[i].target;
    return NULL;
}

/* A link of the cell's own tree on the way to a target. */
static const struct tc_fact_entry *link_above(const struct tc_facts *facts, const char *target)
{
    for (size_t i = 0; i < facts->rootfs_count; i++)
        if (facts->rootfs[i].link != NULL && tc_path_below(target, facts->rootfs[i].target))
            return &facts->rootfs[i];
    return NULL;
}

static int check_place(const struct tc_facts *facts, const struct tc_place *place, struct tc_error *err)
{
    const char *hidden = hidden_by(facts, place);
    const struct tc_fact_entry *link = link_above(facts, place->target);

    if (hidden != NULL)
        return tc_error_plain(err, -EINVAL, "%s: a mount at '%s' would hide '%s', which the cell needs", place->where,
                              place->target, hidden);
    if (tc_path_below(place->target, "/var/tmp"))
        return tc_error_plain(err, -EINVAL, "%s: '/var/tmp' is a link to '/tmp' in the cell", place->where);
    if (link != NULL)
        return tc_error_plain(err, -EINVAL, "%s: '%s' on the way to '%s' is a link to '%s' in the cell", place->where,
                              link->target, place->target, link->link);
    return 0;
}

/* Sorting by bytes puts "/a-b" between "/a" and "/a/b": parents still come before what lies in them, which is all the
 * order must give. */
static int sort_places(const struct tc_facts *facts, struct tc_layout *layout, struct tc_error *err)
{
    qsort(layout->places, layout->count, sizeof(*layout->places), compare_places);
    for (size_t i = 0; i < layout->count; i++) {
        const struct tc_place *place = &layout->places[i];
        int result = check_place(facts, place, err);

        if (result < 0)
            return result;
        if (i > 0 && strcmp(place[-1].target, place->target) == 0)
            return tc_error_plain(err, -EINVAL, "%s: two mounts have the target '%s'", place->where, place->target);
    }
    return 0;
}

int tc_layout_make(struct tc_arena *arena, const struct tc_request *request, const struct tc_facts *facts,
                   struct tc_layout *ret, struct tc_error *err)
{
    size_t count = 1 + request->mount_count + request->tmpfs_count;
    struct tc_place *places;
    int result;

    if (request->mount_count + request->tmpfs_count > TARGET_LIMIT)
        return tc_error_plain(err, -EINVAL, "%zu mounts: a cell has at most %d", count - 1, TARGET_LIMIT);
    if ((places = tc_arena_array(arena, count, sizeof(*places))) == NULL)
        return tc_error_set(err, -ENOMEM, "lay out the mounts");
    for (size_t i = 0; i < count; i++)
        places[i].index = i;
    result = place_source(arena, &places[0], &request->workspace, &facts->workspace, err);
    for (size_t i = 0; i < request->mount_count && result == 0; i++)
        result = place_source(arena, &places[1 + i], &request->mounts[i], &facts->mounts[i], err);
    for (size_t i = 0; i < request->tmpfs_count && result == 0; i++) {
        struct tc_place *place = &places[1 + request->mount_count + i];

        place->where = "--tmpfs";
        place->size = request->tmpfs[i].size;
        result = clean_target(arena, place, request->tmpfs[i].target, err);
    }
    *ret = (struct tc_layout){.places = places, .count = count};
    return result < 0 ? result : sort_places(facts, ret, err);
}

const struct tc_place *tc_layout_parent(const struct tc_layout *layout, const char *path)
{
    const struct tc_place *best = NULL;

    for (size_t i = 0; i < layout->count; i++) {
        const char *relative = tc_path_relative(path, layout->places[i].target);

        if (relative != NULL && *relative != '\0')
            best = &layout->places[i]; /* sorted: a later one that contains path is the longer one */
    }
    return best;
}

const struct tc_place *tc_layout_at(const struct tc_layout *layout, size_t index)
{
    for (size_t i = 0; i < layout->count; i++)
        if (layout->places[i].index == index)
            return &layout->places[i];
    return NULL;
}

const struct tc_fact_entry *tc_layout_entry(const struct tc_facts *facts, const char *path)
{
    for (size_t i = 0; i < facts->rootfs_count; i++)
        if (facts->rootfs[i].link == NULL && tc_path_below(path, facts->rootfs[i].target))
            return &facts->rootfs[i];
    return NULL;
}

const char *tc_layout_scratch(const char *path)
{
    for (const char *const *target = tc_scratch_targets; *target != NULL; target++)
        if (tc_path_below(path, *target))
            return *target;
    return NULL;
}
