/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What comes from callers and cells: an argv, a host with port, and a pattern
 * for connections. Input: items, each ended by a NUL.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/connect.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/load.h"

#define ITEMS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_call(const char *const *argv)
{
    static const struct tc_view_mount mounts[] = {{"/workspace", TC_AREA_DATA, false}};
    static const struct tc_view view = {.mounts = mounts, .count = TC_COUNT(mounts)};
    static const char imported[] =
        "{\"default\": \"ask\", \"execute\": {\"rules\": [{\"pattern\": \"rm *\", \"action\": "
        "\"deny\"}]}}";
    tc_auto_ruleset preset = NULL;
    tc_auto_ruleset foreign = NULL;

    if (tc_policy_preset("default", &preset, NULL) < 0 ||
        tc_policy_parse(imported, sizeof(imported) - 1, "x", TC_NO_FD, &foreign, NULL) < 0)
        abort();
    tc_decide_call(preset, &view, "/usr/bin/x", "/bin/y", argv);
    tc_decide_call(foreign, &view, "/usr/bin/x", "/bin/y", argv);
}

static void try_connect(const char *pattern, const char *target)
{
    struct tc_connect_match match;
    struct tc_endpoint to;
    tc_auto_arena arena = tc_arena_new();
    struct tc_question question = {.operation = TC_OP_CONNECT};
    const char *why = NULL;

    tc_endpoint_parse(target, NULL, 1, &to);
    tc_endpoint_parse(NULL, target, 1, &to);
    if (tc_question_target(target, arena, &question, NULL) == 0)
        tc_endpoint_parse(question.host, question.address, question.port, &to);
    if (tc_connect_parse(pattern, strlen(pattern), &match, &why) < 0) {
        if (why == NULL)
            abort();
        return;
    }
    tc_connect_matches(&match, &to);
    tc_connect_matches_address(&match, &to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tc_auto_free char *text = malloc(size + 1);
    const char *argv[ITEMS_MAX + 1] = {NULL};
    size_t count = 0;

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && count < ITEMS_MAX; at += strlen(text + at) + 1)
        argv[count++] = text + at;
    if (count == 0)
        return 0;
    try_call(argv);
    try_connect(argv[0], argv[count - 1]);
    return 0;
}
