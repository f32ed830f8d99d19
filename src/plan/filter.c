/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/filter.h"

#include <linux/audit.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "toolcell knows the system calls of x86-64 and aarch64 only"
#endif

const struct tc_filter *tc_filter_native(void)
{
    for (size_t i = 0; i < tc_filter_count; i++)
        if (tc_filters[i].architecture == NATIVE_ARCHITECTURE)
            return &tc_filters[i];
    return NULL;
}
