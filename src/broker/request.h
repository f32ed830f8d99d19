/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_REQUEST_H
#define TC_BROKER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/state.h"

/*
 * One call that the kernel holds for us. A handler looks at the caller
 * (caller.h), resolves what the call names (resolve.h), has it judged
 * (judge.h), performs it, and answers exactly once (answer.h).
 *
 * The caller can change its memory, its descriptors and, through a thread, its
 * working directory at any moment. So whatever is taken from it is taken once,
 * and only what was taken is judged and performed.
 */
struct tc_stopped {
    struct tc_broker_state *state;
    const struct tc_call *call; /* calls.h */
    uint64_t id;                /* of the notification */
    pid_t tid;                  /* of the calling thread, in the broker's pid namespace */
    int nr;
    uint64_t args[6];
    bool answered;
    uint32_t note; /* of the answer that denied */
    struct {
        bool known;
        unsigned umask;
        pid_t pid, tid;                /* as the cell sees them */
        pid_t leader;                  /* as the broker does */
    } status;                          /* lazily (caller.c) */
    int pidfd;                         /* lazily (caller.c); TC_NO_FD */
    const _Atomic uint64_t *abandoned; /* set to id by the monitor */
};

/** An argument as the kernel takes an int or unsigned int: the low 32 bits. */
static inline int tc_stopped_int(const struct tc_stopped *stopped, int argument)
{
    return (int)(uint32_t)stopped->args[argument];
}

/** True while the kernel still holds the call, hence while stopped->tid is still the caller. */
bool tc_stopped_valid(const struct tc_stopped *stopped);

/** True when the caller is gone: stop waiting. Cheap, but it takes the monitor a while to notice. */
static inline bool tc_stopped_abandoned(const struct tc_stopped *stopped)
{
    return atomic_load(stopped->abandoned) == stopped->id;
}

/**
 * Let the monitor interrupt the calling worker (-EINTR), or not any more; off by default. Around a system call that may
 * wait for ever: call it again after -EINTR unless tc_stopped_abandoned(). Never around an answer: the kernel takes an
 * interrupted ADDFD back, but the caller goes on all the same, with the descriptor 0.
 */
void tc_stopped_interruptible(bool on);

#endif
