/* SPDX-License-Identifier: Apache-2.0 */
#include "init/listener.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "init/block.h"
#include "kernel/raw.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* newer than Debian 12's headers */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* A signal must not repeat a call that the broker has performed already: once it has been received, only a fatal one
 * ends the wait. */
#define FLAGS (SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)

static long send_listener(int listener)
{
    struct tc_init_reply reply = {.magic = TC_INIT_MAGIC, .type = TC_INIT_LISTENER};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec data = {.iov_base = &reply, .iov_len = sizeof reply};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

    control.align.cmsg_level = SOL_SOCKET;
    control.align.cmsg_type = SCM_RIGHTS;
    control.align.cmsg_len = CMSG_LEN(sizeof(int));
    *(int *)(void *)CMSG_DATA(&control.align) = listener;
    return tc_raw3(__NR_sendmsg, TC_INIT_CONTROL_FD, &message, MSG_NOSIGNAL);
}

long tc_listener_make(const struct tc_exec_block *block)
{
    struct sock_fprog program = {.len = (unsigned short)block->notify_count,
                                 .filter = (struct sock_filter *)(void *)tc_block_string(block, block->notify)};
    long listener = tc_raw3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, FLAGS, &program);
    long r;

    if (listener < 0)
        return listener;
    r = send_listener((int)listener);
    /* Close-on-exec would do for the listener; the command may yet fail to execute and be told so by init. */
    tc_raw1(__NR_close, listener);
    tc_raw1(__NR_close, TC_INIT_CONTROL_FD);
    return r < 0 ? r : 0;
}
