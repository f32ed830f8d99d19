/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static int out_of_memory(struct tc_error *err)
{
    return tc_error_set(err, -ENOMEM, "request");
}

int tc_value_flag(void *target, int parameter, const char *value, struct tc_error *err)
{
    (void)value;
    (void)err;
    *(bool *)((char *)target + parameter) = true;
    return 0;
}

int tc_value_text(void *target, int parameter, const char *value, struct tc_error *err)
{
    if (value[0] == '\0')
        return tc_error_plain(err, -EINVAL, "must not be empty");
    *(const char **)((char *)target + parameter) = value;
    return 0;
}

int tc_value_descriptor(void *target, int parameter, const char *value, struct tc_error *err)
{
    uint64_t number;

    if (tc_parse_unsigned(value, INT_MAX, &number) < 0)
        return tc_error_plain(err, -EINVAL, "expected the number of a descriptor");
    *(int *)((char *)target + parameter) = (int)number;
    return 0;
}

/* ---- limits ---- */

static const char *limit_form(enum tc_limit limit)
{
    switch (limit) {
    case TC_LIMIT_WALL:
    case TC_LIMIT_CPU_TIME:
    case TC_LIMIT_GRACE:
        return "a duration such as 500ms, 30s or 5m";
    case TC_LIMIT_CPUS:
        return "a number of CPUs such as 2 or 0.5";
    case TC_LIMIT_PIDS:
    case TC_LIMIT_OPEN_FILES:
        return "a whole number above zero";
    case TC_LIMIT_MEMORY:
    case TC_LIMIT_OUTPUT:
    case TC_LIMIT_DISK:
    case TC_LIMIT_FILE_SIZE:
        return "a size such as 64K, 512M or 2G";
    case TC_LIMIT_COUNT:
        break;
    }
    return "a limit";
}

int tc_value_limit(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    enum tc_limit limit = (enum tc_limit)parameter;
    uint64_t number;
    int code = tc_limit_parse(limit, value, &number);

    if (code == -ERANGE)
        return tc_error_plain(err, -EINVAL, "out of range: expected %s", limit_form(limit));
    if (code < 0)
        return tc_error_plain(err, -EINVAL, "expected %s", limit_form(limit));
    call->request.limits.value[limit] = number;
    call->request.limits.set |= 1u << limit;
    return 0;
}

int tc_value_output_limit(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    size_t length = strlen(value);
    bool stop = length >= 5 && strcmp(value + length - 5, ":stop") == 0;
    const char *size = tc_arena_copy(call->request.arena, value, stop ? length - 5 : length);
    int code = size == NULL ? out_of_memory(err) : tc_value_limit(call, TC_LIMIT_OUTPUT, size, err);

    (void)parameter;
    if (code == 0)
        call->request.output_stop = stop;
    return code;
}

int tc_value_rootfs(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;

    (void)parameter;
    if (value[0] == '\0')
        return tc_error_plain(err, -EINVAL, "must not be empty");
    if (strcmp(value, "host") != 0 && strchr(value, '/') == NULL)
        return tc_error_plain(err, -EOPNOTSUPP,
                              "root file systems by name are not part of this version; give a directory with a '/'");
    call->request.rootfs = value;
    return 0;
}

/* ---- words ---- */

int tc_value_net(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    int index = tc_name_index(tc_net_names, TC_COUNT(tc_net_names), value);

    (void)parameter;
    if (index < 0)
        return tc_error_plain(err, -EINVAL, "expected none, egress or host");
    call->request.net = (enum tc_net)index;
    return 0;
}

int tc_value_stdin(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;

    (void)parameter;
    if (strcmp(value, "none") == 0)
        call->request.stdin_mode = TC_STDIN_NONE;
    else if (strcmp(value, "inherit") == 0)
        call->request.stdin_mode = TC_STDIN_INHERIT;
    else
        return tc_error_plain(err, -EINVAL, "expected none or inherit");
    return 0;
}

int tc_value_unavailable(void *target, int parameter, const char *value, struct tc_error *err)
{
    (void)target;
    (void)parameter;
    (void)value;
    return tc_error_plain(err, -EOPNOTSUPP, "not part of this version of toolcell");
}

int tc_value_ask(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    uint64_t number;

    (void)parameter;
    if (strcmp(value, "deny") == 0) {
        call->request.ask = TC_ASK_DENY;
        return 0;
    }
    if (strcmp(value, "tty") == 0) {
        call->request.ask = TC_ASK_TTY;
        return 0;
    }
    if (strncmp(value, "fd:", 3) == 0 && tc_parse_unsigned(value + 3, INT_MAX, &number) == 0) {
        call->request.ask = TC_ASK_FD;
        call->request.ask_fd = (int)number;
        return 0;
    }
    return tc_error_plain(err, -EINVAL, "expected deny, tty or fd:N");
}

int tc_value_degraded(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    unsigned allowed = 0;

    (void)parameter;
    if (value == NULL)
        allowed = (1u << TC_DEGRADE_COUNT) - 1;
    for (const char *name = value; name != NULL;) {
        const char *end = strchrnul(name, ',');
        const char *copy = tc_arena_copy(call->request.arena, name, (size_t)(end - name));
        int index = copy == NULL ? -ENOMEM : tc_name_index(tc_degradable_names, TC_DEGRADE_COUNT, copy);

        if (copy == NULL)
            return out_of_memory(err);
        if (index < 0)
            return tc_error_plain(err, -EINVAL,
                                  "'%.60s' cannot be degraded; expected mediation, proc, landlock or limits", copy);
        allowed |= 1u << index;
        name = *end == ',' ? end + 1 : NULL;
    }
    if (tc_invocation_take_inherited(call, TC_INHERITED_DEGRADED))
        call->request.allow_degraded = 0;
    call->request.allow_degraded |= allowed;
    return 0;
}

/* Zero is refused for both: a cell never runs with an identity of the host's root. */
int tc_value_user(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    const char *colon = strchrnul(value, ':');
    const char *name = tc_arena_copy(call->request.arena, value, (size_t)(colon - value));
    uint64_t uid, gid;

    (void)parameter;
    if (name == NULL)
        return out_of_memory(err);
    if (tc_parse_unsigned(name, UINT32_MAX - 1, &uid) < 0 ||
        tc_parse_unsigned(*colon == ':' ? colon + 1 : name, UINT32_MAX - 1, &gid) < 0)
        return tc_error_plain(err, -EINVAL, "expected UID[:GID] as numbers");
    if (uid == 0 || gid == 0)
        return tc_error_plain(err, -EINVAL, "a cell never runs as root; give an unprivileged UID and GID");
    if (geteuid() != 0)
        return tc_error_plain(err, -EPERM, "only root can choose the user of a cell");
    call->request.user_given = true;
    call->request.user_uid = (uid_t)uid;
    call->request.user_gid = (gid_t)gid;
    return 0;
}
