/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_REAP_H
#define TC_KERNEL_REAP_H

#include <stdint.h>
#include <sys/types.h>

/**
 * Wait for a child to end and take its last word.
 *
 * @param pid            the child; -1 once it is reaped. One that is not positive is none.
 * @param ret_user_us    CPU time of it and of what it reaped itself, microseconds
 * @param ret_system_us  the same in the kernel
 * @param ret_status     as from wait(2)
 * @return 0 or -errno (-ECHILD: there is none); what is returned is set on success only
 */
int tc_child_reap(pid_t *pid, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status);

#endif
