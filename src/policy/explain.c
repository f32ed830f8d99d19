/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Saying what is decided and why. The decision is made by the same functions
 * that enforcement uses; what is added here is what it was weighed against.
 */

#include "policy/explain.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/emit.h"
#include "base/text.h"
#include "policy/match.h"

#define SHADOWED_MAX 8 /* later rules that are told */

static const char *const because_names[] = {
    [TC_BECAUSE_RULE] = "rule",         [TC_BECAUSE_DEFAULT] = "default", [TC_BECAUSE_READ_ONLY] = "read_only",
    [TC_BECAUSE_NETWORK] = "network",   [TC_BECAUSE_LENGTH] = "length",   [TC_BECAUSE_FREER] = "freer",
    [TC_BECAUSE_STRICTER] = "stricter",
};
_Static_assert(TC_COUNT(because_names) == TC_BECAUSE_STRICTER + 1, "every reason has a name");

static const char *const area_names[] = {
    [TC_AREA_DATA] = "data", [TC_AREA_ROOTFS] = "rootfs", [TC_AREA_SCRATCH] = "scratch", [TC_AREA_SYSTEM] = "system"};
_Static_assert(TC_COUNT(area_names) == TC_AREA_SYSTEM + 1, "every area has a name");

/* ---- the question ---- */

static int bad_target(struct tc_error *err, const char *target)
{
    return tc_error_plain(err, -EINVAL, "'%s': expected host:port, address:port, [address]:port or unix:/path", target);
}

int tc_question_target(const char *target, struct tc_arena *arena, struct tc_question *question, struct tc_error *err)
{
    const char *colon = strrchr(target, ':');
    bool bracketed = target[0] == '[';
    uint64_t port;

    question->host = question->address = NULL;
    if (strncmp(target, "unix:", 5) == 0) {
        question->address = target;
        return target[5] == '/' ? 0 : bad_target(err, target);
    }
    if (colon == NULL || tc_parse_unsigned(colon + 1, UINT16_MAX, &port) < 0)
        return bad_target(err, target);

    size_t length = (size_t)(colon - target);
    if (bracketed && (length < 3 || target[length - 1] != ']'))
        return bad_target(err, target);
    const char *host = tc_arena_copy(arena, target + bracketed, length - 2u * bracketed);
    if (host == NULL)
        return tc_error_set(err, -ENOMEM, "'%s'", target);
    if (host[0] == '\0' || (!bracketed && strchr(host, ':') != NULL))
        return bad_target(err, target);

    struct tc_endpoint to;
    tc_endpoint_parse(NULL, host, (unsigned)port, &to);
    if (bracketed && to.bad)
        return bad_target(err, target);
    *(to.bad ? &question->host : &question->address) = host;
    question->port = (unsigned)port;
    return 0;
}

static struct tc_decision decide_call(const struct tc_ruleset *rules, const struct tc_view *view,
                                      const struct tc_question *question)
{
    const char *const alone[] = {question->path, NULL};
    const char *given = question->given == NULL ? question->path : question->given;

    return tc_decide_call(rules, view, given, question->path, question->argv == NULL ? alone : question->argv);
}

struct tc_decision tc_question_decide(const struct tc_ruleset *rules, const struct tc_view *view,
                                      const struct tc_question *question)
{
    bool socket = question->address != NULL && strncmp(question->address, "unix:", 5) == 0;

    if (question->operation == TC_OP_CONNECT && question->no_network && !socket)
        return (struct tc_decision){
            .effect = TC_DENY, .because = TC_BECAUSE_NETWORK, .operation = TC_OP_CONNECT, .area = TC_AREA_DATA};
    if (question->operation == TC_OP_CONNECT)
        return tc_decide_connect(rules, question->host, question->address, question->port);
    if (question->operation == TC_OP_EXECUTE && question->call)
        return decide_call(rules, view, question);
    return tc_decide_names(rules, view, question->operation, question->path, question->given, question->directory);
}

/* ---- what else matches ---- */

/* Rules after the deciding one that match too, at most SHADOWED_MAX. */
static size_t find_shadowed(const struct tc_ruleset *rules, const struct tc_view *view,
                            const struct tc_question *question, const struct tc_rule *decider,
                            const struct tc_rule *ret[SHADOWED_MAX])
{
    const struct tc_rule_list *list = &rules->index->operations[question->operation];
    bool network = question->operation == TC_OP_CONNECT, past = false;
    struct tc_subject subject;
    struct tc_endpoint to;
    size_t count = 0;

    if (network)
        tc_endpoint_parse(question->host, question->address, question->port, &to);
    else
        tc_subject_make(view, question->operation, question->path, strlen(question->path), question->directory,
                        question->call, &subject);
    if (decider == NULL || (network ? to.bad : subject.too_long))
        return 0;
    for (size_t i = 0; i < list->count && count < SHADOWED_MAX; i++) {
        const struct tc_rule *rule = &rules->rules[list->items[i]];
        bool matches = past && (network ? tc_connect_matches(&rules->index->connects[i], &to)
                                        : tc_subject_matches(&subject, rule));
        past |= rule == decider;
        if (matches)
            ret[count++] = rule;
    }
    return count;
}

/* ---- words ---- */

static void write_text(const char *text, struct tc_buf *out)
{
    tc_text_escape(out, text, strlen(text));
}

static void write_origin(const char *source, const char *reason, struct tc_buf *out)
{
    tc_buf_string(out, " (");
    write_text(source, out);
    tc_buf_char(out, ')');
    if (reason == NULL || reason[0] == '\0')
        return;
    tc_buf_string(out, ": ");
    write_text(reason, out);
}

static void write_rule(const struct tc_rule *rule, struct tc_buf *out)
{
    tc_buf_string(out, "rule ");
    write_text(rule->pattern, out);
    write_origin(rule->source, rule->reason, out);
}

static void write_command(const struct tc_command_rule *command, struct tc_buf *out)
{
    tc_buf_string(out, "command");
    for (size_t i = 0; i < command->count; i++) {
        tc_buf_char(out, ' ');
        write_text(command->argv[i], out);
    }
    if (command->more)
        tc_buf_string(out, " ...");
    write_origin(command->source, command->reason, out);
}

static const char *default_words(const struct tc_decision *decision)
{
    if (decision->operation == TC_OP_CONNECT)
        return "no rule matches: connections are denied";
    switch (decision->area) {
    case TC_AREA_DATA:
        return "no rule matches: data mounts deny what no rule allows";
    case TC_AREA_ROOTFS:
        return "no rule matches: the root file system is readable and executable, not writable";
    case TC_AREA_SCRATCH:
        return "no rule matches: scratch allows everything";
    case TC_AREA_SYSTEM:
        break;
    }
    return "/proc and /dev are as built, rules are not consulted";
}

void tc_decision_reason(const struct tc_decision *decision, struct tc_buf *out)
{
    const struct tc_rule *rule = decision->by_project ? decision->project_rule : decision->rule;
    const struct tc_command_rule *command = decision->by_project ? decision->project_command : decision->command;

    switch (decision->because) {
    case TC_BECAUSE_RULE:
        if (command != NULL)
            write_command(command, out);
        else if (rule != NULL)
            write_rule(rule, out);
        return;
    case TC_BECAUSE_DEFAULT:
        tc_buf_string(out, default_words(decision));
        return;
    case TC_BECAUSE_READ_ONLY:
        tc_buf_string(out, "the mount is read-only, whatever the rules say");
        return;
    case TC_BECAUSE_NETWORK:
        tc_buf_string(out, "the cell has no network (--net none), rules are not consulted");
        return;
    case TC_BECAUSE_LENGTH:
        tc_buf_printf(out, "it cannot be judged: a path that is not absolute or longer than %d bytes, or no memory",
                      TC_PATH_LIMIT);
        return;
    case TC_BECAUSE_FREER:
        tc_buf_printf(out, "%s would be decided more freely at the new name than at the old",
                      tc_operation_name(decision->operation));
        return;
    case TC_BECAUSE_STRICTER:
        tc_buf_string(out, "what is, or will be, in the directory could not be written by its new name");
        return;
    }
}

/* What must be said about the strength of an answer. */
static const char *caveat(const struct tc_question *question, const struct tc_decision *decision)
{
    if (decision->command != NULL || decision->project_command != NULL)
        return "command rules are advisory: they look at arguments, what a program does is not theirs";
    if (question->operation == TC_OP_EXECUTE)
        return "execute holds for execve; a program that is allowed can still load code (ld.so, a memfd)";
    if (question->operation == TC_OP_READ && decision->effect != TC_ALLOW)
        return "a program that may be executed can be observed while it runs, though it may not be read";
    return NULL;
}

static void write_target(const struct tc_question *question, struct tc_buf *out)
{
    if (question->operation != TC_OP_CONNECT) {
        write_text(question->path, out);
        return;
    }
    const char *host = question->host != NULL ? question->host : question->address;
    write_text(host, out);
    if (strncmp(host, "unix:", 5) != 0)
        tc_buf_printf(out, " port %u", question->port);
}

static void write_line(const char *label, const struct tc_rule *rule, struct tc_buf *out)
{
    char place[64];

    tc_buf_printf(out, "  %-9s%s ", label, tc_effect_name(rule->effect));
    write_text(rule->pattern, out);
    tc_buf_string(out, " (");
    write_text(rule->source, out);
    tc_buf_printf(out, ": %s, priority %d)\n", tc_rule_place(rule, place, sizeof(place)), rule->priority);
}

void tc_explain_text(const struct tc_ruleset *rules, const struct tc_view *view, const struct tc_question *question,
                     struct tc_buf *out)
{
    struct tc_decision decision = tc_question_decide(rules, view, question);
    const struct tc_rule *shadowed[SHADOWED_MAX];
    const char *note = caveat(question, &decision);

    tc_buf_printf(out, "%s %s ", tc_effect_name(decision.effect), tc_operation_name(question->operation));
    write_target(question, out);
    tc_buf_string(out, "\n  why      ");
    tc_decision_reason(&decision, out);
    tc_buf_char(out, '\n');
    if (decision.rule != NULL)
        write_line(decision.because == TC_BECAUSE_RULE && !decision.by_project ? "rule" : "but rule", decision.rule,
                   out);
    if (decision.project_rule != NULL)
        write_line("project", decision.project_rule, out);
    size_t count = find_shadowed(rules, view, question, decision.rule, shadowed);
    for (size_t i = 0; i < count; i++)
        write_line("before", shadowed[i], out);
    if (question->mechanism != NULL)
        tc_buf_printf(out, "  strength %s: %s\n", question->strength, question->mechanism);
    if (note != NULL)
        tc_buf_printf(out, "  note     %s\n", note);
}

static void emit_rule(struct tc_emit *emit, const char *key, const struct tc_rule *rule)
{
    char place[64];

    if (rule == NULL) {
        tc_emit_null(emit, key);
        return;
    }
    tc_emit_object(emit, key);
    tc_emit_string(emit, "pattern", rule->pattern);
    tc_emit_string(emit, "effect", tc_effect_name(rule->effect));
    tc_emit_integer(emit, "priority", rule->priority);
    tc_emit_string(emit, "reason", rule->reason);
    tc_emit_string(emit, "source", rule->source);
    tc_emit_string(emit, "place", tc_rule_place(rule, place, sizeof(place)));
    tc_emit_object_end(emit);
}

static void emit_command(struct tc_emit *emit, const char *key, const struct tc_command_rule *command)
{
    char place[64];

    if (command == NULL) {
        tc_emit_null(emit, key);
        return;
    }
    tc_emit_object(emit, key);
    tc_command_emit(emit, command);
    tc_emit_string(emit, "effect", tc_effect_name(command->effect));
    tc_emit_string(emit, "reason", command->reason);
    tc_emit_string(emit, "source", command->source);
    tc_emit_string(emit, "place", tc_command_place(command, place, sizeof(place)));
    tc_emit_object_end(emit);
}

static void emit_question(struct tc_emit *emit, const struct tc_question *question)
{
    const char *host = question->host != NULL ? question->host : question->address;

    tc_emit_string(emit, "operation", tc_operation_name(question->operation));
    tc_emit_string(emit, "target", question->operation == TC_OP_CONNECT ? host : question->path);
    if (question->operation == TC_OP_CONNECT && strncmp(host, "unix:", 5) != 0)
        tc_emit_unsigned(emit, "port", question->port);
    if (question->given != NULL && question->path != NULL && strcmp(question->given, question->path) != 0)
        tc_emit_string(emit, "given", question->given);
}

void tc_explain_json(const struct tc_ruleset *rules, const struct tc_view *view, const struct tc_question *question,
                     struct tc_buf *out)
{
    struct tc_decision decision = tc_question_decide(rules, view, question);
    const struct tc_rule *shadowed[SHADOWED_MAX];
    size_t count = find_shadowed(rules, view, question, decision.rule, shadowed);
    struct tc_emit emit = {.out = out};
    tc_auto_buf why = {0};

    tc_decision_reason(&decision, &why);
    tc_emit_object(&emit, NULL);
    emit_question(&emit, question);
    tc_emit_string(&emit, "effect", tc_effect_name(decision.effect));
    tc_emit_string(&emit, "because", because_names[decision.because]);
    tc_emit_string(&emit, "why", why.data);
    if (question->operation != TC_OP_CONNECT)
        tc_emit_string(&emit, "area", area_names[decision.area]);
    emit_rule(&emit, "rule", decision.rule);
    emit_command(&emit, "command", decision.command);
    emit_rule(&emit, "project_rule", decision.project_rule);
    emit_command(&emit, "project_command", decision.project_command);
    tc_emit_bool(&emit, "by_project", decision.by_project);
    tc_emit_array(&emit, "shadowed");
    for (size_t i = 0; i < count; i++)
        emit_rule(&emit, NULL, shadowed[i]);
    tc_emit_array_end(&emit);
    tc_emit_string(&emit, "mechanism", question->mechanism);
    tc_emit_string(&emit, "strength", question->strength);
    tc_emit_string(&emit, "note", caveat(question, &decision));
    tc_emit_object_end(&emit);
    out->failed |= tc_buf_failed(&why);
}
