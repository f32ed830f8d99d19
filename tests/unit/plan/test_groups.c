/* SPDX-License-Identifier: Apache-2.0 */
/* Where groups of calls can be made, on trees of plain files that stand for hierarchies. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/groups.h"
#include "unit.h"

static char top[64];
static struct tc_arena *arena;

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
    char command[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    ck_assert_int_eq(system(command), 0);
}

static void set_up(void)
{
    snprintf(top, sizeof top, "/tmp/toolcell-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    arena = tc_arena_new();
}

static void tear_down(void)
{
    run("rm -rf '%s'", top);
    tc_arena_free(arena);
}

/* A group of version 2: what it was given, what it hands on, whether somebody lives there. */
static void make(const char *path, const char *given, const char *handed, const char *processes)
{
    run("d='%s/%s'; mkdir -p $d; echo '%s' >$d/cgroup.controllers; echo '%s' >$d/cgroup.subtree_control; "
        "printf '%s' >$d/cgroup.procs; echo domain >$d/cgroup.type",
        top, path, given, handed, processes);
}

static struct tc_fact_groups find_in(const char *table, const char *own, unsigned wanted, bool own_only)
{
    struct tc_fact_groups found;
    struct tc_mounts mounts;
    char text[1024];
    size_t length = 0;

    /* "%" stands for the top. */
    for (; *table != '\0'; table++)
        length += (size_t)(*table == '%' ? snprintf(text + length, sizeof text - length, "%s", top)
                                         : snprintf(text + length, sizeof text - length, "%c", *table));
    ck_assert_int_eq(tc_mounts_parse(arena, text, length, &mounts, NULL), 0);
    ck_assert_int_eq(tc_groups_find(arena, &mounts, own, wanted, own_only, &found), 0);
    ck_assert(found.looked);
    return found;
}

static struct tc_fact_groups find(const char *table, const char *own, unsigned wanted)
{
    return find_in(table, own, wanted, false);
}

static void check_directory(const struct tc_fact_controller *found, const char *below)
{
    char wanted[256];

    snprintf(wanted, sizeof wanted, "%s%s", top, below);
    ck_assert_int_eq(found->lack, TC_GROUP_USABLE);
    ck_assert_str_eq(found->directory, wanted);
}

#define CPU TC_CONTROLLER_BIT(TC_CONTROLLER_CPU)
#define MEMORY TC_CONTROLLER_BIT(TC_CONTROLLER_MEMORY)
#define PIDS TC_CONTROLLER_BIT(TC_CONTROLLER_PIDS)
#define UNIFIED "30 1 0:30 / % rw - cgroup2 cgroup rw\n"

START_TEST(test_nothing_mounted)
{
    struct tc_fact_groups found = find("1 0 8:1 / / rw - ext4 a rw\n", "0::/\n", MEMORY);

    ck_assert_int_eq(found.controllers[TC_CONTROLLER_MEMORY].lack, TC_GROUP_ABSENT);
    ck_assert_ptr_nonnull(tc_group_lack_reason(TC_GROUP_ABSENT));
    ck_assert_uint_eq(tc_groups_usable(&found, MEMORY), 0);
}
END_TEST

/* Found by type and options, wherever it is mounted and however it is called. */
START_TEST(test_version_1)
{
    static const char table[] = "30 1 0:30 / %/any rw - cgroup cgroup rw,memory\n"
                                "31 1 0:31 /outer %/both rw - cgroup cgroup rw,cpu,cpuacct\n"
                                "32 1 0:32 /other %/any rw - cgroup cgroup rw,pids\n";
    struct tc_fact_groups found;

    run("mkdir -p %s/any/a/b %s/both/in; for i in any/a/b both/in; do touch %s/$i/cgroup.procs; done", top, top, top);
    found = find(table, "4:memory:/a/b\n3:pids:/elsewhere\n2:cpu,cpuacct:/outer/in\n", CPU | MEMORY | PIDS);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "/any/a/b");
    check_directory(&found.controllers[TC_CONTROLLER_CPU], "/both/in");
    check_directory(&found.controllers[TC_CONTROLLER_CPUACCT], "/both/in");
    ck_assert_uint_eq(found.controllers[TC_CONTROLLER_CPU].version, 1);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_PIDS].lack, TC_GROUP_UNSEEN);
    ck_assert_uint_eq(tc_groups_usable(&found, PIDS), 0);
    ck_assert_uint_eq(tc_groups_usable(&found, MEMORY | PIDS), MEMORY | TC_CONTROLLER_BIT(TC_CONTROLLER_CPUACCT));
    ck_assert(tc_groups_usable(&found, CPU) & CPU);
}
END_TEST

/* As a service manager delegates: the caller lives in a leaf, the group above it hands on. */
START_TEST(test_delegated)
{
    struct tc_fact_groups found;

    make("", "cpu io memory pids", "memory pids", "");
    make("user", "memory pids", "memory pids", "");
    make("user/session", "memory pids", "", "1\\n");
    found = find(UNIFIED, "0::/user/session\n", MEMORY);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "/user");
    check_directory(&found.controllers[TC_CONTROLLER_PIDS], "/user");
    ck_assert(!found.controllers[TC_CONTROLLER_MEMORY].hand_on);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_CPU].lack, TC_GROUP_NOT_HANDED);
    ck_assert_uint_eq(tc_groups_usable(&found, MEMORY), MEMORY | PIDS);
}
END_TEST

/* What nobody hands on yet is handed on where that is possible, and only what is wanted. */
START_TEST(test_hand_on)
{
    struct tc_fact_groups found;

    make("", "cpu memory pids", "cpu memory pids", "");
    make("own", "cpu memory pids", "memory", "");
    make("own/leaf", "memory", "", "1\\n");
    found = find(UNIFIED, "0::/own/leaf\n", MEMORY | CPU);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "/own");
    check_directory(&found.controllers[TC_CONTROLLER_CPU], "/own");
    ck_assert(found.controllers[TC_CONTROLLER_CPU].hand_on && !found.controllers[TC_CONTROLLER_MEMORY].hand_on);
    ck_assert_ptr_null(found.controllers[TC_CONTROLLER_PIDS].directory);
}
END_TEST

/* A container's root: it holds processes, and is no real root, which has no type. */
START_TEST(test_occupied)
{
    struct tc_fact_groups found;

    make("", "cpu memory pids", "", "1\\n7\\n");
    found = find(UNIFIED, "0::/\n", MEMORY);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_MEMORY].lack, TC_GROUP_OCCUPIED);
    run("rm %s/cgroup.type", top);
    found = find(UNIFIED, "0::/\n", MEMORY);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "");
    ck_assert(found.controllers[TC_CONTROLLER_MEMORY].hand_on);
}
END_TEST

/* Toolcell can leave its own group for one below where nobody else lives in it: the last choice. */
START_TEST(test_alone)
{
    struct tc_fact_groups found;
    char alone[24], together[32];

    snprintf(alone, sizeof alone, "%d\\n", (int)getpid());
    snprintf(together, sizeof together, "%d\\n7\\n", (int)getpid());
    make("", "cpu memory pids", "", "9\\n");
    make("own", "memory pids", "", alone);
    found = find(UNIFIED, "0::/own\n", MEMORY);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "/own");
    ck_assert(found.vacate && found.controllers[TC_CONTROLLER_MEMORY].hand_on);
    ck_assert_ptr_null(found.controllers[TC_CONTROLLER_PIDS].directory);
    found = find(UNIFIED, "0::/own\n", CPU);
    ck_assert(!found.vacate && found.controllers[TC_CONTROLLER_CPU].lack == TC_GROUP_OCCUPIED);
    make("own", "memory pids", "", together);
    found = find(UNIFIED, "0::/own\n", MEMORY);
    ck_assert(!found.vacate && found.controllers[TC_CONTROLLER_MEMORY].lack == TC_GROUP_OCCUPIED);
    make("own", "memory pids", "", alone);
    run("echo threaded >%s/own/cgroup.type", top);
    ck_assert(!find(UNIFIED, "0::/own\n", MEMORY).vacate);
}
END_TEST

/* Where there is a place above nobody is moved, but in a unit of a service manager, or when it shall be the own. */
START_TEST(test_own_only)
{
    struct tc_fact_groups found;
    char alone[24];

    snprintf(alone, sizeof alone, "%d\\n", (int)getpid());
    make("", "cpu memory pids", "cpu memory pids", "");
    make("own", "memory pids", "", alone);
    found = find(UNIFIED, "0::/own\n", MEMORY | CPU);
    check_directory(&found.controllers[TC_CONTROLLER_CPU], "");
    ck_assert(!found.vacate);
    found = find_in(UNIFIED, "0::/own\n", MEMORY | CPU, true);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "/own");
    ck_assert(found.vacate && found.controllers[TC_CONTROLLER_CPU].directory == NULL);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_CPU].lack, TC_GROUP_NOT_HANDED);
    /* What limits a unit is meant for the call as well. */
    run("mv %s/own %s/own.service", top, top);
    ck_assert(find(UNIFIED, "0::/own.service\n", MEMORY).vacate);
    check_directory(&find(UNIFIED, "0::/own.service\n", CPU).controllers[TC_CONTROLLER_CPU], "");
    make("own", "memory pids", "", "7\\n");
    found = find_in(UNIFIED, "0::/own\n", MEMORY, true);
    ck_assert(!found.vacate && tc_groups_usable(&found, MEMORY) == 0);
}
END_TEST

/* One place for all; where there is none, what can be had is had, and the rest is told. */
START_TEST(test_not_all)
{
    struct tc_fact_groups found;

    make("", "cpu memory", "memory", "9\\n");
    make("own", "memory", "", "1\\n");
    found = find(UNIFIED, "0::/own\n", MEMORY | CPU);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "");
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_CPU].lack, TC_GROUP_OCCUPIED);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_PIDS].lack, TC_GROUP_ABSENT);
    ck_assert_uint_eq(tc_groups_usable(&found, CPU), 0);
}
END_TEST

/* The caller's own group is not below what is mounted: the kernel says so with "..". */
START_TEST(test_out_of_sight)
{
    struct tc_fact_groups found;

    make("", "memory", "memory", "");
    found = find(UNIFIED, "0::/../elsewhere\n", MEMORY);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_MEMORY].lack, TC_GROUP_UNSEEN);
    found = find("30 1 0:30 /docker/x % rw - cgroup2 cgroup rw\n", "0::/docker/xy\n", MEMORY);
    ck_assert_int_eq(found.controllers[TC_CONTROLLER_MEMORY].lack, TC_GROUP_UNSEEN);
    found = find("30 1 0:30 /docker/x % rw - cgroup2 cgroup rw\n", "0::/docker/x\n", MEMORY);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "");
}
END_TEST

/* Where a version 1 hierarchy has taken a controller, version 2 does not list it. */
START_TEST(test_hybrid)
{
    struct tc_fact_groups found;

    make("two", "cpu", "cpu", "");
    run("mkdir -p %s/one && touch %s/one/cgroup.procs", top, top);
    found = find("30 1 0:30 / %/two rw - cgroup2 cgroup rw\n31 1 0:31 / %/one rw - cgroup cgroup rw,memory\n",
                 "1:memory:/\n0::/\n", MEMORY | CPU);
    check_directory(&found.controllers[TC_CONTROLLER_MEMORY], "/one");
    check_directory(&found.controllers[TC_CONTROLLER_CPU], "/two");
    ck_assert_uint_eq(found.controllers[TC_CONTROLLER_CPU].version, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *found = tcase_create("found");

    tcase_add_checked_fixture(found, set_up, tear_down);
    tcase_add_test(found, test_nothing_mounted);
    tcase_add_test(found, test_version_1);
    tcase_add_test(found, test_delegated);
    tcase_add_test(found, test_hand_on);
    tcase_add_test(found, test_occupied);
    tcase_add_test(found, test_alone);
    tcase_add_test(found, test_own_only);
    tcase_add_test(found, test_not_all);
    tcase_add_test(found, test_out_of_sight);
    tcase_add_test(found, test_hybrid);
    suite_add_tcase(suite, found);
    return unit_run(suite);
}
