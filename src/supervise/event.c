/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: one JSON object a line, at most 64 KiB with its newline, in the
 * order start, stdout, stderr, ask and denied, result. Output is byte-exact: text that is
 * UTF-8 without NULs stands as it is, anything else in base64, chunk by chunk.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/emit.h"
#include "base/text.h"
#include "plan/limiting.h"
#include "supervise/call.h"

#define ENVELOPE 512u          /* everything in an output event but the data, generously */
#define OUTPUT_MAX (32u << 10) /* bytes handled at once: in base64 they fit into one line */
#define ESCAPE_MAX 6u          /* characters for one byte: \u001f */
#define LINE_DATA (60u << 10)  /* characters of data in one line */
#define LOSSES_REST 4096u      /* room in a line for what is degraded by name alone, of which there are a dozen */
#define PROTOCOL_VERSION 1

struct tc_emit tc_event_begin(struct tc_call *call, const char *name)
{
    struct tc_emit emit = {.out = &call->line};

    call->line.length = 0;
    tc_emit_object(&emit, NULL);
    tc_emit_string(&emit, "event", name);
    tc_emit_string(&emit, "id", call->report->id);
    tc_emit_unsigned(&emit, "t", tc_clock_ms() - call->report->started_ms);
    return emit;
}

bool tc_event_end(struct tc_call *call, struct tc_emit *emit)
{
    struct tc_sink *sink = &call->sinks[TC_SINK_EVENTS];

    tc_emit_object_end(emit);
    tc_buf_char(&call->line, '\n');
    if (tc_buf_failed(&call->line)) {
        /* An event cannot be left out: whoever reads on would take the rest for all. */
        tc_buf_free(&call->line);
        tc_sink_break(sink, -ENOMEM);
        return true;
    }
    if (call->line.length > TC_EVENT_LINE_MAX) { /* nothing that an event holds is so long; it might never have room */
        tc_sink_break(sink, -EMSGSIZE);
        return true;
    }
    if (call->line.length > tc_sink_room(sink))
        return false;
    tc_sink_put(sink, call->line.data, call->line.length);
    return true;
}

size_t tc_event_budget(size_t room)
{
    if (room / (ESCAPE_MAX + 1) < ENVELOPE)
        return 0;
    room = room / (ESCAPE_MAX + 1) - ENVELOPE;
    return room < OUTPUT_MAX ? room : OUTPUT_MAX;
}

static size_t escaped_size(unsigned char byte)
{
    if (byte < 0x20 || byte == 0x7f)
        return ESCAPE_MAX;
    if (byte == 0xc2) /* may begin a C1 control, which is escaped too */
        return ESCAPE_MAX;
    return byte == '"' || byte == '\\' ? 2 : 1;
}

/* The longest part that fits into one line and ends between two characters. */
static size_t line_portion(const char *text, size_t length)
{
    size_t size = 0, end = 0;

    while (end < length && size + ESCAPE_MAX <= LINE_DATA)
        size += escaped_size((unsigned char)text[end++]);
    while (end < length && end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

static void output_line(struct tc_call *call, const char *name, const char *text, size_t length, const char *encoding)
{
    struct tc_emit emit = tc_event_begin(call, name);

    tc_emit_bytes(&emit, "data", text, length);
    tc_emit_string(&emit, "encoding", encoding);
    tc_event_end(call, &emit);
}

static void output_base64(struct tc_call *call, const char *name, const char *bytes, size_t length)
{
    tc_auto_buf text = {0};

    tc_base64_encode(&text, bytes, length);
    if (tc_buf_failed(&text))
        tc_sink_break(&call->sinks[TC_SINK_EVENTS], -ENOMEM);
    else
        output_line(call, name, text.data, text.length, "base64");
}

void tc_event_output(struct tc_call *call, enum tc_stream_index index, const char *bytes, size_t length)
{
    const char *name = index == TC_STREAM_STDOUT ? "stdout" : "stderr";

    if (tc_sink_room(&call->sinks[TC_SINK_EVENTS]) == SIZE_MAX || length == 0)
        return;
    if (memchr(bytes, '\0', length) != NULL || !tc_utf8_valid(bytes, length)) {
        output_base64(call, name, bytes, length);
        return;
    }
    while (length > 0) {
        size_t portion = line_portion(bytes, length);

        output_line(call, name, bytes, portion, "utf-8");
        bytes += portion;
        length -= portion;
    }
}

size_t tc_event_label_bytes(const struct tc_plan *plan)
{
    size_t bytes = 0;

    for (size_t i = 0; plan != NULL && i < plan->label_count; i++)
        bytes += strlen(plan->labels[i].name) + strlen(plan->labels[i].value);
    return bytes;
}

static void emit_labels(struct tc_emit *emit, const struct tc_plan *plan)
{
    size_t count = plan != NULL && tc_event_label_bytes(plan) <= TC_LABEL_BYTES ? plan->label_count : 0;

    tc_emit_object(emit, "label");
    for (size_t i = 0; i < count; i++)
        tc_emit_string(emit, plan->labels[i].name, plan->labels[i].value);
    tc_emit_object_end(emit);
}

static void emit_loss(struct tc_emit *emit, const char *name, const char *reason)
{
    tc_emit_object(emit, NULL);
    tc_emit_string(emit, "name", name);
    tc_emit_string(emit, "reason", reason);
    tc_emit_object_end(emit);
}

/* What it takes in a line, at most. */
static size_t loss_size(const struct tc_degradation *loss)
{
    size_t size = ENVELOPE / 4 + strlen(loss->name), length = strlen(loss->reason);

    for (size_t i = 0; i < length; i++)
        size += escaped_size((unsigned char)loss->reason[i]);
    return size + length / 2; /* where it is not UTF-8: base64 takes a third more */
}

/* Those that do not fit into the line: each name once, so that none is missing. */
static void emit_other_losses(struct tc_emit *emit, const struct tc_degradation *losses, size_t count)
{
    char reason[64];

    for (size_t i = 0; i < count; i++) {
        size_t same = 0, first = 0;

        while (strcmp(losses[first].name, losses[i].name) != 0)
            first++;
        if (first < i)
            continue;
        for (size_t k = i; k < count; k++)
            same += strcmp(losses[k].name, losses[i].name) == 0;
        snprintf(reason, sizeof reason, "%zu more, which 'toolcell policy plan' tells", same);
        emit_loss(emit, losses[i].name, reason);
    }
}

static void emit_degraded(struct tc_emit *emit, const struct tc_plan *plan)
{
    size_t count = plan == NULL ? 0 : plan->degraded_count, i = 0;

    tc_emit_array(emit, "degraded");
    for (; i < count && emit->out->length + loss_size(&plan->degraded[i]) < TC_EVENT_LINE_MAX - LOSSES_REST; i++)
        emit_loss(emit, plan->degraded[i].name, plan->degraded[i].reason);
    if (i < count)
        emit_other_losses(emit, plan->degraded + i, count - i);
    tc_emit_array_end(emit);
}

/* What holds limits there, and the older version where that is part of it. */
static void emit_group(struct tc_emit *emit, const struct tc_plan *plan)
{
    unsigned held = tc_limits_held(plan), version = 2;

    if (held == 0) {
        tc_emit_null(emit, "cgroup");
        return;
    }
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if ((held & TC_CONTROLLER_BIT(i)) && plan->group_versions[i] < version)
            version = plan->group_versions[i];
    tc_emit_object(emit, "cgroup");
    tc_emit_unsigned(emit, "version", version);
    tc_emit_array(emit, "controllers");
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if (held & TC_CONTROLLER_BIT(i))
            tc_emit_string(emit, NULL, tc_controller_name(i));
    tc_emit_array_end(emit);
    tc_emit_object_end(emit);
}

static void emit_enforcement(struct tc_emit *emit, const struct tc_call *call)
{
    static const char *const namespaces[] = {"user", "mount", "pid", "ipc", "uts"};
    const struct tc_plan *plan = call->plan;

    tc_emit_object(emit, "enforcement");
    tc_emit_array(emit, "namespaces");
    for (size_t i = 0; i < TC_COUNT(namespaces); i++)
        tc_emit_string(emit, NULL, namespaces[i]);
    if (plan->net != TC_NET_HOST)
        tc_emit_string(emit, NULL, "net");
    if (access("/proc/self/ns/cgroup", F_OK) == 0) /* not on a kernel without groups, which has none to hide */
        tc_emit_string(emit, NULL, "cgroup");
    tc_emit_array_end(emit);
    tc_emit_unsigned(emit, "landlock_abi", plan->landlock_abi);
    tc_emit_string(emit, "seccomp", plan->filter_size > 0 ? plan->filter_name : NULL);
    emit_group(emit, plan);
    tc_emit_bool(emit, "mediation", plan->notify != 0);
    tc_emit_unsigned(emit, "uid", call->cell.host_uid);
    tc_emit_object_end(emit);
}

void tc_event_start(struct tc_call *call)
{
    struct tc_emit emit;

    if (call->sinks[TC_SINK_EVENTS].kind == TC_SINK_NONE)
        return;
    emit = tc_event_begin(call, "start");
    tc_emit_unsigned(&emit, "protocol", PROTOCOL_VERSION);
    tc_emit_string(&emit, "policy", call->plan->policy_hash);
    tc_emit_string(&emit, "plan", call->plan->hash);
    emit_labels(&emit, call->plan);
    emit_enforcement(&emit, call);
    emit_degraded(&emit, call->plan);
    tc_event_end(call, &emit);
}

static void emit_measured(struct tc_emit *emit, const char *key, uint64_t value)
{
    if (value == TC_NOT_MEASURED)
        tc_emit_null(emit, key);
    else
        tc_emit_unsigned(emit, key, value);
}

static void emit_ending(struct tc_emit *emit, const struct tc_result *result)
{
    char name[TC_SIGNAL_NAME_SIZE];

    tc_emit_string(emit, "outcome", tc_outcome_name(result->outcome));
    emit_measured(emit, "exit_code", result->exit_code < 0 ? TC_NOT_MEASURED : (uint64_t)result->exit_code);
    tc_emit_string(emit, "signal", result->signal > 0 ? tc_signal_name(result->signal, name) : NULL);
    if (result->error.code == 0) {
        tc_emit_null(emit, "error");
        return;
    }
    tc_emit_object(emit, "error");
    tc_emit_string(emit, "stage", result->error.stage);
    tc_emit_string(emit, "message", result->error.message);
    tc_emit_string(emit, "hint", result->error.hint[0] != '\0' ? result->error.hint : NULL);
    tc_emit_object_end(emit);
}

static void emit_usage(struct tc_emit *emit, const struct tc_result *result)
{
    tc_emit_object(emit, "usage");
    emit_measured(emit, "wall_ms", result->wall_ms);
    emit_measured(emit, "cpu_user_ms", result->cpu_user_ms);
    emit_measured(emit, "cpu_system_ms", result->cpu_system_ms);
    emit_measured(emit, "memory_peak_bytes", result->memory_peak_bytes);
    emit_measured(emit, "pids_peak", result->pids_peak);
    emit_measured(emit, "io_read_bytes", result->io_read_bytes);
    emit_measured(emit, "io_write_bytes", result->io_write_bytes);
    tc_emit_object_end(emit);
}

static void emit_counts(struct tc_emit *emit, const struct tc_result *result)
{
    tc_emit_object(emit, "output");
    tc_emit_unsigned(emit, "stdout_bytes", result->stdout_bytes);
    tc_emit_unsigned(emit, "stderr_bytes", result->stderr_bytes);
    tc_emit_bool(emit, "truncated", result->truncated);
    tc_emit_object_end(emit);
    tc_emit_unsigned(emit, "oom_kills", result->oom_kills);
    emit_measured(emit, "pids_denied", result->pids_denied);
    tc_emit_bool(emit, "disk_full", result->disk_full);
    tc_emit_unsigned(emit, "leftover_processes", result->leftover_processes);
    tc_emit_unsigned(emit, "denials", result->denials);
}

bool tc_event_result(struct tc_call *call)
{
    struct tc_emit emit;

    if (call->sinks[TC_SINK_EVENTS].kind == TC_SINK_NONE)
        return true;
    emit = tc_event_begin(call, "result");
    emit_ending(&emit, call->result);
    emit_usage(&emit, call->result);
    emit_counts(&emit, call->result);
    emit_labels(&emit, call->plan);
    emit_degraded(&emit, call->plan);
    return tc_event_end(call, &emit);
}
