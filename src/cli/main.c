/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolcell, the program. A verb is a row in a table (verb.c) with its options,
 * its exit statuses and one function; help text is generated from the same
 * table. Options and request files fill one struct tc_invocation through one set of
 * setters (values*.c), and a call then passes the stages rules, facts,
 * decision, plan and cell (prepare.c, run.c). Whatever fails on the way is told
 * once: one line on stderr and, where events are wanted, one result.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/emit.h"
#include "cli/failure.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/streams.h"
#include "cli/verb.h"

#define EVENT_PROTOCOL 1

static int usage_error(const char *what, const char *text)
{
    struct tc_error err = {0};

    tc_error_plain(&err, -EINVAL, "%s '%.100s'", what, text);
    tc_error_hint(&err, "toolcell --help lists the verbs");
    tc_failure_print(&err);
    return TC_STATUS_FAILED;
}

static int print_version(char *const *arguments)
{
    tc_auto_buf out = {0};
    struct tc_emit emit = {.out = &out};

    if (arguments[0] != NULL && (strcmp(arguments[0], "--json") != 0 || arguments[1] != NULL))
        return usage_error("--version: unknown option", arguments[0]);
    if (arguments[0] == NULL) {
        tc_buf_string(&out, "toolcell " TC_VERSION "\n");
        return tc_output_print(&out, 0);
    }
    tc_emit_object(&emit, NULL);
    tc_emit_string(&emit, "name", "toolcell");
    tc_emit_string(&emit, "version", TC_VERSION);
    tc_emit_integer(&emit, "protocol", EVENT_PROTOCOL);
    tc_emit_object_end(&emit);
    tc_buf_char(&out, '\n');
    return tc_output_print(&out, 0);
}

/* `help`, `help VERB`, `help GROUP`. */
static int print_help(char *const *arguments)
{
    tc_auto_buf out = {0};
    const struct tc_verb *verb;

    if (arguments[0] == NULL) {
        tc_help_overview(&out);
        return tc_output_print(&out, 0);
    }
    verb = tc_verb_find(&arguments);
    if (verb != NULL)
        tc_help_verb(verb, &out);
    else if (!tc_help_group(arguments[0], &out))
        return usage_error("help: unknown verb", arguments[0]);
    return tc_output_print(&out, 0);
}

/* A group of verbs ("policy") named without a verb of it. */
static int incomplete(char *const *arguments)
{
    tc_auto_buf out = {0};

    if (!tc_help_group(arguments[0], &out))
        return usage_error(arguments[0][0] == '-' ? "unknown option" : "unknown verb", arguments[0]);
    if (arguments[1] == NULL)
        return usage_error("one more verb is needed after", arguments[0]);
    if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0)
        return tc_output_print(&out, 0);
    return usage_error("unknown verb", arguments[1]);
}

static bool is_one_of(const char *text, const char *first, const char *second, const char *third)
{
    return strcmp(text, first) == 0 || strcmp(text, second) == 0 || strcmp(text, third) == 0;
}

int main(int argc, char **argv)
{
    char *const *arguments = argv + 1;
    const struct tc_verb *verb;
    struct tc_error err = {0};
    int code;

    code = tc_streams_secure();
    if (code < 0) {
        tc_error_set(&err, code, "look at the standard streams");
        tc_failure_print(&err);
        return TC_STATUS_FAILED;
    }
    if (argc < 2)
        return usage_error("a verb is needed after", "toolcell");
    if (strcmp(arguments[0], "--version") == 0)
        return print_version(arguments + 1);
    if (is_one_of(arguments[0], "--help", "-h", "help"))
        return print_help(arguments + 1);
    verb = tc_verb_find(&arguments);
    return verb != NULL ? verb->run(verb, arguments) : incomplete(arguments);
}
