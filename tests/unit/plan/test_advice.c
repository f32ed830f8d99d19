/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What policy check says of a host: rules that lead through links, sources that are one.
 */
#include <string.h>

#include "plan/advice.h"
#include "unit.h"
#include "world.h"

static struct world world;

static void set_up(void)
{
    world_init(&world);
}

static void tear_down(void)
{
    world_free(&world);
}

/* All warnings, one a line. */
static const char *advise(const char *rules, const struct tc_seen_link *links, size_t count)
{
    const struct tc_seen_links seen = {.items = links, .count = count};
    struct tc_warnings warnings = {0};
    tc_auto_ruleset ruleset = world_rules(rules);
    const char *text = "";
    struct tc_error err = {0};

    ck_assert_int_eq(tc_advise(world.arena, ruleset, &world.request, &world.facts, &seen, &warnings, &err), 0);
    for (size_t i = 0; i < warnings.count; i++)
        text = tc_arena_printf(world.arena, "%s%s\n", text, warnings.text[i]);
    return text;
}

static const char *one_rule(const char *pattern, const char *operations)
{
    return tc_arena_printf(
        world.arena, "{\"version\":1,\"rules\":[{\"pattern\":\"%s\",\"operations\":[\"%s\"],\"effect\":\"deny\"}]}",
        pattern, operations);
}

START_TEST(test_links)
{
    static const struct tc_seen_link links[] = {{"/workspace/a/link", "../real"}};
    static const struct {
        const char *pattern;
        bool warned;
    } cases[] = {
        {"a/link/x", true},
        {"a/link/**", true},
        {"a/link/*.c", true},
        {"/workspace/a/link/x", true},
        {"/workspace/a/link/**", true},
        {"a\\\\/link/x", true},
        {"a/link", false}, /* the link itself has that name */
        {"/workspace/a/link", false},
        {"a/linked/x", false},
        {"a/link*", false},
        {"a/li**", false},
        {"**/link/x", false}, /* may match elsewhere */
        {"link/x", false},
        {"/a/link/x", false},
        {"real/x", false},
        {"**", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = advise(one_rule(cases[i].pattern, "read"), links, 1);

        ck_assert_msg((*text != '\0') == cases[i].warned, "%s: %s", cases[i].pattern, text);
        ck_assert(!cases[i].warned || (strstr(text, "'/workspace/a/link'") && strstr(text, "'../real'") &&
                                       strstr(text, "/rules/0: leads through")));
    }
}
END_TEST

START_TEST(test_links_of_the_system)
{
    ck_assert_ptr_nonnull(strstr(advise(one_rule("/bin/**", "read"), NULL, 0), "'/bin', a symbolic link to 'usr/bin'"));
    /* The name of a program is judged as given as well. */
    ck_assert_str_eq(advise(one_rule("/bin/**", "execute"), NULL, 0), "");
    ck_assert_str_eq(advise(one_rule("/usr/bin/**", "read"), NULL, 0), "");
}
END_TEST

START_TEST(test_aliases)
{
    struct tc_fact_path *sources = world.sources;
    const char *none = one_rule("**", "read");

    world_mount(&world, "/srv/data", "/data", TC_MODE_RO);
    ck_assert_str_eq(advise(none, NULL, 0), "");
    world_mount(&world, "/home/user/project/sub", "/sub", TC_MODE_RO);
    ck_assert_ptr_nonnull(strstr(advise(none, NULL, 0), "(/sub) and '/home/user/project' (/workspace) overlap"));
    sources[1] = world_path(&world, "/srv/data/in/it", TC_FILE_DIRECTORY);
    ck_assert_ptr_nonnull(strstr(advise(none, NULL, 0), "'/srv/data' (/data) and '/srv/data/in/it' (/sub) overlap"));
    sources[1] = world_path(&world, "/srv/database", TC_FILE_DIRECTORY);
    ck_assert_str_eq(advise(none, NULL, 0), "");
    sources[1] = world_path(&world, "/elsewhere", TC_FILE_DIRECTORY); /* a bind mount of it */
    sources[1].device = sources[0].device;
    sources[1].inode = sources[0].inode;
    ck_assert_ptr_nonnull(strstr(advise(none, NULL, 0), "are the same directory"));
    sources[0].kind = sources[1].kind = TC_FILE_REGULAR; /* a hard link of it */
    ck_assert_ptr_nonnull(strstr(advise(none, NULL, 0), "are the same file"));
}
END_TEST

START_TEST(test_what_was_said_before_stays)
{
    static const char *const said[] = {"one", "two"};
    const struct tc_seen_links seen = {0};
    struct tc_warnings warnings = {.text = said, .count = 2};

    ck_assert_int_eq(tc_advise(world.arena, world_keep(&world, one_rule("/bin/**", "read")), &world.request,
                               &world.facts, &seen, &warnings, NULL),
                     0);
    ck_assert_uint_eq(warnings.count, 3);
    ck_assert_str_eq(warnings.text[1], "two");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan advice");
    TCase *tests = tcase_create("advice");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, test_links);
    tcase_add_test(tests, test_links_of_the_system);
    tcase_add_test(tests, test_aliases);
    tcase_add_test(tests, test_what_was_said_before_stays);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
