/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "plan/compile.h"
#include "plan/limiting.h"
#include "plan/names.h"
#include "plan/notify.h"

/*
 * The plan for people: sections with aligned columns, one line per item. Names
 * from outside are escaped, so that a line stays a line on any terminal.
 */

#define COLUMN_LIMIT 44 /* wider cells push the rest of their line to the right */

static void put_escaped(struct tc_buf *out, const char *text)
{
    tc_text_escape(out, text, strlen(text));
}

/* End a cell that began at start: blanks up to the column's width, two at least. */
static void end_cell(struct tc_buf *out, size_t start, size_t width)
{
    size_t used = out->length - start;

    tc_buf_printf(out, "%*s", used < width ? (int)(width - used) + 2 : 2, "");
}

static void put_cell(struct tc_buf *out, const char *text, size_t width)
{
    size_t start = out->length;

    put_escaped(out, text);
    end_cell(out, start, width);
}

/* End a line; cells leave blanks behind. */
static void end_line(struct tc_buf *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->length--;
    tc_buf_char(out, '\n');
}

static size_t widen(size_t width, const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);

    return length > COLUMN_LIMIT ? width : length > width ? length : width;
}

static void put_bits(struct tc_buf *out, const char *const *names, unsigned bits)
{
    bool first = true;

    for (size_t i = 0; names[i] != NULL; i++) {
        if (!(bits & (1u << i)))
            continue;
        tc_buf_printf(out, "%s%s", first ? "" : " ", names[i]);
        first = false;
    }
    if (first)
        tc_buf_string(out, "-");
}

static void put_head(struct tc_buf *out, const char *name)
{
    tc_buf_printf(out, "%-12s", name);
}

static void put_fact(struct tc_buf *out, const char *name, const char *value)
{
    put_head(out, name);
    put_escaped(out, value);
    tc_buf_char(out, '\n');
}

static void print_identity(const struct tc_plan *plan, struct tc_buf *out)
{
    put_head(out, "identity");
    tc_buf_printf(out, "agent %d:%d in the cell, ", TC_CELL_UID, TC_CELL_GID);
    switch (plan->identity.kind) {
    case TC_IDENTITY_CALLER:
        tc_buf_printf(out, "the caller %u:%u", plan->identity.host_uid, plan->identity.host_gid);
        break;
    case TC_IDENTITY_LEASE:
        tc_buf_string(out, "an unprivileged id of its own");
        break;
    case TC_IDENTITY_FIXED:
        tc_buf_printf(out, "%u:%u", plan->identity.host_uid, plan->identity.host_gid);
        break;
    }
    tc_buf_string(out, " on the host\n");
}

static void print_broker(const struct tc_plan *plan, struct tc_buf *out)
{
    if (plan->notify == 0)
        return;
    put_head(out, "broker");
    put_bits(out, tc_notify_names, plan->notify);
    tc_buf_printf(out, " (%zu bytes)\n", plan->notify_filter_size);
}

/* Arguments that a reader could mistake are quoted. */
static void put_argument(struct tc_buf *out, const char *text)
{
    bool plain = *text != '\0' && strpbrk(text, " \t\n\"'\\$`*?[]{}()<>|&;#~") == NULL;

    if (!plain)
        tc_buf_char(out, '\'');
    put_escaped(out, text);
    if (!plain)
        tc_buf_char(out, '\'');
}

static void print_command(const struct tc_plan *plan, struct tc_buf *out)
{
    put_fact(out, "program", plan->program == NULL ? "(not found)" : plan->program);
    put_head(out, "arguments");
    for (size_t i = 0; plan->argv[i] != NULL; i++) {
        tc_buf_string(out, i == 0 ? "" : " ");
        put_argument(out, plan->argv[i]);
    }
    tc_buf_char(out, '\n');
    put_fact(out, "directory", plan->cwd);
    put_fact(out, "stdin", tc_stdin_name(plan->stdin_mode));
    if (plan->tty)
        put_fact(out, "terminal", "of its own");
}

static void put_limit(const struct tc_plan *plan, enum tc_limit limit, const char *unit, struct tc_buf *out)
{
    const char *means = tc_limit_means(plan, limit);

    tc_buf_printf(out, "  %-12s%llu%s%s%s%s\n", tc_limit_name(limit), (unsigned long long)plan->limits.value[limit],
                  unit, limit == TC_LIMIT_OUTPUT && plan->output_stop ? ", then stop" : "", means != NULL ? ": " : "",
                  means != NULL ? means : "");
}

static void print_limits(const struct tc_plan *plan, struct tc_buf *out)
{
    static const char *const units[TC_LIMIT_COUNT] = {[TC_LIMIT_WALL] = " ms",    [TC_LIMIT_CPU_TIME] = " ms",
                                                      [TC_LIMIT_CPUS] = "/1000",  [TC_LIMIT_MEMORY] = " bytes",
                                                      [TC_LIMIT_PIDS] = "",       [TC_LIMIT_OUTPUT] = " bytes",
                                                      [TC_LIMIT_DISK] = " bytes", [TC_LIMIT_FILE_SIZE] = " bytes",
                                                      [TC_LIMIT_OPEN_FILES] = "", [TC_LIMIT_GRACE] = " ms"};

    tc_buf_string(out, "\nlimits\n");
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++)
        if (plan->limits.set & (1u << limit))
            put_limit(plan, limit, units[limit], out);
}

static void print_environment(const struct tc_plan *plan, struct tc_buf *out)
{
    tc_buf_string(out, "\nenvironment\n");
    for (size_t i = 0; plan->env != NULL && plan->env[i] != NULL; i++) {
        tc_buf_string(out, "  ");
        put_escaped(out, plan->env[i]);
        tc_buf_char(out, '\n');
    }
}

static const char *step_detail(const struct tc_step *step)
{
    if (step->source != NULL)
        return step->source;
    return step->kind == TC_STEP_SYMLINK ? step->text : "-";
}

static void print_steps(const struct tc_plan *plan, struct tc_buf *out)
{
    size_t targets = 1, details = 1;

    for (size_t i = 0; i < plan->step_count; i++) {
        targets = widen(targets, plan->steps[i].target);
        details = widen(details, step_detail(&plan->steps[i]));
    }
    tc_buf_string(out, "\ntree\n  ");
    put_cell(out, "/", targets);
    put_cell(out, "private", 10);
    put_cell(out, "-", details);
    put_bits(out, tc_access_names, plan->root_access);
    tc_buf_char(out, '\n');
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct tc_step *step = &plan->steps[i];
        size_t start;

        tc_buf_string(out, "  ");
        put_cell(out, step->target, targets);
        put_cell(out, tc_step_kind_name(step->kind), 10);
        put_cell(out, step_detail(step), details);
        start = out->length;
        put_bits(out, tc_access_names, step->access);
        end_cell(out, start, 23);
        if (step->flags != 0)
            put_bits(out, tc_step_flag_names, step->flags);
        end_line(out);
    }
}

static void print_data(const struct tc_plan *plan, struct tc_buf *out)
{
    size_t targets = 1;

    for (size_t i = 0; i < plan->data_count; i++)
        targets = widen(targets, plan->data[i].target);
    tc_buf_string(out, "\nmounts\n");
    for (size_t i = 0; i < plan->data_count; i++) {
        tc_buf_string(out, "  ");
        put_cell(out, plan->data[i].target, targets);
        put_cell(out, tc_mount_mode_names[plan->data[i].mode], 5);
        put_cell(out, tc_way_name(plan->data[i].way), 8);
        put_bits(out, tc_access_names, plan->data[i].access);
        tc_buf_char(out, '\n');
    }
}

static void print_needs(const struct tc_plan *plan, struct tc_buf *out)
{
    if (plan->need_count == 0)
        return;
    tc_buf_string(out, "\nneeds a broker\n");
    for (size_t i = 0; i < plan->need_count; i++) {
        tc_buf_string(out, "  ");
        put_cell(out, plan->needs[i].subject, 12);
        if (plan->needs[i].rule != NULL)
            put_cell(out, plan->needs[i].rule->pattern, 28);
        put_escaped(out, plan->needs[i].why);
        tc_buf_char(out, '\n');
    }
}

static const char *rule_operations(const struct tc_enforcement *item, struct tc_buf *text)
{
    if (item->rule != NULL && item->rule->operations == TC_OP_BIT(TC_OP_COUNT) - 1)
        return "all";
    text->length = 0;
    if (item->command != NULL)
        tc_buf_string(text, "command");
    for (enum tc_operation operation = 0; item->rule != NULL && operation < TC_OP_COUNT; operation++)
        if (item->rule->operations & TC_OP_BIT(operation))
            tc_buf_printf(text, "%s%s", text->length == 0 ? "" : ",", tc_operation_name(operation));
    return text->data == NULL ? "" : text->data;
}

static void put_subject(struct tc_buf *out, const struct tc_enforcement *item)
{
    if (item->rule != NULL) {
        put_escaped(out, item->rule->pattern);
        return;
    }
    for (size_t i = 0; i < item->command->count; i++) {
        tc_buf_string(out, i == 0 ? "" : " ");
        put_argument(out, item->command->argv[i]);
    }
    if (item->command->more)
        tc_buf_string(out, " ...");
}

static void print_enforcement(const struct tc_plan *plan, struct tc_buf *out)
{
    tc_auto_buf operations = {0};

    tc_buf_string(out, "\nrules\n");
    for (size_t i = 0; i < plan->enforcement_count; i++) {
        const struct tc_enforcement *item = &plan->enforcement[i];
        enum tc_effect effect = item->rule != NULL ? item->rule->effect : item->command->effect;
        size_t start;

        tc_buf_string(out, "  ");
        put_cell(out, tc_effect_name(effect), 5);
        start = out->length;
        put_subject(out, item);
        end_cell(out, start, 28);
        put_cell(out, rule_operations(item, &operations), 20);
        put_cell(out, tc_strength_name(item->strength), 8);
        tc_buf_printf(out, "%s\n", item->mechanism);
    }
    out->failed = out->failed || tc_buf_failed(&operations);
}

static void print_loss(struct tc_buf *out, const char *name, const char *text)
{
    tc_buf_printf(out, "  %-12s", name);
    put_escaped(out, text);
    tc_buf_char(out, '\n');
}

static void print_losses(const struct tc_plan *plan, struct tc_buf *out)
{
    if (plan->degraded_count > 0)
        tc_buf_string(out, "\ndegraded\n");
    for (size_t i = 0; i < plan->degraded_count; i++)
        print_loss(out, plan->degraded[i].name, plan->degraded[i].reason);
    if (plan->refusal_count > 0)
        tc_buf_string(out, "\nrefused\n");
    for (size_t i = 0; i < plan->refusal_count; i++) {
        tc_buf_string(out, "  ");
        put_escaped(out, plan->refusals[i].message);
        tc_buf_char(out, '\n');
        if (plan->refusals[i].hint != NULL)
            print_loss(out, "  hint:", plan->refusals[i].hint);
    }
}

void tc_plan_print_text(const struct tc_plan *plan, struct tc_buf *out)
{
    put_fact(out, "plan", plan->hash);
    put_head(out, "policy");
    put_escaped(out, plan->policy_name);
    tc_buf_printf(out, " %s\n", plan->policy_hash);
    print_identity(plan, out);
    put_fact(out, "network", plan->net == TC_NET_NONE ? "none: an empty namespace" : tc_net_names[plan->net]);
    put_head(out, "kernel");
    tc_buf_printf(out, "landlock %u%s, seccomp %s (%zu bytes)\n", plan->landlock_abi,
                  plan->scope_abstract ? " with scopes" : "", plan->filter_name, plan->filter_size);
    print_broker(plan, out);
    print_command(plan, out);
    print_limits(plan, out);
    print_environment(plan, out);
    print_steps(plan, out);
    print_data(plan, out);
    print_enforcement(plan, out);
    print_needs(plan, out);
    print_losses(plan, out);
}
