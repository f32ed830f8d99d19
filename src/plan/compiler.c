/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/compiler.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *tc_list_add(struct tc_arena *arena, struct tc_list *list, size_t size)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity * 2 + 8;
        void *grown = tc_arena_array(arena, capacity, size);

        if (grown == NULL)
            return NULL;
        if (list->count > 0)
            memcpy(grown, list->items, list->count * size);
        list->items = grown;
        list->capacity = capacity;
    }
    return (char *)list->items + list->count++ * size;
}

struct tc_step *tc_compiler_step(struct tc_compiler *compiler, enum tc_step_kind kind, const char *target,
                                 const char *origin)
{
    struct tc_step *step = tc_list_add(compiler->arena, &compiler->steps, sizeof(*step));

    if (step != NULL) {
        step->kind = kind;
        step->target = target;
        step->origin = origin;
    }
    return step;
}

int tc_compiler_degrade(struct tc_compiler *compiler, const char *name, const char *reason, struct tc_error *err)
{
    struct tc_degradation *item = tc_list_add(compiler->arena, &compiler->degraded, sizeof(*item));

    if (item == NULL || reason == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    *item = (struct tc_degradation){.name = name, .reason = reason};
    return 0;
}

int tc_compiler_need(struct tc_compiler *compiler, const char *subject, const char *why, const struct tc_rule *rule,
                     const char *lack, struct tc_error *err)
{
    struct tc_mediation_need *item = tc_list_add(compiler->arena, &compiler->needs, sizeof(*item));

    if (item == NULL || why == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    *item = (struct tc_mediation_need){.subject = subject, .why = why, .rule = rule, .lack = lack};
    if (rule != NULL) {
        struct tc_needed *needed = &compiler->needed[tc_analysis_index(compiler->analysis, rule)];
        needed->subject = subject;
        needed->outside_data |= strcmp(subject, "rootfs") == 0 || strcmp(subject, "scratch") == 0;
        if (lack != NULL)
            needed->lack = lack;
    }
    return 0;
}

bool tc_compiler_needs(const struct tc_compiler *compiler, const char *subject, const struct tc_rule *rule)
{
    const char *needed = compiler->needed[tc_analysis_index(compiler->analysis, rule)].subject;

    return needed != NULL && (subject == NULL || strcmp(needed, subject) == 0);
}

int tc_compiler_refuse(struct tc_compiler *compiler, int code, const char *hint, struct tc_error *err,
                       const char *format, ...)
{
    struct tc_refusal *item;
    char message[sizeof(err->message)];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    if (compiler->mode == TC_COMPILE_RUN) {
        tc_error_plain(err, code, "%s", message);
        if (hint != NULL)
            tc_error_hint(err, "%s", hint);
        return code;
    }
    item = tc_list_add(compiler->arena, &compiler->refusals, sizeof(*item));
    if (item == NULL || (item->message = tc_arena_string(compiler->arena, message)) == NULL ||
        (hint != NULL && (item->hint = tc_arena_string(compiler->arena, hint)) == NULL))
        return tc_error_set(err, -ENOMEM, "compile the plan");
    return 0;
}
