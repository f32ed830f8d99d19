/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "plan/compiler.h"
#include "plan/limiting.h"
#include "plan/scope.h"

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

static void set_default(struct tc_limits *limits, enum tc_limit limit, uint64_t value)
{
    if (limits->set & LIMIT_BIT(limit))
        return;
    limits->value[limit] = value;
    limits->set |= LIMIT_BIT(limit);
}

struct tc_limits tc_limits_asked(const struct tc_ruleset *rules, const struct tc_request *request)
{
    const struct tc_ruleset *project = rules->project;
    struct tc_limits limits = request->limits;

    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        if (rules->limits.set & LIMIT_BIT(limit))
            set_default(&limits, limit, rules->limits.value[limit]);
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

/* The limits of a whole cell that a control group holds. */
static const struct {
    enum tc_limit limit;
    enum tc_controller controller;
} grouped[] = {
    {TC_LIMIT_CPUS, TC_CONTROLLER_CPU},
    {TC_LIMIT_MEMORY, TC_CONTROLLER_MEMORY},
    {TC_LIMIT_PIDS, TC_CONTROLLER_PIDS},
};

unsigned tc_limits_controllers(const struct tc_limits *asked)
{
    unsigned wanted = 0;

    for (size_t i = 0; i < TC_COUNT(grouped); i++)
        if (asked->set & LIMIT_BIT(grouped[i].limit))
            wanted |= TC_CONTROLLER_BIT(grouped[i].controller);
    return wanted;
}

unsigned tc_limits_held(const struct tc_plan *plan)
{
    return plan->group & tc_limits_controllers(&plan->limits);
}

const char *tc_limit_means(const struct tc_plan *plan, enum tc_limit limit)
{
    if (limit == TC_LIMIT_PIDS && plan->count_processes)
        return "RLIMIT_NPROC in the cell's user namespace";
    for (size_t i = 0; i < TC_COUNT(grouped); i++) {
        enum tc_controller controller = grouped[i].controller;

        if (grouped[i].limit != limit || !(plan->group & TC_CONTROLLER_BIT(controller)))
            continue;
        return plan->group_scoped & TC_CONTROLLER_BIT(controller) ? "control group, version 2, in a systemd scope"
               : plan->group_versions[controller] == 1            ? "control group, version 1"
                                                                  : "control group, version 2";
    }
    return NULL;
}

struct why {
    const char *reason, *remedy;
};

static struct why explain_lack(struct tc_compiler *compiler, const struct tc_fact_controller *controller)
{
    const struct tc_fact_groups *groups = &compiler->facts->groups;
    struct why why = {"this kernel cannot count the processes of a cell alone", "Linux 5.14 can"};

    if (!groups->looked)
        return why;
    why = (struct why){tc_group_lack_reason(controller->lack), tc_group_lack_remedy(controller)};
    if (groups->scope.state != TC_SCOPE_LACKING || controller->version != 2)
        return why;
    why.reason =
        tc_arena_printf(compiler->arena, "%s, and no systemd scope can be had: %s", why.reason, groups->scope.reason);
    if (groups->scope.remedy != NULL)
        why.remedy = groups->scope.remedy;
    return why;
}

static int drop_limit(struct tc_compiler *compiler, enum tc_limit limit, const struct tc_fact_controller *controller,
                      bool asked, struct tc_error *err)
{
    const char *name = tc_limit_name(limit);
    struct why why = explain_lack(compiler, controller);

    if (why.reason == NULL)
        return tc_error_set(err, -ENOMEM, "limit '%s'", name);
    compiler->plan->limits.set &= ~LIMIT_BIT(limit);
    if (asked && !(compiler->request->allow_degraded & (1u << TC_DEGRADE_LIMITS)))
        return tc_compiler_refuse(
            compiler, -EOPNOTSUPP,
            tc_arena_printf(compiler->arena, "%s; or run without it: --allow-degraded=limits", why.remedy), err,
            "limit '%s': %s", name, why.reason);
    return tc_compiler_degrade(compiler, name, tc_arena_printf(compiler->arena, "not limited: %s", why.reason), err);
}

/* A limit that a group does not hold: the number of processes can be held without one. A leased host id is nobody
 * else's, so that kernels which count per user count the cell, too. */
static int hold_otherwise(struct tc_compiler *compiler, size_t index, bool asked, struct tc_error *err)
{
    struct tc_plan *plan = compiler->plan;

    if (grouped[index].limit == TC_LIMIT_PIDS &&
        (compiler->facts->process_limit || plan->identity.kind == TC_IDENTITY_LEASE)) {
        plan->count_processes = true;
        return 0;
    }
    return drop_limit(compiler, grouped[index].limit, &compiler->facts->groups.controllers[grouped[index].controller],
                      asked, err);
}

static int choose_means(struct tc_compiler *compiler, const struct tc_limits *asked, struct tc_error *err)
{
    const struct tc_fact_groups *groups = &compiler->facts->groups;
    struct tc_plan *plan = compiler->plan;
    int result = 0;

    plan->group = tc_groups_usable(groups, tc_limits_controllers(asked));
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++) {
        if (!(plan->group & TC_CONTROLLER_BIT(i)))
            continue;
        plan->group_versions[i] = groups->controllers[i].version;
        plan->group_scoped |= groups->controllers[i].in_scope ? TC_CONTROLLER_BIT(i) : 0;
    }
    for (size_t i = 0; i < TC_COUNT(grouped) && result == 0; i++) {
        unsigned bit = LIMIT_BIT(grouped[i].limit);

        if ((plan->limits.set & bit) && !(plan->group & TC_CONTROLLER_BIT(grouped[i].controller)))
            result = hold_otherwise(compiler, i, (asked->set & bit) != 0, err);
    }
    return result;
}

static int check_memory(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_limits *limits = &compiler->plan->limits;

    if (!(limits->set & LIMIT_BIT(TC_LIMIT_MEMORY)) || limits->value[TC_LIMIT_MEMORY] >= TC_MEMORY_MIN)
        return 0;
    return tc_compiler_refuse(compiler, -EINVAL, "give at least 1M", err,
                              "limit 'memory': no command can be started with %llu bytes",
                              (unsigned long long)limits->value[TC_LIMIT_MEMORY]);
}

int tc_compile_limits(struct tc_compiler *compiler, struct tc_error *err)
{
    struct tc_limits asked = tc_limits_asked(compiler->rules, compiler->request);
    int result;

    compiler->plan->limits = asked;
    apply_defaults(compiler->request, &compiler->plan->limits);
    result = check_memory(compiler, err);
    if (result == 0)
        result = choose_means(compiler, &asked, err);
    compiler->plan->scratch_size = compiler->plan->limits.value[TC_LIMIT_DISK];
    compiler->plan->output_stop = compiler->request->output_stop;
    return result;
}
