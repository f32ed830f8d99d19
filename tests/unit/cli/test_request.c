/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "unit.h"

static struct tc_error err;

static int read_text(struct tc_invocation *call, const char *text)
{
    memset(&err, 0, sizeof(err));
    ck_assert_int_eq(tc_invocation_init(call, &err), 0);
    return tc_request_parse(call, text, strlen(text), "request", &err);
}

/* Read a request with these members beside the version. */
#define READ(call, members) read_text(&(call), "{\"version\": 1" members "}")

START_TEST(test_minimal)
{
    tc_auto_invocation call = {0};

    ck_assert_int_eq(READ(call, ""), 0);
    ck_assert_ptr_null(call.request.argv);
    ck_assert_str_eq(call.request.rootfs, "host");
    ck_assert_int_eq(call.request.stdin_mode, TC_STDIN_DEFAULT);
    ck_assert(!call.request.workspace_named);
}
END_TEST

START_TEST(test_argv)
{
    tc_auto_invocation call = {0};

    ck_assert_int_eq(READ(call, ",\"argv\": [\"a b\", \"\", {\"base64\": \"/w==\"}]"), 0);
    ck_assert_str_eq(call.request.argv[0], "a b");
    ck_assert_str_eq(call.request.argv[1], "");
    ck_assert_str_eq(call.request.argv[2], "\xff");
    ck_assert_ptr_null(call.request.argv[3]);
}
END_TEST

START_TEST(test_environment)
{
    tc_auto_invocation call = {0};

    ck_assert_int_eq(
        READ(call, ",\"env\": {\"A\": \"1\", \"B\": \"\"}, \"pass_env\": [\"C\"], \"label\": {\"k\": \"v\"}"), 0);
    ck_assert_uint_eq(call.request.env_count, 2);
    ck_assert_str_eq(call.request.env[0].name, "A");
    ck_assert_str_eq(call.request.env[1].value, "");
    ck_assert_uint_eq(call.request.pass_env_count, 1);
    ck_assert_str_eq(call.request.labels[0].value, "v");
}
END_TEST

START_TEST(test_stdin)
{
    tc_auto_invocation text = {0}, bytes = {0}, empty = {0}, word = {0};

    ck_assert_int_eq(READ(text, ",\"stdin\": {\"data\": \"hi\\n\"}"), 0);
    ck_assert_int_eq(text.request.stdin_mode, TC_STDIN_DATA);
    ck_assert_uint_eq(text.request.stdin_length, 3);
    ck_assert_int_eq(READ(bytes, ",\"stdin\": {\"data\": \"AAEC\", \"encoding\": \"base64\"}"), 0);
    ck_assert_uint_eq(bytes.request.stdin_length, 3);
    ck_assert_mem_eq(bytes.request.stdin_data, "\0\1\2", 3);
    ck_assert_int_eq(READ(empty, ",\"stdin\": {\"data\": \"\", \"encoding\": \"base64\"}"), 0);
    ck_assert_uint_eq(empty.request.stdin_length, 0);
    ck_assert_ptr_nonnull(empty.request.stdin_data);
    ck_assert_int_eq(READ(word, ",\"stdin\": \"inherit\""), 0);
    ck_assert_int_eq(word.request.stdin_mode, TC_STDIN_INHERIT);
}
END_TEST

START_TEST(test_terminal)
{
    tc_auto_invocation with = {0}, without = {0};

    ck_assert_int_eq(READ(with, ",\"tty\": true"), 0);
    ck_assert(with.request.tty);
    ck_assert_int_eq(READ(without, ",\"tty\": false"), 0);
    ck_assert(!without.request.tty);
}
END_TEST

START_TEST(test_mounts)
{
    tc_auto_invocation call = {0};

    ck_assert_int_eq(READ(call,
                          ",\"workspace\": {\"source\": \"w\", \"mode\": \"ro\", \"target\": \"@same\"},"
                          "\"mounts\": [{\"source\": \"/a\", \"target\": \"/b\"},"
                          "{\"source\": \"c:d\", \"target\": \"/e\", \"mode\": \"tools\"}],"
                          "\"tmpfs\": [{\"target\": \"/t\", \"size\": \"1K\"}, {\"target\": \"/u\", \"size\": 7}]"),
                     0);
    ck_assert(call.request.workspace_named);
    ck_assert_int_eq(call.request.workspace.mode, TC_MODE_RO);
    ck_assert_str_eq(call.request.workspace.target, "@same");
    ck_assert_uint_eq(call.request.mount_count, 2);
    ck_assert_int_eq(call.request.mounts[0].mode, TC_MODE_RO);
    ck_assert_str_eq(call.request.mounts[1].source, "c:d");
    ck_assert_str_eq(call.request.mounts[1].where, "/mounts/1");
    ck_assert_uint_eq(call.request.tmpfs[0].size, 1024);
    ck_assert_uint_eq(call.request.tmpfs[1].size, 7);
}
END_TEST

START_TEST(test_limits)
{
    tc_auto_invocation call = {0};
    const struct tc_limits *limits = &call.request.limits;

    ck_assert_int_eq(READ(call, ",\"limits\": {\"wall\": 2, \"grace\": \"500ms\", \"cpus\": 0.5, \"memory\": \"1M\","
                                "\"output\": \"64K:stop\", \"pids\": 9}"),
                     0);
    ck_assert_uint_eq(limits->value[TC_LIMIT_WALL], 2000);
    ck_assert_uint_eq(limits->value[TC_LIMIT_GRACE], 500);
    ck_assert_uint_eq(limits->value[TC_LIMIT_CPUS], 500);
    ck_assert_uint_eq(limits->value[TC_LIMIT_MEMORY], 1 << 20);
    ck_assert_uint_eq(limits->value[TC_LIMIT_OUTPUT], 64 << 10);
    ck_assert_uint_eq(limits->value[TC_LIMIT_PIDS], 9);
    ck_assert(call.request.output_stop);
    ck_assert_uint_eq(limits->set, 1u << TC_LIMIT_WALL | 1u << TC_LIMIT_GRACE | 1u << TC_LIMIT_CPUS |
                                       1u << TC_LIMIT_MEMORY | 1u << TC_LIMIT_OUTPUT | 1u << TC_LIMIT_PIDS);
}
END_TEST

START_TEST(test_policy)
{
    tc_auto_invocation name = {0}, value = {0};

    ck_assert_int_eq(READ(name, ",\"policy\": \"git\""), 0);
    ck_assert_str_eq(name.policy, "git");
    ck_assert_int_eq(READ(value, ",\"policy\": {\"version\": 1, \"rules\": []}"), 0);
    ck_assert_ptr_nonnull(value.policy_value);
}
END_TEST

/* Malformed texts and what the message must begin with. */
static const struct {
    const char *text;
    const char *message;
} malformed[] = {
    {"{}", "request: /: needs the key 'version'"},
    {"[]", "request: /: expected an object"},
    {"{\"version\": 2}", "request: /version: expected 1"},
    {"{\"version\": \"1\"}", "request: /version: expected a number"},
    {"{\"version\": 1, \"arg\": []}", "request: /arg: unknown key"},
    {"{\"version\": 1, \"argv\": []}", "request: /argv: names no program"},
    {"{\"version\": 1, \"argv\": \"ls\"}", "request: /argv: expected an array"},
    {"{\"version\": 1, \"argv\": [\"a\", 1]}", "request: /argv/1: expected a string"},
    {"{\"version\": 1, \"argv\": [{\"base64\": \"YQBi\"}]}", "request: /argv/0"},
    {"{\"version\": 1, \"cwd\": \"\"}", "request: /cwd: must not be empty"},
    {"{\"version\": 1, \"env\": {\"A=B\": \"1\"}}", "request: /env/A=B: a variable's name"},
    {"{\"version\": 1, \"env\": {\"A\": 1}}", "request: /env/A: expected a string"},
    {"{\"version\": 1, \"pass_env\": [\"A\", \"B=\"]}", "request: /pass_env/1: expected the name"},
    {"{\"version\": 1, \"stdin\": \"tty\"}", "request: /stdin: expected none or inherit"},
    {"{\"version\": 1, \"stdin\": {\"dat\": \"\"}}", "request: /stdin/dat"},
    {"{\"version\": 1, \"stdin\": {}}", "request: /stdin: needs the key 'data'"},
    {"{\"version\": 1, \"stdin\": {\"data\": \"a\", \"encoding\": \"hex\"}}",
     "request: /stdin/encoding: expected utf-8"},
    {"{\"version\": 1, \"stdin\": {\"data\": \"a\", \"encoding\": \"base64\"}}", "request: /stdin/data: not base64"},
    {"{\"version\": 1, \"workspace\": {\"mode\": \"tools\"}}", "request: /workspace/mode: 'tools'"},
    {"{\"version\": 1, \"workspace\": {\"target\": \"x\"}}", "request: /workspace/target: expected an absolute path"},
    {"{\"version\": 1, \"mounts\": [{\"source\": \"/a\"}]}", "request: /mounts/0: needs the key 'target'"},
    {"{\"version\": 1, \"mounts\": [{\"target\": \"/a\"}]}", "request: /mounts/0: needs the key 'source'"},
    {"{\"version\": 1, \"mounts\": [{\"source\": \"\", \"target\": \"/a\"}]}", "request: /mounts/0/source: must not"},
    {"{\"version\": 1, \"mounts\": [{\"source\": \"a\", \"target\": \"/a\", \"mode\": \"txn\"}]}",
     "request: /mounts/0/mode"},
    {"{\"version\": 1, \"mounts\": {}}", "request: /mounts: expected an array"},
    {"{\"version\": 1, \"tmpfs\": [{\"target\": \"a\"}]}", "request: /tmpfs/0/target: expected an absolute path"},
    {"{\"version\": 1, \"tmpfs\": [{\"target\": \"/a\", \"size\": 0}]}", "request: /tmpfs/0/size: expected a size"},
    {"{\"version\": 1, \"tmpfs\": [{\"target\": \"/a\", \"size\": 1e300}]}", "request: /tmpfs/0/size: expected a size"},
    {"{\"version\": 1, \"rootfs\": \"alpine\"}", "request: /rootfs: root file systems by name"},
    {"{\"version\": 1, \"net\": \"all\"}", "request: /net: expected none, egress or host"},
    {"{\"version\": 1, \"policy\": 1}", "request: /policy"},
    {"{\"version\": 1, \"policy\": {\"version\": 1, \"rulez\": []}}", "request: /policy/rulez"},
    {"{\"version\": 1, \"limits\": {\"time\": 1}}", "request: /limits/time: unknown key"},
    {"{\"version\": 1, \"limits\": {\"wall\": true}}", "request: /limits/wall: expected a string or a number"},
    {"{\"version\": 1, \"limits\": {\"wall\": 0}}", "request: /limits/wall: out of range"},
    {"{\"version\": 1, \"limits\": {\"pids\": 1.5}}", "request: /limits/pids: expected a whole number"},
    {"{\"version\": 1, \"tty\": 0}", "request: /tty: expected true or false"},
    {"{\"version\": 1, \"ask\": \"fd:\"}", "request: /ask: expected deny, tty or fd:N"},
    {"{\"version\": 1, \"ask\": \"me\"}", "request: /ask: expected deny, tty or fd:N"},
    {"{\"version\": 1, \"allow_degraded\": [\"proc\", \"all\"]}", "request: /allow_degraded/1: 'all' cannot be"},
    {"{\"version\": 1, \"label\": {\"\": \"v\"}}", "request: /label/: a label's name"},
    {"{\"version\": 1, \"argv\": [\"a\"], \"argv\": [\"b\"]}", "request: "},
    {"{\"version\": 1,\n \"argv\": [\"a\\u0000\"]}", "request: "},
    {"{\"version\": 1} {}", "request: line 1"},
    {"{\"version\": 1", "request: line 1"},
    {"", "request: "},
};

START_TEST(test_malformed)
{
    tc_auto_invocation call = {0};

    ck_assert_int_lt(read_text(&call, malformed[_i].text), 0);
    ck_assert_msg(strncmp(err.message, malformed[_i].message, strlen(malformed[_i].message)) == 0, "%s gives '%s'",
                  malformed[_i].text, err.message);
    ck_assert_ptr_null(strchr(err.message, '\n'));
}
END_TEST

START_TEST(test_options_win)
{
    static char *const words[] = {
        (char *)"--env",   (char *)"B=2", (char *)"--timeout", (char *)"9s",  (char *)"-m", (char *)"/x:/y",
        (char *)"--label", (char *)"k=w", (char *)"-p",        (char *)"git", NULL};
    tc_auto_invocation call = {0};
    struct tc_options options;

    ck_assert_int_eq(READ(call, ",\"env\": {\"A\": \"1\", \"B\": \"1\"}, \"limits\": {\"wall\": 1, \"pids\": 5},"
                                "\"mounts\": [{\"source\": \"/a\", \"target\": \"/b\"}], \"label\": {\"k\": \"v\"}"),
                     0);
    ck_assert_int_eq(
        tc_options_parse(tc_invocation_options, tc_invocation_option_count, words, call.request.arena, &options, &err),
        0);
    ck_assert_int_eq(tc_invocation_read(&call, &options, &err), 0);
    ck_assert_uint_eq(call.request.env_count, 2);
    ck_assert_str_eq(call.request.env[0].value, "1");
    ck_assert_str_eq(call.request.env[1].value, "2");
    ck_assert_uint_eq(call.request.limits.value[TC_LIMIT_WALL], 9000);
    ck_assert_uint_eq(call.request.limits.value[TC_LIMIT_PIDS], 5);
    ck_assert_uint_eq(call.request.mount_count, 1);
    ck_assert_str_eq(call.request.mounts[0].source, "/x");
    ck_assert_uint_eq(call.request.label_count, 1);
    ck_assert_str_eq(call.request.labels[0].value, "w");
    ck_assert_str_eq(call.policy, "git");
}
END_TEST

int main(void)
{
    Suite *suite = unit_suite("request", test_minimal, test_argv, test_environment, test_stdin, test_terminal,
                              test_mounts, test_limits, test_policy, test_options_win, NULL);
    TCase *table = tcase_create("malformed");

    tcase_add_loop_test(table, test_malformed, 0, TC_COUNT(malformed));
    suite_add_tcase(suite, table);
    return unit_run(suite);
}
