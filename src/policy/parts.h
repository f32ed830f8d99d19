/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_PARTS_H
#define TC_POLICY_PARTS_H

/*
 * Private to src/policy: a ruleset while it is put together from the files it
 * is made of, in the order of precedence: the file's own parts first, then
 * what it extends.
 */

#include <errno.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "policy/ruleset.h"

struct tc_parts {
    struct tc_arena *arena; /* borrowed until tc_parts_finish() */
    struct tc_rule *rules;
    size_t rule_count, rule_capacity;
    struct tc_command_rule *commands;
    size_t command_count, command_capacity;
    struct tc_setting *settings;
    size_t setting_count, setting_capacity;
    const char **pass;
    size_t pass_count, pass_capacity;
    bool pass_given;
    const char **files;
    size_t file_count, file_capacity;
    struct tc_limits limits;
    uint64_t approval_ms;
    bool project; /* reading a project's policy: what could widen is an error */
};

/* Each adds a copy of one part at the end; strings are borrowed and must live as long as the arena. A limit, an
 * approval timeout or a variable that is there already stays. 0 or -ENOMEM. */
int tc_parts_rule(struct tc_parts *parts, const struct tc_rule *rule);
int tc_parts_command(struct tc_parts *parts, const struct tc_command_rule *command);
int tc_parts_setting(struct tc_parts *parts, const char *name, const char *value);
int tc_parts_pass(struct tc_parts *parts, const char *name);
int tc_parts_file(struct tc_parts *parts, const char *name);
void tc_parts_limit(struct tc_parts *parts, enum tc_limit limit, uint64_t value);

/** Add a whole ruleset that is extended; its strings are borrowed. 0 or -ENOMEM. */
int tc_parts_ruleset(struct tc_parts *parts, const struct tc_ruleset *rules);

/** Sort, index and hash. Takes the arena when it succeeds. 0 or -ENOMEM. */
int tc_parts_finish(struct tc_parts *parts, const char *name, struct tc_ruleset **ret);

/** Finish a ruleset whose arrays and strings are in place: index, and the hash unless it is known. 0 or -ENOMEM. */
int tc_ruleset_complete(struct tc_ruleset *rules, bool hash);

/** Parse one document of this project's format into the parts, `extends` aside. 0, -EINVAL, -ENOMEM. */
int tc_rules_parse(const struct tc_json *root, const char *source, struct tc_parts *parts, struct tc_error *err);

/* Parse one section of it. 0, -EINVAL, -ENOMEM. */
int tc_limits_section(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err);
int tc_environment_section(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err);
int tc_approval_section(const struct tc_json *json, struct tc_parts *parts, struct tc_error *err);

/** -EINVAL at a value that may not stand in a project's policy, else 0. */
int tc_project_refuse(const struct tc_json *json, const struct tc_parts *parts, struct tc_error *err);

/** True when the document is a ruleset of pydantic-ai-backend. */
bool tc_import_recognise(const struct tc_json *root);

/** Parse such a ruleset into the parts. 0, -EINVAL, -ENOMEM. */
int tc_import_parse(const struct tc_json *root, const char *source, struct tc_parts *parts, struct tc_error *err);

/** Read an effect at a member of an object: "allow", "ask" or "deny". 0, -EINVAL, -ENOMEM. */
int tc_effect_read(const struct tc_json *json, struct tc_arena *arena, enum tc_effect *ret, struct tc_error *err);

static inline int tc_no_memory(struct tc_error *err)
{
    return tc_error_set(err, -ENOMEM, "policy");
}

#endif
