/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_PROC_H
#define TC_KERNEL_PROC_H

#include <stddef.h>

/**
 * Open the procfs at a path and make sure that it is one: a file system
 * prepared by somebody else could lead a write elsewhere (CVE-2025-52881).
 * @return an O_PATH descriptor of its root, or -errno (-ENODEV: something else is mounted there)
 */
int tc_proc_open(const char *path);

/**
 * Write a text to a file of procfs in one write. Follows no link.
 *
 * @param proc  directory in a procfs; checked to be one; borrowed
 * @param name  relative path
 * @param text  borrowed
 * @return 0 or -errno
 */
int tc_proc_write(int proc, const char *name, const char *text);

#endif
