/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/emit.h"
#include "base/hash.h"
#include "plan/compile.h"
#include "plan/limiting.h"
#include "plan/names.h"
#include "plan/notify.h"

/*
 * The plan as JSON, for policy/schema/plan.json. Nothing of it is ever read
 * back. Values that were passed for the command (stdin, environment) are there
 * as they are: whoever prints a plan sees what the command would see.
 */

static void emit_texts(struct tc_emit *emit, const char *key, const char *const *list)
{
    tc_emit_array(emit, key);
    for (; list != NULL && *list != NULL; list++)
        tc_emit_string(emit, NULL, *list);
    tc_emit_array_end(emit);
}

static void emit_bits(struct tc_emit *emit, const char *key, const char *const *names, unsigned bits)
{
    tc_emit_array(emit, key);
    for (size_t i = 0; names[i] != NULL; i++)
        if (bits & (1u << i))
            tc_emit_string(emit, NULL, names[i]);
    tc_emit_array_end(emit);
}

static void emit_octal(struct tc_emit *emit, const char *key, unsigned mode)
{
    char text[8] = "0";
    size_t at = 1;

    for (int shift = 9; shift >= 0; shift -= 3)
        if (shift != 9 || (mode >> 9) != 0)
            text[at++] = (char)('0' + ((mode >> shift) & 7));
    text[at] = '\0';
    tc_emit_string(emit, key, text);
}

static void emit_step(struct tc_emit *emit, const struct tc_step *step)
{
    tc_emit_object(emit, NULL);
    tc_emit_string(emit, "kind", tc_step_kind_name(step->kind));
    tc_emit_string(emit, "target", step->target);
    tc_emit_string(emit, "origin", step->origin);
    if (step->source != NULL) {
        tc_emit_string(emit, "source", step->source);
        tc_emit_unsigned(emit, "device", step->device);
        tc_emit_unsigned(emit, "inode", step->inode);
    }
    if (step->text != NULL)
        tc_emit_bytes(emit, "text", step->text, step->text_length);
    if (step->mode != 0)
        emit_octal(emit, "mode", step->mode);
    if (step->size != 0)
        tc_emit_unsigned(emit, "size", step->size);
    emit_bits(emit, "flags", tc_step_flag_names, step->flags);
    if (step->flags & TC_STEP_IDMAP) {
        tc_emit_unsigned(emit, "owner_uid", step->owner_uid);
        tc_emit_unsigned(emit, "owner_gid", step->owner_gid);
    }
    emit_bits(emit, "access", tc_access_names, step->access);
    tc_emit_object_end(emit);
}

static void emit_identity(struct tc_emit *emit, const struct tc_identity *identity)
{
    tc_emit_object(emit, "identity");
    tc_emit_string(emit, "kind", tc_identity_kind_name(identity->kind));
    tc_emit_unsigned(emit, "uid", TC_CELL_UID);
    tc_emit_unsigned(emit, "gid", TC_CELL_GID);
    if (identity->kind != TC_IDENTITY_LEASE) {
        tc_emit_unsigned(emit, "host_uid", identity->host_uid);
        tc_emit_unsigned(emit, "host_gid", identity->host_gid);
    } else {
        tc_emit_null(emit, "host_uid");
        tc_emit_null(emit, "host_gid");
    }
    tc_emit_object_end(emit);
}

static void emit_kernel(struct tc_emit *emit, const struct tc_plan *plan)
{
    char hash[TC_SHA256_HEX];

    tc_sha256_hex(plan->filter, plan->filter_size, hash);
    tc_emit_object(emit, "landlock");
    tc_emit_unsigned(emit, "abi", plan->landlock_abi);
    tc_emit_bool(emit, "scope", plan->scope_abstract);
    tc_emit_object_end(emit);
    tc_emit_object(emit, "seccomp");
    tc_emit_string(emit, "name", plan->filter_name);
    tc_emit_unsigned(emit, "size", plan->filter_size);
    tc_emit_string(emit, "sha256", hash);
    tc_emit_object_end(emit);
}

static void emit_broker(struct tc_emit *emit, const struct tc_plan *plan)
{
    char hash[TC_SHA256_HEX];

    if (plan->notify == 0) {
        tc_emit_null(emit, "broker");
        return;
    }
    tc_sha256_hex(plan->notify_filter, plan->notify_filter_size, hash);
    tc_emit_object(emit, "broker");
    emit_bits(emit, "notify", tc_notify_names, plan->notify);
    tc_emit_unsigned(emit, "size", plan->notify_filter_size);
    tc_emit_string(emit, "sha256", hash);
    tc_emit_object_end(emit);
}

static void emit_command(struct tc_emit *emit, const struct tc_plan *plan)
{
    tc_emit_string(emit, "program", plan->program);
    emit_texts(emit, "argv", plan->argv);
    emit_texts(emit, "env", plan->env);
    tc_emit_string(emit, "cwd", plan->cwd);
    tc_emit_string(emit, "stdin", tc_stdin_name(plan->stdin_mode));
    tc_emit_bool(emit, "tty", plan->tty);
}

static void emit_limits(struct tc_emit *emit, const struct tc_plan *plan)
{
    static const char *const keys[TC_LIMIT_COUNT] = {[TC_LIMIT_WALL] = "wall_ms",
                                                     [TC_LIMIT_CPU_TIME] = "cpu_time_ms",
                                                     [TC_LIMIT_CPUS] = "cpus_thousandths",
                                                     [TC_LIMIT_MEMORY] = "memory_bytes",
                                                     [TC_LIMIT_PIDS] = "pids",
                                                     [TC_LIMIT_OUTPUT] = "output_bytes",
                                                     [TC_LIMIT_DISK] = "disk_bytes",
                                                     [TC_LIMIT_FILE_SIZE] = "file_size_bytes",
                                                     [TC_LIMIT_OPEN_FILES] = "open_files",
                                                     [TC_LIMIT_GRACE] = "grace_ms"};

    tc_emit_object(emit, "limits");
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        if (plan->limits.set & (1u << limit))
            tc_emit_unsigned(emit, keys[limit], plan->limits.value[limit]);
        else
            tc_emit_null(emit, keys[limit]);
    }
    tc_emit_bool(emit, "output_stop", plan->output_stop);
    tc_emit_object(emit, "held_by");
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++)
        if (tc_limit_means(plan, limit) != NULL && (plan->limits.set & (1u << limit)))
            tc_emit_string(emit, tc_limit_name(limit), tc_limit_means(plan, limit));
    tc_emit_object_end(emit);
    tc_emit_object_end(emit);
}

static void emit_mounts(struct tc_emit *emit, const struct tc_plan *plan)
{
    tc_emit_array(emit, "mounts");
    for (size_t i = 0; i < plan->data_count; i++) {
        const struct tc_data_mount *mount = &plan->data[i];

        tc_emit_object(emit, NULL);
        tc_emit_string(emit, "target", mount->target);
        tc_emit_string(emit, "source", mount->source);
        tc_emit_string(emit, "mode", tc_mount_mode_names[mount->mode]);
        tc_emit_string(emit, "way", tc_way_name(mount->way));
        emit_bits(emit, "access", tc_access_names, mount->access);
        tc_emit_object_end(emit);
    }
    tc_emit_array_end(emit);
    tc_emit_array(emit, "view");
    for (size_t i = 0; i < plan->view.count; i++) {
        tc_emit_object(emit, NULL);
        tc_emit_string(emit, "target", plan->view.mounts[i].target);
        tc_emit_string(emit, "area", tc_area_name(plan->view.mounts[i].area));
        tc_emit_bool(emit, "read_only", plan->view.mounts[i].read_only);
        tc_emit_object_end(emit);
    }
    tc_emit_array_end(emit);
}

static void emit_rule(struct tc_emit *emit, const char *key, const struct tc_rule *rule)
{
    char place[64];

    if (rule == NULL) {
        tc_emit_null(emit, key);
        return;
    }
    tc_emit_object(emit, key);
    tc_emit_bytes(emit, "pattern", rule->pattern, rule->pattern_length);
    tc_emit_array(emit, "operations");
    for (enum tc_operation operation = 0; operation < TC_OP_COUNT; operation++)
        if (rule->operations & TC_OP_BIT(operation))
            tc_emit_string(emit, NULL, tc_operation_name(operation));
    tc_emit_array_end(emit);
    tc_emit_string(emit, "effect", tc_effect_name(rule->effect));
    tc_emit_integer(emit, "priority", rule->priority);
    tc_emit_string(emit, "reason", rule->reason);
    tc_emit_string(emit, "source", rule->source);
    tc_emit_string(emit, "place", tc_rule_place(rule, place, sizeof(place)));
    tc_emit_object_end(emit);
}

static void emit_command_rule(struct tc_emit *emit, const struct tc_command_rule *command)
{
    char place[64];

    tc_emit_object(emit, "command");
    tc_command_emit(emit, command);
    tc_emit_bool(emit, "any_order", command->any_order);
    tc_emit_string(emit, "effect", tc_effect_name(command->effect));
    tc_emit_string(emit, "reason", command->reason);
    tc_emit_string(emit, "source", command->source);
    tc_emit_string(emit, "place", tc_command_place(command, place, sizeof(place)));
    tc_emit_object_end(emit);
}

static void emit_enforcement(struct tc_emit *emit, const struct tc_plan *plan)
{
    tc_emit_array(emit, "enforcement");
    for (size_t i = 0; i < plan->enforcement_count; i++) {
        const struct tc_enforcement *item = &plan->enforcement[i];

        tc_emit_object(emit, NULL);
        if (item->rule != NULL)
            emit_rule(emit, "rule", item->rule);
        else
            emit_command_rule(emit, item->command);
        tc_emit_string(emit, "mechanism", item->mechanism);
        tc_emit_string(emit, "strength", tc_strength_name(item->strength));
        tc_emit_object_end(emit);
    }
    tc_emit_array_end(emit);
}

static void emit_findings(struct tc_emit *emit, const struct tc_plan *plan)
{
    tc_emit_array(emit, "needs");
    for (size_t i = 0; i < plan->need_count; i++) {
        tc_emit_object(emit, NULL);
        tc_emit_string(emit, "subject", plan->needs[i].subject);
        tc_emit_string(emit, "why", plan->needs[i].why);
        emit_rule(emit, "rule", plan->needs[i].rule);
        tc_emit_string(emit, "lack", plan->needs[i].lack);
        tc_emit_object_end(emit);
    }
    tc_emit_array_end(emit);
    tc_emit_array(emit, "degraded");
    for (size_t i = 0; i < plan->degraded_count; i++) {
        tc_emit_object(emit, NULL);
        tc_emit_string(emit, "name", plan->degraded[i].name);
        tc_emit_string(emit, "reason", plan->degraded[i].reason);
        tc_emit_object_end(emit);
    }
    tc_emit_array_end(emit);
    tc_emit_array(emit, "refused");
    for (size_t i = 0; i < plan->refusal_count; i++) {
        tc_emit_object(emit, NULL);
        tc_emit_string(emit, "message", plan->refusals[i].message);
        tc_emit_string(emit, "hint", plan->refusals[i].hint);
        tc_emit_object_end(emit);
    }
    tc_emit_array_end(emit);
}

static void emit_labels(struct tc_emit *emit, const struct tc_plan *plan)
{
    tc_emit_object(emit, "label");
    for (size_t i = 0; i < plan->label_count; i++)
        tc_emit_string(emit, plan->labels[i].name, plan->labels[i].value);
    tc_emit_object_end(emit);
}

void tc_plan_print_json(const struct tc_plan *plan, struct tc_buf *out)
{
    struct tc_emit emit = {.out = out, .indent = 2};

    tc_emit_object(&emit, NULL);
    tc_emit_unsigned(&emit, "version", 1);
    tc_emit_string(&emit, "plan", plan->hash);
    tc_emit_object(&emit, "policy");
    tc_emit_string(&emit, "name", plan->policy_name);
    tc_emit_string(&emit, "sha256", plan->policy_hash);
    tc_emit_object_end(&emit);
    emit_identity(&emit, &plan->identity);
    tc_emit_string(&emit, "hostname", plan->hostname);
    tc_emit_string(&emit, "net", tc_net_names[plan->net]);
    emit_kernel(&emit, plan);
    emit_broker(&emit, plan);
    emit_command(&emit, plan);
    emit_limits(&emit, plan);
    tc_emit_unsigned(&emit, "scratch_bytes", plan->scratch_size);
    emit_bits(&emit, "root_access", tc_access_names, plan->root_access);
    tc_emit_array(&emit, "steps");
    for (size_t i = 0; i < plan->step_count; i++)
        emit_step(&emit, &plan->steps[i]);
    tc_emit_array_end(&emit);
    emit_mounts(&emit, plan);
    emit_enforcement(&emit, plan);
    emit_findings(&emit, plan);
    emit_labels(&emit, plan);
    tc_emit_object_end(&emit);
    tc_buf_char(out, '\n');
}
