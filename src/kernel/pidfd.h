/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_PIDFD_H
#define TC_KERNEL_PIDFD_H

/** Send a signal to the process of a pidfd (Linux 5.1). Never hits another one. Returns 0 or -errno. */
int tc_pidfd_signal(int pidfd, int signal);

#endif
