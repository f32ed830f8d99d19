/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/path.h"
#include "plan/compiler.h"
#include "plan/notify.h"

/*
 * What all parts have left to a broker, brought together: the groups of calls
 * that are notified, the program for them, and the steps that lie in mediated
 * mounts. Turning a mount read-only takes all that is mounted in it along, so
 * that what lies in a mediated mount is mediated as well, whatever the rules
 * say of it.
 */

static bool has_strict_command(const struct tc_ruleset *rules)
{
    for (size_t i = 0; i < rules->command_count; i++)
        if (rules->commands[i].effect != TC_ALLOW)
            return true;
    return rules->project != NULL && has_strict_command(rules->project);
}

static bool is_mount(const struct tc_step *step)
{
    return step->kind == TC_STEP_BIND || step->kind == TC_STEP_SCRATCH || step->kind == TC_STEP_TMPFS;
}

/* The right to execute needs the one to read; the others are the broker's. */
static unsigned reduce_access(unsigned access)
{
    return access & TC_ACCESS_EXECUTE ? TC_ACCESS_READ | TC_ACCESS_EXECUTE : 0;
}

static void spread(struct tc_compiler *compiler)
{
    struct tc_step *steps = compiler->steps.items;

    for (size_t i = 0; i < compiler->steps.count; i++)
        for (size_t k = i + 1; k < compiler->steps.count && (steps[i].flags & TC_STEP_MEDIATED); k++) {
            if (!is_mount(&steps[k]) || (steps[k].flags & TC_STEP_MEDIATED) ||
                !tc_path_below(steps[k].target, steps[i].target))
                continue;
            steps[k].flags |= TC_STEP_MEDIATED;
            steps[k].access = reduce_access(steps[k].access);
        }
}

/* Data mounts as their steps have become. */
static void note_ways(struct tc_compiler *compiler)
{
    struct tc_data_mount *data = compiler->data.items;
    const struct tc_step *steps = compiler->steps.items;

    for (size_t i = 0; i < compiler->data.count; i++)
        for (size_t k = 0; k < compiler->steps.count; k++)
            if ((steps[k].flags & TC_STEP_MEDIATED) && tc_path_below(data[i].target, steps[k].target) &&
                data[i].way == TC_WAY_STATIC) {
                data[i].way = TC_WAY_MEDIATED;
                data[i].access = reduce_access(data[i].access);
            }
}

int tc_compile_mediation(struct tc_compiler *compiler, struct tc_error *err)
{
    struct tc_plan *plan = compiler->plan;
    int result;

    if (tc_data_lacking(compiler->facts, NULL) == NULL && has_strict_command(compiler->rules))
        compiler->notify |= TC_NOTIFY_EXECUTE;
    plan->notify = compiler->notify;
    if (plan->notify == 0)
        return 0;
    spread(compiler);
    note_ways(compiler);
    result = tc_notify_make(compiler->arena, plan->notify, tc_notify_native(), &plan->notify_filter,
                            &plan->notify_filter_size);
    return result < 0 ? tc_error_set(err, result, "make the filter of the command") : 0;
}
