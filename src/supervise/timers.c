/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/timers.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

int tc_timers_open(struct tc_timers *timers)
{
    const struct itimerspec never = {.it_interval = {0}};
    int code;

    memset(timers, 0, sizeof *timers);
    timers->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timers->fd < 0)
        return -errno;
    /* That a filter around toolcell forbids to set it must show before the command runs, not at its first limit. */
    if (timerfd_settime(timers->fd, 0, &never, NULL) == 0)
        return 0;
    code = -errno;
    tc_cleanup_fd(&timers->fd);
    return code;
}

void tc_timers_close(struct tc_timers *timers)
{
    tc_cleanup_fd(&timers->fd);
}

void tc_timers_set(struct tc_timers *timers, enum tc_timer timer, uint64_t delay_ms)
{
    uint64_t at_ms;

    if (__builtin_add_overflow(tc_clock_ms(), delay_ms, &at_ms))
        at_ms = 0;
    timers->at_ms[timer] = at_ms;
}

void tc_timers_clear(struct tc_timers *timers, enum tc_timer timer)
{
    timers->at_ms[timer] = 0;
}

static uint64_t nearest(const struct tc_timers *timers)
{
    uint64_t nearest_ms = 0;

    for (int i = 0; i < TC_TIMER_COUNT; i++) {
        if (timers->at_ms[i] != 0 && (nearest_ms == 0 || timers->at_ms[i] < nearest_ms))
            nearest_ms = timers->at_ms[i];
    }
    return nearest_ms;
}

int tc_timers_arm(struct tc_timers *timers)
{
    struct itimerspec when = {.it_interval = {0}};
    uint64_t at_ms = nearest(timers);

    if (at_ms == timers->armed_ms)
        return 0;
    /* Setting a timer also takes back an expiration that was not read. */
    when.it_value.tv_sec = (time_t)(at_ms / 1000);
    when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000;
    if (timerfd_settime(timers->fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return -errno;
    timers->armed_ms = at_ms;
    return 0;
}

bool tc_timers_passed(struct tc_timers *timers, enum tc_timer timer)
{
    if (timers->at_ms[timer] == 0 || tc_clock_ms() < timers->at_ms[timer])
        return false;
    timers->at_ms[timer] = 0;
    return true;
}
