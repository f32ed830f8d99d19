/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A project's policy: it comes with the work and is not trusted, so whatever
 * it says can only make answers stricter. Rules are kept apart and consulted
 * second (see decide.c); limits and names to pass are merged here.
 */

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/encode.h"
#include "policy/files.h"
#include "policy/load.h"
#include "policy/parts.h"

static void tighten_limits(struct tc_limits *limits, const struct tc_limits *project)
{
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        unsigned bit = 1u << limit;
        if (!(project->set & bit) || (limits->set & bit && limits->value[limit] <= project->value[limit]))
            continue;
        limits->value[limit] = project->value[limit];
        limits->set |= bit;
    }
}

static bool passes(const struct tc_ruleset *rules, const char *name)
{
    for (size_t i = 0; i < rules->pass_count; i++) {
        if (strcmp(rules->pass[i], name) == 0)
            return true;
    }
    return false;
}

static int tighten_pass(struct tc_ruleset *rules, const struct tc_ruleset *project)
{
    const char **kept = tc_arena_array(rules->arena, rules->pass_count, sizeof(*kept));
    size_t count = 0;

    if (kept == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < rules->pass_count; i++) {
        if (passes(project, rules->pass[i]))
            kept[count++] = rules->pass[i];
    }
    rules->pass = kept;
    rules->pass_count = count;
    return 0;
}

int tc_policy_tighten(struct tc_ruleset *rules, const char *text, size_t length, const char *name, struct tc_error *err)
{
    tc_auto_ruleset project = NULL;
    int r;

    if (rules->project != NULL)
        return tc_error_plain(err, -EEXIST, "%s: there is a project's policy already", name);
    r = tc_policy_load(text, length, name, TC_NO_FD, true, NULL, &project, err);
    if (r < 0)
        return r;
    if (project->pass_given && tighten_pass(rules, project) < 0)
        return tc_no_memory(err);
    tighten_limits(&rules->limits, &project->limits);
    rules->project = project;
    r = tc_ruleset_hash(rules, rules->hash);
    if (r < 0) {
        rules->project = NULL;
        return tc_no_memory(err);
    }
    project = NULL;
    return 0;
}
