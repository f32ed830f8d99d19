/* SPDX-License-Identifier: Apache-2.0 */

/* What check, explain and show say. */

#include <errno.h>
#include <stdio.h>

#include "fixture.h"
#include "policy/check.h"
#include "policy/explain.h"

static const struct tc_view_mount mounts[] = {{"/workspace", TC_AREA_DATA, false},
                                              {"/data", TC_AREA_DATA, true},
                                              {"/tmp", TC_AREA_SCRATCH, false},
                                              {"/proc", TC_AREA_SYSTEM, false}};
static const struct tc_view view = {.mounts = mounts, .count = TC_COUNT(mounts)};

/* ---- check ---- */

/* A policy of these rules or sections, and what check says about it but that calls are refused. */
static void check_warnings(const char *text, const char *const *expected)
{
    tc_auto_ruleset rules = parse_policy(text);
    tc_auto_arena arena = tc_arena_new();
    struct tc_warnings warnings;
    size_t count = 0;

    ck_assert_int_eq(tc_policy_check(rules, arena, &warnings), 0);
    for (size_t i = 0; i < warnings.count; i++) {
        if (strstr(warnings.text[i], "no rule allows execute") != NULL)
            continue;
        ck_assert_msg(expected[count] != NULL, "unexpected: %s", warnings.text[i]);
        ck_assert_str_eq(warnings.text[i], expected[count]);
        count++;
    }
    ck_assert_msg(expected[count] == NULL, "missing: %s", expected[count]);
}

#define RULE(pattern, operations, effect)                                                                              \
    "{\"pattern\": \"" pattern "\", \"operations\": [" operations "], \"effect\": \"" effect "\"}"
#define POLICY(...) "{\"version\": 1, \"rules\": [" __VA_ARGS__ "]}"
#define WARNS(text, ...) check_warnings(text, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

START_TEST(test_unreached)
{
    WARNS(POLICY(RULE("**", "\"read\"", "allow") "," RULE("a", "\"read\"", "deny")),
          "policy.json: /rules/1: never reached: '**' at /rules/0 (policy.json) decides before it");
    WARNS(POLICY(RULE("**", "\"read\"", "allow") "," RULE("a", "\"write\"", "deny")));
    WARNS(POLICY(RULE("**", "\"read\"", "allow") "," RULE("a", "\"read\", \"write\"", "deny")));
    WARNS(POLICY(RULE("**", "\"read\"", "allow") "," RULE("**", "\"write\"",
                                                          "allow") "," RULE("a", "\"read\", \"write\"", "deny")),
          "policy.json: /rules/2: never reached: '**' at /rules/1 (policy.json) decides before it");
    WARNS(POLICY(RULE("**", "\"read\"", "allow") "," RULE("/workspace/a", "\"read\"", "deny")));
    WARNS(POLICY(RULE("/**", "\"read\"", "allow") "," RULE("/workspace/a", "\"read\"", "deny") "," RULE("a", "\"read\"",
                                                                                                        "deny")),
          "policy.json: /rules/1: never reached: '/**' at /rules/0 (policy.json) decides before it",
          "policy.json: /rules/2: never reached: '/**' at /rules/0 (policy.json) decides before it");
    WARNS(POLICY(RULE("d/**", "\"read\"", "allow") "," RULE("d/e/*.c", "\"read\"", "deny") "," RULE(
              "d/*", "\"read\"", "deny") "," RULE("d", "\"read\"", "deny") "," RULE("dx/a", "\"read\"", "deny")),
          "policy.json: /rules/1: never reached: 'd/**' at /rules/0 (policy.json) decides before it",
          "policy.json: /rules/2: never reached: 'd/**' at /rules/0 (policy.json) decides before it");
    WARNS(POLICY(RULE("d/**", "\"read\"", "allow") "," RULE("d/e/**", "\"read\"", "deny") "," RULE(
              "d/**", "\"list\"", "deny") "," RULE("/d/a", "\"read\"", "deny")),
          "policy.json: /rules/1: never reached: 'd/**' at /rules/0 (policy.json) decides before it",
          "policy.json: /rules/2: never reached: 'd/**' at /rules/0 (policy.json) decides before it");
    WARNS(POLICY(RULE("**", "\"connect\"", "deny") "," RULE("a:1", "\"connect\"", "allow")),
          "policy.json: /rules/1: never reached: '**' at /rules/0 (policy.json) decides before it");
    WARNS("{\"version\": 1, \"extends\": \"readonly\", \"rules\": [{\"pattern\": \"a\", \"operations\": [\"read\"], "
          "\"effect\": \"deny\", \"priority\": -1}]}",
          "policy.json: /rules/0: never reached: '**' at /rules/18 (readonly) decides before it",
          "readonly: /rules/19: refuses every call: it denies execute for every program");
}
END_TEST

START_TEST(test_suspicious)
{
    WARNS(POLICY(RULE("*.{c,h}", "\"read\"", "allow")),
          "policy.json: /rules/0: '{' is an ordinary character, alternatives need a rule each");
    WARNS(POLICY(RULE("./a", "\"read\"", "allow") "," RULE("a/../b", "\"read\"", "allow") "," RULE("a//b", "\"read\"",
                                                                                                   "allow")),
          "policy.json: /rules/0: never matches: paths are judged without '.', '..' and '//'",
          "policy.json: /rules/1: never matches: paths are judged without '.', '..' and '//'",
          "policy.json: /rules/2: never matches: paths are judged without '.', '..' and '//'");
    WARNS(POLICY(RULE("dir/", "\"read\"", "allow")),
          "policy.json: /rules/0: matches the listing of that directory only; '/**' at the end means what is in it");
    WARNS(POLICY(RULE("10.0.*:443", "\"connect\"", "allow") "," RULE("10.0.0.1/8:1", "\"connect\"", "allow")),
          "policy.json: /rules/0: a glob of digits matches names only, never an address; a block is 10.0.0.0/8",
          "policy.json: /rules/1: bits beyond the length of the prefix are ignored");
    WARNS("{\"version\": 1, \"commands\": [{\"argv\": [\"git\", \"{a}\"], \"effect\": \"ask\"}]}",
          "policy.json: /commands/0: '{' is an ordinary character, alternatives need a rule each",
          "policy.json: 1 command rules are advisory: they look at arguments, what a program does is not theirs");
}
END_TEST

START_TEST(test_calls)
{
    tc_auto_arena arena = tc_arena_new();
    tc_auto_ruleset none = parse_policy("{\"version\": 1}");
    struct tc_warnings warnings;

    ck_assert_int_eq(tc_policy_check(none, arena, &warnings), 0);
    ck_assert_uint_eq(warnings.count, 1);
    ck_assert_str_eq(warnings.text[0], "policy.json: refuses every call: no rule allows execute");
    WARNS(POLICY(RULE("**", "\"execute\"", "deny")),
          "policy.json: /rules/0: refuses every call: it denies execute for every program");
    WARNS(POLICY(RULE("/usr/**", "\"execute\"", "ask") "," RULE("**", "\"execute\"", "deny")),
          "policy.json: /rules/1: refuses every call whose program no earlier rule for execute names");
    WARNS(POLICY(RULE("**", "\"execute\"", "ask")));
    WARNS(POLICY(RULE("bin/*.sh", "\"execute\"", "deny") "," RULE("**", "\"execute\"", "allow")),
          "policy.json: /rules/0: advisory for what the command starts in turn: names are looked at only");
    WARNS(POLICY(RULE("bin/*.sh", "\"execute\"", "allow") "," RULE("**", "\"execute\"", "allow")));
}
END_TEST

START_TEST(test_project_check)
{
    tc_auto_ruleset rules = parse_policy(POLICY(RULE("**", "\"execute\"", "allow")));
    tc_auto_arena arena = tc_arena_new();
    struct tc_warnings warnings;

    tighten_policy(rules, POLICY(RULE("a[", "\"read\"", "deny")));
    ck_assert_int_eq(tc_policy_check(rules, arena, &warnings), 0);
    ck_assert_uint_eq(warnings.count, 1);
    ck_assert_str_eq(warnings.text[0], ".toolcell.json: /rules/0: '[' is never closed and stands for itself");
}
END_TEST

/* Every preset is free of warnings but the ones that are meant. */
START_TEST(test_presets_check)
{
    for (const char *const *name = tc_policy_preset_names(); *name != NULL; name++) {
        tc_auto_ruleset rules = NULL;
        tc_auto_arena arena = tc_arena_new();
        struct tc_warnings warnings;

        ck_assert_int_eq(tc_policy_preset(*name, &rules, NULL), 0);
        ck_assert_int_eq(tc_policy_check(rules, arena, &warnings), 0);
        ck_assert_uint_eq(warnings.count, 1);
        ck_assert_ptr_nonnull(
            strstr(warnings.text[0], strcmp(*name, "readonly") == 0 ? "refuses every call" : "advisory"));
    }
}
END_TEST

/* ---- project: what is refused there ---- */

START_TEST(test_project_refusals)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"version\": 1, \"extends\": \"git\"}",
         ".toolcell.json: /extends: not allowed in a project's policy, which can only tighten"},
        {"{\"version\": 1, \"environment\": {\"set\": {}}}",
         ".toolcell.json: /environment/set: not allowed in a project's policy, which can only tighten"},
        {"{\"version\": 1, \"approval\": {}}",
         ".toolcell.json: /approval: not allowed in a project's policy, which can only tighten"},
        {"{\"version\": 1, \"mounts\": []}", ".toolcell.json: /mounts: unknown key"},
        {"{", ".toolcell.json: line 1, column 2: expected a key in double quotes, but the text ends"},
    };
    tc_auto_ruleset rules = parse_policy("{\"version\": 1}");

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_error err = {0};
        ck_assert_int_lt(tc_policy_tighten(rules, cases[i].text, strlen(cases[i].text), ".toolcell.json", &err), 0);
        ck_assert_str_eq(err.message, cases[i].message);
        ck_assert_ptr_null(rules->project);
    }
}
END_TEST

START_TEST(test_project_settings)
{
    tc_auto_ruleset rules = parse_policy("{\"version\": 1, \"limits\": {\"wall\": \"9s\", \"pids\": 5, \"memory\": 7}, "
                                         "\"environment\": {\"pass\": [\"A\", \"B\"]}}");

    tighten_policy(rules, "{\"version\": 1, \"limits\": {\"wall\": \"3s\", \"pids\": 9, \"disk\": 4}, "
                          "\"environment\": {\"pass\": [\"B\", \"C\"]}}");
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_WALL], 3000);
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_PIDS], 5);
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_MEMORY], 7);
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_DISK], 4);
    ck_assert_uint_eq(rules->limits.set,
                      1 << TC_LIMIT_WALL | 1 << TC_LIMIT_PIDS | 1 << TC_LIMIT_MEMORY | 1 << TC_LIMIT_DISK);
    ck_assert_uint_eq(rules->pass_count, 1);
    ck_assert_str_eq(rules->pass[0], "B");
    ck_assert_int_eq(tc_policy_tighten(rules, "{\"version\": 1}", 14, "x", NULL), -EEXIST);

    tc_auto_ruleset silent = parse_policy("{\"version\": 1, \"environment\": {\"pass\": [\"A\"]}}");
    tighten_policy(silent, "{\"version\": 1}");
    ck_assert_uint_eq(silent->pass_count, 1);
    tc_auto_ruleset empty = parse_policy("{\"version\": 1, \"environment\": {\"pass\": [\"A\"]}}");
    tighten_policy(empty, "{\"version\": 1, \"environment\": {\"pass\": []}}");
    ck_assert_uint_eq(empty->pass_count, 0);
}
END_TEST

/* ---- explain ---- */

static void check_text(const struct tc_ruleset *rules, const struct tc_question *question, const char *expected)
{
    tc_auto_buf out = {0};

    tc_explain_text(rules, &view, question, &out);
    ck_assert_str_eq(out.data, expected);
}

START_TEST(test_explain_text)
{
    tc_auto_ruleset rules = NULL;

    ck_assert_int_eq(tc_policy_preset("workspace", &rules, NULL), 0);
    check_text(rules, &(struct tc_question){.operation = TC_OP_WRITE, .path = "/workspace/.git/config"},
               "ask write /workspace/.git/config\n"
               "  why      rule **/.git/config* (workspace): the host's git would execute what it names\n"
               "  rule     ask **/.git/config* (workspace: /rules/41, priority 100)\n"
               "  before   allow ** (workspace: /rules/54, priority 0)\n");
    check_text(rules, &(struct tc_question){.operation = TC_OP_WRITE, .path = "/data/a"},
               "deny write /data/a\n"
               "  why      the mount is read-only, whatever the rules say\n"
               "  but rule allow ** (workspace: /rules/54, priority 0)\n");
    check_text(rules, &(struct tc_question){.operation = TC_OP_WRITE, .path = "/usr/a\n"},
               "deny write /usr/a\\n\n"
               "  why      no rule matches: the root file system is readable and executable, not writable\n");
    check_text(rules, &(struct tc_question){.operation = TC_OP_CONNECT, .host = "a.b", .port = 1, .no_network = true},
               "deny connect a.b port 1\n"
               "  why      the cell has no network (--net none), rules are not consulted\n");

    const char *const argv[] = {"env", "rm", "-rf", "/", NULL};
    check_text(rules,
               &(struct tc_question){.operation = TC_OP_EXECUTE, .path = "/usr/bin/env", .call = true, .argv = argv},
               "deny execute /usr/bin/env\n"
               "  why      command rm -*r* / (workspace): dangerous command\n"
               "  rule     allow ** (workspace: /rules/54, priority 0)\n"
               "  note     command rules are advisory: they look at arguments, what a program does is not theirs\n");
    tighten_policy(rules, POLICY(RULE("src/**", "\"write\"", "deny")));
    check_text(rules, &(struct tc_question){.operation = TC_OP_WRITE, .path = "/workspace/src/a"},
               "deny write /workspace/src/a\n"
               "  why      rule src/** (.toolcell.json)\n"
               "  but rule allow ** (workspace: /rules/54, priority 0)\n"
               "  project  deny src/** (.toolcell.json: /rules/0, priority 0)\n");
}
END_TEST

START_TEST(test_explain_json)
{
    tc_auto_ruleset rules = parse_policy(POLICY(RULE("a", "\"read\"", "ask")));
    tc_auto_buf out = {0};

    tc_explain_json(rules, &view,
                    &(struct tc_question){.operation = TC_OP_READ, .path = "/workspace/a", .given = "/workspace/b"},
                    &out);
    ck_assert_str_eq(
        out.data,
        "{\"operation\":\"read\",\"target\":\"/workspace/a\",\"given\":\"/workspace/"
        "b\",\"effect\":\"deny\",\"because\":"
        "\"default\",\"why\":\"no rule matches: data mounts deny what no rule allows\",\"area\":\"data\",\"rule\":null,"
        "\"command\":null,\"project_rule\":null,\"project_command\":null,\"by_project\":false,\"shadowed\":[],"
        "\"mechanism\":null,\"strength\":null,\"note\":"
        "\"a program that may be executed can be observed while it runs, though it may not be read\"}");
}
END_TEST

START_TEST(test_targets)
{
    static const struct {
        const char *target, *host, *address;
        unsigned port;
    } good[] = {
        {"example.org:443", "example.org", NULL, 443},
        {"192.0.2.1:80", NULL, "192.0.2.1", 80},
        {"[2001:db8::1]:1", NULL, "2001:db8::1", 1},
        {"unix:/workspace/s", NULL, "unix:/workspace/s", 0},
        {"a:0", "a", NULL, 0},
    };
    static const char *const bad[] = {"",     "a",     "a:",    ":1",     "a:x",   "a:65536", "::1:1",
                                      "[]:1", "[::1]", "[x]:1", "[::1]1", "unix:", "unix:x",  "a:-1"};
    tc_auto_arena arena = tc_arena_new();

    for (size_t i = 0; i < TC_COUNT(good); i++) {
        struct tc_question question = {.operation = TC_OP_CONNECT};
        ck_assert_int_eq(tc_question_target(good[i].target, arena, &question, NULL), 0);
        ck_assert_pstr_eq(question.host, good[i].host);
        ck_assert_pstr_eq(question.address, good[i].address);
        ck_assert_uint_eq(question.port, good[i].port);
    }
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        struct tc_question question = {.operation = TC_OP_CONNECT};
        ck_assert_msg(tc_question_target(bad[i], arena, &question, NULL) == -EINVAL, "%s", bad[i]);
    }
}
END_TEST

/* ---- show ---- */

START_TEST(test_show)
{
    for (const char *const *name = tc_policy_preset_names(); *name != NULL; name++) {
        tc_auto_ruleset rules = NULL;
        tc_auto_ruleset again = NULL;
        tc_auto_buf out = {0};

        ck_assert_int_eq(tc_policy_preset(*name, &rules, NULL), 0);
        tc_ruleset_show(rules, &out);
        again = parse_policy(out.data);
        ck_assert_str_eq(again->hash, rules->hash);
    }
    tc_auto_ruleset full = parse_policy(
        "{\"version\": 1, \"rules\": [{\"pattern\": {\"base64\": \"/w==\"}, \"operations\": \"all\", \"effect\": "
        "\"ask\"}, {\"pattern\": \"x\", \"operations\": [\"list\", \"edit\"], \"effect\": \"deny\", \"priority\": 3}], "
        "\"limits\": {\"wall\": \"1.5s\", \"cpus\": 1.25, \"memory\": \"1G\", \"pids\": 3}, \"environment\": "
        "{\"pass\": "
        "[\"A\"], \"set\": {\"B\": \"\"}}, \"approval\": {\"timeout\": \"3s\"}}");
    tc_auto_buf out = {0};
    tc_ruleset_show(full, &out);
    tc_auto_ruleset again = parse_policy(out.data);
    ck_assert_str_eq(again->hash, full->hash);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("words", test_unreached, test_suspicious, test_calls, test_project_check,
                               test_presets_check, test_project_refusals, test_project_settings, test_explain_text,
                               test_explain_json, test_targets, test_show, NULL));
}
