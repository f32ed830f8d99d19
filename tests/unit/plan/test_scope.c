/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a scope could help, and what of it follows from where the manager and the caller are. */
#include "plan/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "unit.h"

#define CPU TC_CONTROLLER_BIT(TC_CONTROLLER_CPU)
#define MEMORY TC_CONTROLLER_BIT(TC_CONTROLLER_MEMORY)
#define PIDS TC_CONTROLLER_BIT(TC_CONTROLLER_PIDS)

#define REALM "/user.slice/user-7.slice/user@7.service"

static char top[64];
static struct tc_arena *arena;
static struct tc_mounts mounts;

static void set_up(void)
{
    char text[512];

    snprintf(top, sizeof top, "/tmp/toolcell-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(text, sizeof text,
             "d='%s" REALM "'; mkdir -p $d; echo memory pids >$d/cgroup.controllers; "
             "echo cpu io memory pids >%s/cgroup.controllers",
             top, top);
    ck_assert_int_eq(system(text), 0);
    arena = tc_arena_new();
    snprintf(text, sizeof text, "30 1 0:30 / %s rw - cgroup2 cgroup rw\n", top);
    ck_assert_int_eq(tc_mounts_parse(arena, text, strlen(text), &mounts, NULL), 0);
}

static void tear_down(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", top);
    ck_assert_int_eq(system(command), 0);
    tc_arena_free(arena);
}

/* A caller who may do nothing by himself, with version 2 for all. */
static struct tc_fact_groups barred(enum tc_group_lack lack)
{
    struct tc_fact_groups groups = {.looked = true, .vacate = true};

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        groups.controllers[i] = (struct tc_fact_controller){.version = 2, .lack = lack};
    groups.controllers[TC_CONTROLLER_CPUACCT] = (struct tc_fact_controller){.lack = TC_GROUP_ABSENT};
    return groups;
}

static struct tc_fact_groups judge(const char *own, const char *manager, unsigned wanted, bool partial)
{
    struct tc_fact_groups groups = barred(TC_GROUP_FORBIDDEN);

    ck_assert_int_eq(tc_scope_judge(arena, &mounts, own, manager, wanted, wanted, partial, &groups), 0);
    return groups;
}

START_TEST(test_missing)
{
    struct tc_fact_groups groups = barred(TC_GROUP_FORBIDDEN);

    ck_assert_uint_eq(tc_scope_missing(&groups, MEMORY | CPU), MEMORY | CPU);
    groups.controllers[TC_CONTROLLER_CPU].directory = "/somewhere";
    groups.controllers[TC_CONTROLLER_CPU].lack = TC_GROUP_USABLE;
    ck_assert_uint_eq(tc_scope_missing(&groups, MEMORY | CPU), MEMORY);
    groups.controllers[TC_CONTROLLER_MEMORY].version = 1; /* no manager can give that */
    ck_assert_uint_eq(tc_scope_missing(&groups, MEMORY | CPU), 0);
    for (enum tc_group_lack lack = TC_GROUP_ABSENT; lack < TC_GROUP_LACK_COUNT; lack++) {
        groups = barred(lack);
        ck_assert_uint_eq(tc_scope_missing(&groups, MEMORY), lack >= TC_GROUP_FORBIDDEN ? MEMORY : 0);
    }
}
END_TEST

/* The controllers are those of the group that the manager arranges, and nothing else of version 2 is used beside. */
START_TEST(test_offered)
{
    struct tc_fact_groups groups = judge("0::/session\n", "0::" REALM "/init.scope\n", MEMORY, false);

    ck_assert_int_eq(groups.scope.state, TC_SCOPE_OFFERED);
    ck_assert_ptr_null(groups.scope.slice);
    ck_assert(groups.controllers[TC_CONTROLLER_MEMORY].in_scope && !groups.controllers[TC_CONTROLLER_PIDS].in_scope);
    ck_assert_ptr_null(groups.controllers[TC_CONTROLLER_MEMORY].directory);
    ck_assert(!groups.vacate);
    ck_assert_uint_eq(tc_groups_usable(&groups, MEMORY), MEMORY);
}
END_TEST

START_TEST(test_lacking)
{
    struct tc_fact_groups groups = judge("0::/session\n", "0::" REALM "/init.scope\n", MEMORY | CPU, false);

    ck_assert_int_eq(groups.scope.state, TC_SCOPE_LACKING);
    ck_assert_str_eq(groups.scope.reason, "the user's systemd was not given cpu");
    ck_assert_ptr_nonnull(strstr(groups.scope.remedy, "Delegate="));
    ck_assert_uint_eq(tc_groups_usable(&groups, MEMORY), 0);
    groups = judge("0::/session\n", "0::" REALM "/init.scope\n", MEMORY | CPU, true);
    ck_assert_int_eq(groups.scope.state, TC_SCOPE_OFFERED);
    ck_assert_uint_eq(tc_groups_usable(&groups, MEMORY | CPU), MEMORY);
    groups = judge("0::/session\n", "0::" REALM "/init.scope\n", CPU, true);
    ck_assert_int_eq(groups.scope.state, TC_SCOPE_LACKING);
}
END_TEST

/* Who listens need not be the manager: then the answer decides. */
START_TEST(test_unknown_manager)
{
    static const char *const managers[] = {
        NULL, "", "nonsense", "0::/dbus.service\n", "3:memory:" REALM "/init.scope\n", "0::/../elsewhere/init.scope\n"};

    for (size_t i = 0; i < sizeof managers / sizeof *managers; i++) {
        struct tc_fact_groups groups = judge("0::" REALM "/app.slice/x.scope\n", managers[i], MEMORY | CPU, false);

        ck_assert_int_eq(groups.scope.state, TC_SCOPE_OFFERED);
        ck_assert_ptr_null(groups.scope.slice);
    }
}
END_TEST

/* The slice that the caller is in, as far as slices are the manager's. */
START_TEST(test_slice)
{
    static const struct {
        const char *own, *manager, *slice;
    } cases[] = {
        {"0::" REALM "/app.slice/app-term.slice/vte.scope\n", "0::" REALM "/init.scope\n", "app-term.slice"},
        {"0::" REALM "/app.slice/x.scope/evil.slice\n", "0::" REALM "/init.scope\n", "app.slice"},
        {"0::" REALM "/app.slice\n", "0::" REALM "/init.scope\n", "app.slice"},
        {"0::" REALM "/init.scope\n", "0::" REALM "/init.scope\n", NULL},
        {"0::" REALM "/.slice/x\n", "0::" REALM "/init.scope\n", NULL},
        {"0::" REALM "-other/app.slice/x\n", "0::" REALM "/init.scope\n", NULL},
        {"0::/user.slice/user-7.slice/session-1.scope\n", "0::" REALM "/init.scope\n", NULL},
        {"0::/user.slice/user-7.slice/session-1.scope\n", "0::/init.scope\n", "user-7.slice"},
        {"0::/\n", "0::/init.scope\n", NULL},
        {"", "0::/init.scope\n", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tc_fact_groups groups = judge(cases[i].own, cases[i].manager, MEMORY, false);

        if (cases[i].slice == NULL)
            ck_assert_ptr_null(groups.scope.slice);
        else
            ck_assert_str_eq(groups.scope.slice, cases[i].slice);
    }
}
END_TEST

/* Whoever needs nothing asks nobody: not for version 1, and not for processes that the kernel counts without. */
START_TEST(test_nobody_is_looked_for)
{
    struct tc_fact_groups groups = barred(TC_GROUP_FORBIDDEN);

    ck_assert_int_eq(tc_scope_look(arena, &mounts, PIDS, false, &groups), 0);
    ck_assert_int_eq(groups.scope.state, TC_SCOPE_NONE);
    groups.controllers[TC_CONTROLLER_MEMORY].version = 1;
    ck_assert_int_eq(tc_scope_look(arena, &mounts, PIDS | MEMORY, false, &groups), 0);
    ck_assert_int_eq(groups.scope.state, TC_SCOPE_NONE);
    ck_assert_int_eq(tc_scope_take(arena, &mounts, MEMORY, &groups), 0);
    ck_assert_int_eq(groups.scope.state, TC_SCOPE_NONE);
}
END_TEST

/* An ordinary user's manager is where the environment says; root's is not. */
START_TEST(test_nobody_there)
{
    struct tc_fact_groups groups = barred(TC_GROUP_FORBIDDEN);
    uid_t uid = geteuid();

    if (uid == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    unsetenv("XDG_RUNTIME_DIR");
    ck_assert_int_eq(tc_scope_look(arena, &mounts, MEMORY, false, &groups), 0);
    ck_assert_int_eq(groups.scope.state, TC_SCOPE_LACKING);
    ck_assert_str_eq(groups.scope.reason, "XDG_RUNTIME_DIR is not set");
    ck_assert_ptr_nonnull(strstr(groups.scope.remedy, "enable-linger"));
    setenv("XDG_RUNTIME_DIR", "here", 1);
    ck_assert_int_eq(tc_scope_look(arena, &mounts, MEMORY, false, &groups), 0);
    ck_assert_str_eq(groups.scope.reason, "XDG_RUNTIME_DIR is not an absolute path");
    setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
    ck_assert_int_eq(tc_scope_look(arena, &mounts, MEMORY, false, &groups), 0);
    ck_assert_ptr_nonnull(strstr(groups.scope.reason, "'/nowhere/systemd/private'"));
    ck_assert_uint_eq(tc_groups_usable(&groups, MEMORY), 0);
    /* A sanitizer looks at the process from another one at its end. */
    ck_assert(seteuid(uid) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scope");
    TCase *found = tcase_create("found");

    tcase_add_checked_fixture(found, set_up, tear_down);
    tcase_add_test(found, test_missing);
    tcase_add_test(found, test_offered);
    tcase_add_test(found, test_lacking);
    tcase_add_test(found, test_unknown_manager);
    tcase_add_test(found, test_slice);
    tcase_add_test(found, test_nobody_is_looked_for);
    tcase_add_test(found, test_nobody_there);
    suite_add_tcase(suite, found);
    return unit_run(suite);
}
