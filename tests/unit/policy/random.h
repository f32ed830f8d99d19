/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_POLICY_RANDOM_H
#define TESTS_UNIT_POLICY_RANDOM_H

/*
 * Random rules and paths, for what must hold of any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "policy/decide.h"

/* The tree that all are judged in. */
extern const struct tc_view random_view;

void random_begin(uint64_t seed);
unsigned random_pick(unsigned below);
const char *random_one(const char *const *list, size_t count);

/** Append a pattern, or the text of a policy. */
void random_pattern(struct tc_buf *out);
void random_policy(struct tc_buf *out);

/** New; to be freed. */
struct tc_ruleset *random_rules(void);

/** Append a few names, each behind a slash. */
void random_name(struct tc_buf *out);

/** A path instead of what out held. */
void random_path(struct tc_buf *out);

#endif
