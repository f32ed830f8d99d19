/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_METADATA_H
#define TC_BROKER_METADATA_H

#include <sys/xattr.h>
#include <time.h>

#include "broker/request.h"

#define TC_XATTR_NAME_MOST 255   /* XATTR_NAME_MAX */
#define TC_XATTR_SIZE_MOST 65536 /* XATTR_SIZE_MAX */

/* A change of one object that leaves its name alone: metadata.c reads it from the call, metadata_apply.c makes it. */
struct tc_metadata {
    enum { TC_SET_SIZE, TC_SET_MODE, TC_SET_OWNER, TC_SET_TIMES, TC_SET_XATTR, TC_REMOVE_XATTR } kind;
    int64_t size;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    bool now; /* no times were given */
    struct timespec times[2];
    char name[TC_XATTR_NAME_MOST + 1];
    void *value; /* owned */
    size_t value_size;
    int flags; /* of setxattr */
};

/** Make the change by the open file fd. 0 or -errno; -EROFS: its mount is read-only. */
int tc_metadata_direct(const struct tc_metadata *change, int fd);

/** Make the change to the object of fd, which may be open with O_PATH, or be a symbolic link. 0 or -errno. */
int tc_metadata_apply(struct tc_stopped *stopped, const struct tc_metadata *change, int fd);

#endif
