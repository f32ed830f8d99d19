/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/file.h"
#include "plan/cache.h"
#include "policy/load.h"

#define POLICY_MAX_BYTES ((size_t)16 << 20)
#define PROJECT_POLICY ".toolcell.json"

static bool is_file_name(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

/* What decides over rules must be in the hands of the caller or root alone. */
static int check_owner(int fd, const char *path, struct tc_error *err)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return tc_error_set(err, -errno, "stat '%s'", path);
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        tc_error_plain(err, -EPERM, "'%s': belongs to user %u", path, (unsigned)status.st_uid);
        return tc_error_hint(err, "it must belong to the caller or root");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        tc_error_plain(err, -EPERM, "'%s': writable by others (mode %04o)", path, (unsigned)status.st_mode & 07777);
        return tc_error_hint(err, "chmod go-w '%.200s'", path);
    }
    return 0;
}

/* Open a directory of the search path. -ENOENT when it is not there. */
static int open_directory(const char *path, int *ret, struct tc_error *err)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return tc_error_set(err, -errno, "open '%s'", path);
    if (check_owner(fd, path, err) < 0)
        return err->code;
    *ret = tc_take_fd(&fd);
    return 0;
}

static int open_policy(int directory, const char *name, const char *path, int flags, int *ret, struct tc_error *err)
{
    tc_auto_fd fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    struct stat status;

    if (fd < 0 && errno == ELOOP)
        return tc_error_plain(err, -ELOOP, "'%s': a symbolic link, not followed", path);
    if (fd < 0)
        return tc_error_set(err, -errno, "open '%s'", path);
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return tc_error_plain(err, -EINVAL, "'%s': not a regular file", path);
    *ret = tc_take_fd(&fd);
    return 0;
}

static int read_text(int fd, const char *path, struct tc_buf *text, struct tc_error *err)
{
    int code = tc_file_read(fd, POLICY_MAX_BYTES, text);

    return code < 0 ? tc_error_set(err, code, "read '%s'", path) : 0;
}

/* Look in one configuration directory. -ENOENT when the policy is not there. */
static int load_from(const char *config, const char *name, struct tc_arena *arena, struct tc_ruleset **ret,
                     const char **ret_path, struct tc_error *err)
{
    const char *directory = tc_arena_printf(arena, "%s/policies", config);
    const char *file = tc_arena_printf(arena, "%s.json", name);
    const char *path = tc_arena_printf(arena, "%s/policies/%s.json", config, name);
    tc_auto_fd outer = TC_NO_FD, inner = TC_NO_FD, fd = TC_NO_FD;
    tc_auto_buf text = {0};

    if (directory == NULL || file == NULL || path == NULL)
        return tc_error_set(err, -ENOMEM, "policy");
    if (open_directory(config, &outer, err) < 0 || open_directory(directory, &inner, err) < 0 ||
        open_policy(inner, file, path, 0, &fd, err) < 0 || check_owner(fd, path, err) < 0 ||
        read_text(fd, path, &text, err) < 0)
        return err->code;
    *ret_path = path;
    return tc_cache_policy_parse(text.data != NULL ? text.data : "", text.length, path, inner, ret, err);
}

/* The user's configuration directory by the XDG rules: a relative value is ignored. NULL without a home. */
static const char *user_config(struct tc_arena *arena)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");

    if (config != NULL && config[0] == '/')
        return tc_arena_printf(arena, "%s/toolcell", config);
    if (home != NULL && home[0] == '/')
        return tc_arena_printf(arena, "%s/.config/toolcell", home);
    return NULL;
}

static int not_found(const char *name, struct tc_error *err)
{
    tc_auto_buf presets = {0};

    for (const char *const *preset = tc_policy_preset_names(); *preset != NULL; preset++)
        tc_buf_printf(&presets, "%s%s", presets.length > 0 ? ", " : "", *preset);
    tc_error_plain(err, -ENOENT, "policy '%.100s': no preset and no file of that name", name);
    return tc_error_hint(err, "presets are %s; a file needs a '/' or ends in .json",
                         presets.data != NULL ? presets.data : "");
}

int tc_locate_policy(const char *name, struct tc_arena *arena, struct tc_ruleset **ret, const char **ret_path,
                     struct tc_error *err)
{
    const char *configs[2] = {user_config(arena), "/etc/toolcell"};
    int code;

    *ret_path = NULL;
    if (is_file_name(name)) {
        *ret_path = name;
        return tc_cache_policy_read(name, ret, err);
    }
    code = tc_policy_preset(name, ret, err);
    for (size_t i = 0; code == -ENOENT && i < TC_COUNT(configs); i++)
        if (configs[i] != NULL)
            code = load_from(configs[i], name, arena, ret, ret_path, err);
    return code == -ENOENT && *ret_path == NULL ? not_found(name, err) : code;
}

int tc_locate_project_policy(const char *workspace, struct tc_ruleset *rules, struct tc_error *err)
{
    tc_auto_fd directory = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    tc_auto_fd fd = TC_NO_FD;
    tc_auto_buf text = {0};
    int code;

    if (directory < 0)
        return tc_error_set(err, -errno, "workspace '%.200s'", workspace);
    /* The file belongs to whoever filled the workspace: a link could point it at anything the caller may read. */
    code = open_policy(directory, PROJECT_POLICY, PROJECT_POLICY, O_NOFOLLOW, &fd, err);
    if (code < 0)
        return code == -ENOENT ? 0 : code;
    if (read_text(fd, PROJECT_POLICY, &text, err) < 0)
        return err->code;
    return tc_policy_tighten(rules, text.data != NULL ? text.data : "", text.length, PROJECT_POLICY, err);
}
