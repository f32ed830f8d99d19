/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/layout.h"

#include <errno.h>
#include <string.h>

#include "unit.h"
#include "world.h"

static int lay_out(const char *target, struct tc_error *err)
{
    struct tc_layout layout;
    struct world world;
    int result;

    world_init(&world);
    world_mount(&world, "/srv/data", target, TC_MODE_RW);
    result = tc_layout_make(world.arena, &world.request, &world.facts, &layout, err);
    world_free(&world);
    return result;
}

START_TEST(test_targets_refused)
{
    static const char *const bad[] = {
        "data",
        "",
        "./x",
        "/a/../b",
        "/..",
        "/a/..",
        "/",
        "//",
        "/proc",
        "/proc/x",
        "/dev",
        "/dev/null",
        "/dev/shm",
        "/dev/shm/x",
        "/sys",
        "/sys/x",
        "/etc",
        "/etc/passwd",
        "/etc/group",
        "/etc/hosts",
        "/etc/resolv.conf",
        "/etc/alternatives",
        "/usr",
        "/bin",
        "/bin/x",
        "/tmp",
        "/home",
        "/home/agent",
        "/var",
        "/var/tmp",
        "/var/tmp/x",
        "/workspace",
        "//workspace/.",
        "/workspace//",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tc_error err = {0};

        ck_assert_msg(lay_out(bad[i], &err) == -EINVAL, "'%s'", bad[i]);
        ck_assert_msg(err.message[0] != '\0' && strchr(err.message, '\n') == NULL, "'%s'", bad[i]);
    }
}
END_TEST

START_TEST(test_targets_taken)
{
    static const char *const good[] = {
        "/data",         "/workspace/x", "/opt",       "/opt/x",     "/usr/local/x", "/tmp/x", "/home/other",
        "/home/agent/x", "/run/x",       "/var/lib/x", "/etc/myapp", "/srv",         "/a..b",  "/a\nb",
        "/...",          "/binary",      "/proc2",     "/devices",   "//data//x/.",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct tc_error err = {0};

        ck_assert_msg(lay_out(good[i], &err) == 0, "'%s': %s", good[i], err.message);
    }
}
END_TEST

START_TEST(test_long_target)
{
    char target[8192];
    struct tc_error err = {0};

    memset(target, 'a', sizeof(target));
    target[0] = '/';
    target[sizeof(target) - 1] = '\0';
    ck_assert_int_eq(lay_out(target, &err), -EINVAL);
}
END_TEST

START_TEST(test_parents_first)
{
    static const char *const targets[] = {"/a/b/c", "/a-b", "/a", "/a/b", "/a.b", "/a/b-c/d"};
    struct tc_layout layout;
    struct world world;

    world_init(&world);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        world_mount(&world, tc_arena_printf(world.arena, "/srv/%zu", i), targets[i], TC_MODE_RW);
    ck_assert_int_eq(tc_layout_make(world.arena, &world.request, &world.facts, &layout, NULL), 0);
    for (size_t i = 0; i < layout.count; i++)
        for (size_t k = i + 1; k < layout.count; k++)
            ck_assert_msg(strncmp(layout.places[i].target, layout.places[k].target, strlen(layout.places[k].target)) !=
                                  0 ||
                              layout.places[i].target[strlen(layout.places[k].target)] != '/',
                          "%s before %s", layout.places[i].target, layout.places[k].target);
    ck_assert_str_eq(tc_layout_parent(&layout, "/a/b/c")->target, "/a/b");
    ck_assert_str_eq(tc_layout_parent(&layout, "/a/b/x/y")->target, "/a/b");
    ck_assert_str_eq(tc_layout_parent(&layout, "/a/b-c/d")->target, "/a");
    ck_assert_ptr_null(tc_layout_parent(&layout, "/a"));
    ck_assert_str_eq(tc_layout_at(&layout, 0)->target, "/workspace");
    world_free(&world);
}
END_TEST

START_TEST(test_tmpfs_replaces_scratch)
{
    struct tc_layout layout;
    struct world world;

    world_init(&world);
    world_tmpfs(&world, "/tmp", 1 << 20);
    world_tmpfs(&world, "/dev/shm", 0);
    world_tmpfs(&world, "/home/agent", 0);
    ck_assert_int_eq(tc_layout_make(world.arena, &world.request, &world.facts, &layout, NULL), 0);
    world_free(&world);
}
END_TEST

START_TEST(test_same)
{
    struct tc_layout layout;
    struct world world;

    world_init(&world);
    world.request.workspace.target = "@same";
    ck_assert_int_eq(tc_layout_make(world.arena, &world.request, &world.facts, &layout, NULL), 0);
    ck_assert_str_eq(layout.places[0].target, "/home/user/project");
    world_free(&world);
}
END_TEST

START_TEST(test_many)
{
    struct tc_mount_request *mounts;
    struct tc_layout layout;
    struct tc_error err = {0};
    struct world world;

    world_init(&world);
    mounts = tc_arena_array(world.arena, 100000, sizeof(*mounts));
    world.request.mounts = mounts;
    world.request.mount_count = 100000;
    ck_assert_int_eq(tc_layout_make(world.arena, &world.request, &world.facts, &layout, &err), -EINVAL);
    world_free(&world);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("plan layout", test_targets_refused, test_targets_taken, test_long_target,
                               test_parents_first, test_tmpfs_replaces_scratch, test_same, test_many, NULL));
}
