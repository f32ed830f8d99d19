/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_TIMERS_H
#define TC_SUPERVISE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

/* What a call does at a point in time. */
enum tc_timer {
    TC_TIMER_WALL,   /* the wall limit is reached */
    TC_TIMER_CPU,    /* the CPU time is looked at again */
    TC_TIMER_ASK,    /* the next question is answered with no */
    TC_TIMER_GRACE,  /* whoever did not heed SIGTERM is killed */
    TC_TIMER_DEATH,  /* killed processes should be gone by now */
    TC_TIMER_READER, /* a slow reader is waited for no longer */
    TC_TIMER_COUNT
};

/* Deadlines on one timerfd, in milliseconds of tc_clock_ms(); 0 means off. */
struct tc_timers {
    int fd;
    uint64_t at_ms[TC_TIMER_COUNT];
    uint64_t armed_ms;
};

/** 0 or -errno; released with tc_timers_close(). */
int tc_timers_open(struct tc_timers *timers);
void tc_timers_close(struct tc_timers *timers);

/** Set a deadline, delay_ms from now; a sum that does not fit is no deadline. */
void tc_timers_set(struct tc_timers *timers, enum tc_timer timer, uint64_t delay_ms);
void tc_timers_clear(struct tc_timers *timers, enum tc_timer timer);

/** Make the descriptor readable at the nearest deadline. 0 or -errno. */
int tc_timers_arm(struct tc_timers *timers);

/** True, once per deadline, when it has passed. */
bool tc_timers_passed(struct tc_timers *timers, enum tc_timer timer);

#endif
