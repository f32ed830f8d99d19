/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/file.h"
#include "kernel/mount.h"
#include "kernel/openat2.h"
#include "kernel/userns.h"

/*
 * Where bind mounts come from. A source is opened once, without following any
 * link, compared with what the facts saw, and from then on used by descriptor:
 * whoever swaps the path in between gets an error or gets nothing.
 *
 * When root starts the cell, all of this happens in the parent, beside the
 * child: that has given root's rights away, and only a process with
 * privilege over the file system may id-map a mount. The detached mounts go to
 * the child with the handover.
 */

/* The host object a step names, verified to be the one the facts saw. */
static int find(const struct tc_step *step, unsigned flags, struct tc_error *err)
{
    tc_auto_fd fd = tc_openat2(AT_FDCWD, step->source, flags, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    struct stat what = {0};
    int r;

    if (fd == -ELOOP || fd == -ENOENT || fd == -ENOTDIR)
        return tc_error_plain(err, fd, "'%s' changed during start", step->source);
    if (fd < 0)
        return tc_error_set(err, fd, "open '%s'", step->source);
    r = tc_file_status(fd, &what);
    if (r < 0)
        return tc_error_set(err, r, "stat '%s'", step->source);
    if (what.st_dev != step->device || what.st_ino != step->inode)
        return tc_error_plain(err, -ESTALE, "'%s' changed during start", step->source);
    return tc_take_fd(&fd);
}

int tc_source_read(const struct tc_step *step, struct tc_error *err)
{
    /* Non-blocking: it could have become a FIFO. */
    return find(step, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
}

unsigned tc_source_attributes(const struct tc_step *step)
{
    unsigned attributes = MOUNT_ATTR_NOSUID;

    if (!(step->flags & TC_STEP_DEVICE))
        attributes |= MOUNT_ATTR_NODEV;
    if (step->flags & TC_STEP_READ_ONLY)
        attributes |= MOUNT_ATTR_RDONLY;
    if (step->flags & TC_STEP_NOEXEC)
        attributes |= MOUNT_ATTR_NOEXEC;
    return attributes;
}

/* The owner becomes the cell's id, the other ids of a usual system become ids that nobody has. Returns how many ranges
 * that takes: as few as possible, since every look at an owner walks them. */
static size_t id_ranges(uint32_t owner, uint32_t cell, uint32_t foreign, struct tc_id_range ret[3])
{
    size_t count = 0;

    ret[count++] = (struct tc_id_range){owner, cell, 1};
    if (owner >= 65536) {
        ret[count++] = (struct tc_id_range){0, foreign, 65536};
        return count;
    }
    if (owner > 0)
        ret[count++] = (struct tc_id_range){0, foreign, owner};
    if (owner < 65535)
        ret[count++] = (struct tc_id_range){owner + 1, foreign + owner + 1, 65535 - owner};
    return count;
}

static int new_id_map(struct tc_launch *launch, const struct tc_step *step, struct tc_error *err)
{
    struct tc_id_range uids[3], gids[3];
    size_t uid_count = id_ranges(step->owner_uid, launch->host_uid, launch->foreign, uids);
    size_t gid_count = id_ranges(step->owner_gid, launch->host_gid, launch->foreign, gids);
    int fd = tc_userns_hold(&launch->id_map_holder, uids, uid_count, gids, gid_count);

    if (fd < 0) {
        tc_error_set(err, fd, "make the id map of '%s'", step->source);
        return tc_error_stage(err, "namespaces");
    }
    return fd;
}

static int change(const struct tc_step *step, int mount, int id_map, struct tc_error *err)
{
    unsigned attributes = tc_source_attributes(step);
    int r;

    if (step->flags & TC_STEP_IDMAP)
        attributes |= MOUNT_ATTR_IDMAP;
    r = tc_mount_change(mount, attributes, true, id_map);
    if (r == 0)
        return 0;
    tc_error_set(err, r, "restrict the mount of '%s'", step->source);
    if (step->flags & TC_STEP_IDMAP)
        tc_error_hint(err, "its file system cannot be id-mapped; run as the user it belongs to, or use --user UID:GID");
    return r;
}

static int copy(const struct tc_step *step, int id_map, struct tc_error *err)
{
    tc_auto_fd found = find(step, O_PATH, err);
    tc_auto_fd mount = TC_NO_FD;
    int r;

    if (found < 0)
        return found;
    mount = tc_mount_copy(found);
    if (mount < 0)
        return tc_error_set(err, mount, "copy the mount of '%s'", step->source);
    r = change(step, mount, id_map, err);
    return r < 0 ? r : tc_take_fd(&mount);
}

static int prepare(struct tc_launch *launch, const struct tc_step *step, struct tc_error *err)
{
    tc_auto_fd id_map = TC_NO_FD;

    if (step->flags & TC_STEP_IDMAP) {
        id_map = new_id_map(launch, step, err);
        if (id_map < 0)
            return id_map;
    }
    return copy(step, id_map, err);
}

/* The first step that attaches this very object in this very way: the step itself, but for what masks several names. */
static size_t first_alike(const struct tc_plan *plan, size_t index)
{
    const struct tc_step *step = &plan->steps[index];
    size_t i = 0;

    for (; i < index; i++) {
        const struct tc_step *other = &plan->steps[i];

        if (other->kind == step->kind && other->device == step->device && other->inode == step->inode &&
            ((other->flags ^ step->flags) & ~(unsigned)TC_STEP_NESTED) == 0 && strcmp(other->source, step->source) == 0)
            break;
    }
    return i;
}

/* A directory could have got other mounts below it since, and an id map is not copied. */
static bool is_copied_inside(const struct tc_plan *plan, size_t index)
{
    return (plan->steps[index].flags & TC_STEP_DEVICE) != 0 && first_alike(plan, index) != index;
}

int tc_source_prepare_all(struct tc_launch *launch, struct tc_handover *handover, struct tc_error *err)
{
    for (size_t i = 0; i < launch->plan->step_count; i++) {
        const struct tc_step *step = &launch->plan->steps[i];
        int fd;

        if ((step->kind != TC_STEP_BIND && step->kind != TC_STEP_OVERLAY) || is_copied_inside(launch->plan, i))
            continue;
        fd = prepare(launch, step, err);
        if (fd < 0)
            return fd;
        fd = tc_handover_give(handover, (int)i, fd);
        if (fd < 0)
            return tc_error_set(err, fd, "hand over the mount of '%s'", step->source);
    }
    return 0;
}

static int obtain(struct tc_child *child, size_t step, struct tc_error *err)
{
    const struct tc_launch *launch = child->launch;
    int r = 0;

    if (is_copied_inside(launch->plan, step)) {
        r = tc_mount_copy(launch->received[first_alike(launch->plan, step)]);
        return r < 0 ? tc_error_set(err, r, "copy the mount of '%s'", launch->plan->steps[step].source) : r;
    }
    /* Without privilege nothing is id-mapped. */
    if (!launch->privileged)
        return copy(&launch->plan->steps[step], TC_NO_FD, err);
    while (r == 0 && launch->received[step] < 0 && !child->all_received)
        r = tc_handover_receive(child);
    if (r == 0 && launch->received[step] < 0)
        r = -EPROTO;
    return r < 0 ? tc_error_set(err, r, "receive the mount of '%s'", launch->plan->steps[step].source)
                 : launch->received[step];
}

int tc_source_open(struct tc_child *child, size_t step, struct tc_error *err)
{
    int mount = obtain(child, step, err);

    if (mount >= 0)
        child->launch->received[step] = mount;
    return mount;
}
