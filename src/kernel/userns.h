/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_USERNS_H
#define TC_KERNEL_USERNS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** count ids from inside up appear outside the namespace as those from outside up. */
struct tc_id_range {
    uint32_t inside, outside, count;
};

/**
 * Write the id maps of a process's user namespace, once. Uses a procfs that was
 * checked to be one, at /proc.
 *
 * @param pid          whose namespace; 0: the caller's own, for which setgroups() is forbidden first
 * @param uids         uid_count ranges, borrowed
 * @param uid_count    at most 4
 * @param gids         gid_count ranges, borrowed
 * @param gid_count    at most 4
 * @return 0 or -errno (-EPERM: the kernel or a security module forbids it)
 */
int tc_userns_map(pid_t pid, const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids,
                  size_t gid_count);

/** The process in which a user namespace is made. It shares the caller's memory and runs on the stack here. */
struct tc_userns_holder {
    pid_t pid; /* 0: none */
    pid_t parent;
    _Alignas(16) char stack[4096];
};

/**
 * Like tc_userns_new(), without waiting for the end of the process that it takes: that process is told to end, and
 * ends by itself while the caller goes on (waiting costs 0.1 ms).
 *
 * @param holder  pid 0 at first, borrowed; stays where it is until tc_userns_reap(). A process that it still names is
 *                waited for first
 * @return as tc_userns_new(); in either case call tc_userns_reap() later
 */
int tc_userns_hold(struct tc_userns_holder *holder, const struct tc_id_range *uids, size_t uid_count,
                   const struct tc_id_range *gids, size_t gid_count);

/** Wait for the end of what tc_userns_hold() left, if anything. */
void tc_userns_reap(struct tc_userns_holder *holder);

/**
 * A user namespace that nobody lives in, for id-mapped mounts. Needs
 * privilege over the outer ids.
 *
 * @param uids       as for tc_userns_map()
 * @param uid_count  number of ranges
 * @param gids       as for tc_userns_map()
 * @param gid_count  number of ranges
 * @return a descriptor of the namespace or -errno
 */
int tc_userns_new(const struct tc_id_range *uids, size_t uid_count, const struct tc_id_range *gids, size_t gid_count);

#endif
