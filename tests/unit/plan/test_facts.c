/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering facts from a real directory. */
#include "plan/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/resolve.h"
#include "policy/load.h"
#include "unit.h"
#include "world.h"

static char top[64];
static struct world world;
static struct tc_ruleset *rules;

static const char everything[] =
    "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}";

static const char *at(const char *name)
{
    return tc_arena_printf(world.arena, "%s/%s", top, name);
}

static void make_file(const char *name, mode_t mode)
{
    tc_auto_fd fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    ck_assert_int_ge(fd, 0);
}

static void set_up(void)
{
    snprintf(top, sizeof(top), "/tmp/toolcell-facts-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    world_init(&world);
    ck_assert_int_eq(mkdir(at("work"), 0755), 0);
    ck_assert_int_eq(mkdir(at("work/bin"), 0755), 0);
    make_file("work/bin/tool", 0755);
    make_file("work/bin/data", 0644);
    ck_assert_int_eq(symlink("bin/tool", at("work/run")), 0);
    ck_assert_int_eq(symlink("/workspace/bin", at("work/abs")), 0);
    ck_assert_int_eq(symlink("loop", at("work/loop")), 0);
    ck_assert_int_eq(symlink("work", at("link")), 0);
    world.request.workspace.source = at("work");
    rules = world_rules(everything);
}

static void tear_down(void)
{
    world_remove(top);
    tc_ruleset_free(rules);
    world_free(&world);
}

static struct tc_facts *gather(void)
{
    struct tc_facts *facts = NULL;
    struct tc_error err = {0};

    ck_assert_msg(tc_facts_gather(rules, &world.request, NULL, &facts, &err) == 0, "%s", err.message);
    return facts;
}

static int gather_fails(struct tc_error *err)
{
    struct tc_facts *facts = NULL;

    return tc_facts_gather(rules, &world.request, NULL, &facts, err);
}

START_TEST(test_source)
{
    struct tc_facts *facts = gather();
    struct stat status;

    ck_assert_int_eq(stat(at("work"), &status), 0);
    ck_assert_str_eq(facts->workspace.canonical, at("work"));
    ck_assert_int_eq(facts->workspace.kind, TC_FILE_DIRECTORY);
    ck_assert_uint_eq(facts->workspace.device, status.st_dev);
    ck_assert_uint_eq(facts->workspace.inode, status.st_ino);
    ck_assert_uint_eq(facts->workspace.uid, geteuid());
    ck_assert_ptr_nonnull(strstr(facts->workspace.position, "/work"));
    ck_assert_ptr_null(facts->workspace.submounts[0]);
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_linked_source)
{
    struct tc_facts *facts;

    world.request.workspace.source = at("link");
    facts = gather();
    ck_assert_str_eq(facts->workspace.canonical, at("work"));
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_strange_names)
{
    static const char *const names[] = {"a\nb", "a:b,c", "a b\\040", "\xff\xfe", "'\"$(x)"};

    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct tc_facts *facts;

        ck_assert_int_eq(mkdir(at(names[i]), 0755), 0);
        world.request.workspace.source = at(names[i]);
        facts = gather();
        ck_assert_str_eq(facts->workspace.canonical, at(names[i]));
        tc_facts_free(facts);
    }
}
END_TEST

START_TEST(test_missing_source)
{
    static const char *const names[] = {"gone", "work/bin/tool/x", "work/loop", ""};

    for (size_t i = 0; i < TC_COUNT(names); i++) {
        struct tc_error err = {0};

        world.request.workspace.source = names[i][0] == '\0' ? "" : at(names[i]);
        ck_assert_msg(gather_fails(&err) < 0, "%s", names[i]);
        ck_assert_str_eq(err.stage, "facts");
        ck_assert_msg(err.message[0] != '\0' && strchr(err.message, '\n') == NULL, "%s", err.message);
    }
}
END_TEST

static void expect_program(const char *name, const char *cwd, const char *given, const char *real)
{
    const char *argv[] = {name, NULL};
    struct tc_facts *facts;

    world.request.argv = argv;
    world.request.cwd = cwd;
    facts = gather();
    if (given == NULL) {
        ck_assert_msg(facts->program_given == NULL, "%s: found %s", name, facts->program_given);
    } else {
        ck_assert_msg(facts->program_given != NULL, "%s: not found", name);
        ck_assert_str_eq(facts->program_given, given);
        ck_assert_str_eq(facts->program_real, real);
    }
    tc_facts_free(facts);
}

START_TEST(test_program)
{
    expect_program("./bin/tool", NULL, "/workspace/bin/tool", "/workspace/bin/tool");
    expect_program("./run", NULL, "/workspace/run", "/workspace/bin/tool");
    expect_program("/workspace/abs/tool", NULL, "/workspace/abs/tool", "/workspace/bin/tool");
    expect_program("../run", "bin", "/workspace/run", "/workspace/bin/tool");
    expect_program("./tool", "/workspace/abs", "/workspace/abs/tool", "/workspace/bin/tool");
    /* ".." after a link is where the link leads, though the name as given is cleaned as text */
    expect_program("abs/../bin/tool", NULL, "/workspace/bin/tool", "/workspace/bin/tool");
    expect_program("./loop", NULL, NULL, NULL);
    expect_program("./gone", NULL, NULL, NULL);
    expect_program("./bin", NULL, NULL, NULL);
    expect_program("./bin/tool/x", NULL, NULL, NULL);
    expect_program("./bin/tool/", NULL, NULL, NULL);
    expect_program("no-such-program", NULL, NULL, NULL);
    expect_program("tool", NULL, NULL, NULL);
    expect_program("", NULL, NULL, NULL);
    expect_program("/etc/shadow", NULL, NULL, NULL);
    expect_program("/proc/self/exe", NULL, NULL, NULL);
    expect_program("/../../../workspace/run", NULL, "/workspace/run", "/workspace/bin/tool");
}
END_TEST

START_TEST(test_search)
{
    static const struct tc_setting env[] = {{"PATH", "/nowhere::/workspace/bin"}};

    world.request.env = env;
    world.request.env_count = 1;
    expect_program("tool", NULL, "/workspace/bin/tool", "/workspace/bin/tool");
    expect_program("data", NULL, NULL, NULL);                             /* no execute bit */
    expect_program("run", NULL, "/workspace/run", "/workspace/bin/tool"); /* an empty part is the directory */
}
END_TEST

/* Programs of the root file system, with links on the way, at the end, and with what is mounted over it. */
START_TEST(test_program_of_rootfs)
{
    ck_assert_int_eq(mkdir(at("root"), 0755), 0);
    ck_assert_int_eq(mkdir(at("root/usr"), 0755), 0);
    ck_assert_int_eq(mkdir(at("root/usr/bin"), 0755), 0);
    ck_assert_int_eq(mkdir(at("root/usr/over"), 0755), 0);
    make_file("root/usr/bin/tool", 0755);
    make_file("root/usr/over/tool", 0755);
    ck_assert_int_eq(symlink("tool", at("root/usr/bin/last")), 0);
    ck_assert_int_eq(symlink("bin", at("root/usr/way")), 0);
    ck_assert_int_eq(symlink("usr/bin", at("root/bin")), 0);
    world.request.rootfs = at("root");
    expect_program("/usr/bin/tool", NULL, "/usr/bin/tool", "/usr/bin/tool");
    expect_program("/usr/bin/last", NULL, "/usr/bin/last", "/usr/bin/tool");
    expect_program("/usr/way/tool", NULL, "/usr/way/tool", "/usr/bin/tool");
    expect_program("/bin/tool", NULL, "/bin/tool", "/usr/bin/tool");
    expect_program("/usr/way/../over/tool", NULL, "/usr/over/tool", "/usr/over/tool");
    expect_program("/usr/gone/../bin/tool", NULL, NULL, NULL);
    expect_program("/usr/bin", NULL, NULL, NULL);
    expect_program("/usr/bin/tool/x", NULL, NULL, NULL);
    expect_program("/usr/bin/gone", NULL, NULL, NULL);
    expect_program("tool", NULL, "/usr/bin/tool", "/usr/bin/tool");
    world_mount(&world, at("work/bin"), "/usr/bin", TC_MODE_RO);
    world_tmpfs(&world, "/usr/over", 0);
    expect_program("/usr/bin/last", NULL, NULL, NULL);
    expect_program("/usr/bin/tool", NULL, "/usr/bin/tool", "/usr/bin/tool");
    expect_program("/usr/over/tool", NULL, NULL, NULL);
}
END_TEST

/* What must stay out of reach, by its canonical path, although its end or all of it does not exist yet. */
START_TEST(test_protected_paths)
{
    static const char *const given[] = {"link/bin/tool", "link/gone/x", "work/bin/gone", "work/run", "gone/a/../b",
                                        "work/loop/x",   NULL};
    static const char *const expected[] = {"work/bin/tool", "work/gone/x", "work/bin/gone",
                                           "work/bin/tool", "gone/b",      "work/loop/x"};
    const char *paths[TC_COUNT(given)] = {NULL};
    struct tc_facts *facts = NULL;
    struct tc_error err = {0};
    char self[4096] = {0};
    size_t count = 0;

    for (size_t i = 0; given[i] != NULL; i++)
        paths[i] = at(given[i]);
    ck_assert_int_eq(tc_facts_gather(rules, &world.request, paths, &facts, &err), 0);
    while (facts->protect[count] != NULL)
        count++;
    ck_assert_uint_ge(count, TC_COUNT(expected) + 1);
    for (size_t i = 0; i < TC_COUNT(expected); i++)
        ck_assert_str_eq(facts->protect[count - TC_COUNT(expected) + i], at(expected[i]));
    ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    ck_assert_str_eq(facts->protect[0], self);
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_points)
{
    struct tc_facts *facts;

    world_mount(&world, at("work/bin"), "/workspace/bin", TC_MODE_RO);
    world_mount(&world, at("work/bin"), "/workspace/abs", TC_MODE_RO);
    world_mount(&world, at("work/bin"), "/workspace/abs/tool", TC_MODE_RO);
    world_mount(&world, at("work/bin"), "/workspace/gone/x", TC_MODE_RO);
    world_mount(&world, at("work/bin"), "/made", TC_MODE_RO);
    world_tmpfs(&world, "/workspace/bin/data", 0);
    facts = gather();
    ck_assert_uint_eq(facts->point_count, 7);
    ck_assert_int_eq(facts->points[1], TC_FILE_DIRECTORY);
    ck_assert_int_eq(facts->points[2], TC_FILE_NONE); /* a link */
    ck_assert_int_eq(facts->points[4], TC_FILE_NONE);
    ck_assert_int_eq(facts->points[5], TC_FILE_DIRECTORY);
    ck_assert_int_eq(facts->points[6], TC_FILE_REGULAR);
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_subtrees)
{
    struct tc_facts *facts;

    tc_ruleset_free(rules);
    rules = world_rules("{\"version\":1,\"rules\":["
                        "{\"pattern\":\"bin/**\",\"operations\":[\"read\"],\"effect\":\"allow\"},"
                        "{\"pattern\":\"bin/data\",\"operations\":[\"read\"],\"effect\":\"allow\"},"
                        "{\"pattern\":\"abs/**\",\"operations\":[\"read\"],\"effect\":\"allow\"},"
                        "{\"pattern\":\"run\",\"operations\":[\"read\"],\"effect\":\"allow\"},"
                        "{\"pattern\":\"/workspace/gone\",\"operations\":[\"read\"],\"effect\":\"allow\"}]}");
    facts = gather();
    ck_assert_uint_eq(facts->subtree_count, 4);
    ck_assert_str_eq(facts->subtrees[0].relative, "abs");
    ck_assert_int_eq(facts->subtrees[0].path.kind, TC_FILE_NONE); /* never through a link */
    ck_assert_str_eq(facts->subtrees[1].relative, "bin");
    ck_assert_int_eq(facts->subtrees[1].path.kind, TC_FILE_DIRECTORY);
    ck_assert_str_eq(facts->subtrees[2].relative, "gone");
    ck_assert_int_eq(facts->subtrees[2].path.kind, TC_FILE_NONE);
    ck_assert_str_eq(facts->subtrees[3].relative, "run");
    ck_assert_int_eq(facts->subtrees[3].path.kind, TC_FILE_NONE);
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_rootfs_directory)
{
    struct tc_facts *facts;
    const char *root = at("root");

    ck_assert_int_eq(mkdir(root, 0755), 0);
    ck_assert_int_eq(mkdir(at("root/usr"), 0755), 0);
    ck_assert_int_eq(mkdir(at("root/etc"), 0755), 0);
    ck_assert_int_eq(mkdir(at("root/proc"), 0755), 0);
    ck_assert_int_eq(mkdir(at("root/home"), 0755), 0);
    ck_assert_int_eq(symlink("usr/bin", at("root/bin")), 0);
    ck_assert_int_eq(mkfifo(at("root/fifo"), 0644), 0);
    world.request.rootfs = root;
    facts = gather();
    ck_assert_uint_eq(facts->rootfs_count, 2);
    ck_assert_str_eq(facts->rootfs[0].target, "/bin");
    ck_assert_str_eq(facts->rootfs[0].link, "usr/bin");
    ck_assert_str_eq(facts->rootfs[1].target, "/usr");
    ck_assert_str_eq(facts->rootfs_etc, at("root/etc"));
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_rootfs_names)
{
    struct tc_error err = {0};

    world.request.rootfs = "debian";
    ck_assert_int_eq(gather_fails(&err), -EOPNOTSUPP);
    world.request.rootfs = at("gone");
    ck_assert_int_eq(gather_fails(&err), -ENOENT);
    world.request.rootfs = at("work/bin/tool");
    ck_assert_int_eq(gather_fails(&err), -ENOTDIR);
}
END_TEST

START_TEST(test_host_offers_no_secret)
{
    struct tc_facts *facts = gather();

    for (size_t i = 0; i < facts->rootfs_count; i++) {
        static const char *const never[] = {"shadow",   "passwd", "sudoers", "ssh/",  "netrc",
                                            "/etc/apt", "npmrc",  "private", "/root", "/home",
                                            "/var",     "/srv",   "/run",    "/mnt",  "/media"};

        for (size_t k = 0; k < TC_COUNT(never); k++)
            ck_assert_msg(strstr(facts->rootfs[i].target, never[k]) == NULL, "%s", facts->rootfs[i].target);
    }
    tc_facts_free(facts);
}
END_TEST

START_TEST(test_plan_of_the_host)
{
    struct tc_facts *facts = gather();
    struct tc_plan *plan = NULL;
    struct tc_error err = {0};

    ck_assert_msg(tc_plan_compile(rules, &world.request, facts, TC_COMPILE_SHOW, &plan, &err) == 0, "%s", err.message);
    ck_assert_str_eq(world_step(plan, "/workspace")->source, at("work"));
    tc_plan_free(plan);
    tc_facts_free(facts);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("plan facts");
    Suite *suite = suite_create("plan facts");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, test_source);
    tcase_add_test(tests, test_linked_source);
    tcase_add_test(tests, test_strange_names);
    tcase_add_test(tests, test_missing_source);
    tcase_add_test(tests, test_program);
    tcase_add_test(tests, test_search);
    tcase_add_test(tests, test_program_of_rootfs);
    tcase_add_test(tests, test_protected_paths);
    tcase_add_test(tests, test_points);
    tcase_add_test(tests, test_subtrees);
    tcase_add_test(tests, test_rootfs_directory);
    tcase_add_test(tests, test_rootfs_names);
    tcase_add_test(tests, test_host_offers_no_secret);
    tcase_add_test(tests, test_plan_of_the_host);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
