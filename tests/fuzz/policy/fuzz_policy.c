/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The policy reader: whatever is accepted can be decided by, has an image that
 * gives the same policy back, and when shown reads as the same policy again.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/check.h"
#include "policy/decide.h"
#include "policy/encode.h"
#include "policy/explain.h"
#include "policy/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tc_view_mount mounts[] = {{"/w", TC_AREA_DATA, false}, {"/tmp", TC_AREA_SCRATCH, false}};
static const struct tc_view view = {.mounts = mounts, .count = TC_COUNT(mounts)};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void decide(const struct tc_ruleset *rules)
{
    static const char *const argv[] = {"sudo", "rm", "-rf", "/w", NULL};
    struct tc_question question = {.operation = TC_OP_READ, .path = "/w/a/.env", .directory = true};
    tc_auto_buf out = {0};

    for (enum tc_operation operation = 0; operation < TC_OP_CONNECT; operation++) {
        question.operation = operation;
        tc_explain_text(rules, &view, &question, &out);
    }
    tc_explain_json(rules, &view, &question, &out);
    tc_decide_connect(rules, "a.example.org", "192.0.2.1", 443);
    tc_decide_connect(rules, NULL, "unix:/w/s", 0);
    tc_decide_call(rules, &view, "/usr/bin/sudo", "/usr/bin/sudo", argv);
    tc_decide_rename(rules, &view, "/w/a", "/w/b/c", true);
}

static void check_image(const struct tc_ruleset *rules)
{
    tc_auto_ruleset decoded = NULL;
    tc_auto_buf image = {0};

    tc_ruleset_encode(rules, &image);
    require(tc_ruleset_decode(image.data, image.length, true, &decoded, NULL) == 0);
    require(strcmp(decoded->hash, rules->hash) == 0);
}

static bool is_foreign(const struct tc_ruleset *rules)
{
    return rules->rule_count > 0 && rules->rules[0].section != NULL;
}

static void check_show(const struct tc_ruleset *rules)
{
    tc_auto_ruleset again = NULL;
    tc_auto_buf out = {0};

    tc_ruleset_show(rules, &out);
    if (is_foreign(rules))
        return;
    require(tc_policy_parse(out.data, out.length, "again", TC_NO_FD, &again, NULL) == 0);
    require(strcmp(again->hash, rules->hash) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    tc_auto_ruleset rules = NULL;
    tc_auto_arena arena = tc_arena_new();
    struct tc_warnings warnings;
    struct tc_error err = {0};

    if (tc_policy_parse(text, size, "policy.json", TC_NO_FD, &rules, &err) < 0) {
        require(err.code < 0 && strncmp(err.message, "policy.json: ", 13) == 0 && strchr(err.message, '\n') == NULL);
        return 0;
    }
    decide(rules);
    check_image(rules);
    check_show(rules);
    require(tc_policy_check(rules, arena, &warnings) == 0);
    if (tc_policy_tighten(rules, text, size, "project", NULL) == 0) {
        decide(rules);
        check_image(rules);
    }
    return 0;
}
