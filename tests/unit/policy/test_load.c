/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "fixture.h"
#include "vectors.h"

/* ---- what is refused, and how ---- */

static void check_message(const char *text, size_t length, const char *message)
{
    struct tc_ruleset *rules = NULL;
    struct tc_error err = {0};
    int r = tc_policy_parse(text, length, "policy.json", TC_NO_FD, &rules, &err);

    ck_assert_msg(r < 0, "accepted: %s", text);
    ck_assert_int_eq(r, err.code);
    ck_assert_str_eq(err.message, message);
    ck_assert_int_eq(tc_policy_parse(text, length, "policy.json", TC_NO_FD, &rules, NULL), r);
    ck_assert_ptr_null(rules);
}

START_TEST(test_malformed)
{
    FILE *file = fopen(vectors_path("malformed.jsonl"), "re");
    char *line = NULL;
    size_t size = 0, count = 0;

    ck_assert_ptr_nonnull(file);
    while (getline(&line, &size, file) > 0) {
        tc_auto_json document = NULL;
        tc_auto_arena arena = tc_arena_new();
        struct tc_json root, member;
        const char *text, *message;
        size_t length;

        if (line[0] == '/')
            continue;
        ck_assert_int_eq(tc_json_parse(line, strlen(line), "vector", &document, &root, NULL), 0);
        ck_assert(tc_json_member(&root, "text", &member));
        ck_assert_int_eq(tc_json_string(&member, arena, &text, &length, NULL), 0);
        ck_assert(tc_json_member(&root, "message", &member));
        ck_assert_int_eq(tc_json_string(&member, arena, &message, NULL, NULL), 0);
        check_message(text, length, message);
        count++;
    }
    ck_assert_uint_gt(count, 180);
    free(line);
    fclose(file);
}
END_TEST

START_TEST(test_bytes)
{
    check_message(
        "{\"version\": 1, \"rules\": [{\"pattern\": \"\xff\", \"operations\": [\"read\"], \"effect\": \"ask\"}]}", 78,
        "policy.json: line 1, column 39: byte 0xff is not UTF-8");
}
END_TEST

/* ---- what is accepted ---- */

START_TEST(test_comments)
{
    tc_auto_ruleset rules = parse_policy("/* head */ {\"version\": 1, // the first\n"
                                         "\"rules\": [/*none*/]}\n// tail");

    ck_assert_uint_eq(rules->rule_count, 0);
    ck_assert_str_eq(rules->name, "policy.json");
}
END_TEST

START_TEST(test_everything)
{
    tc_auto_ruleset rules = parse_policy(
        "{\"$schema\": \"x\", \"version\": 1, \"rules\": [{\"pattern\": \"a/**\", \"operations\": [\"read\", "
        "\"edit\"], "
        "\"effect\": \"ask\", \"priority\": -5, \"reason\": \"why\"}], \"commands\": [{\"argv\": [\"a\", \"b\", "
        "\"...\"], \"effect\": \"deny\", \"any_order\": true, \"reason\": \"no\"}], \"limits\": {\"wall\": \"1.5s\", "
        "\"cpu_time\": 20, \"cpus\": 1.5, \"memory\": \"512M\", \"pids\": 256, \"output\": \"1M\", \"disk\": 1000, "
        "\"file_size\": \"64K\", \"open_files\": \"1024\", \"grace\": \"2s\"}, \"environment\": {\"pass\": [\"A\", "
        "\"B\", "
        "\"A\"], \"set\": {\"CI\": \"1\", \"E\": \"\"}}, \"approval\": {\"timeout\": \"1m\"}}");
    const struct tc_rule *rule = &rules->rules[0];
    const struct tc_command_rule *command = &rules->commands[0];
    static const uint64_t limits[TC_LIMIT_COUNT] = {1500,    20000, 1500,     512 << 20, 256,
                                                    1 << 20, 1000,  64 << 10, 1024,      2000};
    char place[64];

    ck_assert_str_eq(rule->pattern, "a/**");
    ck_assert_uint_eq(rule->operations, TC_OP_BIT(TC_OP_READ) | TC_OP_BIT(TC_OP_LIST) | TC_OP_BIT(TC_OP_EDIT));
    ck_assert_int_eq(rule->effect, TC_ASK);
    ck_assert_int_eq(rule->priority, -5);
    ck_assert_str_eq(rule->reason, "why");
    ck_assert_str_eq(rule->source, "policy.json");
    ck_assert_str_eq(tc_rule_place(rule, place, sizeof(place)), "/rules/0");
    ck_assert(!rule->absolute);
    ck_assert_uint_eq(command->count, 2);
    ck_assert(command->more && command->any_order && !command->line);
    ck_assert_str_eq(tc_command_place(command, place, sizeof(place)), "/commands/0");
    ck_assert_uint_eq(rules->limits.set, (1 << TC_LIMIT_COUNT) - 1);
    ck_assert_mem_eq(rules->limits.value, limits, sizeof(limits));
    ck_assert_uint_eq(rules->pass_count, 2);
    ck_assert_uint_eq(rules->environment_count, 2);
    ck_assert_str_eq(rules->environment[1].value, "");
    ck_assert_uint_eq(rules->approval_ms, 60000);
}
END_TEST

/* ---- extends ---- */

START_TEST(test_merge)
{
    tc_auto_ruleset rules = NULL;
    struct tc_error err = {0};

    ck_assert_msg(tc_policy_read(vectors_path("policies/merge.json"), &rules, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_WALL], 1000);
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_PIDS], 10);
    ck_assert_uint_eq(rules->limits.value[TC_LIMIT_MEMORY], 1 << 30);
    ck_assert_uint_eq(rules->limits.set, 1 << TC_LIMIT_WALL | 1 << TC_LIMIT_PIDS | 1 << TC_LIMIT_MEMORY);
    ck_assert_uint_eq(rules->approval_ms, 7000);
    ck_assert_uint_eq(rules->pass_count, 3);
    ck_assert_str_eq(rules->pass[0], "OWN");
    ck_assert_str_eq(rules->pass[2], "BASE");
    ck_assert_uint_eq(rules->environment_count, 2);
    ck_assert_str_eq(rules->environment[0].value, "own");
    ck_assert_uint_eq(rules->command_count, 22);
    ck_assert_str_eq(rules->commands[0].argv[0], "own");
    ck_assert_str_eq(rules->commands[1].argv[0], "base");
    ck_assert_str_eq(rules->commands[2].source, "strict");
    ck_assert_str_eq(strrchr(rules->commands[1].source, '/'), "/merge-base.json");
    ck_assert_uint_eq(rules->file_count, 1);
    ck_assert_str_eq(rules->files[0], rules->commands[1].source);
}
END_TEST

/* A directory of policies that extend each other. */
struct tree {
    char path[64];
    int fd;
};

static struct tree make_tree(void)
{
    struct tree tree = {.path = "/tmp/toolcell-policy-XXXXXX"};

    ck_assert_ptr_nonnull(mkdtemp(tree.path));
    tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(tree.fd, 0);
    return tree;
}

static void write_file(const struct tree *tree, const char *name, const char *text)
{
    int fd = openat(tree->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void write_extends(const struct tree *tree, const char *name, const char *base)
{
    char text[256];

    snprintf(text, sizeof(text), "{\"version\": 1, \"extends\": %s}", base);
    write_file(tree, name, text);
}

static void drop_tree(struct tree *tree)
{
    char name[32];

    for (int i = 0; i <= 70; i++) {
        snprintf(name, sizeof(name), "%d.json", i);
        unlinkat(tree->fd, name, 0);
    }
    unlinkat(tree->fd, "link.json", 0);
    unlinkat(tree->fd, "fifo.json", 0);
    unlinkat(tree->fd, "d.json", AT_REMOVEDIR);
    close(tree->fd);
    ck_assert_int_eq(rmdir(tree->path), 0);
}

/* Read 0.json there; the message is compared without the directory's name. */
static void check_tree(const struct tree *tree, int code, const char *message)
{
    tc_auto_ruleset rules = NULL;
    struct tc_error err = {0};
    char path[128];
    size_t length;

    snprintf(path, sizeof(path), "%s/0.json", tree->path);
    ck_assert_int_eq(tc_policy_read(path, &rules, &err), code);
    if (code == 0)
        return;
    ck_assert_int_eq(err.code, code);
    length = strlen(tree->path) + 1;
    for (char *at; (at = strstr(err.message, tree->path)) != NULL;)
        memmove(at, at + length, strlen(at + length) + 1);
    ck_assert_str_eq(err.message, message);
}

START_TEST(test_depth)
{
    struct tree tree = make_tree();
    char name[32], base[32];

    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "%d.json", i);
        snprintf(base, sizeof(base), "\"%d.json\"", i + 1);
        write_extends(&tree, name, base);
    }
    write_file(&tree, "9.json", "{\"version\": 1}");
    check_tree(&tree, -ELOOP, "8.json: /extends: extended more than 8 deep");
    write_file(&tree, "8.json", "{\"version\": 1}");
    check_tree(&tree, 0, NULL);
    drop_tree(&tree);
}
END_TEST

START_TEST(test_cycles)
{
    struct tree tree = make_tree();

    write_extends(&tree, "0.json", "\"0.json\"");
    check_tree(&tree, -ELOOP, "0.json: /extends: the files extend each other in a circle");
    write_extends(&tree, "0.json", "[\"workspace\", \"./1.json\"]");
    write_extends(&tree, "1.json", "\"./2.json\"");
    write_extends(&tree, "2.json", "\"link.json\"");
    ck_assert_int_eq(symlinkat("1.json", tree.fd, "link.json"), 0);
    check_tree(&tree, -ELOOP, "2.json: /extends: the files extend each other in a circle");
    /* The same file twice is no cycle. */
    write_extends(&tree, "2.json", "\"3.json\"");
    write_extends(&tree, "1.json", "[\"2.json\", \"3.json\", \"2.json\"]");
    write_file(&tree, "3.json",
               "{\"version\": 1, \"rules\": [{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"ask\"}]}");
    check_tree(&tree, 0, NULL);
    drop_tree(&tree);
}
END_TEST

START_TEST(test_extended_files)
{
    struct tree tree = make_tree();
    char name[32], list[4096] = "[";

    write_extends(&tree, "0.json", "\"1.json\"");
    check_tree(&tree, -ENOENT, "0.json: /extends: open '1.json': No such file or directory");
    ck_assert_int_eq(mkfifoat(tree.fd, "fifo.json", 0600), 0);
    write_extends(&tree, "0.json", "\"fifo.json\"");
    check_tree(&tree, -EINVAL, "0.json: /extends: fifo.json: not a regular file");
    ck_assert_int_eq(mkdirat(tree.fd, "d.json", 0700), 0);
    write_extends(&tree, "0.json", "\"d.json\"");
    check_tree(&tree, -EINVAL, "0.json: /extends: d.json: not a regular file");
    write_extends(&tree, "0.json", "\"1.json\"");
    write_file(&tree, "1.json", "{\"version\": 1, \"rules\": [7]}");
    check_tree(&tree, -EINVAL, "1.json: /rules/0: expected an object");
    write_file(&tree, "1.json", "{\"version\": 1");
    check_tree(&tree, -EINVAL, "1.json: line 1, column 14: expected ',' or '}', but the text ends");
    for (int i = 1; i <= 64; i++) {
        snprintf(name, sizeof(name), "%d.json", i);
        write_file(&tree, name, "{\"version\": 1}");
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s\"%d.json\"", i == 1 ? "" : ", ", i);
    }
    char text[4200];
    snprintf(text, sizeof(text), "{\"version\": 1, \"extends\": %s]}", list);
    write_file(&tree, "0.json", text);
    check_tree(&tree, -EINVAL, "0.json: /extends/63: more than 64 files are extended");
    drop_tree(&tree);
}
END_TEST

START_TEST(test_read)
{
    struct tree tree = make_tree();
    tc_auto_ruleset rules = NULL;
    struct tc_error err = {0};
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/0.json", tree.path);
    ck_assert_int_eq(tc_policy_read(path, &rules, &err), -ENOENT);
    ck_assert_int_eq(tc_policy_read(tree.path, &rules, &err), -EINVAL);
    ck_assert_int_eq(tc_policy_read("/dev/null", &rules, &err), -EINVAL);
    ck_assert_str_eq(err.message, "/dev/null: not a regular file");
    write_file(&tree, "0.json", "{\"version\": 1}");
    fd = openat(tree.fd, "0.json", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(tc_policy_read_fd(fd, "fd 3", &rules, &err), 0);
    ck_assert_str_eq(rules->name, "fd 3");
    tc_ruleset_free(tc_take_ptr(rules));
    ck_assert_int_eq(ftruncate(fd, (16 << 20) + 1), 0);
    ck_assert_int_eq(tc_policy_read(path, &rules, &err), -EFBIG);
    ck_assert_int_eq(close(fd), 0);
    ck_assert_int_eq(tc_policy_read_fd(fd, "closed", &rules, &err), -EBADF);
    drop_tree(&tree);
}
END_TEST

START_TEST(test_presets)
{
    for (const char *const *name = tc_policy_preset_names(); *name != NULL; name++) {
        tc_auto_ruleset rules = NULL;
        ck_assert_int_eq(tc_policy_preset(*name, &rules, NULL), 0);
        ck_assert_str_eq(rules->name, *name);
        ck_assert_uint_gt(rules->rule_count, 10);
        ck_assert_uint_eq(rules->command_count, strcmp(*name, "readonly") == 0 ? 0 : 20);
    }
    struct tc_ruleset *rules = NULL;
    ck_assert_int_eq(tc_policy_preset("nothing", &rules, NULL), -ENOENT);
    ck_assert_int_eq(tc_policy_preset("", &rules, NULL), -ENOENT);
}
END_TEST

START_TEST(test_limits)
{
    static const struct {
        enum tc_limit limit;
        const char *text;
        int r;
        uint64_t value;
    } cases[] = {
        {TC_LIMIT_CPUS, "1", 0, 1000},
        {TC_LIMIT_CPUS, "0.001", 0, 1},
        {TC_LIMIT_CPUS, "2.50", 0, 2500},
        {TC_LIMIT_CPUS, "1.000000", 0, 1000},
        {TC_LIMIT_CPUS, "1.0001", -ERANGE, 0},
        {TC_LIMIT_CPUS, "0", -ERANGE, 0},
        {TC_LIMIT_CPUS, "1.", -EINVAL, 0},
        {TC_LIMIT_CPUS, ".5", -EINVAL, 0},
        {TC_LIMIT_CPUS, "-1", -EINVAL, 0},
        {TC_LIMIT_CPUS, "1.x", -EINVAL, 0},
        {TC_LIMIT_CPUS, "11111111111111111", -EINVAL, 0},
        {TC_LIMIT_WALL, "0", -ERANGE, 0},
        {TC_LIMIT_WALL, "5m", 0, 300000},
        {TC_LIMIT_MEMORY, "0", -ERANGE, 0},
        {TC_LIMIT_PIDS, "0", -ERANGE, 0},
        {TC_LIMIT_PIDS, "7", 0, 7},
        {TC_LIMIT_COUNT, "7", -EINVAL, 0},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        uint64_t value = 0;
        ck_assert_int_eq(tc_limit_parse(cases[i].limit, cases[i].text, &value), cases[i].r);
        ck_assert_uint_eq(value, cases[i].value);
    }
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("load", test_malformed, test_bytes, test_comments, test_everything, test_merge,
                               test_depth, test_cycles, test_extended_files, test_read, test_presets, test_limits,
                               NULL));
}
