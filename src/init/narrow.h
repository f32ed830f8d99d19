/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_INIT_NARROW_H
#define TC_INIT_NARROW_H

#include <linux/filter.h>

/** Init's own seccomp program, made from policy/seccomp/init.profile. */
extern const struct sock_fprog tc_init_filter;

/**
 * Leave init the few calls that it needs to wait, to reap and to report. It
 * cannot start anything after that, and any other call ends the cell.
 * @return 0, or -errno
 */
long tc_narrow(void);

#endif
