/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "plan/compile.h"

/*
 * The canonical form that the plan's hash is taken of: every field that the
 * kernel will be told or that decides, in a fixed order, numbers as eight bytes
 * little-endian, texts with their length before them. The host id that a cell
 * of root leases at launch is not among them, nor are labels.
 */

#define FORMAT "toolcell plan 1"

static void put_number(struct tc_buf *out, uint64_t value)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    tc_buf_append(out, bytes, sizeof(bytes));
}

static void put_bytes(struct tc_buf *out, const void *bytes, size_t length)
{
    put_number(out, length);
    if (length > 0)
        tc_buf_append(out, bytes, length);
}

/* An absent text differs from an empty one. */
static void put_text(struct tc_buf *out, const char *text)
{
    put_number(out, text == NULL);
    put_bytes(out, text, text == NULL ? 0 : strlen(text));
}

static void put_texts(struct tc_buf *out, const char *const *list)
{
    size_t count = 0;

    while (list != NULL && list[count] != NULL)
        count++;
    put_number(out, count);
    for (size_t i = 0; i < count; i++)
        put_text(out, list[i]);
}

static void put_step(struct tc_buf *out, const struct tc_step *step)
{
    put_number(out, step->kind);
    put_text(out, step->target);
    put_text(out, step->source);
    put_number(out, step->text == NULL);
    put_bytes(out, step->text, step->text_length);
    put_number(out, step->mode);
    put_number(out, step->flags);
    put_number(out, step->size);
    put_number(out, step->device);
    put_number(out, step->inode);
    put_number(out, step->owner_uid);
    put_number(out, step->owner_gid);
    put_number(out, step->access);
}

static void put_limits(struct tc_buf *out, const struct tc_limits *limits)
{
    put_number(out, limits->set);
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++)
        put_number(out, limits->set & (1u << limit) ? limits->value[limit] : 0);
}

static void put_identity(struct tc_buf *out, const struct tc_identity *identity)
{
    bool leased = identity->kind == TC_IDENTITY_LEASE;

    put_number(out, identity->kind);
    put_number(out, leased ? 0 : identity->host_uid);
    put_number(out, leased ? 0 : identity->host_gid);
}

static void put_view(struct tc_buf *out, const struct tc_view *view)
{
    put_number(out, view->rootfs_writable);
    put_number(out, view->count);
    for (size_t i = 0; i < view->count; i++) {
        put_text(out, view->mounts[i].target);
        put_number(out, view->mounts[i].area);
        put_number(out, view->mounts[i].read_only);
    }
}

static void put_command(struct tc_buf *out, const struct tc_plan *plan)
{
    put_texts(out, plan->argv);
    put_texts(out, plan->env);
    put_text(out, plan->cwd);
    put_text(out, plan->program);
    put_number(out, plan->tty);
    put_number(out, plan->stdin_mode);
    put_bytes(out, plan->stdin_data, plan->stdin_length);
    put_limits(out, &plan->limits);
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        put_number(out, plan->group_versions[i]);
    put_number(out, plan->group_scoped);
    put_number(out, plan->count_processes);
    put_number(out, plan->output_stop);
}

static void put_findings(struct tc_buf *out, const struct tc_plan *plan)
{
    put_number(out, plan->need_count);
    for (size_t i = 0; i < plan->need_count; i++) {
        put_text(out, plan->needs[i].subject);
        put_text(out, plan->needs[i].why);
        put_text(out, plan->needs[i].rule == NULL ? NULL : plan->needs[i].rule->pattern);
    }
    put_number(out, plan->degraded_count);
    for (size_t i = 0; i < plan->degraded_count; i++)
        put_text(out, plan->degraded[i].name);
}

int tc_plan_hash(struct tc_plan *plan, const struct tc_facts *facts, struct tc_error *err)
{
    tc_auto_buf out = {0};

    put_text(&out, FORMAT);
    put_text(&out, plan->policy_hash);
    put_number(&out, plan->step_count);
    for (size_t i = 0; i < plan->step_count; i++)
        put_step(&out, &plan->steps[i]);
    put_number(&out, plan->root_access);
    put_number(&out, plan->scratch_size);
    put_identity(&out, &plan->identity);
    put_text(&out, plan->hostname);
    put_number(&out, plan->net);
    put_number(&out, plan->landlock_abi);
    put_number(&out, plan->scope_abstract);
    put_bytes(&out, plan->filter, plan->filter_size);
    put_number(&out, plan->notify);
    put_bytes(&out, plan->notify_filter, plan->notify_filter_size);
    put_command(&out, plan);
    put_view(&out, &plan->view);
    put_findings(&out, plan);
    put_number(&out, facts->root);
    put_text(&out, facts->program_real);
    if (tc_buf_failed(&out))
        return tc_error_set(err, -ENOMEM, "hash the plan");
    tc_sha256_hex(out.data, out.length, plan->hash);
    return 0;
}
