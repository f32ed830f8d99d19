/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_FILTER_H
#define TC_PLAN_FILTER_H

/*
 * The seccomp programs that were made at build time from policy/seccomp.
 */

#include <stddef.h>
#include <stdint.h>

struct tc_filter {
    const char *name;
    uint32_t architecture;  /* AUDIT_ARCH_* */
    const uint8_t *program; /* size bytes of struct sock_filter; static */
    size_t size;
};

extern const struct tc_filter tc_filters[];
extern const size_t tc_filter_count;

/** The program for the architecture this was built for, or NULL when there is none. */
const struct tc_filter *tc_filter_native(void);

#endif
