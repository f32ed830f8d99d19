/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request as a JSON document: what has no place on a command line
 * (secrets, long texts, bytes) and what programs rather write than quote.
 * Every key has one reader in a table, so that an unknown key, a wrong type
 * and a bad value are all told with the key's JSON pointer. Words (modes,
 * limits, networks) go through the same setters as options do.
 */
#include "cli/request_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/file.h"
#include "cli/request.h"
#include "cli/values.h"
#include "policy/load.h"

int tc_request_bad(const struct tc_json *json, struct tc_error *err)
{
    struct tc_error inner = *err;

    if (inner.code == -ENOMEM)
        return inner.code;
    tc_json_bad(json, err, "%s", inner.message);
    err->code = inner.code;
    return inner.code;
}

int tc_request_text(struct tc_invocation *call, const struct tc_json *json, const char **ret, struct tc_error *err)
{
    return tc_json_string(json, call->request.arena, ret, NULL, err);
}

static const struct tc_request_key *find_key(const struct tc_request_key *keys, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* Read an object by its table. */
static int read_object(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *keys,
                       size_t count, struct tc_error *err)
{
    struct tc_json member = {0};
    int code = tc_json_expect(json, TC_JSON_OBJECT, err);

    while (code == 0 && tc_json_next(json, &member)) {
        const struct tc_request_key *key = find_key(keys, count, member.key);

        if (key == NULL)
            code = tc_json_bad(&member, err, "unknown key");
        else
            code = key->read(call, &member, key, err);
    }
    return code;
}

/* A string for a setter. */
static int read_word(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                     struct tc_error *err)
{
    const char *text;

    if (tc_request_text(call, json, &text, err) < 0)
        return err->code;
    if (key->setter(call, key->parameter, text, err) < 0)
        return tc_request_bad(json, err);
    return 0;
}

/* A list of strings for a setter that adds. */
static int read_words(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                      struct tc_error *err)
{
    struct tc_json element = {0};
    int code = tc_json_expect(json, TC_JSON_ARRAY, err);

    while (code == 0 && tc_json_next(json, &element))
        code = read_word(call, &element, key, err);
    return code;
}

static int read_version(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                        struct tc_error *err)
{
    int64_t version;

    (void)call;
    (void)key;
    if (tc_json_integer(json, INT32_MIN, INT32_MAX, &version, err) < 0)
        return err->code;
    return version == 1 ? 0 : tc_json_bad(json, err, "expected 1, the only version there is");
}

static int read_argv(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                     struct tc_error *err)
{
    const char **argv;
    struct tc_json element = {0};
    size_t count = 0;
    int code = tc_json_expect(json, TC_JSON_ARRAY, err);

    (void)key;
    if (code < 0)
        return code;
    if (tc_json_size(json) == 0)
        return tc_json_bad(json, err, "names no program");
    argv = tc_arena_array(call->request.arena, tc_json_size(json) + 1, sizeof(*argv));
    if (argv == NULL)
        return tc_error_set(err, -ENOMEM, "request");
    while (code == 0 && tc_json_next(json, &element))
        code = tc_request_text(call, &element, &argv[count++], err);
    call->request.argv = argv;
    return code;
}

static int read_env(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                    struct tc_error *err)
{
    struct tc_json member = {0};
    int code = tc_json_expect(json, TC_JSON_OBJECT, err);

    while (code == 0 && tc_json_next(json, &member)) {
        const char *name = tc_arena_string(call->request.arena, member.key);
        const char *value = NULL;

        code = name == NULL ? tc_error_set(err, -ENOMEM, "request") : tc_request_text(call, &member, &value, err);
        if (code < 0)
            return code;
        code = key->parameter ? tc_value_add_label(call, name, value, err) : tc_value_add_env(call, name, value, err);
        if (code < 0)
            return tc_request_bad(&member, err);
    }
    return code;
}

/* ---- stdin ---- */

static int decode_stdin(struct tc_invocation *call, const struct tc_json *data, struct tc_error *err)
{
    tc_auto_buf bytes = {0};

    if (tc_base64_decode(&bytes, call->request.stdin_data, call->request.stdin_length) < 0)
        return tc_json_bad(data, err, "not base64");
    call->request.stdin_data = tc_arena_copy(call->request.arena, bytes.data, bytes.length);
    call->request.stdin_length = bytes.length;
    return call->request.stdin_data == NULL || tc_buf_failed(&bytes) ? tc_error_set(err, -ENOMEM, "request") : 0;
}

static int read_stdin(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                      struct tc_error *err)
{
    static const char *const known[] = {"data", "encoding", NULL};
    struct tc_json data, encoding;
    const char *name = "utf-8";

    if (tc_json_type(json) != TC_JSON_OBJECT)
        return read_word(call, json, key, err);
    if (tc_json_keys(json, known, err) < 0)
        return err->code;
    if (!tc_json_member(json, "data", &data))
        return tc_json_bad(json, err, "needs the key 'data'");
    if (tc_json_string(&data, call->request.arena, &call->request.stdin_data, &call->request.stdin_length, err) < 0)
        return err->code;
    call->request.stdin_mode = TC_STDIN_DATA;
    if (tc_json_member(json, "encoding", &encoding) && tc_request_text(call, &encoding, &name, err) < 0)
        return err->code;
    if (strcmp(name, "base64") == 0)
        return decode_stdin(call, &data, err);
    if (strcmp(name, "utf-8") != 0)
        return tc_json_bad(&encoding, err, "expected utf-8 or base64");
    return 0;
}

/* Whole, and below 2^53, so that the difference can be seen. */
static bool is_whole(double number)
{
    return number > -9007199254740992.0 && number < 9007199254740992.0 && number == (double)(int64_t)number;
}

int tc_request_quantity(struct tc_invocation *call, const struct tc_json *json, const char **ret, struct tc_error *err)
{
    double number;

    if (tc_json_type(json) == TC_JSON_STRING)
        return tc_request_text(call, json, ret, err);
    if (tc_json_type(json) != TC_JSON_NUMBER)
        return tc_json_bad(json, err, "expected a string or a number");
    if (tc_json_number(json, &number, err) < 0)
        return err->code;
    *ret = tc_arena_printf(call->request.arena, is_whole(number) ? "%.0f" : "%.15g", number);
    return *ret == NULL ? tc_error_set(err, -ENOMEM, "request") : 0;
}

/* ---- limits, policy, terminal ---- */

static int read_limits(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                       struct tc_error *err)
{
    struct tc_json member = {0};
    int code = tc_json_expect(json, TC_JSON_OBJECT, err);

    (void)key;
    while (code == 0 && tc_json_next(json, &member)) {
        const char *text = NULL;
        int limit = 0;

        while (limit < TC_LIMIT_COUNT && strcmp(tc_limit_name((enum tc_limit)limit), member.key) != 0)
            limit++;
        if (limit == TC_LIMIT_COUNT)
            return tc_json_bad(&member, err, "unknown key");
        code = tc_request_quantity(call, &member, &text, err);
        if (code < 0)
            return code;
        code = limit == TC_LIMIT_OUTPUT ? tc_value_output_limit(call, 0, text, err)
                                        : tc_value_limit(call, limit, text, err);
        if (code < 0)
            return tc_request_bad(&member, err);
    }
    return code;
}

static int read_policy(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                       struct tc_error *err)
{
    if (tc_json_type(json) == TC_JSON_OBJECT)
        return tc_policy_parse_value(json, "request", &call->policy_value, err);
    return read_word(call, json, key, err);
}

static int read_tty(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                    struct tc_error *err)
{
    bool wanted;

    if (tc_json_bool(json, &wanted, err) < 0)
        return err->code;
    return wanted && key->setter(call, key->parameter, NULL, err) < 0 ? tc_request_bad(json, err) : 0;
}

static const struct tc_request_key request_keys[] = {
    {"version", read_version, NULL, 0},
    {"argv", read_argv, NULL, 0},
    {"cwd", read_word, tc_value_text, offsetof(struct tc_invocation, request.cwd)},
    {"env", read_env, NULL, false},
    {"pass_env", read_words, tc_value_pass_env, 0},
    {"stdin", read_stdin, tc_value_stdin, 0},
    {"workspace", tc_request_workspace, NULL, 0},
    {"mounts", tc_request_mounts, NULL, 0},
    {"tmpfs", tc_request_tmpfs, NULL, 0},
    {"rootfs", read_word, tc_value_rootfs, 0},
    {"net", read_word, tc_value_net, 0},
    {"policy", read_policy, tc_value_text, offsetof(struct tc_invocation, policy)},
    {"limits", read_limits, NULL, 0},
    {"tty", read_tty, tc_value_flag, offsetof(struct tc_invocation, request.tty)},
    {"ask", read_word, tc_value_ask, 0},
    {"allow_degraded", read_words, tc_value_degraded, 0},
    {"label", read_env, NULL, true},
};

int tc_request_parse(struct tc_invocation *call, const char *text, size_t length, const char *name,
                     struct tc_error *err)
{
    tc_auto_json document = NULL;
    struct tc_json root, version;
    int code = tc_json_parse(text, length, name, &document, &root, err);

    if (code == 0)
        code = read_object(call, &root, request_keys, TC_COUNT(request_keys), err);
    if (code == 0 && !tc_json_member(&root, "version", &version))
        code = tc_json_bad(&root, err, "needs the key 'version'");
    call->inherited = TC_INHERITED_MOUNTS | TC_INHERITED_TMPFS | TC_INHERITED_PASS | TC_INHERITED_DEGRADED;
    return code;
}

int tc_request_read(struct tc_invocation *call, const char *path, struct tc_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    tc_auto_buf text = {0};
    tc_auto_fd opened = TC_NO_FD;
    int code;

    if (!standard) {
        opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (opened < 0)
            return tc_error_set(err, -errno, "--request: open '%.200s'", path);
    }
    code = tc_file_read(standard ? STDIN_FILENO : opened, TC_REQUEST_MAX_BYTES, &text);
    if (code < 0)
        return tc_error_set(err, code, "--request: read '%.200s'", path);
    code = tc_request_parse(call, text.data != NULL ? text.data : "", text.length, "request", err);
    if (code == 0 && call->policy_value != NULL &&
        tc_file_path(standard ? STDIN_FILENO : opened, call->request.arena, &call->policy_value_path) < 0)
        return tc_error_set(err, -ENOMEM, "request");
    return code;
}
