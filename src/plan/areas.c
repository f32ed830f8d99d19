/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/compiler.h"

/*
 * Absolute rules about what is no data mount: the root file system, scratch and
 * the directories in between. The tree gives them their defaults (readable and
 * executable, or everything); a rule that says the same there is no matter, one
 * that says anything else needs a broker.
 */

static int judge_area(struct tc_compiler *compiler, const struct tc_region *region, const char *subject,
                      enum tc_operation operation, struct tc_error *err)
{
    struct tc_verdict verdict;
    int result = tc_analysis_judge(compiler->analysis, region, operation, NULL, &verdict);

    if (result < 0)
        return tc_error_set(err, result, "%s: compare with the rules", region->target);
    if (verdict.effects == TC_EFFECT_BIT(region->fallback[operation]) || verdict.effects == 0)
        return 0;
    /* A single effect other than the default is a rule for the whole area: every rule that says so. */
    for (size_t i = 0; i < verdict.partial_count && result == 0; i++)
        result = tc_compiler_need(compiler, subject, "an absolute rule changes what holds there by default",
                                  verdict.partial[i], err);
    if (verdict.partial_count == 0)
        result = tc_compiler_need(compiler, subject, "an absolute rule changes what holds there by default", NULL, err);
    return result;
}

static int judge_rootfs(struct tc_compiler *compiler, const char *target, bool file, struct tc_error *err)
{
    static const char *const none[] = {NULL};
    struct tc_region region = {.target = target, .anchors = none, .file = file};
    int result;

    region.fallback[TC_OP_WRITE] = TC_DENY;
    if ((result = judge_area(compiler, &region, "rootfs", TC_OP_READ, err)) < 0 ||
        (result = judge_area(compiler, &region, "rootfs", TC_OP_LIST, err)) < 0)
        return result;
    if ((result = judge_area(compiler, &region, "rootfs", TC_OP_EXECUTE, err)) < 0)
        return result;
    /* No rule makes the host's own system writable; the tree of another one is read-only until it can be mediated. */
    return strcmp(compiler->request->rootfs, "host") == 0 ? 0
                                                          : judge_area(compiler, &region, "rootfs", TC_OP_WRITE, err);
}

static int judge_scratch(struct tc_compiler *compiler, const struct tc_region *region, struct tc_error *err)
{
    static const enum tc_operation operations[] = {TC_OP_READ, TC_OP_LIST, TC_OP_WRITE, TC_OP_EXECUTE};
    int result = 0;

    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]) && result == 0; i++)
        result = judge_area(compiler, region, "scratch", operations[i], err);
    return result;
}

static bool has_absolute_rule(const struct tc_ruleset *rules)
{
    for (size_t i = 0; i < rules->rule_count; i++)
        if (rules->rules[i].absolute)
            return true;
    return rules->project != NULL && has_absolute_rule(rules->project);
}

/* /etc is judged once as a whole; the rest by what is there, links by their own name. */
static int judge_entries(struct tc_compiler *compiler, struct tc_error *err)
{
    int result = judge_rootfs(compiler, "/etc", false, err);

    for (size_t i = 0; i < compiler->facts->rootfs_count && result == 0; i++) {
        const struct tc_fact_entry *entry = &compiler->facts->rootfs[i];

        if (!tc_path_below(entry->target, "/etc"))
            result =
                judge_rootfs(compiler, entry->target, entry->link == NULL && entry->path.kind == TC_FILE_REGULAR, err);
    }
    return result;
}

int tc_compile_areas(struct tc_compiler *compiler, struct tc_error *err)
{
    int result;

    if (!has_absolute_rule(compiler->rules))
        return 0;
    result = judge_entries(compiler, err);
    for (const char *const *target = tc_scratch_targets; *target != NULL && result == 0; target++) {
        static const char *const none[] = {NULL};
        struct tc_region region = {.target = *target, .anchors = none};

        result = judge_scratch(compiler, &region, err);
    }
    for (size_t i = 0; i < compiler->layout.count && result == 0; i++) {
        struct tc_region region;

        if (compiler->layout.places[i].source != NULL)
            continue;
        if (tc_data_region(compiler->arena, &compiler->layout, &compiler->layout.places[i], &region) < 0)
            return tc_error_set(err, -ENOMEM, "compile the plan");
        result = judge_scratch(compiler, &region, err);
    }
    return result;
}
