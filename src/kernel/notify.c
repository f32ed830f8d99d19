/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/notify.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

void tc_notify_wake_here(int listener, bool here)
{
    (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, here ? SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP : 0UL);
}

int tc_notify_receive(int listener, struct seccomp_notif *ret)
{
    memset(ret, 0, sizeof *ret); /* the kernel insists */
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, ret) < 0 ? -errno : 0;
}

/* Of what waits for a lock a signal can end. The question is asked again: taken for "no" it would cost a live caller.
 */
static int ask(int listener, unsigned long request, void *argument)
{
    int r;

    do
        r = ioctl(listener, request, argument);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

bool tc_notify_valid(int listener, uint64_t id)
{
    return ask(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int tc_notify_answer(int listener, uint64_t id, int error, int64_t value, bool go_on)
{
    struct seccomp_notif_resp answer = {
        .id = id, .error = error, .val = value, .flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0};

    return ask(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static int add_fd(int listener, uint64_t id, int fd, unsigned flags, unsigned how)
{
    struct seccomp_notif_addfd added = {.id = id, .flags = how, .srcfd = (uint32_t)fd, .newfd_flags = flags};
    int number = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added);

    return number < 0 ? -errno : number;
}

int tc_notify_answer_fd(int listener, uint64_t id, int fd, unsigned flags)
{
    int number = add_fd(listener, id, fd, flags, SECCOMP_ADDFD_FLAG_SEND);

    return number < 0 ? number : 0;
}

int tc_notify_add_fd(int listener, uint64_t id, int fd, unsigned flags)
{
    return add_fd(listener, id, fd, flags, 0);
}
