/* SPDX-License-Identifier: Apache-2.0 */
#include "cell/reply.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#define MAX_ERRNO 4095 /* include/linux/err.h */

static bool follows(unsigned type, unsigned last)
{
    switch (type) {
    case TC_INIT_READY:
        return last == 0;
    case TC_INIT_LISTENER:
        return last == TC_INIT_READY;
    case TC_INIT_STARTED:
    case TC_INIT_FAILED:
        return last == TC_INIT_READY || last == TC_INIT_LISTENER;
    case TC_INIT_EXITED:
        return last == TC_INIT_STARTED;
    default:
        return false;
    }
}

static bool values_fit(const struct tc_init_reply *reply)
{
    switch ((enum tc_init_reply_type)reply->type) {
    case TC_INIT_READY:
    case TC_INIT_LISTENER:
        return true;
    case TC_INIT_STARTED:
        return reply->pid > 1 && reply->pid <= INT32_MAX;
    case TC_INIT_FAILED:
        return reply->value > 0 && reply->value <= MAX_ERRNO && reply->step > TC_INIT_STEP_NONE &&
               reply->step <= TC_INIT_STEP_MEDIATION;
    case TC_INIT_EXITED:
        return reply->full <= 1 && (reply->value & ~0xffff) == 0 &&
               (WIFEXITED(reply->value) || WIFSIGNALED(reply->value));
    }
    return false;
}

int tc_reply_check(const void *bytes, size_t length, unsigned last, struct tc_init_reply *ret)
{
    struct tc_init_reply reply;

    if (length != sizeof reply)
        return -EPROTO;
    memcpy(&reply, bytes, sizeof reply);
    if (reply.magic != TC_INIT_MAGIC || !follows(reply.type, last) || !values_fit(&reply))
        return -EPROTO;
    *ret = reply;
    return 0;
}
