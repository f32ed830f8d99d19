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
    int pidfd;                   /* lazily (caller.c); TC_NO_FD */
    const _Atomic bool *abandon; /* set by the monitor: the caller is gone, stop waiting */
};

/** An argument as the kernel takes an int or unsigned int: the low 32 bits. */
static inline int tc_stopped_int(const struct tc_stopped *stopped, int argument)
{
    return (int)(uint32_t)stopped->args[argument];
}

/** True while the kernel still holds the call, hence while stopped->tid is still the caller. */
bool tc_stopped_valid(const struct tc_stopped *stopped);

#endif
