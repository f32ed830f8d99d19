/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_SECCOMP_H
#define TC_KERNEL_SECCOMP_H

#include <stddef.h>

/**
 * Load a filter program for the calling thread and all it will start. Needs
 * no_new_privs. There is no way back.
 *
 * @param program  struct sock_filter items, borrowed
 * @param size     bytes of it, a multiple of 8
 * @return 0 or -errno (-EINVAL: malformed or too long)
 */
int tc_seccomp_load(const void *program, size_t size);

#endif
