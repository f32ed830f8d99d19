/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/compile.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/compiler.h"
#include "plan/environment.h"
#include "plan/filter.h"
#include "plan/resolve.h"
#include "plan/view.h"

/*
 * Theory of operation
 *
 * compile() turns (ruleset, request, facts) into a plan without looking at
 * anything else. Each part of the compiler fills in its part of the plan and
 * may refuse; the order matters only where one part reads what another made
 * (identity before the mounts that are mapped to it, mounts before what is
 * checked about them).
 *
 * The plan's floor grants no more than the rules allow outright. What cannot be
 * proved to be even over a whole mount, or over a whole subtree, is a need for
 * a broker, which widens what the floor grants call by call. Where a host
 * cannot have one such a plan is refused, unless the caller accepts by name to
 * do without: then the rules that cover a whole mount still hold, and the plan
 * says what is lost.
 */

/* Things that the words of the contract know and this version does not do yet. */
int tc_compile_refusals(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_request *request = compiler->request;
    int result = 0;

    if (request->net == TC_NET_EGRESS)
        result = tc_compiler_refuse(compiler, -EOPNOTSUPP, "use --net none, or --net host with rules that allow it",
                                    err, "--net egress: not built yet");
    if (result == 0 && request->workspace.mode == TC_MODE_TXN)
        result = tc_compiler_refuse(compiler, -EOPNOTSUPP, "use rw or ro", err, "workspace: mode txn: not built yet");
    for (size_t i = 0; i < request->mount_count && result == 0; i++)
        if (request->mounts[i].mode == TC_MODE_TXN)
            result =
                tc_compiler_refuse(compiler, -EOPNOTSUPP, "use rw, ro or tools", err, "%s: mode txn: not built yet",
                                   request->mounts[i].where != NULL ? request->mounts[i].where : "--mount");
    if (result == 0 && request->workspace.mode == TC_MODE_TOOLS)
        result = tc_compiler_refuse(compiler, -EINVAL, "use rw or ro", err, "workspace: mode tools is for --mount");
    return result;
}

static int compile_command(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_request *request = compiler->request;
    struct tc_plan *plan = compiler->plan;
    size_t count = 0;
    const char **argv;

    while (request->argv[count] != NULL)
        count++;
    argv = tc_arena_array(compiler->arena, count + 1, sizeof(*argv));
    plan->cwd = tc_resolve_cwd(compiler->arena, request, compiler->facts, &compiler->layout);
    if (argv == NULL || plan->cwd == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    for (size_t i = 0; i < count; i++)
        if ((argv[i] = tc_arena_string(compiler->arena, request->argv[i])) == NULL)
            return tc_error_set(err, -ENOMEM, "compile the plan");
    plan->argv = argv;
    plan->program = compiler->facts->program_given;
    plan->stdin_mode = request->stdin_mode;
    plan->tty = request->tty;
    if (plan->stdin_mode == TC_STDIN_DEFAULT)
        plan->stdin_mode =
            request->json || (compiler->facts->stdin_terminal && !request->tty) ? TC_STDIN_NONE : TC_STDIN_INHERIT;
    plan->stdin_data = request->stdin_data;
    plan->stdin_length = request->stdin_length;
    return tc_environment_make(compiler->arena, compiler->rules, request, compiler->facts, plan->cwd, &plan->env, err);
}

static int compile_kernel(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_filter *filter = tc_filter_native();
    struct tc_plan *plan = compiler->plan;

    plan->filter = filter->program;
    plan->filter_size = filter->size;
    plan->filter_name = filter->name;
    plan->landlock_abi = compiler->facts->landlock_abi;
    if (plan->landlock_abi > 0)
        return 0;
    if (!(compiler->request->allow_degraded & (1u << TC_DEGRADE_LANDLOCK)))
        return tc_compiler_refuse(compiler, -EOPNOTSUPP,
                                  "boot with lsm=landlock,..., or run without path rules: --allow-degraded=landlock",
                                  err, "this kernel has no Landlock, which the rules about paths need");
    return tc_compiler_degrade(compiler, "landlock", "no path rules: reading is limited by the mounts alone", err);
}

/* "/" itself may be listed when that gives nothing away below, since the right is inherited everywhere. */
static unsigned root_access(const struct tc_compiler *compiler)
{
    if (!compiler->root_listed)
        return 0;
    for (size_t i = 0; i < compiler->layout.count; i++) {
        const struct tc_data_verdict *verdict = &compiler->verdicts[i];

        if (compiler->layout.places[i].source == NULL)
            continue;
        if (!verdict->whole ||
            (compiler->layout.places[i].source->kind == TC_FILE_DIRECTORY && !(verdict->access & TC_ACCESS_LIST)))
            return 0;
    }
    return TC_ACCESS_LIST;
}

/* What is granted to a directory goes where that goes. */
static int fix_programs(struct tc_compiler *compiler)
{
    const struct tc_step *steps = compiler->steps.items;
    const char **fixed = tc_arena_array(compiler->arena, compiler->steps.count + 1, sizeof(*fixed));
    size_t count = 0;

    if (fixed == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < compiler->steps.count; i++)
        if (steps[i].flags & TC_STEP_ITSELF)
            fixed[count++] = steps[i].target;
    compiler->plan->view.fixed = count > 0 ? fixed : NULL;
    return 0;
}

static int settle_needs(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_mediation_need *needs = compiler->needs.items, *first = NULL;
    const char *pattern;
    size_t count = 0;

    for (size_t i = compiler->needs.count; i-- > 0;)
        if (needs[i].lack != NULL) {
            first = &needs[i];
            count++;
        }
    if (first == NULL)
        return 0;
    pattern = first->rule == NULL ? "" : first->rule->pattern;
    if (!(compiler->request->allow_degraded & (1u << TC_DEGRADE_MEDIATION)))
        return tc_compiler_refuse(compiler, -EOPNOTSUPP,
                                  "use rules that hold for a whole mount, or run with what the kernel can hold: "
                                  "--allow-degraded=mediation",
                                  err, "policy '%s': %zu %s mediation, %s; the first: %s: %s%s%s",
                                  compiler->rules->name, count, count == 1 ? "point needs" : "points need", first->lack,
                                  first->subject, first->why, *pattern == '\0' ? "" : ": ", pattern);
    return tc_compiler_degrade(compiler, "mediation",
                               tc_arena_printf(compiler->arena,
                                               "%zu %s of the rules not enforced: only what holds for a whole mount is",
                                               count, count == 1 ? "point" : "points"),
                               err);
}

static int run_parts(struct tc_compiler *compiler, struct tc_error *err)
{
    int result;

    if ((result = tc_layout_make(compiler->arena, compiler->request, compiler->facts, &compiler->layout, err)) < 0 ||
        (result = tc_compile_refusals(compiler, err)) < 0 || (result = tc_compile_sources(compiler, err)) < 0 ||
        (result = tc_compile_identity(compiler, err)) < 0 || (result = tc_compile_limits(compiler, err)) < 0 ||
        (result = tc_compile_base(compiler, err)) < 0 || (result = tc_compile_data(compiler, err)) < 0 ||
        (result = tc_compile_areas(compiler, err)) < 0 || (result = tc_compile_network(compiler, err)) < 0 ||
        (result = tc_compile_mediation(compiler, err)) < 0 || (result = tc_compile_reach(compiler, err)) < 0 ||
        (result = compile_kernel(compiler, err)) < 0 || (result = compile_command(compiler, err)) < 0 ||
        (result = settle_needs(compiler, err)) < 0 ||
        (result = tc_plan_view(compiler->request, compiler->facts, compiler->arena, &compiler->plan->view, err)) < 0)
        return result;
    if (fix_programs(compiler) < 0)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    compiler->plan->root_access = root_access(compiler);
    return tc_compile_enforcement(compiler, err);
}

/* Hand the lists over to the plan. */
static void finish(struct tc_compiler *compiler)
{
    struct tc_plan *plan = compiler->plan;

    plan->steps = compiler->steps.items;
    plan->step_count = compiler->steps.count;
    plan->data = compiler->data.items;
    plan->data_count = compiler->data.count;
    plan->needs = compiler->needs.items;
    plan->need_count = compiler->needs.count;
    plan->enforcement = compiler->enforcement.items;
    plan->enforcement_count = compiler->enforcement.count;
    plan->degraded = compiler->degraded.items;
    plan->degraded_count = compiler->degraded.count;
    plan->refusals = compiler->refusals.items;
    plan->refusal_count = compiler->refusals.count;
    plan->labels = compiler->request->labels;
    plan->label_count = compiler->request->label_count;
}

static struct tc_plan *new_plan(const struct tc_ruleset *rules, const struct tc_request *request)
{
    struct tc_arena *arena = tc_arena_new();
    struct tc_plan *plan = arena == NULL ? NULL : tc_arena_alloc(arena, sizeof(*plan));

    if (plan == NULL) {
        tc_arena_free(arena);
        return NULL;
    }
    plan->arena = arena;
    plan->net = request->net;
    plan->policy_name = rules->name;
    plan->rules = rules;
    memcpy(plan->policy_hash, rules->hash, sizeof(plan->policy_hash));
    return plan;
}

int tc_plan_compile(const struct tc_ruleset *rules, const struct tc_request *request, const struct tc_facts *facts,
                    enum tc_compile_mode mode, struct tc_plan **ret, struct tc_error *err)
{
    tc_auto_plan plan = new_plan(rules, request);
    struct tc_compiler compiler = {
        .rules = rules, .request = request, .facts = facts, .mode = mode, .plan = plan, .root_listed = true};
    int result;

    if (plan == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    compiler.arena = plan->arena;
    compiler.analysis = tc_analysis_new(plan->arena, rules);
    if (compiler.analysis != NULL)
        compiler.needed =
            tc_arena_array(plan->arena, tc_analysis_count(compiler.analysis) + 1, sizeof(*compiler.needed));
    if (compiler.needed == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    result = run_parts(&compiler, err);
    if (result < 0) {
        tc_error_stage(err, "plan");
        return result;
    }
    finish(&compiler);
    *ret = tc_take_ptr(plan);
    return 0;
}
