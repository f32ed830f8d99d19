/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_ENCODE_H
#define TC_POLICY_ENCODE_H

#include "base/buf.h"
#include "base/error.h"
#include "policy/ruleset.h"

/*
 * The canonical binary form of a ruleset: what presets are at build time, what
 * the cache holds, and what the policy's hash is taken of. It has a magic
 * number and a version; decoding checks every offset, so that a damaged cache
 * entry is an error and never a crash.
 */
void tc_ruleset_encode(const struct tc_ruleset *rules, struct tc_buf *out);

/** Decode. The strings of the new ruleset point into image when borrow is true (it must then outlive the ruleset),
 *  else into a copy. 0, -EBADMSG, -ENOMEM. */
int tc_ruleset_decode(const void *image, size_t length, bool borrow, struct tc_ruleset **ret, struct tc_error *err);

#endif
