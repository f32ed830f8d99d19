/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathering, compiling and printing when memory runs out: every allocation is
 * wrapped by the linker, and each scenario is repeated with the first, the
 * second, ... one failing, until it passes without having met a failure.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit.h"
#include "world.h"

static long fail_after = -1; /* allocations that still succeed; negative: all */

static bool fails(void)
{
    return fail_after >= 0 && fail_after-- == 0;
}

void *__real_realloc(void *old, size_t size);
void *__real_tc_arena_alloc(struct tc_arena *arena, size_t size);
void *__real_tc_arena_array(struct tc_arena *arena, size_t count, size_t size);
char *__real_tc_arena_copy(struct tc_arena *arena, const void *bytes, size_t length);
char *__real_tc_arena_string(struct tc_arena *arena, const char *text);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_tc_arena_alloc(struct tc_arena *arena, size_t size);
void *__wrap_tc_arena_array(struct tc_arena *arena, size_t count, size_t size);
char *__wrap_tc_arena_copy(struct tc_arena *arena, const void *bytes, size_t length);
char *__wrap_tc_arena_string(struct tc_arena *arena, const char *text);
char *__wrap_tc_arena_printf(struct tc_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_tc_arena_alloc(struct tc_arena *arena, size_t size)
{
    return fails() ? NULL : __real_tc_arena_alloc(arena, size);
}

void *__wrap_tc_arena_array(struct tc_arena *arena, size_t count, size_t size)
{
    return fails() ? NULL : __real_tc_arena_array(arena, count, size);
}

char *__wrap_tc_arena_copy(struct tc_arena *arena, const void *bytes, size_t length)
{
    return fails() ? NULL : __real_tc_arena_copy(arena, bytes, length);
}

char *__wrap_tc_arena_string(struct tc_arena *arena, const char *text)
{
    return fails() ? NULL : __real_tc_arena_string(arena, text);
}

char *__wrap_tc_arena_printf(struct tc_arena *arena, const char *format, ...)
{
    char text[8192];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return fails() ? NULL : __real_tc_arena_string(arena, text);
}

static const char *const policies[] = {
    "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}",
    "{\"version\":1,\"rules\":[{\"pattern\":\"a/**\",\"operations\":[\"read\"],\"effect\":\"allow\"},"
    "{\"pattern\":\"b/**\",\"operations\":[\"read\"],\"effect\":\"allow\"},"
    "{\"pattern\":\"**\",\"operations\":[\"connect\"],\"effect\":\"allow\"}]}",
    "{\"version\":1,\"rules\":[{\"pattern\":\"**/.env\",\"operations\":[\"read\"],\"effect\":\"deny\"},"
    "{\"pattern\":\"/tmp/x/**\",\"operations\":[\"read\"],\"effect\":\"deny\"},"
    "{\"pattern\":\"/usr/bin/**\",\"operations\":[\"execute\"],\"effect\":\"ask\"},"
    "{\"pattern\":\"**\",\"operations\":[\"read\",\"write\"],\"effect\":\"allow\"}],"
    "\"commands\":[{\"argv\":[\"rm\",\"...\"],\"effect\":\"deny\"}]}",
};

/* One scenario over and over, until no allocation fails. */
static void repeat(int (*scenario)(struct world *world, const struct tc_ruleset *rules), const char *policy)
{
    struct tc_ruleset *rules = world_rules(policy);
    bool met = true;

    for (long n = 0; met; n++) {
        struct world world;
        int result;

        ck_assert_int_lt(n, 100000);
        world_init(&world);
        world_mount(&world, "/srv/data", "/data", TC_MODE_RO);
        world_tmpfs(&world, "/cache", 4096);
        fail_after = n;
        result = scenario(&world, rules);
        met = fail_after < 0;
        fail_after = -1;
        if (met)
            ck_assert_msg(result == -ENOMEM, "allocation %ld: %d", n, result);
        else
            ck_assert_int_eq(result, 0);
        world_free(&world);
    }
    tc_ruleset_free(rules);
}

static int compile(struct world *world, const struct tc_ruleset *rules)
{
    tc_auto_plan plan = NULL;

    return world_compile(world, rules, TC_COMPILE_SHOW, &plan, NULL);
}

static int compile_mediated(struct world *world, const struct tc_ruleset *rules)
{
    world->facts.mediation = true;
    return compile(world, rules);
}

static int print(struct world *world, const struct tc_ruleset *rules)
{
    long n = fail_after;
    tc_auto_plan plan = NULL;
    tc_auto_buf text = {0}, json = {0};

    fail_after = -1;
    ck_assert_int_eq(world_compile(world, rules, TC_COMPILE_SHOW, &plan, NULL), 0);
    fail_after = n;
    tc_plan_print_text(plan, &text);
    tc_plan_print_json(plan, &json);
    return tc_buf_failed(&text) || tc_buf_failed(&json) ? -ENOMEM : 0;
}

static int gather(struct world *world, const struct tc_ruleset *rules)
{
    tc_auto_facts facts = NULL;

    world->request.workspace.source = "/usr/share";
    world->request.mount_count = 0;
    return tc_facts_gather(rules, &world->request, NULL, &facts, NULL);
}

START_TEST(test_compile)
{
    repeat(compile, policies[_i]);
}
END_TEST

START_TEST(test_compile_mediated)
{
    repeat(compile_mediated, policies[_i]);
}
END_TEST

START_TEST(test_print)
{
    repeat(print, policies[_i]);
}
END_TEST

START_TEST(test_gather)
{
    repeat(gather, policies[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan memory");
    TCase *tests = tcase_create("plan memory");

    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, test_compile, 0, TC_COUNT(policies));
    tcase_add_loop_test(tests, test_compile_mediated, 0, TC_COUNT(policies));
    tcase_add_loop_test(tests, test_print, 0, TC_COUNT(policies));
    tcase_add_loop_test(tests, test_gather, 0, 2);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
