/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_FILTER_PROGRAM_H
#define TC_PLAN_FILTER_PROGRAM_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/filter/profile.h"

#define FILTER_INSTRUCTIONS 2048
#define FILTER_NUMBERS 512 /* every call number in use is below */

struct filter_target {
    const char *name;      /* of the C symbols */
    const char *macro;     /* that compilers define for it */
    uint32_t architecture; /* AUDIT_ARCH_*, which are libseccomp's tokens as well */
};

struct filter_program {
    struct sock_filter items[FILTER_INSTRUCTIONS];
    size_t count;
};

/** The calls of one architecture by number; what the profile does not name is NULL. */
struct filter_numbers {
    const struct filter_call *calls[FILTER_NUMBERS];
};

/** Resolve the names of a profile; ends the program when no architecture has a call of that name. */
void filter_numbers_make(const struct filter_profile *profile, const struct filter_target *target,
                         struct filter_numbers *ret);

/** Make the program of one architecture. */
void filter_program_make(const struct filter_profile *profile, const struct filter_target *target,
                         struct filter_program *ret);

#endif
