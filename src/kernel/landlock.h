/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_LANDLOCK_H
#define TC_KERNEL_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Rights below a directory, with values of this kernel interface. The system's header may be older than the kernel. */
enum {
    TC_LANDLOCK_EXECUTE = 1 << 0,
    TC_LANDLOCK_WRITE_FILE = 1 << 1,
    TC_LANDLOCK_READ_FILE = 1 << 2,
    TC_LANDLOCK_READ_DIR = 1 << 3,
    TC_LANDLOCK_REMOVE_DIR = 1 << 4,
    TC_LANDLOCK_REMOVE_FILE = 1 << 5,
    TC_LANDLOCK_MAKE_CHAR = 1 << 6,
    TC_LANDLOCK_MAKE_DIR = 1 << 7,
    TC_LANDLOCK_MAKE_REG = 1 << 8,
    TC_LANDLOCK_MAKE_SOCK = 1 << 9,
    TC_LANDLOCK_MAKE_FIFO = 1 << 10,
    TC_LANDLOCK_MAKE_BLOCK = 1 << 11,
    TC_LANDLOCK_MAKE_SYM = 1 << 12,
    TC_LANDLOCK_REFER = 1 << 13,    /* ABI 2, Linux 5.19: rename and link across directories */
    TC_LANDLOCK_TRUNCATE = 1 << 14, /* ABI 3, Linux 6.2 */
    TC_LANDLOCK_IOCTL_DEV = 1 << 15 /* ABI 5, Linux 6.10 */
};

/** The rights that mean something for a file; the kernel refuses others on one. */
#define TC_LANDLOCK_OF_FILES                                                                                           \
    (TC_LANDLOCK_EXECUTE | TC_LANDLOCK_WRITE_FILE | TC_LANDLOCK_READ_FILE | TC_LANDLOCK_TRUNCATE |                     \
     TC_LANDLOCK_IOCTL_DEV)

/** The version of the kernel's Landlock: 1 and up, or -errno (-ENOSYS: not built in, -EOPNOTSUPP: switched off). */
int tc_landlock_abi(void);

/** All rights that a kernel with this ABI knows. */
uint64_t tc_landlock_rights(unsigned abi);

/**
 * New ruleset that handles every right of the ABI: what no rule grants is refused.
 *
 * @param abi    not above tc_landlock_abi()
 * @param scope  also forbid abstract sockets and signals that leave the domain (ABI 6, Linux 6.12; -EOPNOTSUPP below)
 * @return a descriptor or -errno
 */
int tc_landlock_new(unsigned abi, bool scope);

/**
 * Grant rights on an open file, or on a directory and all below it.
 *
 * @param ruleset  borrowed
 * @param fd       borrowed; what it shows, wherever that is or will be mounted
 * @param rights   TC_LANDLOCK_*, of the ruleset's ABI; 0 does nothing
 * @return 0 or -errno
 */
int tc_landlock_allow(int ruleset, int fd, uint64_t rights);

/** Confine the calling thread and all it will start. Needs no_new_privs. Returns 0 or -errno. */
int tc_landlock_restrict(int ruleset);

#endif
