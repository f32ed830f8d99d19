/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_ENCODE_H
#define TC_POLICY_ENCODE_H

#include "base/buf.h"
#include "base/error.h"
#include "policy/ruleset.h"

/*
 * The binary form of a ruleset: what presets are at build time and what the
 * cache holds. Its first part is canonical: everything that decides, nothing
 * about where it stood; the policy's hash is taken of it, so that the same
 * rules have the same hash wherever their files lie. The second part says
 * where each rule stands, for messages.
 */

/** Append the image of a ruleset with its project's policy. Running out of memory sticks in out. */
void tc_ruleset_encode(const struct tc_ruleset *rules, struct tc_buf *out);

/** Decode an image. Every offset is checked and both parts are compared with their hashes, so that a damaged image is
 *  an error and never a crash or another policy.
 *
 *  @param borrow  the strings of the new ruleset point into image, which must outlive it; else into a copy
 *  @return 0, -EBADMSG, -ENOMEM */
int tc_ruleset_decode(const void *image, size_t length, bool borrow, struct tc_ruleset **ret, struct tc_error *err);

/** Hash of the canonical part. 0 or -ENOMEM. */
int tc_ruleset_hash(const struct tc_ruleset *rules, char ret[TC_SHA256_HEX]);

#endif
