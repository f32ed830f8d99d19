/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The theorem the design rests on: whatever a plan's floor grants, the rules
 * allow outright. Random rules, mounts and trees; the floor is computed from
 * the steps alone, by what mounts and Landlock do, and every path of the tree
 * and some that do not exist are compared with tc_decide(). With a broker the
 * filter is the floor for reading and listing, so that nothing is left of these;
 * and where execve is notified, execute holds by mount and not by name, but for
 * the directories that are granted one by one.
 *
 * FLOOR_ROUNDS sets the number of rounds, FLOOR_SEED the first seed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "plan/data.h"
#include "plan/layout.h"
#include "policy/decide.h"
#include "random_rules.h"
#include "unit.h"
#include "world.h"

static const struct {
    const char *source, *target;
} declared[] = {
    {"/srv/data", "/data"},      {"/srv/nested", "/workspace/n"}, {"/srv/deep", "/workspace/a/b"},
    {"/srv/scratch", "/tmp/x"},  {"/srv/system", "/opt/sdk"},     {"/srv/lone", "/lone/deep"},
    {"/srv/inner", "/data/a/b"}, {"/srv/home", "/home/agent/h"},
};

static void make_world(struct world *world)
{
    static const enum tc_mount_mode modes[] = {TC_MODE_RW, TC_MODE_RW, TC_MODE_RO, TC_MODE_TOOLS};

    world_init(world);
    world->request.workspace.mode = random_below(4) == 0 ? TC_MODE_RO : TC_MODE_RW;
    world->facts.root = random_below(2) == 0;
    world->facts.mediation = random_below(8) == 0;
    for (size_t i = 0; i < TC_COUNT(declared); i++)
        if (random_below(5) == 0)
            world_mount(world, declared[i].source, declared[i].target, PICK(modes));
    if (random_below(6) == 0)
        world_tmpfs(world, "/workspace/t", random_below(2) * 4096);
    if (random_below(8) == 0)
        world_tmpfs(world, "/tmp", 0);
}

/* What the made-up trees contain: a, b and c as directories three levels deep, but for a few that are missing, files or
 * links. The answer depends on the path alone. */
static enum tc_file_kind kind_of(const char *path)
{
    uint64_t hash = 1469598103934665603u;

    for (; *path != '\0'; path++)
        hash = (hash ^ (unsigned char)*path) * 1099511628211u;
    switch ((hash >> 32) % 8) {
    case 0:
        return TC_FILE_NONE;
    case 1:
        return TC_FILE_REGULAR;
    case 2:
        return (hash >> 40) % 3 == 0 ? TC_FILE_OTHER : TC_FILE_DIRECTORY;
    default:
        return TC_FILE_DIRECTORY;
    }
}

/* Look at the subtrees as the facts do. */
static void look_at_subtrees(struct world *world, const struct tc_ruleset *rules)
{
    struct tc_analysis *analysis = tc_analysis_new(world->arena, rules);
    struct tc_fact_subtree *list;
    struct tc_layout layout;
    size_t count = 0;

    ck_assert_int_eq(tc_layout_make(world->arena, &world->request, &world->facts, &layout, NULL), 0);
    list = tc_arena_array(world->arena, layout.count * TC_DATA_LOOKS + 1, sizeof(*list));
    ck_assert(analysis != NULL && list != NULL);
    for (size_t i = 0; i < layout.count; i++) {
        const struct tc_place *place = &layout.places[i];
        struct tc_fact_subtree *end;

        ck_assert_int_eq(tc_data_roots(world->arena, analysis, &layout, place, &list[count], &end, NULL), 0);
        for (; &list[count] < end; count++) {
            const char *host = tc_path_clean(world->arena, place->source->canonical, list[count].relative);

            list[count].path = world_path(world, host, kind_of(host));
        }
    }
    world->facts.subtrees = list;
    world->facts.subtree_count = count;
}

/* One of the literal trees of a union: what its kind is the made-up tree says, mounts are directories. */
static bool is_subtree(const struct tc_plan *plan, const struct tc_step *step)
{
    for (size_t i = 0; i < plan->data_count; i++)
        if (strcmp(plan->data[i].target, step->target) == 0)
            return false;
    return true;
}

/* What the kernel grants at a path: the rights of every step above it, cut by the mount it lies on. In the private
 * tree only its own directories exist, and nothing can be written. */
static unsigned floor_of(const struct tc_plan *plan, const char *path)
{
    const struct tc_step *mount = NULL;
    unsigned access = plan->root_access;
    bool made = strcmp(path, "/") == 0;

    for (size_t i = 0; i < plan->step_count; i++) {
        const struct tc_step *step = &plan->steps[i];

        made = made || tc_path_below(step->target, path);
        if (!tc_path_below(path, step->target))
            continue;
        access |= step->access;
        if (tc_step_attaches(step->kind) && (mount == NULL || strlen(step->target) >= strlen(mount->target)))
            mount = step;
    }
    if (plan->notify & TC_NOTIFY_OPEN)
        access &= ~(unsigned)(TC_ACCESS_READ | TC_ACCESS_LIST);
    if ((plan->notify & TC_NOTIFY_EXECUTE) && (mount == NULL || !(mount->flags & TC_STEP_ITSELF)))
        access &= ~(unsigned)TC_ACCESS_EXECUTE;
    if (mount == NULL)
        return made ? access & ~(unsigned)TC_ACCESS_WRITE : 0;
    if (mount->kind == TC_STEP_BIND && kind_of(mount->source) == TC_FILE_REGULAR && strcmp(mount->target, path) != 0 &&
        strcmp(mount->origin, "rootfs") != 0 && is_subtree(plan, mount))
        return 0; /* below a file */
    if (mount->flags & (TC_STEP_READ_ONLY | TC_STEP_MEDIATED))
        access &= ~(unsigned)TC_ACCESS_WRITE;
    if (mount->flags & TC_STEP_NOEXEC)
        access &= ~(unsigned)TC_ACCESS_EXECUTE;
    return access;
}

static void check_operation(const struct tc_plan *plan, const struct tc_ruleset *rules, const char *path,
                            unsigned access, enum tc_operation operation, bool directory, const char *text)
{
    struct tc_decision decision;

    if (!(floor_of(plan, path) & access))
        return;
    decision = tc_decide(rules, &plan->view, operation, path, strlen(path), directory);
    if (decision.effect != TC_ALLOW && decision.area != TC_AREA_SYSTEM) {
        tc_auto_buf out = {0};

        tc_plan_print_text(plan, &out);
        fprintf(stderr, "%s\n%s\n", text, out.data);
        ck_abort_msg("%s of %s is granted and not allowed", tc_operation_name(operation), path);
    }
}

static void check_path(const struct tc_plan *plan, const struct tc_ruleset *rules, const char *path, bool root,
                       const char *text)
{
    check_operation(plan, rules, path, TC_ACCESS_LIST, TC_OP_LIST, true, text);
    check_operation(plan, rules, path, TC_ACCESS_WRITE, TC_OP_WRITE, true, text);
    if (root) /* a mounted directory is no file */
        return;
    check_operation(plan, rules, path, TC_ACCESS_READ, TC_OP_READ, false, text);
    check_operation(plan, rules, path, TC_ACCESS_WRITE, TC_OP_WRITE, false, text);
    check_operation(plan, rules, path, TC_ACCESS_EXECUTE, TC_OP_EXECUTE, false, text);
}

static const char *const names[] = {"a", "b", "c", "ab", ".env", "n", "t", "x", "\n"};

static void check_tree(const struct tc_plan *plan, const struct tc_ruleset *rules, const char *base, unsigned depth,
                       const char *text)
{
    char path[256];

    for (size_t i = 0; i < TC_COUNT(names); i++) {
        bool root;

        ck_assert_uint_lt(snprintf(path, sizeof(path), "%s/%s", strcmp(base, "/") == 0 ? "" : base, names[i]),
                          sizeof(path));
        root = false;
        for (size_t k = 0; k < plan->step_count; k++)
            root =
                root || (strcmp(plan->steps[k].target, path) == 0 &&
                         !(plan->steps[k].kind == TC_STEP_BIND && kind_of(plan->steps[k].source) == TC_FILE_REGULAR));
        check_path(plan, rules, path, root, text);
        if (depth > 1)
            check_tree(plan, rules, path, depth - 1, text);
    }
}

static void check_everything(const struct tc_plan *plan, const struct tc_ruleset *rules, const char *text)
{
    static const char *const bases[] = {"/",    "/usr", "/bin",        "/etc",     "/opt",     "/home", "/run",
                                        "/var", "/tmp", "/home/agent", "/dev/shm", "/opt/sdk", "/lone"};

    for (size_t i = 0; i < TC_COUNT(bases); i++) {
        check_path(plan, rules, bases[i], true, text);
        check_tree(plan, rules, bases[i], 2, text);
    }
    for (size_t i = 0; i < plan->data_count; i++) {
        check_path(plan, rules, plan->data[i].target, true, text);
        check_tree(plan, rules, plan->data[i].target, 3, text);
    }
}

/* What came out of the rounds. */
struct yield {
    unsigned compiled, unions, mediated, programs;
};

/* Compile, look at every path, and count. */
static void judge_round(struct world *world, const struct tc_ruleset *rules, const char *text, struct yield *yield)
{
    tc_auto_plan plan = NULL;
    struct tc_error err = {0};
    int result;

    look_at_subtrees(world, rules);
    result = world_compile(world, rules, TC_COMPILE_RUN, &plan, &err);
    ck_assert_msg(result == 0 || result == -EOPNOTSUPP || result == -EPERM || result == -ENOENT, "%s", err.message);
    if (result < 0)
        return;
    check_everything(plan, rules, text);
    yield->compiled++;
    yield->mediated += (plan->notify & TC_NOTIFY_OPEN) != 0;
    for (size_t i = 0; i < plan->step_count; i++)
        yield->programs += (plan->steps[i].flags & TC_STEP_ITSELF) != 0;
    for (size_t i = 0; i < plan->data_count; i++)
        yield->unions += world_step(plan, plan->data[i].target)->kind == TC_STEP_DIRECTORY && plan->data[i].access != 0;
}

static void play(uint64_t seed, struct yield *yield)
{
    tc_auto_buf text = {0}, project = {0};
    tc_auto_ruleset rules = NULL;
    struct tc_error err = {0};
    struct world world;

    random_seed(seed);
    make_world(&world);
    random_rules(&text, 5, true);
    rules = world_rules(text.data);
    if (random_below(4) == 0) {
        random_rules(&project, 2, false);
        ck_assert_int_eq(tc_policy_tighten(rules, project.data, project.length, "project", &err), 0);
        tc_buf_printf(&text, " tightened by %s", project.data);
    }
    judge_round(&world, rules, text.data, yield);
    world_free(&world);
}

static void play_programs(uint64_t seed, struct yield *yield)
{
    tc_auto_buf text = {0};
    tc_auto_ruleset rules = NULL;
    struct world world;

    random_seed(seed);
    make_world(&world);
    world.facts.mediation = true;
    random_programs(&text);
    rules = world_rules(text.data);
    judge_round(&world, rules, text.data, yield);
    world_free(&world);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

START_TEST(test_floor_is_allowed)
{
    unsigned rounds = (unsigned)setting("FLOOR_ROUNDS", 1000);
    uint64_t seed = setting("FLOOR_SEED", 1);
    struct yield yield = {0};

    for (unsigned i = 0; i < rounds; i++)
        play(seed + i, &yield);
    /* The test proves nothing unless a good part of the rounds yields plans, subtrees among them. */
    ck_assert_msg(yield.compiled > rounds / 10 && yield.unions > rounds / 150 && yield.mediated > rounds / 50,
                  "%u of %u rounds compiled, %u unions, %u mediated", yield.compiled, rounds, yield.unions,
                  yield.mediated);
    printf("# %u of %u rounds compiled, %u mounts as unions of subtrees, %u plans with a broker\n", yield.compiled,
           rounds, yield.unions, yield.mediated);
}
END_TEST

START_TEST(test_programs_are_allowed)
{
    unsigned rounds = (unsigned)setting("FLOOR_ROUNDS", 200); /* each makes a tree of files */
    uint64_t seed = setting("FLOOR_SEED", 1);
    struct yield yield = {0};

    for (unsigned i = 0; i < rounds; i++)
        play_programs(seed + i, &yield);
    ck_assert_msg(yield.programs > rounds / 5, "%u of %u rounds compiled, %u directories of programs", yield.compiled,
                  rounds, yield.programs);
    printf("# %u of %u rounds compiled, %u directories of programs\n", yield.compiled, rounds, yield.programs);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("plan floor", test_floor_is_allowed, test_programs_are_allowed, NULL));
}
