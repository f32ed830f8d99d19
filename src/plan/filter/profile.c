/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/filter/profile.h"

#include <err.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Lines:
 *   otherwise: ACTION                     the action of every number that is not named
 *   number: CALL NUMBER                   a call that libseccomp does not know
 *   [GROUP]                               what follows belongs to it
 *   why: TEXT                             its reason; each group begins with one
 *   ACTION: CALL...                       without regard to arguments
 *   CALL: ACTION if TEST, TEST...         the first such line of a call that holds counts, else it is allowed
 * and tests: argN [& MASK] is [not] VALUE..., argN has BIT..., argN above VALUE, argN set, argN null
 */

struct reader {
    const char *path;
    unsigned line;
    char group[sizeof(((struct filter_call *)NULL)->group)];
    bool reasoned;
    struct filter_profile *profile;
};

static void __attribute__((noreturn)) fail(const struct reader *reader, const char *what, const char *word)
{
    errx(1, "%s:%u: %s: '%s'", reader->path, reader->line, what, word == NULL ? "" : word);
}

static struct filter_call *find_call(struct reader *reader, const char *name)
{
    struct filter_profile *profile = reader->profile;
    struct filter_call *call;

    for (size_t i = 0; i < profile->call_count; i++)
        if (strcmp(profile->calls[i].name, name) == 0)
            return &profile->calls[i];
    if (profile->call_count == FILTER_CALLS || strlen(name) >= sizeof(call->name))
        fail(reader, "too many calls, or too long a name", name);
    call = &profile->calls[profile->call_count++];
    snprintf(call->name, sizeof(call->name), "%s", name);
    call->number = -1;
    return call;
}

static struct filter_call *name_call(struct reader *reader, const char *name)
{
    struct filter_call *call = find_call(reader, name);

    if (reader->group[0] == '\0' || !reader->reasoned)
        fail(reader, "in no group, or in one without a reason", name);
    if (!call->named)
        memcpy(call->group, reader->group, sizeof(call->group));
    call->named = true;
    return call;
}

static void read_plain(struct reader *reader, uint32_t action, char *words)
{
    for (char *save = NULL, *name = strtok_r(words, " ", &save); name != NULL; name = strtok_r(NULL, " ", &save)) {
        if (find_call(reader, name)->named)
            fail(reader, "named twice", name);
        name_call(reader, name)->action = action;
    }
}

static uint32_t need_value(const struct reader *reader, const char *word)
{
    uint32_t value = 0;

    if (word == NULL || !filter_value(word, &value))
        fail(reader, "no such constant", word);
    return value;
}

static void read_values(const struct reader *reader, struct filter_test *test, char *word, char **save)
{
    for (; word != NULL; word = strtok_r(NULL, " ", save)) {
        if (test->count == FILTER_VALUES)
            fail(reader, "too many values", word);
        test->values[test->count++] = need_value(reader, word);
    }
    if (test->count == 0 || (test->kind == FILTER_ABOVE && test->count > 1))
        fail(reader, "a value is missing, or there are too many", NULL);
    for (size_t i = 0; i < test->count; i++)
        if ((test->values[i] & ~test->mask) != 0)
            fail(reader, "the mask hides a part of a value", NULL);
    if (test->kind != FILTER_HAS)
        return;
    for (size_t i = 1; i < test->count; i++)
        test->values[0] |= test->values[i];
    test->count = 1;
}

static void read_test(const struct reader *reader, struct filter_test *test, char *text)
{
    char *save = NULL;
    char *word = strtok_r(text, " ", &save);

    if (word == NULL || strncmp(word, "arg", 3) != 0 || word[3] < '0' || word[3] > '5' || word[4] != '\0')
        fail(reader, "an argument is missing", word);
    *test = (struct filter_test){.argument = (unsigned)(word[3] - '0'), .mask = 0xffffffff};
    word = strtok_r(NULL, " ", &save);
    if (word != NULL && strcmp(word, "&") == 0) {
        test->mask = need_value(reader, strtok_r(NULL, " ", &save));
        word = strtok_r(NULL, " ", &save);
    }
    if (word == NULL)
        fail(reader, "a test is missing", NULL);
    if (strcmp(word, "set") == 0 || strcmp(word, "null") == 0) {
        test->kind = word[0] == 's' ? FILTER_SET : FILTER_NULL;
        if (test->mask != 0xffffffff || strtok_r(NULL, " ", &save) != NULL)
            fail(reader, "pointers are tested as a whole", word);
        return;
    }
    test->kind = FILTER_IS;
    if (strcmp(word, "has") == 0)
        test->kind = FILTER_HAS;
    else if (strcmp(word, "above") == 0)
        test->kind = FILTER_ABOVE;
    else if (strcmp(word, "is") != 0)
        fail(reader, "no such test", word);
    word = strtok_r(NULL, " ", &save);
    if (test->kind == FILTER_IS && word != NULL && strcmp(word, "not") == 0) {
        test->kind = FILTER_IS_NOT;
        word = strtok_r(NULL, " ", &save);
    }
    read_values(reader, test, word, &save);
}

static void read_conditional(struct reader *reader, const char *name, char *text)
{
    char *tests = strstr(text, " if ");
    struct filter_call *call = find_call(reader, name);
    struct filter_rule *rule = &call->rules[call->rule_count];

    if (tests == NULL || (call->named && call->rule_count == 0) || call->rule_count == FILTER_RULES)
        fail(reader, "without a condition, or named without one before, or too often", name);
    *tests = '\0';
    tests += strlen(" if ");
    name_call(reader, name)->action = SECCOMP_RET_ALLOW;
    if (!filter_action(text, &rule->action))
        fail(reader, "no such action", text);
    call->rule_count++;
    for (char *save = NULL, *test = strtok_r(tests, ",", &save); test != NULL; test = strtok_r(NULL, ",", &save)) {
        if (rule->test_count == FILTER_TESTS)
            fail(reader, "too many tests", test);
        read_test(reader, &rule->tests[rule->test_count++], test);
    }
    if (rule->test_count == 0)
        fail(reader, "a test is missing", name);
}

static void read_number(struct reader *reader, char *text)
{
    char *space = strchr(text, ' ');

    if (space == NULL)
        fail(reader, "a number is missing", text);
    *space = '\0';
    find_call(reader, text)->number = (int)need_value(reader, space + 1);
}

static void read_group(struct reader *reader, char *line)
{
    size_t length = strlen(line);

    if (line[length - 1] != ']' || length - 2 >= sizeof(reader->group))
        fail(reader, "a group's name is too long, or not closed", line);
    line[length - 1] = '\0';
    memcpy(reader->group, line + 1, length - 1);
    reader->reasoned = false;
}

static void read_line(struct reader *reader, char *line)
{
    char *value = strstr(line, ": ");
    uint32_t action = 0;

    if (line[0] == '[') {
        read_group(reader, line);
        return;
    }
    if (value == NULL)
        fail(reader, "neither a group nor a statement", line);
    *value = '\0';
    value += strlen(": ");
    if (strcmp(line, "why") == 0)
        reader->reasoned = true;
    else if (strcmp(line, "number") == 0)
        read_number(reader, value);
    else if (strcmp(line, "otherwise") == 0 && filter_action(value, &action))
        reader->profile->otherwise = action;
    else if (filter_action(line, &action) && strstr(value, " if ") == NULL)
        read_plain(reader, action, value);
    else
        read_conditional(reader, line, value);
}

void filter_profile_read(const char *path, struct filter_profile *ret)
{
    struct reader reader = {.path = path, .profile = ret};
    FILE *file = fopen(path, "re");
    char line[512];

    if (file == NULL)
        err(1, "%s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
        size_t length = strcspn(line, "\n");

        reader.line++;
        if (line[length] != '\n')
            fail(&reader, "a line is too long, or not ended", line);
        line[length] = '\0';
        if (line[0] != '\0' && line[0] != '#')
            read_line(&reader, line);
    }
    if (ferror(file) || ret->otherwise == 0)
        errx(1, "%s: cannot be read, or says nothing about other calls", path);
    fclose(file);
}
