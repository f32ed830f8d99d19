/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/compiler.h"

/*
 * Absolute rules about what is no data mount: the root file system, scratch and
 * the directories in between. The tree gives them their defaults (readable and
 * executable, or everything); a rule that says the same there is no matter, one
 * that says anything else needs a broker. For it scratch becomes a mediated
 * mount. The root file system stays as it is: a broker opens what is read and
 * listed there, and what may not be executed as a whole is not.
 */

/* The step that a tree outside of /etc was attached by. */
static struct tc_step *find_step(struct tc_compiler *compiler, const char *target)
{
    struct tc_step *steps = compiler->steps.items;

    for (size_t i = 0; i < compiler->steps.count; i++)
        if (strcmp(steps[i].target, target) == 0)
            return &steps[i];
    return NULL;
}

/* What follows for the floor when a broker decides about an operation in a region. */
static void mediate_area(struct tc_compiler *compiler, const struct tc_region *region, enum tc_operation operation,
                         const struct tc_verdict *verdict)
{
    struct tc_step *step = find_step(compiler, region->target);
    bool scratch = region->fallback[TC_OP_WRITE] == TC_ALLOW;

    compiler->notify |= TC_NOTIFY_FILES;
    if (operation == TC_OP_EXECUTE)
        compiler->notify |= TC_NOTIFY_EXECUTE;
    if (step == NULL)
        return;
    if (scratch && !(step->flags & TC_STEP_MEDIATED)) {
        step->flags |= TC_STEP_MEDIATED;
        step->access &= TC_ACCESS_READ | TC_ACCESS_EXECUTE;
    }
    if (operation != TC_OP_EXECUTE || verdict->final == TC_ALLOW)
        return;
    step->access &= scratch ? 0 : ~(unsigned)TC_ACCESS_EXECUTE;
    if (step->kind == TC_STEP_BIND || scratch)
        step->flags |= TC_STEP_NOEXEC;
}

static int judge_area(struct tc_compiler *compiler, const struct tc_region *region, const char *subject,
                      enum tc_operation operation, struct tc_error *err)
{
    const char *lack = tc_data_lacking(compiler->facts, NULL);
    const struct tc_rule *const *dissent;
    struct tc_verdict verdict;
    size_t count = 0;
    int result = tc_analysis_judge(compiler->analysis, region, operation, NULL, &verdict);

    if (result == 0 && (verdict.effects == TC_EFFECT_BIT(region->fallback[operation]) || verdict.effects == 0))
        return 0;
    if (result == 0)
        result =
            tc_analysis_dissent(compiler->analysis, region, operation, region->fallback[operation], &dissent, &count);
    if (result < 0)
        return tc_error_set(err, result, "%s: compare with the rules", region->target);
    for (size_t i = 0; i < count && result == 0; i++)
        if (!tc_compiler_needs(compiler, subject, dissent[i]))
            result = tc_compiler_need(compiler, subject, "an absolute rule changes what holds there by default",
                                      dissent[i], lack, err);
    if (result == 0 && lack == NULL)
        mediate_area(compiler, region, operation, &verdict);
    return result;
}

/* No rule makes the host's own system writable, and none that of another directory in this version. */
static int judge_writing(struct tc_compiler *compiler, const struct tc_region *region, struct tc_error *err)
{
    const struct tc_rule *const *dissent;
    struct tc_verdict verdict;
    size_t count = 0;

    if (strcmp(compiler->request->rootfs, "host") == 0)
        return 0;
    if (tc_analysis_judge(compiler->analysis, region, TC_OP_WRITE, NULL, &verdict) < 0 ||
        tc_analysis_dissent(compiler->analysis, region, TC_OP_WRITE, TC_DENY, &dissent, &count) < 0)
        return tc_error_set(err, -ENOMEM, "%s: compare with the rules", region->target);
    if (!(verdict.effects & ~TC_EFFECT_BIT(TC_DENY)) || count == 0 || tc_compiler_needs(compiler, "rootfs", dissent[0]))
        return 0;
    return tc_compiler_need(compiler, "rootfs", "an absolute rule lets the root file system be written", dissent[0],
                            "which does not reach that far yet", err);
}

static int judge_rootfs(struct tc_compiler *compiler, const char *target, enum tc_region_kind kind,
                        struct tc_error *err)
{
    static const char *const none[] = {NULL};
    struct tc_region region = {.target = target, .anchors = none, .kind = kind};
    int result;

    region.fallback[TC_OP_WRITE] = TC_DENY;
    if ((result = judge_area(compiler, &region, "rootfs", TC_OP_READ, err)) < 0 ||
        (result = judge_area(compiler, &region, "rootfs", TC_OP_LIST, err)) < 0)
        return result;
    if ((result = judge_area(compiler, &region, "rootfs", TC_OP_EXECUTE, err)) < 0)
        return result;
    return judge_writing(compiler, &region, err);
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
    int result = judge_rootfs(compiler, "/etc", TC_REGION_TREE, err);

    for (size_t i = 0; i < compiler->facts->rootfs_count && result == 0; i++) {
        const struct tc_fact_entry *entry = &compiler->facts->rootfs[i];
        bool file = entry->link == NULL && entry->path.kind == TC_FILE_REGULAR;

        if (!tc_path_below(entry->target, "/etc"))
            result = judge_rootfs(compiler, entry->target, file ? TC_REGION_FILE : TC_REGION_TREE, err);
    }
    return result;
}

/* Directories of the cell's own, down to what stands in them, can be listed by the right that "/" has. Where the rules
 * do not want one of them listed, none is. */
static int judge_directory(struct tc_compiler *compiler, const char *path, struct tc_error *err)
{
    static const char *const none[] = {NULL};
    struct tc_region region = {.target = path, .kind = TC_REGION_DIRECTORY, .anchors = none};
    struct tc_verdict verdict;

    if (path == NULL || tc_analysis_judge(compiler->analysis, &region, TC_OP_LIST, NULL, &verdict) < 0)
        return tc_error_set(err, -ENOMEM, "compare with the rules");
    if (verdict.effects != TC_EFFECT_BIT(TC_ALLOW))
        compiler->root_listed = false;
    return 0;
}

static int judge_between(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_step *steps = compiler->steps.items;
    int result = judge_directory(compiler, "/", err);

    if (result == 0)
        result = judge_directory(compiler, "/run", err);
    for (size_t i = 0; i < compiler->steps.count && result == 0; i++) {
        const char *path = steps[i].target;

        if (tc_path_below(path, "/etc") || tc_path_below(path, "/dev"))
            continue;
        for (;;) {
            path = tc_path_clean(compiler->arena, path, "..");
            if (path != NULL && strcmp(path, "/") == 0)
                break;
            if ((result = judge_directory(compiler, path, err)) < 0) /* also when there is no memory for path */
                return result;
        }
    }
    return result;
}

int tc_compile_areas(struct tc_compiler *compiler, struct tc_error *err)
{
    int result;

    if (!has_absolute_rule(compiler->rules))
        return 0;
    if ((result = judge_between(compiler, err)) < 0)
        return result;
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
