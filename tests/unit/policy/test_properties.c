/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What must hold for any rules and paths, on thousands of random ones from a
 * fixed seed: a project's policy never widens, reading an imported ruleset without its
 * lists is never freer than deciding, and an image decides like its ruleset.
 */

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "fixture.h"
#include "policy/decide.h"
#include "policy/encode.h"
#include "policy/filter.h"
#include "policy/match.h"
#include "random.h"

START_TEST(test_tighten)
{
    tc_auto_buf path = {0};

    random_begin(1);
    for (int round = 0; round < 3000; round++) {
        tc_auto_ruleset operator= random_rules();
        tc_auto_ruleset both = NULL;
        tc_auto_ruleset project = NULL;
        tc_auto_buf image = {0};
        tc_auto_buf text = {0};

        /* The same operator's rules twice, once with a project's. */
        tc_ruleset_encode(operator, & image);
        ck_assert_int_eq(tc_ruleset_decode(image.data, image.length, false, &both, NULL), 0);
        random_policy(&text);
        tighten_policy(both, text.data);
        project = parse_policy(text.data);
        for (int i = 0; i < 12; i++) {
            random_path(&path);
            for (enum tc_operation operation = 0; operation < TC_OP_CONNECT; operation++) {
                bool directory = random_pick(2);
                struct tc_decision alone =
                    tc_decide(operator, & random_view, operation, path.data, path.length, directory);
                struct tc_decision tight = tc_decide(both, &random_view, operation, path.data, path.length, directory);
                struct tc_decision own = tc_decide(project, &random_view, operation, path.data, path.length, directory);
                enum tc_effect expected =
                    own.rule != NULL && own.rule->effect > alone.effect ? own.rule->effect : alone.effect;
                ck_assert_int_ge(tight.effect, alone.effect);
                ck_assert_int_eq(tight.effect, expected);
                ck_assert(tight.by_project == (tight.effect > alone.effect));
            }
            const char *const argv[] = {path.data, NULL};
            ck_assert_int_ge(tc_decide_call(both, &random_view, path.data, path.data, argv).effect,
                             tc_decide_call(operator, & random_view, path.data, path.data, argv).effect);
        }
    }
}
END_TEST

/* A ruleset of the foreign format with three lists that differ. */
static struct tc_ruleset *random_import(void)
{
    static const char *const lists[] = {"ls", "glob", "grep"};
    static const char *const effects[] = {"allow", "ask", "deny"};
    tc_auto_buf text = {0};

    tc_buf_string(&text, "{\"default\": \"ask\"");
    for (size_t i = 0; i < 3; i++) {
        tc_buf_printf(&text, ", \"%s\": {\"default\": \"%s\", \"rules\": [", lists[i], random_one(effects, 3));
        for (unsigned k = 0, count = random_pick(5); k < count; k++) {
            tc_buf_string(&text, k == 0 ? "{\"pattern\": \"" : ", {\"pattern\": \"");
            random_pattern(&text);
            tc_buf_printf(&text, "\", \"action\": \"%s\"}", random_one(effects, 3));
        }
        tc_buf_string(&text, "]}");
    }
    tc_buf_string(&text, "}");
    return parse_policy(text.data);
}

/* The first rule of a list alone, by its own order, or the one for everything. */
static enum tc_effect list_answer(const struct tc_ruleset *rules, unsigned bit, const struct tc_subject *subject)
{
    const struct tc_rule *first = NULL;

    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];
        if (rule->operations == TC_OP_BIT(TC_OP_LIST) && (rule->lists == 0 || rule->lists & bit) &&
            (first == NULL || rule->index < first->index) && tc_subject_matches(subject, rule))
            first = rule;
    }
    return first == NULL ? tc_area_default(subject->area, TC_OP_LIST) : first->effect;
}

START_TEST(test_import)
{
    tc_auto_buf path = {0};

    random_begin(3);
    for (int round = 0; round < 3000; round++) {
        tc_auto_ruleset rules = random_import();
        for (int i = 0; i < 10; i++) {
            struct tc_subject subject;
            enum tc_effect naive, strictest = TC_ALLOW;
            bool directory = random_pick(2);

            random_path(&path);
            enum tc_effect effect =
                tc_decide(rules, &random_view, TC_OP_LIST, path.data, path.length, directory).effect;
            tc_subject_make(&random_view, TC_OP_LIST, path.data, path.length, directory, false, &subject);
            for (unsigned bit = 1; bit < TC_LIST_ALL; bit <<= 1) {
                enum tc_effect answer = list_answer(rules, bit, &subject);
                strictest = answer > strictest ? answer : strictest;
            }
            ck_assert_int_eq(effect, strictest);

            const struct tc_rule *rule = tc_match_first(rules, &rules->index->operations[TC_OP_LIST], &subject);
            naive = rule == NULL ? tc_area_default(subject.area, TC_OP_LIST) : rule->effect;
            ck_assert_int_ge(naive, effect);
        }
    }
}
END_TEST

START_TEST(test_image)
{
    tc_auto_buf path = {0};

    random_begin(4);
    for (int round = 0; round < 2000; round++) {
        tc_auto_ruleset rules = random_pick(2) ? random_rules() : random_import();
        tc_auto_ruleset decoded = NULL;
        tc_auto_buf image = {0};

        tc_ruleset_encode(rules, &image);
        ck_assert_int_eq(tc_ruleset_decode(image.data, image.length, true, &decoded, NULL), 0);
        for (int i = 0; i < 10; i++) {
            random_path(&path);
            for (enum tc_operation operation = 0; operation < TC_OP_CONNECT; operation++)
                ck_assert_int_eq(tc_decide(rules, &random_view, operation, path.data, path.length, true).effect,
                                 tc_decide(decoded, &random_view, operation, path.data, path.length, true).effect);
        }
    }
}
END_TEST

/* Whatever a pattern matches passes its filter. */
START_TEST(test_filter)
{
    static const char *const pieces[] = {"a", "b", "/",    "ab",   "é", "\xff", "\xc3", "**/", "**",
                                         "*", "?", "[ab]", "[!a]", "[", "\\",   "\\*",  "]"};
    static const char *const texts[] = {"a", "b", "/", "ab", "é", "\xff", "\xc3", "*", "[", "\\", "]"};
    unsigned matched = 0;

    random_begin(6);
    for (int round = 0; round < 60000; round++) {
        tc_auto_arena arena = tc_arena_new();
        tc_auto_buf pattern = {0};
        tc_auto_buf text = {0};
        const struct tc_filter *filters;
        struct tc_marks marks;

        for (unsigned i = random_pick(6); i > 0; i--)
            tc_buf_string(&pattern, random_one(pieces, TC_COUNT(pieces)));
        for (unsigned i = 1 + random_pick(5); i > 0; i--)
            tc_buf_string(&text, random_one(texts, TC_COUNT(texts)));
        struct tc_rule rule = {.pattern = pattern.data == NULL ? "" : pattern.data, .pattern_length = pattern.length};
        struct tc_ruleset rules = {.rules = &rule, .rule_count = 1};
        ck_assert_int_eq(tc_filters_make(&rules, arena, &filters), 0);
        bool match = tc_glob_match(rule.pattern, rule.pattern_length, text.data, text.length);
        tc_marks_make(text.data, text.length, false, &marks);
        ck_assert_msg(!match || tc_filter_passes(&filters[0], &marks), "'%s' on '%s'", rule.pattern, text.data);
        matched += match;

        tc_marks_make(text.data, text.length, true, &marks);
        tc_buf_char(&text, '/');
        match = tc_glob_match(rule.pattern, rule.pattern_length, text.data, text.length);
        ck_assert_msg(!match || tc_filter_passes(&filters[0], &marks), "'%s' on '%s'", rule.pattern, text.data);
    }
    ck_assert_uint_gt(matched, 1000);
}
END_TEST

START_TEST(test_names)
{
    tc_auto_buf resolved = {0};
    tc_auto_buf given = {0};

    random_begin(5);
    for (int round = 0; round < 2000; round++) {
        tc_auto_ruleset rules = random_rules();
        for (int i = 0; i < 10; i++) {
            random_path(&resolved);
            random_path(&given);
            enum tc_effect a = tc_decide(rules, &random_view, TC_OP_READ, resolved.data, resolved.length, false).effect;
            enum tc_effect b = tc_decide(rules, &random_view, TC_OP_READ, given.data, given.length, false).effect;
            ck_assert_int_eq(tc_decide_names(rules, &random_view, TC_OP_READ, resolved.data, given.data, false).effect,
                             a > b ? a : b);
        }
    }
}
END_TEST

/* Paths that cannot be judged are denied, whatever the rules say. */
START_TEST(test_long_paths)
{
    static char path[TC_PATH_LIMIT + 2];
    tc_auto_ruleset rules = parse_policy("{\"version\": 1, \"rules\": [{\"pattern\": \"/**\", \"operations\": \"all\", "
                                         "\"effect\": \"allow\"}]}");

    memset(path, 'a', sizeof(path));
    path[0] = '/';
    ck_assert_int_eq(tc_decide(rules, &random_view, TC_OP_LIST, path, TC_PATH_LIMIT, true).effect, TC_ALLOW);
    struct tc_decision decision = tc_decide(rules, &random_view, TC_OP_LIST, path, TC_PATH_LIMIT + 1, true);
    ck_assert_int_eq(decision.effect, TC_DENY);
    ck_assert_int_eq(decision.because, TC_BECAUSE_LENGTH);
    ck_assert_int_eq(tc_decide(rules, &random_view, TC_OP_READ, "", 0, false).effect, TC_DENY);
    ck_assert_int_eq(tc_decide(rules, &random_view, TC_OP_READ, "w/a", 3, false).effect, TC_DENY);
    ck_assert_int_eq(tc_decide(rules, &random_view, TC_OP_CONNECT, "/w/a", 4, false).effect, TC_DENY);
}
END_TEST

/* Data mounts inside one another, more than are supported. */
START_TEST(test_deep_mounts)
{
    enum { COUNT = TC_NESTED_LIMIT + 2 };
    static char names[COUNT][2 * COUNT + 1];
    struct tc_view_mount deep[COUNT];
    struct tc_view nested = {.mounts = deep};
    tc_auto_ruleset rules = parse_policy("{\"version\": 1, \"rules\": [{\"pattern\": \"**\", \"operations\": \"all\", "
                                         "\"effect\": \"allow\"}]}");

    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k <= i; k++)
            memcpy(names[i] + 2 * k, "/a", 2);
        deep[i] = (struct tc_view_mount){.target = names[i], .area = TC_AREA_DATA};
    }
    nested.count = TC_NESTED_LIMIT;
    ck_assert_int_eq(tc_decide(rules, &nested, TC_OP_READ, names[COUNT - 1], 2 * COUNT, false).effect, TC_ALLOW);
    nested.count = COUNT;
    ck_assert_int_eq(tc_decide(rules, &nested, TC_OP_READ, names[COUNT - 1], 2 * COUNT, false).effect, TC_DENY);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("properties", test_tighten, test_import, test_image, test_filter, test_names,
                               test_long_paths, test_deep_mounts, NULL));
}
