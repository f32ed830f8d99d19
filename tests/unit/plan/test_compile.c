/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/compile.h"

#include <errno.h>
#include <string.h>

#include "unit.h"
#include "world.h"

static const char everything[] =
    "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}";

static struct tc_plan *compile(struct world *world, const char *policy)
{
    struct tc_ruleset *rules = world_keep(world, policy);
    struct tc_plan *plan = NULL;
    struct tc_error err = {0};

    ck_assert_msg(world_compile(world, rules, TC_COMPILE_RUN, &plan, &err) == 0, "%s", err.message);
    return plan;
}

static int refuse(struct world *world, const char *policy, struct tc_error *err)
{
    struct tc_plan *plan = NULL;

    return world_compile(world, world_keep(world, policy), TC_COMPILE_RUN, &plan, err);
}

START_TEST(test_hash_is_stable)
{
    struct world a, b;
    struct tc_plan *first, *second;

    world_init(&a);
    world_init(&b);
    first = compile(&a, everything);
    second = compile(&b, everything);
    ck_assert_str_eq(first->hash, second->hash);
    ck_assert_uint_eq(strlen(first->hash), 64);
    tc_plan_free(first);
    tc_plan_free(second);
    world_free(&a);
    world_free(&b);
}
END_TEST

/* Each changes one thing that the hash must tell. */
static void change(struct world *world, int what)
{
    static const char *const argv[] = {"false", NULL};

    switch (what) {
    case 0:
        world->request.argv = argv;
        break;
    case 1:
        world->facts.workspace.inode++;
        break;
    case 2:
        world->facts.landlock_abi--;
        break;
    case 3:
        world->facts.root = true;
        break;
    case 4:
        world->request.limits.set |= 1u << TC_LIMIT_WALL;
        world->request.limits.value[TC_LIMIT_WALL] = 5;
        break;
    case 5:
        world->request.workspace.mode = TC_MODE_RO;
        break;
    case 6:
        world->facts.timezone = NULL;
        break;
    case 7:
        world->request.cwd = "/tmp";
        break;
    case 8:
        world->facts.uid = 1002;
        break;
    case 9:
        world->request.net = TC_NET_HOST;
        break;
    case 10:
        world->facts.program_real = "/usr/bin/busybox";
        break;
    }
}

START_TEST(test_hash_tells)
{
    char hashes[12][TC_SHA256_HEX];

    for (int what = 0; what < 12; what++) {
        struct world world;
        struct tc_plan *plan;

        world_init(&world);
        change(&world, what); /* the last one changes nothing */
        plan = compile(&world, everything);
        memcpy(hashes[what], plan->hash, TC_SHA256_HEX);
        for (int earlier = 0; earlier < what; earlier++)
            ck_assert_msg(strcmp(hashes[earlier], hashes[what]) != 0, "%d and %d", earlier, what);
        tc_plan_free(plan);
        world_free(&world);
    }
}
END_TEST

START_TEST(test_lease_is_not_hashed)
{
    struct world a, b;
    struct tc_plan *first, *second;

    world_init(&a);
    world_init(&b);
    a.facts.root = b.facts.root = true;
    first = compile(&a, everything);
    second = compile(&b, everything);
    ck_assert_int_eq(first->identity.kind, TC_IDENTITY_LEASE);
    ck_assert_str_eq(first->hash, second->hash);
    tc_plan_free(first);
    tc_plan_free(second);
    world_free(&a);
    world_free(&b);
}
END_TEST

START_TEST(test_project_limits_are_smaller)
{
    static const char project[] = "{\"version\":1,\"rules\":[],\"limits\":{\"wall\":\"10s\",\"disk\":\"1M\"}}";
    struct tc_ruleset *rules =
        world_rules("{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}],"
                    "\"limits\":{\"wall\":\"60s\"}}");
    struct tc_plan *plan = NULL;
    struct world world;

    world_init(&world);
    ck_assert_int_eq(tc_policy_tighten(rules, project, strlen(project), "project", NULL), 0);
    ck_assert_int_eq(world_compile(&world, rules, TC_COMPILE_RUN, &plan, NULL), 0);
    ck_assert_uint_eq(plan->limits.value[TC_LIMIT_WALL], 10000);
    ck_assert_uint_eq(plan->scratch_size, 1 << 20);
    ck_assert_uint_eq(plan->limits.value[TC_LIMIT_FILE_SIZE], 1 << 20);
    tc_plan_free(plan);
    world_free(&world);
    tc_ruleset_free(rules);
}
END_TEST

START_TEST(test_rw_volume_needs_mapped_ids)
{
    struct world world;
    struct tc_error err = {0};

    world_init(&world);
    world.facts.root = true;
    world_mount(&world, "/srv/data", "/data", TC_MODE_RW);
    world.sources[0].idmappable = false;
    world.sources[0].filesystem = "nfs4";
    ck_assert_int_eq(refuse(&world, everything, &err), -EOPNOTSUPP);
    ck_assert_ptr_nonnull(strstr(err.message, "/srv/data"));
    world.mounts[0].mode = TC_MODE_RO;
    tc_plan_free(compile(&world, everything));
    world_free(&world);
}
END_TEST

START_TEST(test_ids_are_mapped_by_the_source)
{
    struct world world;
    struct tc_plan *plan;
    const struct tc_step *step;

    world_init(&world);
    world.facts.root = true;
    plan = compile(&world, everything);
    step = world_step(plan, "/workspace");
    ck_assert(step->flags & TC_STEP_IDMAP);
    ck_assert_uint_eq(step->owner_uid, 1001);
    ck_assert_uint_eq(world_step(plan, "/usr")->flags, TC_STEP_READ_ONLY);
    tc_plan_free(plan);
    world_free(&world);
}
END_TEST

START_TEST(test_nothing_granted_is_not_mounted)
{
    struct world world;
    struct tc_plan *plan;

    world_init(&world);
    plan = compile(&world, "{\"version\":1,\"rules\":[]}");
    ck_assert_int_eq(world_step(plan, "/workspace")->kind, TC_STEP_DIRECTORY);
    ck_assert_uint_eq(plan->root_access, 0);
    ck_assert_uint_eq(plan->need_count, 0); /* no socket of the host can be reached either */
    tc_plan_free(plan);
    world_free(&world);
}
END_TEST

START_TEST(test_protected_both_ways)
{
    static const char *const inside[] = {"/home/user/project/.cache/toolcell", NULL};
    static const char *const around[] = {"/home/user", NULL};
    static const char *const alias[] = {"/other/name", NULL};
    static const char *const position[] = {"8:1 /home/user/project/x", NULL};
    static const char *const beside[] = {"/home/user/project2", NULL};
    static const char *const nowhere[] = {"", NULL};
    struct world world;
    struct tc_error err = {0};

    world_init(&world);
    world.facts.protect_positions = nowhere;
    world.facts.protect = inside;
    ck_assert_int_eq(refuse(&world, everything, &err), -EPERM);
    world.facts.protect = around;
    ck_assert_int_eq(refuse(&world, everything, &err), -EPERM);
    world.facts.protect = beside;
    tc_plan_free(compile(&world, everything));
    world.facts.protect = alias;
    world.facts.protect_positions = position;
    ck_assert_int_eq(refuse(&world, everything, &err), -EPERM);
    world.request.workspace.mode = TC_MODE_RO;
    tc_plan_free(compile(&world, everything));
    world_free(&world);
}
END_TEST

START_TEST(test_protected_by_a_submount)
{
    static const char *const mounts[] = {"/home/user/project/mnt", NULL};
    static const char *const positions[] = {"8:1 /home/user/.config", NULL};
    static const char *const types[] = {"ext4", NULL};
    static const char *const own[] = {"/home/user/.config/toolcell", NULL};
    static const char *const own_positions[] = {"8:1 /home/user/.config/toolcell", NULL};
    struct world world;
    struct tc_error err = {0};

    world_init(&world);
    world.facts.protect = own;
    world.facts.protect_positions = own_positions;
    tc_plan_free(compile(&world, everything));
    world.facts.workspace.submounts = mounts;
    world.facts.workspace.submount_positions = positions;
    world.facts.workspace.submount_filesystems = types;
    ck_assert_int_eq(refuse(&world, everything, &err), -EPERM);
    world_free(&world);
}
END_TEST

START_TEST(test_names_from_outside_stay_on_their_line)
{
    tc_auto_buf out = {0};
    struct world world;
    struct tc_plan *plan;

    world_init(&world);
    world_mount(&world, "/srv/new\nline:and,comma\x1b[31m", "/data\n", TC_MODE_RO);
    plan = compile(&world, everything);
    tc_plan_print_text(plan, &out);
    ck_assert_ptr_null(strchr(out.data, '\x1b'));
    ck_assert_ptr_null(strstr(out.data, "new\nline"));
    tc_plan_free(plan);
    world_free(&world);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite(
        "plan compile", test_hash_is_stable, test_hash_tells, test_lease_is_not_hashed, test_project_limits_are_smaller,
        test_rw_volume_needs_mapped_ids, test_ids_are_mapped_by_the_source, test_nothing_granted_is_not_mounted,
        test_protected_both_ways, test_protected_by_a_submount, test_names_from_outside_stay_on_their_line, NULL));
}
