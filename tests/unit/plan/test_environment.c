/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/environment.h"

#include <errno.h>
#include <string.h>

#include "unit.h"
#include "world.h"

static const char *const host[] = {
    "LANG=de_DE.UTF-8", "LD_PRELOAD=/x.so",         "GIT_DIR=/x", "CI=yes", "EMPTY=", "ODD", "A=b=c", "TERM=xterm",
    "SECRET=s",         "BASH_FUNC_ls%%=() { :; }", "TZ=Mars",    NULL};

static const char *const *make(struct world *world, const char *policy)
{
    const char *const *list = NULL;
    struct tc_ruleset *rules = world_keep(world, policy);
    struct tc_error err = {0};

    world->facts.environ = host;
    ck_assert_msg(
        tc_environment_make(world->arena, rules, &world->request, &world->facts, "/workspace/x", &list, &err) == 0,
        "%s", err.message);
    return list;
}

#define VALUE(name, value) ck_assert_str_eq(tc_environment_get(list, name), value)
#define ABSENT(name) ck_assert_ptr_null(tc_environment_get(list, name))

START_TEST(test_defaults)
{
    struct world world;
    const char *const *list;

    world_init(&world);
    list = make(&world, "{\"version\":1,\"rules\":[]}");
    VALUE("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    VALUE("HOME", "/home/agent");
    VALUE("USER", "agent");
    VALUE("LOGNAME", "agent");
    VALUE("SHELL", "/bin/sh");
    VALUE("LANG", "C.UTF-8");
    VALUE("TZ", "Europe/Berlin");
    VALUE("TMPDIR", "/tmp");
    VALUE("PWD", "/workspace/x");
    VALUE("TOOLCELL", "1");
    ABSENT("TERM");
    ABSENT("CI");
    ABSENT("SECRET");
    world_free(&world);
}
END_TEST

START_TEST(test_order)
{
    static const char *const pass[] = {"A", "EMPTY", "MISSING", "LD_PRELOAD", "GIT_DIR", "BASH_FUNC_ls%%"};
    static const struct tc_setting env[] = {{"LD_PRELOAD", "inside.so"}, {"CI", "3"}, {"CI", "4"}};
    struct world world;
    const char *const *list;

    world_init(&world);
    world.request.pass_env = pass;
    world.request.pass_env_count = 6;
    world.request.env = env;
    world.request.env_count = 3;
    list = make(&world, "{\"version\":1,\"rules\":[],\"environment\":{\"pass\":[\"LANG\",\"CI\",\"GIT_DIR\"],"
                        "\"set\":{\"CI\":\"1\",\"HOME\":\"/h\",\"GIT_AUTHOR_NAME\":\"n\"}}}");
    VALUE("LANG", "de_DE.UTF-8");
    VALUE("HOME", "/h");
    VALUE("CI", "4");
    VALUE("A", "b=c");
    VALUE("EMPTY", "");
    VALUE("LD_PRELOAD", "inside.so");
    VALUE("GIT_AUTHOR_NAME", "n");
    ABSENT("MISSING");
    ABSENT("GIT_DIR");
    ABSENT("BASH_FUNC_ls%%");
    for (size_t i = 0; list[i] != NULL; i++)
        for (size_t k = i + 1; list[k] != NULL; k++)
            ck_assert_msg(strncmp(list[i], list[k], strcspn(list[i], "=") + 1) != 0, "%s twice", list[i]);
    world_free(&world);
}
END_TEST

START_TEST(test_terminal)
{
    struct world world;
    const char *const *list;

    world_init(&world);
    world.request.tty = true;
    list = make(&world, "{\"version\":1,\"rules\":[]}");
    VALUE("TERM", "xterm");
    world_free(&world);
}
END_TEST

START_TEST(test_bad_names)
{
    static const struct tc_setting bad[] = {{"", "x"}, {"A=B", "x"}};
    struct tc_ruleset *rules = world_rules("{\"version\":1,\"rules\":[]}");
    struct world world;

    world_init(&world);
    for (size_t i = 0; i < 2; i++) {
        const char *const *list;
        struct tc_error err = {0};

        world.request.env = &bad[i];
        world.request.env_count = 1;
        ck_assert_int_eq(tc_environment_make(world.arena, rules, &world.request, &world.facts, "/", &list, &err),
                         -EINVAL);
    }
    world_free(&world);
    tc_ruleset_free(rules);
}
END_TEST

START_TEST(test_unsafe)
{
    static const char *const unsafe[] = {
        "LD_PRELOAD",   "LD_X",     "BASH_ENV", "ENV",        "GLIBC_TUNABLES", "PYTHONSTARTUP",     "GIT_SSH_COMMAND",
        "NODE_OPTIONS", "PERL5OPT", "RUBYOPT",  "PYTHONPATH", "BASH_FUNC_x%%",  "JAVA_TOOL_OPTIONS", "TOOLCELL"};
    static const char *const fine[] = {
        "LANG", "CI", "ENVIRONMENT", "LDFLAGS", "GITHUB_TOKEN", "PYTHONUNBUFFERED", "NODE_ENV", "HTTP_PROXY", ""};

    for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
        ck_assert_msg(tc_environment_unsafe(unsafe[i]), "%s", unsafe[i]);
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        ck_assert_msg(!tc_environment_unsafe(fine[i]), "%s", fine[i]);
}
END_TEST

int main(void)
{
    return unit_run(
        unit_suite("plan environment", test_defaults, test_order, test_terminal, test_bad_names, test_unsafe, NULL));
}
