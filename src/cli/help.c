/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <string.h>

#include "cli/output.h"

#define COLUMN 36

static void append_verb_line(const struct tc_verb *verb, struct tc_buf *out)
{
    tc_buf_printf(out, "  %-16s %s\n", verb->name, verb->summary);
}

void tc_help_overview(struct tc_buf *out)
{
    tc_buf_string(out, "usage: toolcell VERB [OPTION...] ...\n\n"
                       "Runs one tool call of an agent in a cell: namespaces, limits, a seccomp filter and a Landlock\n"
                       "domain made from one set of rules.\n\nverbs:\n");
    for (const struct tc_verb *verb = tc_verbs; verb->name != NULL; verb++)
        append_verb_line(verb, out);
    tc_buf_string(out, "\noptions:\n"
                       "  --version [--json]  print the version\n"
                       "  -h, --help          print this help\n\n"
                       "'toolcell help VERB' or 'toolcell VERB --help' tells about one verb.\n");
}

static void append_option(const struct tc_option *option, struct tc_buf *out)
{
    size_t start = out->length;
    size_t used;

    if (option->letter != '\0')
        tc_buf_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        tc_buf_printf(out, "      --%s", option->name);
    if (option->argument != NULL)
        tc_buf_printf(out, "%s%s%s", option->optional ? "[=" : " ", option->argument, option->optional ? "]" : "");
    used = out->length - start;
    if (used + 2 > COLUMN)
        tc_buf_char(out, '\n');
    tc_buf_printf(out, "%*s%s\n", used + 2 > COLUMN ? COLUMN : (int)(COLUMN - used), "", option->help);
}

void tc_help_verb(const struct tc_verb *verb, struct tc_buf *out)
{
    tc_buf_printf(out, "usage: toolcell %s %s\n\n%s\n\noptions:\n", verb->name, verb->usage, verb->summary);
    for (size_t i = 0; i < *verb->option_count; i++)
        append_option(&verb->options[i], out);
    tc_buf_string(out, "\nexit status:\n");
    for (const struct tc_status_help *item = verb->statuses; item->status != NULL; item++)
        tc_buf_printf(out, "  %-6s %s\n", item->status, item->meaning);
}

int tc_help_print(const struct tc_verb *verb)
{
    tc_auto_buf out = {0};

    tc_help_verb(verb, &out);
    return tc_output_print(&out, 0);
}

bool tc_help_group(const char *group, struct tc_buf *out)
{
    size_t length = strlen(group);
    bool found = false;

    for (const struct tc_verb *verb = tc_verbs; verb->name != NULL; verb++) {
        if (strncmp(verb->name, group, length) != 0 || verb->name[length] != ' ')
            continue;
        if (!found)
            tc_buf_printf(out, "usage: toolcell %s VERB ...\n\nverbs:\n", group);
        append_verb_line(verb, out);
        found = true;
    }
    return found;
}
