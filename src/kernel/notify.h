/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_NOTIFY_H
#define TC_KERNEL_NOTIFY_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* newer than Debian 12's headers */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/*
 * The listener of a seccomp filter: calls that the kernel holds until somebody
 * has answered them (seccomp_unotify(2)). Any thread may use a listener at any
 * time. Listener descriptors are borrowed throughout.
 */

/**
 * Have those who wait for calls, and callers that were answered, woken on the processor of who wakes them, or wherever
 * there is one. Does nothing before Linux 6.6.
 */
void tc_notify_wake_here(int listener, bool here);

/**
 * Wait for a stopped call and take it.
 * @return 0; -EINTR; -ENOENT when the caller died meanwhile, and again and again once nobody is left that could call
 *         (poll() then says POLLHUP); any other -errno: this is no listener
 */
int tc_notify_receive(int listener, struct seccomp_notif *ret);

/** True while the call still waits, hence while its caller's thread id means the caller. */
bool tc_notify_valid(int listener, uint64_t id);

/**
 * Answer a call.
 * @param error     -errno or 0
 * @param value     what the call returns when error is 0
 * @param go_on     let the kernel perform it; error and value must be 0
 * @return 0 or -errno (-ENOENT: the caller is gone)
 */
int tc_notify_answer(int listener, uint64_t id, int error, int64_t value, bool go_on);

/**
 * Give the caller a copy of a descriptor and let its call return that (Linux 5.14). The calling thread must not be
 * interrupted by a signal in here: the kernel (6.18) would take the descriptor back while the caller goes on and gets
 * 0.
 * @param fd     borrowed
 * @param flags  O_CLOEXEC or 0
 * @return 0 or -errno: -ENOENT (gone); -EMFILE and the like mean that the call still waits
 */
int tc_notify_answer_fd(int listener, uint64_t id, int fd, unsigned flags);

/**
 * Give the caller a copy of a descriptor; its call still waits. As tc_notify_answer_fd() otherwise.
 * @return the caller's number or -errno
 */
int tc_notify_add_fd(int listener, uint64_t id, int fd, unsigned flags);

#endif
