/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/narrow.h"

#include "kernel/seccomp.h"

#ifdef TC_BROKER_SANITIZED
static const bool filtered = false;
#else
static const bool filtered = true;
#endif

int tc_broker_narrow(void)
{
    return filtered ? tc_seccomp_load(tc_broker_filter.filter, tc_broker_filter.len * sizeof(struct sock_filter)) : 0;
}
