/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prepare.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "cli/file.h"
#include "cli/locate.h"
#include "plan/limiting.h"
#include "plan/mounts.h"
#include "plan/scope.h"

#define DEFAULT_POLICY "workspace"

void tc_prepared_free(struct tc_prepared *prepared)
{
    tc_plan_free(prepared->plan);
    tc_facts_free(prepared->facts);
    tc_ruleset_free(prepared->rules);
    *prepared = (struct tc_prepared){0};
}

static int read_policy_fd(int fd, struct tc_arena *arena, struct tc_prepared *prepared, struct tc_error *err)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return tc_error_set(err, -errno, "--policy-fd %d", fd);
    if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
        return tc_error_plain(err, -EBADF, "--policy-fd %d: not open for reading", fd);
    if (tc_policy_read_fd(fd, "policy", &prepared->rules, err) < 0)
        return tc_error_wrap(err, "--policy-fd %d", fd);
    if (tc_file_path(fd, arena, &prepared->policy_path) < 0)
        return tc_error_set(err, -ENOMEM, "--policy-fd %d", fd);
    return 0;
}

int tc_prepare_rules(struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err)
{
    const char *workspace = call->request.workspace.source;
    int code = 0;

    if (call->policy_value != NULL) {
        prepared->rules = tc_take_ptr(call->policy_value);
        prepared->policy_path = call->policy_value_path;
    } else if (call->policy_fd >= 0) {
        code = read_policy_fd(call->policy_fd, call->request.arena, prepared, err);
    } else {
        code = tc_locate_policy(call->policy != NULL ? call->policy : DEFAULT_POLICY, call->request.arena,
                                &prepared->rules, &prepared->policy_path, err);
    }
    if (code == 0 && call->project_policy)
        code = tc_locate_project_policy(workspace != NULL ? workspace : ".", prepared->rules, err);
    return code < 0 ? tc_error_stage(err, "policy") : 0;
}

/* The files the rules come from: a cell that could write one would decide over the next. */
static const char *const *policy_files(const struct tc_invocation *call, const struct tc_prepared *prepared)
{
    size_t count = 0;
    const char **files = tc_arena_array(call->request.arena, prepared->rules->file_count + 2, sizeof(*files));

    if (files == NULL)
        return NULL;
    if (prepared->policy_path != NULL)
        files[count++] = prepared->policy_path;
    for (size_t i = 0; i < prepared->rules->file_count; i++)
        files[count++] = prepared->rules->files[i];
    return files;
}

static unsigned wanted_controllers(const struct tc_invocation *call, const struct tc_prepared *prepared)
{
    struct tc_limits asked = tc_limits_asked(prepared->rules, &call->request);

    return tc_limits_controllers(&asked);
}

int tc_prepare_groups(const struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err)
{
    unsigned wanted = wanted_controllers(call, prepared);
    bool partial = call->request.allow_degraded & (1u << TC_DEGRADE_LIMITS);
    struct tc_mounts mounts;
    int code;

    if (wanted == 0)
        return 0;
    code = tc_mounts_read(call->request.arena, &mounts, err);
    if (code < 0)
        return tc_error_stage(err, "facts");
    code = tc_groups_gather(call->request.arena, &mounts, wanted, &prepared->groups);
    if (code == 0)
        code = tc_scope_look(call->request.arena, &mounts, wanted, partial, &prepared->groups);
    if (code == 0)
        return 0;
    tc_error_set(err, code, "look at the control groups");
    return tc_error_stage(err, "facts");
}

int tc_prepare_scope(const struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err)
{
    struct tc_mounts mounts;
    int code;

    if (prepared->groups.scope.state != TC_SCOPE_OFFERED)
        return 0;
    code = tc_mounts_read(call->request.arena, &mounts, err);
    if (code < 0)
        return tc_error_stage(err, "facts");
    code = tc_scope_take(call->request.arena, &mounts, wanted_controllers(call, prepared), &prepared->groups);
    if (code == 0 && prepared->facts != NULL)
        prepared->facts->groups = prepared->groups;
    if (code == 0)
        return 0;
    tc_error_set(err, code, "look at the control groups of a scope");
    return tc_error_stage(err, "limits");
}

unsigned tc_prepared_controllers(const struct tc_invocation *call, const struct tc_prepared *prepared)
{
    return tc_groups_usable(&prepared->groups, wanted_controllers(call, prepared));
}

int tc_prepare_facts(const struct tc_invocation *call, struct tc_prepared *prepared, struct tc_error *err)
{
    const char *const *protect = policy_files(call, prepared);

    if (protect == NULL)
        return tc_error_set(err, -ENOMEM, "policy");
    if (tc_facts_gather(prepared->rules, &call->request, protect, &prepared->facts, err) < 0)
        return tc_error_stage(err, "facts");
    prepared->facts->groups = prepared->groups;
    return 0;
}

int tc_prepare_plan(const struct tc_invocation *call, enum tc_compile_mode mode, bool hashed,
                    struct tc_prepared *prepared, struct tc_error *err)
{
    if (tc_plan_compile(prepared->rules, &call->request, prepared->facts, mode, &prepared->plan, err) < 0 ||
        (hashed && tc_plan_hash(prepared->plan, prepared->facts, err) < 0))
        return tc_error_stage(err, "plan");
    return 0;
}
