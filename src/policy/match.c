/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Matching a path against rules.
 *
 * Relative patterns are tried against the path relative to each data mount
 * that contains it; every such relative path is a tail of the absolute one,
 * so nothing is copied. Only the slash that a listing is tried with too needs
 * a copy, which lies in the subject on the caller's stack.
 */

#include "policy/match.h"

#include <string.h>

#include "base/glob.h"

/* Offset of the relative path below a mount's target, or -1. */
static ptrdiff_t relative_start(const char *target, const char *path, size_t length)
{
    size_t size = strlen(target);

    if (size == 1)
        return 1;
    if (size > length || memcmp(target, path, size) != 0)
        return -1;
    if (size == length)
        return (ptrdiff_t)size;
    return path[size] == '/' ? (ptrdiff_t)size + 1 : -1;
}

const struct tc_view_mount *tc_view_find(const struct tc_view *view, const char *path, size_t length)
{
    const struct tc_view_mount *found = NULL;
    ptrdiff_t longest = -1;

    for (size_t i = 0; i < view->count; i++) {
        ptrdiff_t start = relative_start(view->mounts[i].target, path, length);
        if (start > longest) {
            longest = start;
            found = &view->mounts[i];
        }
    }
    return found;
}

static void find_starts(const struct tc_view *view, bool call, struct tc_subject *ret)
{
    if (call)
        ret->starts[ret->start_count++] = 1;
    for (size_t i = 0; i < view->count; i++) {
        const struct tc_view_mount *mount = &view->mounts[i];
        ptrdiff_t start = mount->area == TC_AREA_DATA ? relative_start(mount->target, ret->path, ret->length) : -1;
        if (start < 0)
            continue;
        if (ret->start_count > TC_NESTED_LIMIT) {
            ret->too_long = true;
            return;
        }
        ret->starts[ret->start_count++] = (size_t)start;
    }
}

void tc_subject_make(const struct tc_view *view, enum tc_operation operation, const char *path, size_t length,
                     bool directory, bool call, struct tc_subject *ret)
{
    const struct tc_view_mount *mount;

    ret->start_count = 0;
    ret->path = path;
    ret->length = length;
    ret->too_long = length > TC_PATH_LIMIT || length == 0 || path[0] != '/';
    if (ret->too_long)
        return;
    mount = tc_view_find(view, path, length);
    ret->area = call ? TC_AREA_DATA : mount == NULL ? TC_AREA_ROOTFS : mount->area;
    ret->read_only = mount == NULL ? !view->rootfs_writable
                                   : mount->read_only || (mount->area == TC_AREA_ROOTFS && !view->rootfs_writable);
    ret->root = mount != NULL && mount->area == TC_AREA_DATA && strlen(mount->target) == length;
    ret->listing = operation == TC_OP_LIST && directory && length > 1;
    if (ret->area == TC_AREA_DATA)
        find_starts(view, call, ret);
    tc_marks_make(path, length, ret->listing, &ret->marks);
    if (!ret->listing)
        return;
    memcpy(ret->slashed, path, length);
    ret->slashed[length] = '/';
    ret->slashed[length + 1] = '\0';
}

/* Match from an offset on, and when listing with the slash too. The root of a mount is the empty path and has none:
 * to say something about a whole mount but its root is what a subtree pattern is for. */
static bool matches_from(const struct tc_subject *subject, const struct tc_rule *rule, size_t start)
{
    size_t length = start > subject->length ? 0 : subject->length - start;

    if (tc_glob_match(rule->pattern, rule->pattern_length, subject->path + subject->length - length, length))
        return true;
    return subject->listing && length > 0 && !(rule->absolute && subject->root) &&
           tc_glob_match(rule->pattern, rule->pattern_length, subject->slashed + start, length + 1);
}

bool tc_subject_matches(const struct tc_subject *subject, const struct tc_rule *rule)
{
    if (rule->absolute)
        return matches_from(subject, rule, 0);
    for (size_t i = 0; i < subject->start_count; i++) {
        if (matches_from(subject, rule, subject->starts[i]))
            return true;
    }
    return false;
}

const struct tc_rule *tc_match_first(const struct tc_ruleset *rules, const struct tc_rule_list *list,
                                     const struct tc_subject *subject)
{
    for (size_t i = 0; i < list->count; i++) {
        uint32_t item = list->items[i];
        if (tc_filter_passes(&rules->index->filters[item], &subject->marks) &&
            tc_subject_matches(subject, &rules->rules[item]))
            return &rules->rules[item];
    }
    return NULL;
}

const struct tc_rule *tc_match_rule(const struct tc_ruleset *rules, enum tc_operation operation,
                                    const struct tc_subject *subject, enum tc_effect fallback)
{
    const struct tc_rule_index *index = rules->index;
    const struct tc_rule *strictest = NULL;

    if (operation != TC_OP_LIST || !index->mixed)
        return tc_match_first(rules, &index->operations[operation], subject);
    for (size_t i = 0; i < 3; i++) {
        const struct tc_rule *rule = tc_match_first(rules, &index->lists[i], subject);
        enum tc_effect effect = rule == NULL ? fallback : rule->effect;
        if (i == 0 || effect > (strictest == NULL ? fallback : strictest->effect))
            strictest = rule;
    }
    return strictest;
}

enum tc_effect tc_area_default(enum tc_area area, enum tc_operation operation)
{
    switch (area) {
    case TC_AREA_DATA:
        return TC_DENY;
    case TC_AREA_ROOTFS:
        return operation == TC_OP_READ || operation == TC_OP_LIST || operation == TC_OP_EXECUTE ? TC_ALLOW : TC_DENY;
    case TC_AREA_SCRATCH:
    case TC_AREA_SYSTEM:
        break;
    }
    return TC_ALLOW;
}
