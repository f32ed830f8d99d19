/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_CAPS_H
#define TC_KERNEL_CAPS_H

/** Keep capabilities across a change of ids, until tc_caps_drop_all(). Returns 0 or -errno. */
int tc_caps_keep(void);

/**
 * Give up every capability for good, of the calling thread and of all it will
 * start: lock the securebits, empty the bounding and the ambient set, then the
 * permitted, effective and inheritable ones. Needs CAP_SETPCAP.
 *
 * Safe in a process that shares memory: uses plain system calls only.
 * @return 0 or -errno
 */
int tc_caps_drop_all(void);

#endif
