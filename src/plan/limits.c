/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "plan/compiler.h"

/*
 * What holds for the call: the request's own limits, else the policy's, else
 * the defaults; a project's policy can only make them smaller.
 */

#define DEFAULT_PIDS 512
#define DEFAULT_OUTPUT (10u << 20)
#define DEFAULT_DISK (1u << 30)
#define DEFAULT_OPEN_FILES 1024
#define DEFAULT_GRACE_MS 2000

#define LIMIT_BIT(limit) (1u << (limit))

/* Only a control group can enforce these. */
#define GROUP_LIMITS (LIMIT_BIT(TC_LIMIT_CPUS) | LIMIT_BIT(TC_LIMIT_MEMORY) | LIMIT_BIT(TC_LIMIT_PIDS))

static void set_default(struct tc_limits *limits, enum tc_limit limit, uint64_t value)
{
    if (limits->set & LIMIT_BIT(limit))
        return;
    limits->value[limit] = value;
    limits->set |= LIMIT_BIT(limit);
}

static struct tc_limits merge_asked(const struct tc_compiler *compiler)
{
    const struct tc_ruleset *project = compiler->rules->project;
    struct tc_limits limits = compiler->request->limits;

    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        if (compiler->rules->limits.set & LIMIT_BIT(limit))
            set_default(&limits, limit, compiler->rules->limits.value[limit]);
        if (project == NULL || !(project->limits.set & LIMIT_BIT(limit)))
            continue;
        set_default(&limits, limit, project->limits.value[limit]);
        if (project->limits.value[limit] < limits.value[limit])
            limits.value[limit] = project->limits.value[limit];
    }
    return limits;
}

static void apply_defaults(const struct tc_request *request, struct tc_limits *limits)
{
    set_default(limits, TC_LIMIT_PIDS, DEFAULT_PIDS);
    if (request->json)
        set_default(limits, TC_LIMIT_OUTPUT, DEFAULT_OUTPUT);
    set_default(limits, TC_LIMIT_DISK, DEFAULT_DISK);
    set_default(limits, TC_LIMIT_FILE_SIZE, limits->value[TC_LIMIT_DISK]);
    set_default(limits, TC_LIMIT_OPEN_FILES, DEFAULT_OPEN_FILES);
    set_default(limits, TC_LIMIT_GRACE, DEFAULT_GRACE_MS);
}

static int drop_group_limit(struct tc_compiler *compiler, enum tc_limit limit, bool asked, struct tc_error *err)
{
    const char *name = tc_limit_name(limit);

    compiler->plan->limits.set &= ~LIMIT_BIT(limit);
    if (asked && !(compiler->request->allow_degraded & (1u << TC_DEGRADE_LIMITS)))
        return tc_compiler_refuse(compiler, -EOPNOTSUPP,
                                  "leave the limit out, or run without it: "
                                  "--allow-degraded=limits",
                                  err, "limit '%s': needs a control group, which this version cannot make", name);
    return tc_compiler_degrade(compiler, name, "not limited: this version makes no control group", err);
}

int tc_compile_limits(struct tc_compiler *compiler, struct tc_error *err)
{
    struct tc_limits asked = merge_asked(compiler);
    int result = 0;

    compiler->plan->limits = asked;
    apply_defaults(compiler->request, &compiler->plan->limits);
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT && result == 0; limit++)
        if (compiler->plan->limits.set & GROUP_LIMITS & LIMIT_BIT(limit))
            result = drop_group_limit(compiler, limit, (asked.set & LIMIT_BIT(limit)) != 0, err);
    compiler->plan->scratch_size = compiler->plan->limits.value[TC_LIMIT_DISK];
    compiler->plan->output_stop = compiler->request->output_stop;
    return result;
}
