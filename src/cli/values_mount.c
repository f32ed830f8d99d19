/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/list.h"

static int out_of_memory(struct tc_error *err)
{
    return tc_error_set(err, -ENOMEM, "request");
}

/* Cut a mode off the end of text. A last part that is no mode belongs to the path. */
static const char *cut_mode(struct tc_invocation *call, const char *text, enum tc_mount_mode *mode)
{
    const char *colon = strrchr(text, ':');
    int index = colon == NULL ? -EINVAL : tc_name_index(tc_mount_mode_names, TC_COUNT(tc_mount_mode_names), colon + 1);

    if (index < 0)
        return text;
    *mode = (enum tc_mount_mode)index;
    return tc_arena_copy(call->request.arena, text, (size_t)(colon - text));
}

int tc_value_workspace(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    struct tc_mount_request workspace = {.mode = TC_MODE_RW, .where = "--workspace"};
    const char *text = cut_mode(call, value, &workspace.mode);
    size_t length = text == NULL ? 0 : strlen(text);
    bool same = length >= 5 && strcmp(text + length - 5, "@same") == 0;
    const char *directory = text == NULL ? NULL : tc_arena_copy(call->request.arena, text, same ? length - 5 : length);

    (void)parameter;
    if (directory == NULL)
        return out_of_memory(err);
    if (directory[0] == '\0')
        return tc_error_plain(err, -EINVAL, "expected DIR[@same][:ro|rw|txn]");
    if (workspace.mode == TC_MODE_TOOLS)
        return tc_error_plain(err, -EINVAL, "mode 'tools' is for --mount; expected ro, rw or txn");
    workspace.source = directory;
    workspace.target = same ? "@same" : NULL;
    call->request.workspace = workspace;
    call->request.workspace_named = true;
    return 0;
}

int tc_value_add_mount(struct tc_invocation *call, const struct tc_mount_request *mount, struct tc_error *err)
{
    struct tc_request *request = &call->request;
    struct tc_mount_request *mounts;

    if (tc_invocation_take_inherited(call, TC_INHERITED_MOUNTS))
        request->mount_count = 0;
    mounts = tc_list_grow(request->arena, request->mounts, request->mount_count, sizeof(*mounts));
    if (mounts == NULL)
        return out_of_memory(err);
    mounts[request->mount_count++] = *mount;
    request->mounts = mounts;
    return 0;
}

/* The target is what follows the last ":/", so that a source may hold colons. */
int tc_value_mount(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    struct tc_mount_request mount = {.mode = TC_MODE_RO, .where = "--mount"};
    const char *text = cut_mode(call, value, &mount.mode);
    const char *split = NULL;

    (void)parameter;
    if (text == NULL)
        return out_of_memory(err);
    for (const char *colon = strchr(text, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
        if (colon[1] == '/')
            split = colon;
    if (split == NULL || split == text)
        return tc_error_plain(err, -EINVAL, "expected SRC:DST[:ro|rw|tools] with an absolute DST");
    if (mount.mode == TC_MODE_TXN)
        return tc_error_plain(err, -EINVAL, "mode 'txn' is for --workspace; expected ro, rw or tools");
    mount.source = tc_arena_copy(call->request.arena, text, (size_t)(split - text));
    mount.target = split + 1;
    if (mount.source == NULL)
        return out_of_memory(err);
    return tc_value_add_mount(call, &mount, err);
}

int tc_value_add_tmpfs(struct tc_invocation *call, const char *target, uint64_t size, struct tc_error *err)
{
    struct tc_request *request = &call->request;
    struct tc_tmpfs_request *list;

    if (tc_invocation_take_inherited(call, TC_INHERITED_TMPFS))
        request->tmpfs_count = 0;
    if (target[0] != '/')
        return tc_error_plain(err, -EINVAL, "expected an absolute path");
    list = tc_list_grow(request->arena, request->tmpfs, request->tmpfs_count, sizeof(*list));
    if (list == NULL)
        return out_of_memory(err);
    list[request->tmpfs_count++] = (struct tc_tmpfs_request){target, size};
    request->tmpfs = list;
    return 0;
}

int tc_value_tmpfs(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    const char *colon = strrchr(value, ':');
    uint64_t size = 0;

    (void)parameter;
    if (colon != NULL) {
        if (tc_parse_size(colon + 1, &size) < 0 || size == 0)
            return tc_error_plain(err, -EINVAL, "expected DST[:SIZE] with a size such as 64M");
        value = tc_arena_copy(call->request.arena, value, (size_t)(colon - value));
        if (value == NULL)
            return out_of_memory(err);
    }
    return tc_value_add_tmpfs(call, value, size, err);
}
