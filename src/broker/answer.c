/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/answer.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "kernel/notify.h"

static void answer(struct tc_stopped *stopped, int error, int64_t value, bool go_on)
{
    if (stopped->answered)
        return;
    stopped->answered = true;
    /* -ENOENT: the caller was killed; nobody waits for this. */
    (void)tc_notify_answer(stopped->state->listener, stopped->id, error, value, go_on);
}

void tc_answer_error(struct tc_stopped *stopped, int error)
{
    answer(stopped, error, 0, false);
}

void tc_answer_value(struct tc_stopped *stopped, int64_t value)
{
    answer(stopped, 0, value, false);
}

void tc_answer_continue(struct tc_stopped *stopped)
{
    answer(stopped, 0, 0, true);
}

void tc_answer_fd(struct tc_stopped *stopped, int fd, bool cloexec)
{
    int r = tc_notify_answer_fd(stopped->state->listener, stopped->id, fd, cloexec ? O_CLOEXEC : 0);

    if (r == 0)
        stopped->answered = true;
    else
        tc_answer_error(stopped, r);
}

void tc_answer_only_fd(struct tc_stopped *stopped, int *fd, bool cloexec)
{
    int number = tc_notify_add_fd(stopped->state->listener, stopped->id, *fd, cloexec ? O_CLOEXEC : 0);

    tc_cleanup_fd(fd);
    if (number < 0)
        tc_answer_error(stopped, number);
    else
        tc_answer_value(stopped, number);
}

bool tc_stopped_valid(const struct tc_stopped *stopped)
{
    return tc_notify_valid(stopped->state->listener, stopped->id);
}
