/* SPDX-License-Identifier: Apache-2.0 */
#include "init/narrow.h"

#include <linux/seccomp.h>

#include "kernel/raw.h"

long tc_narrow(void)
{
    return tc_raw3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &tc_init_filter);
}
