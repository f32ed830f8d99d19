/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PLAN_RANDOM_RULES_H
#define TESTS_UNIT_PLAN_RANDOM_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

void random_seed(uint64_t seed);

/** A number below a bound; the same for the same seed everywhere. */
unsigned random_below(unsigned bound);

#define PICK(list) ((list)[random_below(sizeof(list) / sizeof((list)[0]))])

/** Write a policy of at most so many rules, and one more that allows every connection. */
void random_rules(struct tc_buf *out, unsigned most, bool connect);

/** Append a policy that allows execute in some directories of what needs a broker, and denies it or asks in others. */
void random_programs(struct tc_buf *out);

#endif
