/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "kernel/raw.h"

/*
 * libcap is not used here: cap_init() allocates, and this runs in a child that
 * shares its parent's heap. A child killed inside the allocator would leave the
 * parent a broken one.
 */

#define SECUREBITS_LOCKED                                                                                              \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |                   \
     SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int tc_caps_keep(void)
{
    return (int)tc_raw5(__NR_prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
}

static int drop_bounding(void)
{
    for (unsigned long cap = 0; cap < 64; cap++) {
        long r = tc_raw5(__NR_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);

        if (r == 0)
            continue;
        /* The first number the kernel does not know ends the set; there is always at least one that it knows. */
        return r == -EINVAL && cap > 0 ? 0 : (int)r;
    }
    return 0;
}

static int set(uint32_t permitted, uint32_t effective)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.permitted = permitted, .effective = effective}};

    return (int)tc_raw2(__NR_capset, &header, data);
}

static int drop(uint32_t keep)
{
    int r;

    /* The order matters: securebits and the bounding set need CAP_SETPCAP, which capset() gives away. */
    r = (int)tc_raw5(__NR_prctl, PR_SET_SECUREBITS, SECUREBITS_LOCKED, 0, 0, 0);
    if (r == 0)
        r = drop_bounding();
    if (r == 0)
        r = (int)tc_raw5(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return r < 0 ? r : set(keep, 0);
}

int tc_caps_drop_all(void)
{
    return drop(0);
}

int tc_caps_drop_but(unsigned cap)
{
    return drop(1u << cap);
}

int tc_caps_effective(unsigned cap, bool effective)
{
    return set(1u << cap, effective ? 1u << cap : 0);
}
