/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Running out of memory: malloc() and its like are wrapped by the linker, and
 * each scenario is repeated with the first, the second, ... allocation failing
 * until one passes. Every failure is an error code, and nothing is leaked
 * (valgrind and ASan tell).
 */

#include <errno.h>
#include <stdio.h>

#include "fixture.h"
#include "policy/cache.h"
#include "policy/check.h"
#include "policy/decide.h"
#include "policy/encode.h"
#include "policy/explain.h"

static long fail_after = -1; /* allocations that still succeed; negative: all */

static bool allocation_fails(void)
{
    return fail_after >= 0 && fail_after-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return allocation_fails() ? NULL : __real_strndup(text, size);
}

/* Run a scenario, which returns 0 or -ENOMEM, with every single allocation failing. */
static void exhaust(int (*scenario)(void))
{
    for (long count = 0;; count++) {
        fail_after = count;
        int r = scenario();
        bool met = fail_after < 0;
        fail_after = -1;
        ck_assert_msg(r == (met ? -ENOMEM : 0), "allocation %ld: %d", count, r);
        if (!met)
            return;
    }
}

static struct tc_ruleset *loaded; /* what a scenario works on; made before allocations fail */

static int parse_scenario(void)
{
    static char text[16384];
    tc_auto_ruleset rules = NULL;
    struct tc_error err = {0};

    if (text[0] == '\0') {
        strcpy(text,
               "{\"version\": 1, \"extends\": [\"workspace\"], \"limits\": {\"wall\": 1}, \"environment\": {\"pass\": "
               "[\"A\"], \"set\": {\"B\": \"\"}}, \"approval\": {\"timeout\": 5}, \"commands\": [{\"argv\": [\"a\"], "
               "\"effect\": \"ask\"}], \"rules\": [");
        for (size_t i = 0; i < 100; i++)
            snprintf(
                text + strlen(text), sizeof(text) - strlen(text),
                "%s{\"pattern\": \"*.example%zu:1\", \"operations\": [\"connect\"], \"effect\": \"ask\", \"priority\": "
                "%zu, \"reason\": \"r\"}",
                i == 0 ? "" : ",", i, i % 7);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "]}");
    }
    return tc_policy_parse(text, strlen(text), "policy.json", TC_NO_FD, &rules, &err);
}

static int import_scenario(void)
{
    static const char text[] =
        "{\"ls\": {\"rules\": [{\"pattern\": \"a\", \"action\": \"ask\", \"description\": \"d\"}]}, \"execute\": "
        "{\"default\": \"deny\", \"rules\": [{\"pattern\": \"a *\", \"action\": \"allow\"}]}}";
    tc_auto_ruleset rules = NULL;

    return tc_policy_parse(text, sizeof(text) - 1, "policy.json", TC_NO_FD, &rules, NULL);
}

static int image_scenario(void)
{
    tc_auto_ruleset rules = NULL;
    tc_auto_buf image = {0};

    tc_ruleset_encode(loaded, &image);
    if (tc_buf_failed(&image))
        return -ENOMEM;
    return tc_ruleset_decode(image.data, image.length, false, &rules, NULL);
}

static int cache_scenario(void)
{
    static const char text[] = "{\"version\": 1, \"extends\": \"git\"}";
    tc_auto_ruleset rules = NULL;
    tc_auto_ruleset cached = NULL;
    tc_auto_buf entry = {0};
    char key[TC_SHA256_HEX];
    int r = tc_policy_cache_make(text, sizeof(text) - 1, "policy.json", TC_NO_FD, &rules, &entry, NULL);

    if (r < 0)
        return r;
    tc_policy_cache_key("policy.json", text, sizeof(text) - 1, key);
    return tc_buf_failed(&entry) ? -ENOMEM
                                 : tc_policy_cache_use(key, entry.data, entry.length, TC_NO_FD, &cached, NULL);
}

static int words_scenario(void)
{
    static const struct tc_view view = {0};
    tc_auto_arena arena = tc_arena_new();
    tc_auto_buf out = {0};
    struct tc_warnings warnings;
    struct tc_question question = {.operation = TC_OP_CONNECT};

    if (arena == NULL || tc_policy_check(loaded, arena, &warnings) < 0 ||
        tc_question_target("a.b:1", arena, &question, NULL) < 0)
        return -ENOMEM;
    tc_explain_text(loaded, &view, &question, &out);
    question = (struct tc_question){.operation = TC_OP_READ, .path = "/a"};
    tc_explain_json(loaded, &view, &question, &out);
    tc_ruleset_show(loaded, &out);
    return tc_buf_failed(&out) ? -ENOMEM : 0;
}

static int tighten_scenario(void)
{
    static const char text[] = "{\"version\": 1, \"rules\": [{\"pattern\": \"a\", \"operations\": \"all\", \"effect\": "
                               "\"deny\"}], \"environment\": {\"pass\": []}}";
    tc_auto_ruleset rules = NULL;
    int r = tc_policy_preset("git", &rules, NULL);

    return r < 0 ? r : tc_policy_tighten(rules, text, sizeof(text) - 1, "project", NULL);
}

/* A command line that cannot be put together is not one that is allowed. */
static int call_scenario(void)
{
    static const struct tc_view view = {0};
    static const char *const argv[] = {"git", "status", NULL};

    return tc_decide_call(loaded, &view, "/git", "/git", argv).effect == TC_DENY ? -ENOMEM : 0;
}

START_TEST(test_exhaust)
{
    struct tc_ruleset *first = parse_policy("{\"version\": 1, \"extends\": \"git\", \"rules\": [{\"pattern\": \"a{\", "
                                            "\"operations\": [\"read\"], \"effect\": \"ask\"}]}");

    loaded = first;
    exhaust(parse_scenario);
    exhaust(import_scenario);
    exhaust(image_scenario);
    exhaust(cache_scenario);
    exhaust(words_scenario);
    exhaust(tighten_scenario);
    loaded = parse_policy("{\"execute\": {\"default\": \"ask\", \"rules\": [{\"pattern\": \"git *\", \"action\": "
                          "\"allow\"}]}}");
    exhaust(call_scenario);
    tc_ruleset_free(loaded);
    tc_ruleset_free(first);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("memory", test_exhaust, NULL));
}
