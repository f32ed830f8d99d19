/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_CLEANUP_H
#define TC_BASE_CLEANUP_H

/*
 * Scope-bound ownership. A variable marked with one of these owns what it
 * holds; handing it on is spelled out with tc_take_fd() or tc_take_ptr().
 * The empty descriptor is -EBADF, so that using one by accident fails.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define TC_NO_FD (-EBADF)

static inline void tc_cleanup_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = TC_NO_FD;
}

static inline void tc_cleanup_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

#define tc_auto_fd __attribute__((cleanup(tc_cleanup_fd))) int
#define tc_auto_free __attribute__((cleanup(tc_cleanup_free)))

/** Hand over a descriptor: returns it and leaves the variable empty. */
static inline int tc_take_fd(int *fd)
{
    int taken = *fd;

    *fd = TC_NO_FD;
    return taken;
}

/** Hand over a pointer: returns it and leaves the variable NULL. */
#define tc_take_ptr(pointer)                                                                                           \
    ({                                                                                                                 \
        __typeof__(pointer) taken_ = (pointer);                                                                        \
        (pointer) = NULL;                                                                                              \
        taken_;                                                                                                        \
    })

#define TC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
