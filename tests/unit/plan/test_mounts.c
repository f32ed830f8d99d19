/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/mounts.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

static const char table[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "30 27 8:1 /home/user/a\\040b /mnt/with\\040blank rw shared:3 master:1 - ext4 /dev/sda1 rw\n"
    "31 27 0:44 / /mnt/new\\012line\\134x rw - tmpfs tmpfs rw\n"
    "32 27 0:45 /@home /home rw shared:1 - btrfs /dev/sdb rw,subvol=/@home\n";

static struct tc_mounts parse(struct tc_arena *arena, const char *text)
{
    struct tc_mounts mounts;

    ck_assert_int_eq(tc_mounts_parse(arena, text, strlen(text), &mounts, NULL), 0);
    return mounts;
}

START_TEST(test_fields)
{
    tc_auto_arena arena = tc_arena_new();
    struct tc_mounts mounts = parse(arena, table);
    const struct tc_mount *mount = tc_mounts_find(&mounts, 30);

    ck_assert_uint_eq(mounts.count, 5);
    ck_assert_str_eq(mount->device, "8:1");
    ck_assert_str_eq(mount->root, "/home/user/a b");
    ck_assert_str_eq(mount->target, "/mnt/with blank");
    ck_assert_str_eq(mount->filesystem, "ext4");
    ck_assert_str_eq(tc_mounts_find(&mounts, 31)->target, "/mnt/new\nline\\x");
    ck_assert_ptr_null(tc_mounts_find(&mounts, 1));
}
END_TEST

START_TEST(test_positions)
{
    tc_auto_arena arena = tc_arena_new();
    struct tc_mounts mounts = parse(arena, table);

#define POSITION(path) tc_mounts_position(arena, tc_mounts_containing(&mounts, path), path)
    ck_assert_str_eq(POSITION("/"), "8:1 /");
    ck_assert_str_eq(POSITION("/srv/x"), "8:1 /srv/x");
    ck_assert_str_eq(POSITION("/mnt/with blank"), "8:1 /home/user/a b");
    ck_assert_str_eq(POSITION("/mnt/with blank/c"), "8:1 /home/user/a b/c");
    ck_assert_str_eq(POSITION("/mnt/with blankets"), "8:1 /mnt/with blankets");
    ck_assert_str_eq(POSITION("/home/user"), "0:45 /@home/user");
}
END_TEST

START_TEST(test_later_mount_covers)
{
    tc_auto_arena arena = tc_arena_new();
    struct tc_mounts mounts = parse(arena, "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /mnt rw - ext4 b rw\n"
                                           "3 2 8:3 / /mnt rw - xfs c rw\n");

    ck_assert_str_eq(tc_mounts_containing(&mounts, "/mnt/x")->device, "8:3");
}
END_TEST

START_TEST(test_malformed)
{
    static const char *const bad[] = {"x 1 8:1 / / rw - ext4 a rw\n",
                                      "1 2 8:1 / /\n",
                                      "1 2 8:1 / / rw shared:1\n",
                                      "1\n",
                                      " \n",
                                      "1 2 8:1 / / rw -\n"};
    tc_auto_arena arena = tc_arena_new();
    struct tc_mounts mounts;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tc_error err = {0};

        ck_assert_int_eq(tc_mounts_parse(arena, bad[i], strlen(bad[i]), &mounts, &err), -EBADMSG);
        ck_assert_ptr_nonnull(strstr(err.message, "line 1"));
    }
    ck_assert_uint_eq(parse(arena, "").count, 0);
}
END_TEST

START_TEST(test_proc_visible)
{
    static const char plain[] = "1 0 8:1 / / rw - ext4 a rw\n2 1 0:4 / /proc rw - proc proc rw\n";
    static const struct {
        const char *more;
        bool visible;
    } cases[] = {
        {"", true},
        {"3 2 0:5 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n", true},
        {"3 2 0:4 /sys /proc/sys ro - proc proc rw\n", false},
        {"3 2 0:9 / /proc/kcore rw - tmpfs tmpfs rw\n", false},
        {"3 2 0:4 /1 /proc rw - proc proc rw\n", false},
        {"3 2 0:9 / /proc rw - tmpfs tmpfs rw\n", false},
    };
    tc_auto_arena arena = tc_arena_new();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = tc_arena_printf(arena, "%s%s", plain, cases[i].more);
        struct tc_mounts mounts = parse(arena, text);

        ck_assert_msg(tc_mounts_proc_visible(&mounts) == cases[i].visible, "%s", cases[i].more);
    }
}
END_TEST

START_TEST(test_own_table)
{
    tc_auto_arena arena = tc_arena_new();
    struct tc_mounts mounts;

    ck_assert_int_eq(tc_mounts_read(arena, &mounts, NULL), 0);
    ck_assert_ptr_nonnull(tc_mounts_containing(&mounts, "/"));
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("plan mounts", test_fields, test_positions, test_later_mount_covers, test_malformed,
                               test_proc_visible, test_own_table, NULL));
}
