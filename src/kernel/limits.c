/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/limits.h"

#include <errno.h>

static int raise_one(__rlimit_resource_t resource, struct rlimit *ret_before)
{
    struct rlimit raised;

    if (getrlimit(resource, ret_before) < 0)
        return -errno;
    raised = *ret_before;
    raised.rlim_cur = raised.rlim_max;
    return setrlimit(resource, &raised) < 0 ? -errno : 0;
}

int tc_limits_raise(struct tc_limits_before *ret)
{
    int r = raise_one(RLIMIT_NOFILE, &ret->files);

    if (r < 0)
        return r;
    r = raise_one(RLIMIT_FSIZE, &ret->size);
    if (r < 0)
        setrlimit(RLIMIT_NOFILE, &ret->files);
    return r;
}

void tc_limits_restore(const struct tc_limits_before *before)
{
    setrlimit(RLIMIT_NOFILE, &before->files);
    setrlimit(RLIMIT_FSIZE, &before->size);
}
