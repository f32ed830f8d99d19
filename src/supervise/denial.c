/* SPDX-License-Identifier: Apache-2.0 */
/* What was denied, told to programs (events) and people (lines at the end). Both are bounded: whoever is denied all the
 * time must not flood whoever reads. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "policy/explain.h"
#include "supervise/call.h"

#define TOLD_MOST 100u  /* events in full */
#define LINES_MOST 5u   /* on stderr */
#define LINE_REST 64    /* room for what ends an event */
#define BRIEF_BYTES 500 /* of each text of a rule, where all of them are too long for one line */

#define NO_CALL (-1)

static const char *const by_names[] = {
    [TC_DENIED_RULE] = "rule", [TC_DENIED_ASK] = "ask", [TC_DENIED_FLOOR] = "floor", [TC_DENIED_COMMAND] = "command"};

bool tc_denial_room(const struct tc_call *call)
{
    return tc_sink_room(&call->sinks[TC_SINK_EVENTS]) >= TC_EVENT_LINE_MAX;
}

const struct tc_ruleset *tc_denial_ruleset(const struct tc_plan *plan, const struct tc_rule_ref *ref)
{
    const struct tc_ruleset *rules = plan->rules;

    if (rules != NULL && ref->project)
        rules = rules->project;
    if (rules == NULL || ref->kind == TC_RULE_REF_NONE)
        return NULL;
    return ref->index < (ref->kind == TC_RULE_REF_RULE ? rules->rule_count : rules->command_count) ? rules : NULL;
}

static void emit_text(struct tc_emit *emit, const char *key, const char *text, bool brief)
{
    size_t length = text == NULL ? 0 : strlen(text);

    if (text == NULL)
        tc_emit_null(emit, key);
    else
        tc_emit_bytes(emit, key, text, brief && length > BRIEF_BYTES ? tc_utf8_complete(text, BRIEF_BYTES) : length);
}

static void emit_rule(struct tc_emit *emit, const struct tc_call *call, const struct tc_rule_ref *ref, bool brief)
{
    const struct tc_ruleset *rules = tc_denial_ruleset(call->plan, ref);

    if (rules == NULL) {
        tc_emit_null(emit, "rule");
        return;
    }
    tc_emit_object(emit, "rule");
    if (ref->kind == TC_RULE_REF_RULE) {
        const struct tc_rule *rule = &rules->rules[ref->index];

        emit_text(emit, "pattern", rule->pattern, brief);
        tc_emit_integer(emit, "priority", rule->priority);
        emit_text(emit, "reason", rule->reason, brief);
    } else {
        const struct tc_command_rule *command = &rules->commands[ref->index];

        if (!brief)
            tc_command_emit(emit, command);
        emit_text(emit, "reason", command->reason, brief);
    }
    tc_emit_object_end(emit);
}

/* Of a rename or link there are two names. */
static size_t first_length(const struct tc_broker_message *about)
{
    return strnlen(about->target, about->length);
}

void tc_denial_emit(struct tc_emit *emit, const struct tc_call *call, const struct tc_broker_message *about, bool brief)
{
    size_t first = first_length(about);

    tc_emit_string(emit, "operation", tc_operation_name((enum tc_operation)about->operation));
    tc_emit_bytes(emit, "target", about->target, first);
    if (first < about->length)
        tc_emit_bytes(emit, "to", about->target + first + 1, about->length - first - 1);
    emit_rule(emit, call, &about->rule, brief);
}

bool tc_denial_fits(const struct tc_call *call, bool brief)
{
    return brief || call->line.length + LINE_REST <= TC_EVENT_LINE_MAX;
}

static bool tell_event(struct tc_call *call, const struct tc_broker_message *denied, bool brief)
{
    struct tc_emit emit = tc_event_begin(call, "denied");

    tc_denial_emit(&emit, call, denied, brief);
    tc_emit_string(&emit, "by", by_names[denied->by]);
    tc_emit_string(&emit, "syscall", denied->call == NO_CALL ? NULL : tc_broker_call_name(denied->call));
    if (denied->by == TC_DENIED_ASK)
        tc_emit_string(&emit, "why", tc_ask_why_name((enum tc_ask_why)denied->ask));
    return tc_denial_fits(call, brief) && tc_event_end(call, &emit);
}

static void add_line(struct tc_call *call, const struct tc_broker_message *denied)
{
    struct tc_mediation *mediation = &call->mediation;

    if (mediation->line_count == LINES_MOST)
        return;
    if (++mediation->line_count == LINES_MOST)
        mediation->but_one = mediation->lines.length;
    tc_buf_string(&mediation->lines, "toolcell: denied ");
    tc_denial_describe(call, denied, &mediation->lines);
    tc_buf_char(&mediation->lines, '\n');
}

void tc_denial_tell(struct tc_call *call, const struct tc_broker_message *denied)
{
    if (call->mediation.told++ >= TOLD_MOST)
        return;
    if (denied->call != NO_CALL) /* of the call's own the result tells */
        add_line(call, denied);
    if (call->sinks[TC_SINK_EVENTS].kind != TC_SINK_NONE && !tell_event(call, denied, false))
        tell_event(call, denied, true);
}

void tc_denial_describe(const struct tc_call *call, const struct tc_broker_message *about, struct tc_buf *out)
{
    const struct tc_ruleset *rules = tc_denial_ruleset(call->plan, &about->rule);
    struct tc_decision decision = {.effect = TC_DENY,
                                   .because = (enum tc_because)about->because,
                                   .operation = (enum tc_operation)about->operation,
                                   .by_project = about->rule.project != 0};
    size_t first = first_length(about);

    tc_buf_string(out, tc_operation_name(decision.operation));
    tc_buf_char(out, ' ');
    tc_text_escape(out, about->target, first);
    if (first < about->length) {
        tc_buf_string(out, " -> ");
        tc_text_escape(out, about->target + first + 1, about->length - first - 1);
    }
    tc_buf_string(out, ": ");
    if (about->type == TC_BROKER_DENIED && about->by == TC_DENIED_FLOOR) {
        tc_buf_string(out, "the cell's own floor does not grant it");
        return;
    }
    if (rules != NULL && about->rule.kind == TC_RULE_REF_RULE)
        decision.rule = decision.project_rule = &rules->rules[about->rule.index];
    else if (rules != NULL)
        decision.command = decision.project_command = &rules->commands[about->rule.index];
    tc_decision_reason(&decision, out);
    if (about->type == TC_BROKER_DENIED && about->by == TC_DENIED_ASK)
        tc_buf_printf(out, "; asked: %s", tc_ask_why_words((enum tc_ask_why)about->ask));
}

void tc_denial_refuse(struct tc_call *call, const struct tc_broker_message *about, enum tc_ask_why why)
{
    struct tc_broker_message denied;
    tc_auto_buf text = {0};

    memcpy(&denied, about, tc_broker_message_size(about));
    denied.type = TC_BROKER_DENIED;
    denied.by = TC_DENIED_ASK;
    denied.ask = why;
    denied.call = NO_CALL;
    call->mediation.own_denials++;
    tc_denial_tell(call, &denied);
    tc_denial_describe(call, &denied, &text);
    if (!call->decided) {
        tc_error_plain(&call->result->error, -EPERM, "denied %s", tc_buf_failed(&text) ? "" : text.data);
        tc_error_stage(&call->result->error, "rules");
    }
    tc_call_end(call, TC_OUTCOME_REFUSED);
}

void tc_denial_messages(const struct tc_call *call, struct tc_buf *out)
{
    const struct tc_mediation *mediation = &call->mediation;
    uint64_t denials = call->result->denials;

    if (mediation->lines.length == 0)
        return;
    if (denials <= LINES_MOST) {
        tc_buf_append(out, mediation->lines.data, mediation->lines.length);
        return;
    }
    tc_buf_append(out, mediation->lines.data, mediation->but_one);
    tc_buf_printf(out, "toolcell: denied: %" PRIu64 " more\n", denials - (LINES_MOST - 1));
}
