/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_CALLS_H
#define TC_BROKER_CALLS_H

#include <stdint.h>

#include "broker/request.h"

/* No argument says so: the working directory, no flags. */
#define TC_NO_ARGUMENT (-1)

/* A call that a plan may stop: where its arguments stand, and who performs it. */
struct tc_call {
    int number;
    const char *name;
    unsigned group; /* TC_NOTIFY_* */
    void (*handle)(struct tc_stopped *stopped);
    int8_t directory, path;       /* the (first) name; directory TC_NO_ARGUMENT: AT_FDCWD */
    int8_t to_directory, to_path; /* the second name of a rename, link or symlink */
    int8_t flags, mode;
};

/** The call, or NULL. */
const struct tc_call *tc_call_find(int number);

/** Perform a stopped call and make sure that it is answered; a call without a handler is -ENOSYS. */
void tc_call_serve(struct tc_stopped *stopped);

/** An argument of the table: its value, or otherwise when the call has none. */
static inline int tc_call_int(const struct tc_stopped *stopped, int8_t argument, int otherwise)
{
    return argument == TC_NO_ARGUMENT ? otherwise : tc_stopped_int(stopped, argument);
}

/* Handlers; each file performs one family. */
void tc_handle_open(struct tc_stopped *stopped);    /* open.c */
void tc_handle_execute(struct tc_stopped *stopped); /* execute.c */
void tc_handle_connect(struct tc_stopped *stopped); /* socket.c */
void tc_handle_bind(struct tc_stopped *stopped);    /* socket.c */

void tc_handle_mkdir(struct tc_stopped *stopped); /* entry.c */
void tc_handle_mknod(struct tc_stopped *stopped);
void tc_handle_symlink(struct tc_stopped *stopped);
void tc_handle_unlink(struct tc_stopped *stopped);
void tc_handle_rmdir(struct tc_stopped *stopped);

void tc_handle_rename(struct tc_stopped *stopped); /* pair.c */
void tc_handle_link(struct tc_stopped *stopped);

void tc_handle_truncate(struct tc_stopped *stopped); /* metadata.c */
void tc_handle_chmod(struct tc_stopped *stopped);
void tc_handle_chown(struct tc_stopped *stopped);
void tc_handle_times(struct tc_stopped *stopped);
void tc_handle_setxattr(struct tc_stopped *stopped);
void tc_handle_removexattr(struct tc_stopped *stopped);

void tc_handle_access(struct tc_stopped *stopped); /* access.c */
void tc_handle_watch(struct tc_stopped *stopped);  /* watch.c */

#endif
