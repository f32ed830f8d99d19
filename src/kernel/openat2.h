/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_OPENAT2_H
#define TC_KERNEL_OPENAT2_H

#include <linux/openat2.h>
#include <stdint.h>

/**
 * openat2(2), Linux 5.6. O_CLOEXEC is added.
 *
 * @param directory  where a relative path starts
 * @param path       what to open
 * @param flags      O_*
 * @param mode       of a new file, or 0
 * @param resolve    RESOLVE_*
 * @return a descriptor or -errno
 */
int tc_openat2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

#endif
