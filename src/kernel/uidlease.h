/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_UIDLEASE_H
#define TC_KERNEL_UIDLEASE_H

#include <stdint.h>

#define TC_UIDLEASE_CONFIG "/etc/toolcell/uids"
#define TC_UIDLEASE_DIRECTORY "/run/toolcell"
#define TC_UIDLEASE_FIRST 2000000000u
#define TC_UIDLEASE_COUNT 65536u
#define TC_UIDLEASE_FOREIGN 65536u /* ids behind the range that stand for everybody else */

/** Host ids set aside: count to be leased, then TC_UIDLEASE_FOREIGN for others. */
struct tc_uid_range {
    uint32_t first, count;
};

/** A host id of one's own. */
struct tc_uidlease {
    int fd; /* holds it: closing it, or dying, gives the id back */
    uint32_t id;
    uint32_t foreign; /* first of the ids that stand for everybody else */
};

/**
 * Read the configured range. The file holds one line "FIRST COUNT"; empty lines
 * and lines that begin with '#' are ignored. Without the file the defaults hold.
 *
 * @param path  usually TC_UIDLEASE_CONFIG
 * @param ret   the range
 * @return 0 or -errno (-EINVAL: malformed, includes ids below 65536, or too high)
 */
int tc_uidlease_range(const char *path, struct tc_uid_range *ret);

/**
 * Take an id nobody else holds. For root: the runtime directory is made, and
 * must belong to root with mode 0700.
 *
 * @param directory  usually TC_UIDLEASE_DIRECTORY; its parent must exist
 * @param range      where to choose from, borrowed
 * @param ret        the lease
 * @return 0 or -errno (-EUSERS: all are taken, -EPERM: the directory or file is not root's alone)
 */
int tc_uidlease_take(const char *directory, const struct tc_uid_range *range, struct tc_uidlease *ret);

#endif
