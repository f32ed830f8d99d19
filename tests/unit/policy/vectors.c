/* SPDX-License-Identifier: Apache-2.0 */
#include "vectors.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/decide.h"
#include "policy/load.h"
#include "unit.h"

#define MOUNTS_MAX 16

/* One line, and what it is judged with. */
struct vector {
    const char *file;
    size_t line;
    struct tc_json root;
    struct tc_arena *arena;
    struct tc_ruleset *rules;
    struct tc_view view;
    struct tc_view_mount mounts[MOUNTS_MAX];
};

const char *vectors_path(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", getenv("VECTORS"), name);
    return path;
}

static const char *text_of(const struct vector *vector, const struct tc_json *json)
{
    const char *text = NULL;

    ck_assert_msg(tc_json_string(json, vector->arena, &text, NULL, NULL) == 0, "%s:%zu: not a string", vector->file,
                  vector->line);
    return text;
}

static const char *text_at(const struct vector *vector, const char *key)
{
    struct tc_json member;

    if (!tc_json_member(&vector->root, key, &member) || tc_json_type(&member) == TC_JSON_NULL)
        return NULL;
    return text_of(vector, &member);
}

static bool flag_at(const struct tc_json *json, const char *key)
{
    struct tc_json member;
    bool value = false;

    return tc_json_member(json, key, &member) && tc_json_bool(&member, &value, NULL) == 0 && value;
}

static void load(struct vector *vector)
{
    const char *preset = text_at(vector, "preset"), *file = text_at(vector, "ruleset");
    struct tc_error err = {0};
    struct tc_json policy;
    int r = -1;

    if (preset != NULL)
        r = tc_policy_preset(preset, &vector->rules, &err);
    else if (file != NULL)
        r = tc_policy_read(vectors_path(file), &vector->rules, &err);
    else if (tc_json_member(&vector->root, "policy", &policy))
        r = tc_policy_parse_value(&policy, "policy.json", &vector->rules, &err);
    ck_assert_msg(r == 0, "%s:%zu: %s", vector->file, vector->line, err.message);

    const char *project = text_at(vector, "project");
    if (project != NULL)
        r = tc_policy_tighten(vector->rules, project, strlen(project), ".toolcell.json", &err);
    ck_assert_msg(r == 0, "%s:%zu: %s", vector->file, vector->line, err.message);
}

static void add_mount(struct vector *vector, const char *target, enum tc_area area, bool read_only)
{
    ck_assert(vector->view.count < MOUNTS_MAX);
    vector->mounts[vector->view.count++] =
        (struct tc_view_mount){.target = target, .area = area, .read_only = read_only};
}

/* NULL-terminated. */
static const char *const *list_of(const struct vector *vector, const struct tc_json *list)
{
    const char **items = tc_arena_array(vector->arena, tc_json_size(list) + 1, sizeof(*items));
    size_t count = 0;

    for (struct tc_json item = {0}; tc_json_next(list, &item);)
        items[count++] = text_of(vector, &item);
    return items;
}

static void make_view(struct vector *vector)
{
    static const char *const areas[] = {"data", "rootfs", "scratch", "system"};
    struct tc_json list;

    vector->view.mounts = vector->mounts;
    vector->view.rootfs_writable = flag_at(&vector->root, "rootfs_writable");
    add_mount(vector, "/tmp", TC_AREA_SCRATCH, false);
    add_mount(vector, "/dev/shm", TC_AREA_SCRATCH, false);
    add_mount(vector, "/home/agent", TC_AREA_SCRATCH, false);
    add_mount(vector, "/proc", TC_AREA_SYSTEM, false);
    add_mount(vector, "/dev", TC_AREA_SYSTEM, false);
    if (tc_json_member(&vector->root, "data_mounts", &list)) {
        for (struct tc_json item = {0}; tc_json_next(&list, &item);)
            add_mount(vector, text_of(vector, &item), TC_AREA_DATA, false);
    }
    if (tc_json_member(&vector->root, "fixed", &list))
        vector->view.fixed = list_of(vector, &list);
    if (!tc_json_member(&vector->root, "mounts", &list))
        return;
    for (struct tc_json item = {0}; tc_json_next(&list, &item);) {
        struct tc_json target, area;
        ck_assert(tc_json_member(&item, "target", &target) && tc_json_member(&item, "area", &area));
        int at = -1;
        for (int i = 0; i < (int)TC_COUNT(areas); i++)
            at = strcmp(text_of(vector, &area), areas[i]) == 0 ? i : at;
        ck_assert_int_ge(at, 0);
        add_mount(vector, text_of(vector, &target), (enum tc_area)at, flag_at(&item, "read_only"));
    }
}

static const char *const *argv_of(const struct vector *vector, const char *path)
{
    struct tc_json list;
    const char **argv;

    if (tc_json_member(&vector->root, "argv", &list))
        return list_of(vector, &list);
    argv = tc_arena_array(vector->arena, 2, sizeof(*argv));
    argv[0] = path;
    return argv;
}

static struct tc_decision judge(const struct vector *vector)
{
    const char *operation = text_at(vector, "operation"), *path = text_at(vector, "path");
    const char *given = text_at(vector, "given"), *judged = text_at(vector, "judged");
    bool directory = flag_at(&vector->root, "directory");

    if (strcmp(operation, "connect") == 0) {
        struct tc_json port;
        int64_t number = 0;
        if (tc_json_member(&vector->root, "port", &port))
            ck_assert_int_eq(tc_json_integer(&port, 0, 1 << 20, &number, NULL), 0);
        return tc_decide_connect(vector->rules, text_at(vector, "name"), text_at(vector, "address"), (unsigned)number);
    }
    if (strcmp(operation, "rename") == 0)
        return tc_decide_rename(vector->rules, &vector->view, path, text_at(vector, "to"), directory);
    if (strcmp(operation, "symlink") == 0)
        return tc_decide_symlink(vector->rules, &vector->view, path, text_at(vector, "to"));
    if (judged != NULL && strcmp(judged, "call") == 0)
        return tc_decide_call(vector->rules, &vector->view, given == NULL ? path : given, path, argv_of(vector, path));
    ck_assert_msg(tc_operation_parse(operation) >= 0, "%s:%zu: operation", vector->file, vector->line);
    return tc_decide_names(vector->rules, &vector->view, (enum tc_operation)tc_operation_parse(operation), path, given,
                           directory);
}

static const char *place_of(const struct tc_command_rule *command)
{
    static char place[64];

    return tc_command_place(command, place, sizeof(place));
}

static void compare(const struct vector *vector, struct tc_decision decision)
{
    const struct tc_rule *rule = decision.by_project ? decision.project_rule : decision.rule;
    const struct tc_command_rule *command = decision.by_project ? decision.project_command : decision.command;
    const char *effect = text_at(vector, "effect");
    struct tc_json expected;

    ck_assert_msg(strcmp(effect, tc_effect_name(decision.effect)) == 0, "%s:%zu: %s, expected %s (rule %s)",
                  vector->file, vector->line, tc_effect_name(decision.effect), effect,
                  rule == NULL ? "none" : rule->pattern);
    if (tc_json_member(&vector->root, "pattern", &expected))
        ck_assert_msg(rule == NULL ? text_at(vector, "pattern") == NULL
                                   : text_at(vector, "pattern") != NULL &&
                                         strcmp(text_at(vector, "pattern"), rule->pattern) == 0,
                      "%s:%zu: decided by %s", vector->file, vector->line, rule == NULL ? "no rule" : rule->pattern);
    if (tc_json_member(&vector->root, "command", &expected))
        ck_assert_msg(command == NULL ? text_at(vector, "command") == NULL
                                      : text_at(vector, "command") != NULL &&
                                            strcmp(text_at(vector, "command"), place_of(command)) == 0,
                      "%s:%zu: decided by command %s", vector->file, vector->line,
                      command == NULL ? "none" : place_of(command));
}

static void run_line(const char *file, size_t line, const char *text)
{
    tc_auto_json document = NULL;
    tc_auto_arena arena = tc_arena_new();
    struct vector vector = {.file = file, .line = line, .arena = arena};
    struct tc_error err = {0};

    ck_assert_msg(tc_json_parse(text, strlen(text), file, &document, &vector.root, &err) == 0, "%s:%zu: %s", file, line,
                  err.message);
    load(&vector);
    make_view(&vector);
    compare(&vector, judge(&vector));
    tc_ruleset_free(vector.rules);
}

size_t vectors_run(const char *name)
{
    FILE *file = fopen(vectors_path(name), "re");
    char *text = NULL;
    size_t size = 0, count = 0;

    ck_assert_msg(file != NULL, "%s", vectors_path(name));
    while (getline(&text, &size, file) > 0) {
        if (text[0] == '\n' || text[0] == '/')
            count++; /* a blank line or a comment */
        else
            run_line(name, ++count, text);
    }
    free(text);
    fclose(file);
    return count;
}
