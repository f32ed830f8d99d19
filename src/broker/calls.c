/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/calls.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "broker/answer.h"

#define NONE TC_NO_ARGUMENT

/* Old calls that only one architecture has stand first in each family. Sorted by family; found through a table. */
static const struct tc_call calls[] = {
/* number, name, group, handler, directory, path, second directory, second path, flags, mode */
#ifdef SYS_open
    {SYS_open, "open", TC_NOTIFY_OPEN, tc_handle_open, NONE, 0, NONE, NONE, 1, 2},
    {SYS_creat, "creat", TC_NOTIFY_OPEN, tc_handle_open, NONE, 0, NONE, NONE, NONE, 1},
#endif
    {SYS_openat, "openat", TC_NOTIFY_OPEN, tc_handle_open, 0, 1, NONE, NONE, 2, 3},

#ifdef SYS_mkdir
    {SYS_mkdir, "mkdir", TC_NOTIFY_CHANGE, tc_handle_mkdir, NONE, 0, NONE, NONE, NONE, 1},
    {SYS_mknod, "mknod", TC_NOTIFY_CHANGE, tc_handle_mknod, NONE, 0, NONE, NONE, NONE, 1},
    {SYS_symlink, "symlink", TC_NOTIFY_CHANGE, tc_handle_symlink, NONE, 1, NONE, 0, NONE, NONE},
    {SYS_unlink, "unlink", TC_NOTIFY_CHANGE, tc_handle_unlink, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_rmdir, "rmdir", TC_NOTIFY_CHANGE, tc_handle_rmdir, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_rename, "rename", TC_NOTIFY_CHANGE, tc_handle_rename, NONE, 0, NONE, 1, NONE, NONE},
    {SYS_link, "link", TC_NOTIFY_CHANGE, tc_handle_link, NONE, 0, NONE, 1, NONE, NONE},
    {SYS_chmod, "chmod", TC_NOTIFY_CHANGE, tc_handle_chmod, NONE, 0, NONE, NONE, NONE, 1},
    {SYS_chown, "chown", TC_NOTIFY_CHANGE, tc_handle_chown, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_lchown, "lchown", TC_NOTIFY_CHANGE, tc_handle_chown, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_utime, "utime", TC_NOTIFY_CHANGE, tc_handle_times, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_utimes, "utimes", TC_NOTIFY_CHANGE, tc_handle_times, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_futimesat, "futimesat", TC_NOTIFY_CHANGE, tc_handle_times, 0, 1, NONE, NONE, NONE, NONE},
    {SYS_access, "access", TC_NOTIFY_ACCESS, tc_handle_access, NONE, 0, NONE, NONE, NONE, 1},
#endif
#ifdef SYS_renameat
    {SYS_renameat, "renameat", TC_NOTIFY_CHANGE, tc_handle_rename, 0, 1, 2, 3, NONE, NONE},
#endif
    {SYS_mkdirat, "mkdirat", TC_NOTIFY_CHANGE, tc_handle_mkdir, 0, 1, NONE, NONE, NONE, 2},
    {SYS_mknodat, "mknodat", TC_NOTIFY_CHANGE, tc_handle_mknod, 0, 1, NONE, NONE, NONE, 2},
    {SYS_symlinkat, "symlinkat", TC_NOTIFY_CHANGE, tc_handle_symlink, 1, 2, NONE, 0, NONE, NONE},
    {SYS_unlinkat, "unlinkat", TC_NOTIFY_CHANGE, tc_handle_unlink, 0, 1, NONE, NONE, 2, NONE},
    {SYS_renameat2, "renameat2", TC_NOTIFY_CHANGE, tc_handle_rename, 0, 1, 2, 3, 4, NONE},
    {SYS_linkat, "linkat", TC_NOTIFY_CHANGE, tc_handle_link, 0, 1, 2, 3, 4, NONE},
    {SYS_truncate, "truncate", TC_NOTIFY_CHANGE, tc_handle_truncate, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_fchmod, "fchmod", TC_NOTIFY_CHANGE, tc_handle_chmod, 0, NONE, NONE, NONE, NONE, 1},
    {SYS_fchmodat, "fchmodat", TC_NOTIFY_CHANGE, tc_handle_chmod, 0, 1, NONE, NONE, NONE, 2},
    {452, "fchmodat2", TC_NOTIFY_CHANGE, tc_handle_chmod, 0, 1, NONE, NONE, 3, 2},
    {SYS_fchown, "fchown", TC_NOTIFY_CHANGE, tc_handle_chown, 0, NONE, NONE, NONE, NONE, NONE},
    {SYS_fchownat, "fchownat", TC_NOTIFY_CHANGE, tc_handle_chown, 0, 1, NONE, NONE, 4, NONE},
    {SYS_utimensat, "utimensat", TC_NOTIFY_CHANGE, tc_handle_times, 0, 1, NONE, NONE, 3, NONE},
    {SYS_setxattr, "setxattr", TC_NOTIFY_CHANGE, tc_handle_setxattr, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_lsetxattr, "lsetxattr", TC_NOTIFY_CHANGE, tc_handle_setxattr, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_fsetxattr, "fsetxattr", TC_NOTIFY_CHANGE, tc_handle_setxattr, 0, NONE, NONE, NONE, NONE, NONE},
    {SYS_removexattr, "removexattr", TC_NOTIFY_CHANGE, tc_handle_removexattr, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_lremovexattr, "lremovexattr", TC_NOTIFY_CHANGE, tc_handle_removexattr, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_fremovexattr, "fremovexattr", TC_NOTIFY_CHANGE, tc_handle_removexattr, 0, NONE, NONE, NONE, NONE, NONE},
    {SYS_bind, "bind", TC_NOTIFY_CHANGE, tc_handle_bind, 0, NONE, NONE, NONE, NONE, NONE},

    {SYS_faccessat, "faccessat", TC_NOTIFY_ACCESS, tc_handle_access, 0, 1, NONE, NONE, NONE, 2},
    {SYS_faccessat2, "faccessat2", TC_NOTIFY_ACCESS, tc_handle_access, 0, 1, NONE, NONE, 3, 2},
    {SYS_inotify_add_watch, "inotify_add_watch", TC_NOTIFY_WATCH, tc_handle_watch, 0, 1, NONE, NONE, 2, NONE},
    {SYS_connect, "connect", TC_NOTIFY_CONNECT, tc_handle_connect, 0, NONE, NONE, NONE, NONE, NONE},
    {SYS_execve, "execve", TC_NOTIFY_EXECUTE, tc_handle_execute, NONE, 0, NONE, NONE, NONE, NONE},
    {SYS_execveat, "execveat", TC_NOTIFY_EXECUTE, tc_handle_execute, 0, 1, NONE, NONE, 4, NONE},
};

const struct tc_call *tc_call_find(int number)
{
    for (size_t i = 0; i < TC_COUNT(calls); i++) {
        if (calls[i].number == number)
            return &calls[i];
    }
    return NULL;
}

const char *tc_broker_call_name(int number)
{
    const struct tc_call *call = tc_call_find(number);

    return call != NULL ? call->name : NULL;
}

void tc_call_serve(struct tc_stopped *stopped)
{
    stopped->call = tc_call_find(stopped->nr);
    if (stopped->call != NULL && stopped->call->handle != NULL)
        stopped->call->handle(stopped);
    /* As if there were no broker: the floor stays closed. */
    tc_answer_error(stopped, -ENOSYS);
    tc_cleanup_fd(&stopped->pidfd);
}
