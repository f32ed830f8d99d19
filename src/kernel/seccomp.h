/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_SECCOMP_H
#define TC_KERNEL_SECCOMP_H

#include <stdbool.h>
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

/**
 * Can a listener be made that a signal does not interrupt (WAIT_KILLABLE_RECV, Linux 5.19; ADDFD_SEND came with 5.14)?
 * One call that changes nothing: the kernel looks at the flags before the program, which is not there.
 */
bool tc_seccomp_can_listen(void);

/** Is that descriptor a listener? Asks it about a notification that there never is. */
bool tc_seccomp_is_listener(int fd);

#endif
