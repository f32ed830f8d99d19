/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_LOAD_H
#define TC_POLICY_LOAD_H

#include "base/error.h"
#include "base/json.h"
#include "policy/ruleset.h"

/**
 * Load a built-in preset: decoded from the binary image made at build time, no JSON is read.
 * @param ret  a new ruleset, freed with tc_ruleset_free()
 * @return 0, -ENOENT (no such preset), -ENOMEM
 */
int tc_policy_preset(const char *name, struct tc_ruleset **ret, struct tc_error *err);

/** Names of the built-in presets, NULL-terminated, in a fixed order. */
const char *const *tc_policy_preset_names(void);

/**
 * Load a policy text (a file of this project, or a pydantic-ai-backend ruleset), resolving `extends`.
 *
 * @param name       for messages and as the rules' source
 * @param directory  descriptor against which relative `extends` are opened, or TC_NO_FD: only presets then
 * @return 0, -EINVAL (message names the place), -ELOOP, -ENOENT, -ENOMEM
 */
int tc_policy_parse(const char *text, size_t length, const char *name, int directory, struct tc_ruleset **ret,
                    struct tc_error *err);

/** As tc_policy_parse() for a value inside a larger document (a request's "policy" object). Only presets can be
 *  extended. */
int tc_policy_parse_value(const struct tc_json *value, const char *name, struct tc_ruleset **ret, struct tc_error *err);

/** Read and parse a policy file. The file must be a regular file of at most 16 MiB. */
int tc_policy_read(const char *path, struct tc_ruleset **ret, struct tc_error *err);

/** As tc_policy_read() for an open descriptor (borrowed), read to its end. */
int tc_policy_read_fd(int fd, const char *name, struct tc_ruleset **ret, struct tc_error *err);

/**
 * Read a project's policy text and attach it to an operator's ruleset: from then on decisions are the stricter of both,
 * limits the smaller, pass the intersection. `set`, `extends`, `approval` are errors there.
 */
int tc_policy_tighten(struct tc_ruleset *rules, const char *text, size_t length, const char *name,
                      struct tc_error *err);

/**
 * Read an object of limits ("limits" of a policy or a request): text or bare numbers, keys of tc_limit_name().
 *
 * @param limits  what is given is set; the rest is left alone
 * @return 0, -EINVAL (names the place), -ENOMEM
 */
int tc_limits_read(const struct tc_json *json, struct tc_arena *arena, struct tc_limits *limits, struct tc_error *err);

/** Free a ruleset with its project's policy; NULL is ignored. */
void tc_ruleset_free(struct tc_ruleset *rules);
static inline void tc_cleanup_ruleset(struct tc_ruleset **rules)
{
    tc_ruleset_free(*rules);
    *rules = NULL;
}
#define tc_auto_ruleset __attribute__((cleanup(tc_cleanup_ruleset))) struct tc_ruleset *

#endif
