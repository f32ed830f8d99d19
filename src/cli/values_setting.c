/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values.h"

#include <errno.h>
#include <string.h>

#include "cli/list.h"

static int out_of_memory(struct tc_error *err)
{
    return tc_error_set(err, -ENOMEM, "request");
}

/* Add a setting, or give the one of that name its new value. */
static int add_setting(struct tc_invocation *call, const struct tc_setting **list, size_t *count,
                       struct tc_setting setting, struct tc_error *err)
{
    struct tc_setting *grown = tc_list_grow(call->request.arena, *list, *count, sizeof(*grown));
    size_t at = 0;

    if (grown == NULL)
        return out_of_memory(err);
    while (at < *count && strcmp(grown[at].name, setting.name) != 0)
        at++;
    grown[at] = setting;
    *list = grown;
    if (at == *count)
        *count += 1;
    return 0;
}

int tc_value_add_env(struct tc_invocation *call, const char *name, const char *value, struct tc_error *err)
{
    if (name[0] == '\0' || strchr(name, '=') != NULL)
        return tc_error_plain(err, -EINVAL, "a variable's name must not be empty nor hold '='");
    return add_setting(call, &call->request.env, &call->request.env_count, (struct tc_setting){name, value}, err);
}

int tc_value_add_label(struct tc_invocation *call, const char *name, const char *value, struct tc_error *err)
{
    if (name[0] == '\0')
        return tc_error_plain(err, -EINVAL, "a label's name must not be empty");
    return add_setting(call, &call->request.labels, &call->request.label_count, (struct tc_setting){name, value}, err);
}

typedef int add_function(struct tc_invocation *call, const char *name, const char *value, struct tc_error *err);

static int split_setting(struct tc_invocation *call, const char *text, const char *form, add_function *add,
                         struct tc_error *err)
{
    const char *equals = strchr(text, '=');
    const char *name;

    if (equals == NULL || equals == text)
        return tc_error_plain(err, -EINVAL, "expected %s", form);
    name = tc_arena_copy(call->request.arena, text, (size_t)(equals - text));
    if (name == NULL)
        return out_of_memory(err);
    return add(call, name, equals + 1, err);
}

int tc_value_env(void *target, int parameter, const char *value, struct tc_error *err)
{
    (void)parameter;
    return split_setting(target, value, "NAME=VALUE", tc_value_add_env, err);
}

int tc_value_label(void *target, int parameter, const char *value, struct tc_error *err)
{
    (void)parameter;
    return split_setting(target, value, "NAME=VALUE", tc_value_add_label, err);
}

int tc_value_pass_env(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct tc_invocation *call = target;
    struct tc_request *request = &call->request;
    const char **names;

    (void)parameter;
    if (value[0] == '\0' || strchr(value, '=') != NULL)
        return tc_error_plain(err, -EINVAL, "expected the name of a variable");
    if (tc_invocation_take_inherited(call, TC_INHERITED_PASS))
        request->pass_env_count = 0;
    names = tc_list_grow(request->arena, request->pass_env, request->pass_env_count, sizeof(*names));
    if (names == NULL)
        return out_of_memory(err);
    names[request->pass_env_count++] = value;
    request->pass_env = names;
    return 0;
}
