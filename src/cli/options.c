/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <string.h>

#include "cli/list.h"

/* Where the parser stands. */
struct parser {
    const struct tc_option *table;
    size_t count;
    char *const *next; /* argument to look at */
    struct tc_arena *arena;
    struct tc_options *options;
    struct tc_error *err;
    int code; /* of the first error */
};

static const struct tc_option *find_long(const struct parser *parser, const char *name, size_t length)
{
    for (size_t i = 0; i < parser->count; i++)
        if (strlen(parser->table[i].name) == length && memcmp(parser->table[i].name, name, length) == 0)
            return &parser->table[i];
    return NULL;
}

static const struct tc_option *find_short(const struct parser *parser, char letter)
{
    for (size_t i = 0; i < parser->count; i++)
        if (letter != '\0' && parser->table[i].letter == letter)
            return &parser->table[i];
    return NULL;
}

/* Only the first error is told: later ones are often its consequence. */
static void fail(struct parser *parser, const char *what, const char *text, size_t length, const char *hint)
{
    if (parser->code != 0)
        return;
    parser->code = tc_error_plain(parser->err, -EINVAL, "%.*s: %s", length > 100 ? 100 : (int)length, text, what);
    if (hint != NULL)
        tc_error_hint(parser->err, "%s", hint);
}

static void use(struct parser *parser, const struct tc_option *option, const char *value)
{
    struct tc_options *options = parser->options;
    struct tc_option_use *uses = tc_list_grow(parser->arena, options->uses, options->count, sizeof(*uses));

    if (uses == NULL) {
        if (parser->code == 0)
            parser->code = tc_error_set(parser->err, -ENOMEM, "command line");
        return;
    }
    uses[options->count++] = (struct tc_option_use){option, value};
    options->uses = uses;
}

/* An option that wants a value takes the next argument when none is attached. */
static void use_with_value(struct parser *parser, const struct tc_option *option, const char *value,
                           const char *spelled, size_t length)
{
    if (option->argument == NULL && value != NULL)
        fail(parser, "takes no value", spelled, length, NULL);
    else if (option->argument == NULL || value != NULL || option->optional)
        use(parser, option, value);
    else if (*parser->next == NULL)
        fail(parser, "needs a value", spelled, length, NULL);
    else
        use(parser, option, *parser->next++);
}

static void parse_long(struct parser *parser, const char *argument)
{
    size_t length = strcspn(argument, "=");
    const struct tc_option *option = find_long(parser, argument + 2, length - 2);
    const char *value = argument[length] == '=' ? argument + length + 1 : NULL;

    if (option == NULL)
        fail(parser, "unknown option", argument, length, "--help lists the options");
    else
        use_with_value(parser, option, value, argument, length);
}

/* Short options may be joined (-qv) up to the first that takes a value, which may be attached (-pstrict). */
static void parse_short(struct parser *parser, const char *argument)
{
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        const struct tc_option *option = find_short(parser, *letter);
        char spelled[3] = {'-', *letter, '\0'};

        if (option == NULL) {
            fail(parser, "unknown option", argument, strlen(argument), "--help lists the options");
            return;
        }
        if (option->argument != NULL) {
            use_with_value(parser, option, letter[1] != '\0' ? letter + 1 : NULL, spelled, 2);
            return;
        }
        use(parser, option, NULL);
    }
}

int tc_options_parse(const struct tc_option *table, size_t count, char *const *arguments, struct tc_arena *arena,
                     struct tc_options *ret, struct tc_error *err)
{
    struct parser parser = {
        .table = table, .count = count, .next = arguments, .arena = arena, .options = ret, .err = err};

    *ret = (struct tc_options){.rest = arguments};
    while (*parser.next != NULL) {
        const char *argument = *parser.next;

        if (argument[0] != '-' || argument[1] == '\0')
            break;
        parser.next++;
        if (strcmp(argument, "--") == 0)
            break;
        if (argument[1] == '-')
            parse_long(&parser, argument);
        else
            parse_short(&parser, argument);
    }
    ret->rest = parser.next;
    return parser.code;
}

int tc_options_apply(const struct tc_options *options, void *target, struct tc_error *err)
{
    for (size_t i = 0; i < options->count; i++) {
        const struct tc_option_use *item = &options->uses[i];
        int code = item->option->apply(target, item->option->parameter, item->value, err);

        if (code < 0 && item->value != NULL)
            return tc_error_wrap(err, item->option->optional ? "--%s=%.100s" : "--%s '%.100s'", item->option->name,
                                 item->value);
        if (code < 0)
            return tc_error_wrap(err, "--%s", item->option->name);
    }
    return 0;
}

const char *tc_options_value(const struct tc_options *options, const char *name, bool *given)
{
    const char *value = NULL;

    if (given != NULL)
        *given = false;
    for (size_t i = 0; i < options->count; i++) {
        if (strcmp(options->uses[i].option->name, name) != 0)
            continue;
        value = options->uses[i].value;
        if (given != NULL)
            *given = true;
    }
    return value;
}
