/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/poller.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"

int tc_poller_open(struct tc_poller *poller)
{
    memset(poller, 0, sizeof *poller);
    poller->epoll = epoll_create1(EPOLL_CLOEXEC);
    return poller->epoll < 0 ? -errno : 0;
}

void tc_poller_close(struct tc_poller *poller)
{
    tc_cleanup_fd(&poller->epoll);
}

int tc_poller_watch(struct tc_poller *poller, enum tc_source source, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = source};
    int operation = EPOLL_CTL_ADD;

    if (poller->entries[source].present) {
        if (poller->entries[source].events == events)
            return 0;
        operation = EPOLL_CTL_MOD;
    }
    if (epoll_ctl(poller->epoll, operation, fd, &event) < 0)
        return -errno;
    poller->entries[source].present = true;
    poller->entries[source].events = events;
    poller->entries[source].fd = fd;
    return 0;
}

void tc_poller_drop(struct tc_poller *poller, enum tc_source source)
{
    poller->ready[source] = 0;
    if (!poller->entries[source].present)
        return;
    epoll_ctl(poller->epoll, EPOLL_CTL_DEL, poller->entries[source].fd, NULL);
    poller->entries[source].present = false;
}

int tc_poller_wait(struct tc_poller *poller, int timeout_ms)
{
    struct epoll_event events[TC_SOURCE_COUNT];
    int count;

    memset(poller->ready, 0, sizeof poller->ready);
    count = epoll_wait(poller->epoll, events, TC_SOURCE_COUNT, timeout_ms);
    if (count < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++)
        poller->ready[events[i].data.u32] = events[i].events;
    return 0;
}
