/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/pattern.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"

int tc_pattern_read(struct tc_arena *arena, const struct tc_rule *rule, struct tc_pattern *ret)
{
    char *literal = tc_arena_alloc(arena, rule->pattern_length + 1);

    if (literal == NULL)
        return -ENOMEM;
    ret->rule = rule;
    ret->shape = tc_glob_classify(rule->pattern, rule->pattern_length, literal, &ret->literal_length);
    ret->literal = literal;
    return 0;
}

/* text lies strictly below tree: it continues with a slash. An empty tree is the root of absolute paths. */
static bool strictly_below(const char *text, const char *tree, size_t tree_length)
{
    return strncmp(text, tree, tree_length) == 0 && text[tree_length] == '/';
}

/* As strictly_below() for a root of relative paths, which is the empty text and has everything but itself below it. */
static bool inside(const char *text, const char *root)
{
    return root[0] == '\0' ? text[0] != '\0' : strictly_below(text, root, strlen(root));
}

static bool same_or_inside(const char *text, const char *root)
{
    return strcmp(text, root) == 0 || inside(text, root);
}

bool tc_pattern_may_match_below(const struct tc_pattern *pattern, const char *root)
{
    const char *literal = pattern->literal;
    size_t root_length = strlen(root);

    switch (pattern->shape) {
    case TC_GLOB_ALL:
        return true;
    case TC_GLOB_LITERAL:
        return inside(literal, root);
    case TC_GLOB_SUBTREE:
        return same_or_inside(literal, root) || same_or_inside(root, literal);
    case TC_GLOB_OTHER:
        break;
    }
    /* Matching texts begin with the literal, texts below with root and a slash: one must be a prefix of the other. */
    if (pattern->literal_length <= root_length)
        return strncmp(literal, root, pattern->literal_length) == 0;
    return root_length == 0 || strictly_below(literal, root, root_length);
}

bool tc_pattern_covers_below(const struct tc_pattern *pattern, const char *root)
{
    if (pattern->shape == TC_GLOB_ALL)
        return true;
    return pattern->shape == TC_GLOB_SUBTREE &&
           (strcmp(root, pattern->literal) == 0 || strictly_below(root, pattern->literal, pattern->literal_length));
}

bool tc_pattern_matches(const struct tc_pattern *pattern, const char *text, bool slash, char *scratch)
{
    size_t length = strlen(text);

    if (tc_glob_match(pattern->rule->pattern, pattern->rule->pattern_length, text, length))
        return true;
    if (!slash || length == 0 || strcmp(text, "/") == 0)
        return false;
    memcpy(scratch, text, length);
    scratch[length] = '/';
    return tc_glob_match(pattern->rule->pattern, pattern->rule->pattern_length, scratch, length + 1);
}

bool tc_pattern_confined(const struct tc_pattern *pattern, const char *anchor, const char *const *holes)
{
    for (; holes != NULL && *holes != NULL; holes++) {
        const char *hole = pattern->rule->absolute ? *holes : tc_path_relative(*holes, anchor);

        if (hole == NULL || hole[0] == '\0')
            continue;
        if (pattern->shape == TC_GLOB_OTHER ? strictly_below(pattern->literal, hole, strlen(hole))
                                            : pattern->shape != TC_GLOB_ALL && same_or_inside(pattern->literal, hole))
            return true;
    }
    return false;
}
