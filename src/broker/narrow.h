/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_NARROW_H
#define TC_BROKER_NARROW_H

#include <linux/filter.h>

/** The broker's own seccomp program, made from policy/seccomp/broker.profile. */
extern const struct sock_fprog tc_broker_filter;

/**
 * Leave the calling thread, and all that it will start, the calls that serving takes; any other kills the process.
 * Needs no_new_privs. Does nothing in a build with a sanitizer, whose own calls nobody can list.
 * @return 0 or -errno
 */
int tc_broker_narrow(void);

#endif
