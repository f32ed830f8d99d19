/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_MEMFD_H
#define TC_KERNEL_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Make an anonymous file with this content and seal it: nobody can change it
 * any more. Close-on-exec.
 *
 * @param name        shown in /proc; borrowed
 * @param bytes       content, borrowed
 * @param length      of the content
 * @param executable  whether it may be executed
 * @return a descriptor or -errno
 */
int tc_memfd_sealed(const char *name, const void *bytes, size_t length, bool executable);

#endif
