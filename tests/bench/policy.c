/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What rulesets and decisions cost. Prints one JSON object a line: name,
 * value, unit, and the limit that the value is to stay under. Values are
 * medians of repeated runs, in processor time.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "policy/cache.h"
#include "policy/decide.h"
#include "policy/encode.h"
#include "policy/load.h"

#define ROUNDS 21

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* so that neighbours on a busy machine do not count */
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static void report(const char *name, double values[ROUNDS], const char *unit, double limit)
{
    qsort(values, ROUNDS, sizeof(values[0]), compare);
    printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", \"limit\": %g}\n", name, values[ROUNDS / 2], unit,
           limit);
}

/* A policy of so many rules of every shape, with priorities and reasons, closed by rules for everything. */
static void write_policy(struct tc_buf *out, unsigned count)
{
    static const char *const shapes[] = {
        "**/name%u.key", "src/module%u/**", "**/*secret%u*",      "docs/%u/[a-m]*.md", "**/.config%u",
        "*.ext%u",       "**/d%u/**",       "/workspace/d%u/*.c", "**/[a-z]%u*",       "lib/**/test_%u_?.py"};
    static const char *const operations[] = {"\"read\"", "\"write\"", "\"read\", \"write\"", "\"list\"", "\"execute\""};
    static const char *const effects[] = {"deny", "ask", "allow"};

    tc_buf_string(out, "{\"version\": 1, \"rules\": [\n");
    for (unsigned i = 0; i + 2 < count; i++) {
        tc_buf_string(out, "{\"pattern\": \"");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        tc_buf_printf(out, shapes[i % TC_COUNT(shapes)], i);
#pragma GCC diagnostic pop
        tc_buf_printf(out,
                      "\", \"operations\": [%s], \"effect\": \"%s\", \"priority\": %u, \"reason\": \"reason %u\"},\n",
                      operations[i % TC_COUNT(operations)], effects[i % TC_COUNT(effects)], i * 7919 % 200, i % 10);
    }
    tc_buf_string(out,
                  "{\"pattern\": \"**\", \"operations\": [\"read\", \"write\", \"execute\"], \"effect\": \"allow\"},\n"
                  "{\"pattern\": \"**\", \"operations\": [\"connect\"], \"effect\": \"deny\"}\n]}\n");
}

static struct tc_ruleset *parse(const struct tc_buf *text)
{
    struct tc_ruleset *rules = NULL;
    struct tc_error err = {0};

    if (tc_policy_parse(text->data, text->length, "bench.json", TC_NO_FD, &rules, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(EXIT_FAILURE);
    }
    return rules;
}

static void bench_load(const char *name, const struct tc_buf *text, double limit_ms)
{
    double values[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_us();
        struct tc_ruleset *rules = parse(text);
        tc_auto_buf image = {0};
        tc_ruleset_encode(rules, &image);
        values[i] = (now_us() - begin) / 1e3;
        tc_ruleset_free(rules);
    }
    report(name, values, "ms", limit_ms);
}

static void bench_cache(const char *name, const struct tc_buf *text, double limit_ms)
{
    tc_auto_buf entry = {0};
    struct tc_ruleset *rules = NULL;
    double values[ROUNDS];

    tc_policy_cache_make(text->data, text->length, "bench.json", TC_NO_FD, &rules, &entry, NULL);
    tc_ruleset_free(rules);
    for (int i = 0; i < ROUNDS; i++) {
        char key[TC_SHA256_HEX];
        double begin = now_us();
        tc_policy_cache_key("bench.json", text->data, text->length, key);
        if (tc_policy_cache_use(key, entry.data, entry.length, TC_NO_FD, &rules, NULL) < 0)
            exit(EXIT_FAILURE);
        values[i] = (now_us() - begin) / 1e3;
        tc_ruleset_free(rules);
    }
    report(name, values, "ms", limit_ms);
}

/* Make the compiler believe that a decision is used. */
static void keep(struct tc_decision decision)
{
    __asm__ volatile("" : : "r"(&decision) : "memory");
}

/* Paths that most rules come near to, and that only the last rule decides. */
static const char *const paths[] = {
    "/workspace/src/module/file.c",
    "/workspace/src/module4711x/deep/below/name17.keys",
    "/workspace/docs/42/zebra.md",
    "/workspace/lib/a/b/c/test_1234_ab.py",
    "/workspace/d815/sub/main.c",
    "/workspace/a/rather/long/path/with/many/parts/as/they/are/found/in/node_modules/of/some/package/index.json",
    "/workspace/.config",
    "/workspace/x",
    "/workspace/d0123456789/src/x9876543210.c",
};

static void bench_decide(const char *name, const struct tc_ruleset *rules, const struct tc_view *view, double limit_us)
{
    enum { REPEAT = 200 };
    double values[ROUNDS], worst[ROUNDS] = {0};

    for (int i = 0; i < ROUNDS; i++) {
        double total = 0;
        unsigned count = 0;
        for (size_t p = 0; p < TC_COUNT(paths); p++) {
            size_t length = strlen(paths[p]);
            for (enum tc_operation operation = TC_OP_READ; operation < TC_OP_CONNECT; operation++) {
                double begin = now_us();
                for (int k = 0; k < REPEAT; k++)
                    keep(tc_decide(rules, view, operation, paths[p], length, true));
                double each = (now_us() - begin) / REPEAT;
                total += each;
                count++;
                worst[i] = each > worst[i] ? each : worst[i];
            }
        }
        values[i] = total / count;
    }
    report(name, values, "us", limit_us);

    char label[128];
    snprintf(label, sizeof(label), "%s, dearest", name);
    report(label, worst, "us", limit_us);
}

static void bench_preset(const char *name, double limit_us)
{
    double values[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        struct tc_ruleset *rules = NULL;
        double begin = now_us();
        if (tc_policy_preset("workspace", &rules, NULL) < 0)
            exit(EXIT_FAILURE);
        values[i] = now_us() - begin;
        tc_ruleset_free(rules);
    }
    report(name, values, "us", limit_us);
}

int main(void)
{
    static const struct tc_view_mount mounts[] = {
        {"/workspace", TC_AREA_DATA, false},  {"/data", TC_AREA_DATA, false},          {"/tmp", TC_AREA_SCRATCH, false},
        {"/dev/shm", TC_AREA_SCRATCH, false}, {"/home/agent", TC_AREA_SCRATCH, false}, {"/proc", TC_AREA_SYSTEM, false},
        {"/dev", TC_AREA_SYSTEM, false},      {"/usr", TC_AREA_ROOTFS, true},
    };
    const struct tc_view view = {.mounts = mounts, .count = TC_COUNT(mounts)};
    tc_auto_buf large = {0};
    tc_auto_buf small = {0};

    write_policy(&large, 5000);
    write_policy(&small, 50);
    tc_auto_ruleset many = parse(&large);
    tc_auto_ruleset few = parse(&small);

    bench_load("load and compile 5,000 rules", &large, 25);
    bench_cache("5,000 rules from the cache", &large, 25);
    bench_preset("load a preset", 200);
    bench_decide("decision among 5,000 rules", many, &view, 100);
    bench_decide("decision among 50 rules", few, &view, 3);
    return EXIT_SUCCESS;
}
