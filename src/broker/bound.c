/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whose socket is it?
 *
 * What lies in scratch was made inside: no mount of the host is there.
 * Elsewhere the sockets of the cell's network namespace are searched for one
 * that is bound to this very file. A socket of the host is in another
 * namespace, and a file is bound once at most: whoever moves, links or
 * replaces names meanwhile changes nothing about the file that is held here.
 * A cell with the host's network is no different from the host in this
 * respect; there nothing is the cell's own.
 *
 * What the kernel tells of a file, its file system and the low half of its
 * inode number, must be of one file only: else a socket that the cell made
 * could vouch for one of the host. So larger numbers prove nothing, and
 * neither do file systems that are not known to give small numbers once:
 *
 *   ext4, f2fs      have 32 bits
 *   tmpfs           counts; 2^32 files would have to be made first
 *   XFS             numbers are places on the disk: up to a size of that
 *   overlayfs       has the numbers of its upper layer, in which every socket
 *                   lies that can be connected to through it
 *   btrfs, bcachefs give them once for each of their subvolumes, but have one
 *                   device for all: not among these
 */

#include "broker/bound.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sockdiag.h"

#define XFS_MAGIC 0x58465342      /* statfs(2) */
#define XFS_SMALLEST_INODE_LOG 8u /* bytes, as a power of two: so many inodes there are at most */

static bool numbers_are_unique(const struct tc_object *object)
{
    struct statfs system;

    if (object->stat.stx_ino > UINT32_MAX || fstatfs(object->fd, &system) < 0)
        return false;
    switch (system.f_type) {
    case EXT4_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        return true;
    case XFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: /* tells the size of its upper layer */
        return ((uint64_t)system.f_blocks * (uint64_t)system.f_bsize) >> XFS_SMALLEST_INODE_LOG <= UINT32_MAX;
    default:
        return false;
    }
}

/* The mount and the device of a line of mountinfo: "ID PARENT MAJOR:MINOR …" (proc_pid_mountinfo(5)). */
static bool parse_line(const char *line, uint64_t *ret_mount, uint32_t *ret_device)
{
    unsigned long major, minor;
    char *at;

    *ret_mount = strtoull(line, &at, 10);
    (void)strtoul(at, &at, 10);
    major = strtoul(at, &at, 10);
    if (*at != ':')
        return false;
    minor = strtoul(at + 1, &at, 10);
    *ret_device = (uint32_t)(major << 20 | minor);
    return *at == ' ';
}

/* The device of the file system as the kernel has it: statx() may tell another for an overlay. */
static bool find_device(const struct tc_stopped *stopped, uint64_t mount, uint32_t *ret)
{
    char name[32], *line = NULL;
    size_t size = 0;
    uint64_t id;
    bool found = false;
    FILE *file;
    int fd;

    /* Of the caller, since the broker's own mounts are the host's. */
    snprintf(name, sizeof name, "%d/mountinfo", (int)stopped->tid);
    fd = openat(stopped->state->proc, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    file = fdopen(fd, "re");
    if (file == NULL) {
        close(fd);
        return false;
    }
    while (!found && getline(&line, &size, file) > 0)
        found = parse_line(line, &id, ret) && id == mount;
    free(line);
    fclose(file);
    return found && tc_stopped_valid(stopped);
}

static bool is_listed(struct tc_stopped *stopped, const struct tc_object *object)
{
    struct tc_broker_state *state = stopped->state;
    uint32_t device;
    int r;

    if (!numbers_are_unique(object) || !find_device(stopped, object->stat.stx_mnt_id, &device))
        return false;
    pthread_mutex_lock(&state->diag_lock);
    r = tc_sockdiag_bound(state->diag, device, (uint32_t)object->stat.stx_ino);
    pthread_mutex_unlock(&state->diag_lock);
    return r == 1;
}

bool tc_bound_inside(struct tc_stopped *stopped, const struct tc_object *object)
{
    const struct tc_broker_state *state = stopped->state;

    if (object->place != NULL && object->place->scratch)
        return true;
    return state->diag >= 0 && state->plan->net != TC_NET_HOST && is_listed(stopped, object);
}
