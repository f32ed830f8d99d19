/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/limits.h"

#include <errno.h>

int tc_limits_raise_files(struct rlimit *ret_before)
{
    struct rlimit raised;

    if (getrlimit(RLIMIT_NOFILE, ret_before) < 0)
        return -errno;
    raised = *ret_before;
    raised.rlim_cur = raised.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &raised) < 0 ? -errno : 0;
}

void tc_limits_restore_files(const struct rlimit *before)
{
    setrlimit(RLIMIT_NOFILE, before);
}
