/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request_keys.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Read source, target and mode, whichever are there. */
static int read_mount_parts(struct tc_invocation *call, const struct tc_json *json, struct tc_mount_request *mount,
                            struct tc_error *err)
{
    static const char *const known[] = {"source", "target", "mode", NULL};
    struct tc_json part;
    const char *mode;
    int index;

    if (tc_json_expect(json, TC_JSON_OBJECT, err) < 0 || tc_json_keys(json, known, err) < 0)
        return err->code;
    if (tc_json_member(json, "source", &part)) {
        if (tc_request_text(call, &part, &mount->source, err) < 0)
            return err->code;
        if (mount->source[0] == '\0')
            return tc_json_bad(&part, err, "must not be empty");
    }
    if (tc_json_member(json, "target", &part)) {
        if (tc_request_text(call, &part, &mount->target, err) < 0)
            return err->code;
        if (mount->target[0] != '/' && strcmp(mount->target, "@same") != 0)
            return tc_json_bad(&part, err, "expected an absolute path or @same");
    }
    if (tc_json_member(json, "mode", &part)) {
        if (tc_request_text(call, &part, &mode, err) < 0)
            return err->code;
        index = tc_name_index(tc_mount_mode_names, TC_COUNT(tc_mount_mode_names), mode);
        if (index < 0)
            return tc_json_bad(&part, err, "expected rw, ro, tools or txn");
        mount->mode = (enum tc_mount_mode)index;
    }
    return 0;
}

int tc_request_workspace(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                         struct tc_error *err)
{
    struct tc_mount_request workspace = {.mode = TC_MODE_RW, .where = "/workspace"};
    struct tc_json mode;

    (void)key;
    if (read_mount_parts(call, json, &workspace, err) < 0)
        return err->code;
    if (workspace.mode == TC_MODE_TOOLS && tc_json_member(json, "mode", &mode))
        return tc_json_bad(&mode, err, "'tools' is for mounts; expected rw, ro or txn");
    call->request.workspace = workspace;
    call->request.workspace_named = workspace.source != NULL;
    return 0;
}

static int read_mount(struct tc_invocation *call, const struct tc_json *json, struct tc_error *err)
{
    struct tc_mount_request mount = {.mode = TC_MODE_RO};
    struct tc_json mode;

    mount.where = tc_arena_printf(call->request.arena, "/mounts/%zu", json->index);
    if (mount.where == NULL)
        return tc_error_set(err, -ENOMEM, "request");
    if (read_mount_parts(call, json, &mount, err) < 0)
        return err->code;
    if (mount.source == NULL || mount.target == NULL)
        return tc_json_bad(json, err, "needs the key '%s'", mount.source == NULL ? "source" : "target");
    if (mount.mode == TC_MODE_TXN && tc_json_member(json, "mode", &mode))
        return tc_json_bad(&mode, err, "'txn' is for the workspace; expected rw, ro or tools");
    return tc_value_add_mount(call, &mount, err);
}

int tc_request_mounts(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                      struct tc_error *err)
{
    struct tc_json element = {0};
    int code = tc_json_expect(json, TC_JSON_ARRAY, err);

    (void)key;
    while (code == 0 && tc_json_next(json, &element))
        code = read_mount(call, &element, err);
    return code;
}

static int read_tmpfs(struct tc_invocation *call, const struct tc_json *json, struct tc_error *err)
{
    static const char *const known[] = {"target", "size", NULL};
    struct tc_json target, size;
    const char *path, *text;
    uint64_t bytes = 0;

    if (tc_json_expect(json, TC_JSON_OBJECT, err) < 0 || tc_json_keys(json, known, err) < 0)
        return err->code;
    if (!tc_json_member(json, "target", &target))
        return tc_json_bad(json, err, "needs the key 'target'");
    if (tc_request_text(call, &target, &path, err) < 0)
        return err->code;
    if (tc_json_member(json, "size", &size)) {
        if (tc_request_quantity(call, &size, &text, err) < 0)
            return err->code;
        if (tc_parse_size(text, &bytes) < 0 || bytes == 0)
            return tc_json_bad(&size, err, "expected a size such as 64M");
    }
    return tc_value_add_tmpfs(call, path, bytes, err) < 0 ? tc_request_bad(&target, err) : 0;
}

int tc_request_tmpfs(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                     struct tc_error *err)
{
    struct tc_json element = {0};
    int code = tc_json_expect(json, TC_JSON_ARRAY, err);

    (void)key;
    while (code == 0 && tc_json_next(json, &element))
        code = read_tmpfs(call, &element, err);
    return code;
}
