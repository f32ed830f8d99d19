/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "unit.h"

static bool match(const char *pattern, const char *text)
{
    return tc_glob_match(pattern, strlen(pattern), text, strlen(text));
}

static void check_vector(const struct tc_json *vector, struct tc_arena *arena)
{
    struct tc_json member;
    const char *pattern, *text;
    size_t pattern_length, text_length;
    bool expected;

    ck_assert(tc_json_member(vector, "pattern", &member));
    ck_assert_int_eq(tc_json_string(&member, arena, &pattern, &pattern_length, NULL), 0);
    ck_assert(tc_json_member(vector, "text", &member));
    ck_assert_int_eq(tc_json_string(&member, arena, &text, &text_length, NULL), 0);
    ck_assert(tc_json_member(vector, "match", &member));
    ck_assert_int_eq(tc_json_bool(&member, &expected, NULL), 0);
    ck_assert_msg(tc_glob_match(pattern, pattern_length, text, text_length) == expected, "'%s' on '%s'", pattern, text);
    if (expected) /* traits must never pass over a rule that matches */
        ck_assert_msg((tc_glob_traits(pattern, pattern_length) & ~tc_text_traits(text, text_length)) == 0,
                      "traits of '%s' on '%s'", pattern, text);
}

START_TEST(test_vectors)
{
    tc_auto_arena arena = tc_arena_new();
    FILE *file = fopen(getenv("GLOB_VECTORS"), "re");
    char line[4096];
    int count = 0;

    ck_assert_ptr_nonnull(file);
    for (; fgets(line, sizeof line, file) != NULL; count++) {
        tc_auto_json document = NULL;
        struct tc_json root;
        struct tc_error err = {0};

        ck_assert_msg(tc_json_parse(line, strlen(line), "vector", &document, &root, &err) == 0, "%s", err.message);
        check_vector(&root, arena);
    }
    fclose(file);
    ck_assert_int_gt(count, 100);
}
END_TEST

/* What JSON cannot say, or what only the finer points of the matcher show. */
START_TEST(test_cases)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } cases[] = {
        {"?", "\xff", true},
        {"?", "\xc3\xa9", true},
        {"??", "\xc3\xa9", false},
        {"??", "\xc3\xc3", true},
        {"*\xa9", "\xc3\xa9", false}, /* the second half of a character is not one */
        {"*\xa9", "x\xa9", true},
        {"\xc3*", "\xc3\xa9", false},
        {"\xc3*", "\xc3x", true},
        {"x\xc3**", "x\xc3\xa9", false},
        {"[\xff]", "\xff", true},
        {"[\xfe-\xff]", "\xff", true},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3", false},
        {"[!\xc3\xa0]", "\xc3", true},
        {"[z-a]", "m", false},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[a-c-e]", "d", false},
        {"[a-c-e]", "-", true},
        {"[]-a]", "^", true},
        {"[\\]", "\\", true},
        {"[\\n]", "n", true},
        {"[!", "[!", true},
        {"[!]", "[!]", true},
        {"[]", "[]", true},
        {"[a/b]", "/", false},
        {"[.-0]", "/", false},
        {"a\\", "a\\", true},
        {"\\\\", "\\", true},
        {"\\a", "a", true},
        {"\\\xc3\xa9", "\xc3\xa9", true},
        {"\\*/a", "*/a", true},
        {"***/b", "b", false},
        {"***/b", "x/b", true},
        {"****/b", "ab", true},
        {"a\\**/b", "a*b", false},
        {"a\\**/b", "a*x/b", true},
        {"*a**/b", "xacab", true},
        {"*a**/b", "xa/cb", false},
        {"?**/b", "ab", true},
        {"**?**/b", "x/ab", true},
        {"**a*b", "a/ab", true},
        {"**a*b/c*d", "aab/aab/cxd", true},
        {"**\\/x*y", "a/b/xzy", true},
        {"*/*", "a/b/c", false},
        {"*", "/", false},
        {"", "", true},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++)
        ck_assert_msg(match(cases[i].pattern, cases[i].text) == cases[i].match, "'%s' on '%s'", cases[i].pattern,
                      cases[i].text);
    ck_assert(tc_glob_match("a?c", 3, "a\0c", 3));
    ck_assert(tc_glob_match("a\0*", 3, "a\0bc", 4));
    ck_assert(!tc_glob_match("a\0c", 3, "a", 1));
}
END_TEST

/* Patterns made to explode must not: each of these takes milliseconds, and hours when backtracking is not bounded. */
START_TEST(test_hostile)
{
    static const char *const pieces[] = {"*a", "**a", "**/a", "*a**/", "**a*b", "**/*a*/", "[", "[!b]*", "**/", "?**"};
    static const char *const texts[] = {"a", "a/", "ab", "[", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"};
    uint64_t begin = tc_clock_ms();

    for (size_t i = 0; i < TC_COUNT(pieces) * TC_COUNT(texts); i++) {
        const char *piece = pieces[i / TC_COUNT(texts)], *part = texts[i % TC_COUNT(texts)];
        char pattern[300] = "", text[4000] = "";
        size_t p = 0, t = 0;

        while (p + strlen(piece) + 2 < sizeof pattern)
            p += (size_t)snprintf(pattern + p, sizeof pattern - p, "%s", piece);
        snprintf(pattern + p, sizeof pattern - p, "?");
        while (t + strlen(part) + 3 < sizeof text)
            t += (size_t)snprintf(text + t, sizeof text - t, "%s", part);
        snprintf(text + t, sizeof text - t, "b/");
        ck_assert(!match(pattern, text));
    }
    ck_assert_uint_lt(tc_clock_ms() - begin, 20000);
}
END_TEST

START_TEST(test_limit)
{
    static char pattern[TC_GLOB_MAX + 2];

    memset(pattern, 'a', TC_GLOB_MAX + 1);
    ck_assert(tc_glob_match(pattern, TC_GLOB_MAX, pattern, TC_GLOB_MAX));
    ck_assert(!tc_glob_match(pattern, TC_GLOB_MAX + 1, pattern, TC_GLOB_MAX + 1));
    for (size_t i = 0; i < 5; i++) /* the longest that is followed by all places at once */
        pattern[i] = "*a**/"[i];
    ck_assert(tc_glob_match(pattern, TC_GLOB_MAX, pattern, TC_GLOB_MAX));
    pattern[TC_GLOB_MAX - 1] = '*';
    ck_assert(tc_glob_match(pattern, TC_GLOB_MAX, pattern, TC_GLOB_MAX));
}
END_TEST

START_TEST(test_classify)
{
    static const struct {
        const char *pattern, *literal;
        enum tc_glob_shape shape;
    } cases[] = {
        {"", "", TC_GLOB_LITERAL},
        {"a/b", "a/b", TC_GLOB_LITERAL},
        {"a\\*b", "a*b", TC_GLOB_LITERAL},
        {"a[", "a[", TC_GLOB_LITERAL},
        {"{a}\\", "{a}\\", TC_GLOB_LITERAL},
        {"\xff\xc3\xa9", "\xff\xc3\xa9", TC_GLOB_LITERAL},
        {"**", "", TC_GLOB_ALL},
        {"/**", "", TC_GLOB_SUBTREE},
        {"/etc/**", "/etc", TC_GLOB_SUBTREE},
        {"a\\[b\\/**", "a[b", TC_GLOB_SUBTREE},
        {"a**", "a", TC_GLOB_OTHER},
        {"a/***", "a/", TC_GLOB_OTHER},
        {"a/**/", "a/", TC_GLOB_OTHER},
        {"a/*", "a/", TC_GLOB_OTHER},
        {"**/a", "", TC_GLOB_OTHER},
        {"ab?", "ab", TC_GLOB_OTHER},
        {"ab[c]", "ab", TC_GLOB_OTHER},
        {"a/*/**", "a/", TC_GLOB_OTHER},
        {"\xda\\\xa5", "\xda", TC_GLOB_OTHER}, /* two halves that the backslash keeps apart are no path */
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        char literal[32];
        size_t length = strlen(cases[i].pattern), literal_length = 99;

        ck_assert_int_eq(tc_glob_classify(cases[i].pattern, length, literal, &literal_length), cases[i].shape);
        ck_assert_str_eq(literal, cases[i].literal);
        ck_assert_uint_eq(literal_length, strlen(literal));
        ck_assert_int_eq(tc_glob_classify(cases[i].pattern, length, NULL, NULL), cases[i].shape);
    }
}
END_TEST

START_TEST(test_warning)
{
    static const char *const doubtful[] = {"{a,b}", "a{b", "a[", "[!]", "!a", "a\\"};
    static const char *const fine[] = {"", "**/*.[ch]", "a\\{b", "[{]", "a\\[", "a!", "\\!a", "a\\\\"};

    for (size_t i = 0; i < TC_COUNT(doubtful); i++)
        ck_assert_ptr_nonnull(tc_glob_warning(doubtful[i], strlen(doubtful[i])));
    for (size_t i = 0; i < TC_COUNT(fine); i++)
        ck_assert_pstr_eq(tc_glob_warning(fine[i], strlen(fine[i])), NULL);
}
END_TEST

/* Kinds of bytes that paths are made of are told apart. */
START_TEST(test_traits)
{
    static const char apart[] = "abcdefghijklmnopqrstuvwxyz0123456789._-/ ";

    for (size_t i = 0; i < sizeof apart - 1; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(tc_text_traits(apart + i, 1), tc_text_traits(apart + j, 1));
    ck_assert_uint_eq(tc_glob_traits("**/?[abc]*", 10), 0);
    ck_assert_uint_eq(tc_glob_traits("**/a\\*", 6), tc_text_traits("a*", 2));
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("glob", test_vectors, test_cases, test_hostile, test_limit, test_classify, test_warning,
                               test_traits, NULL));
}
