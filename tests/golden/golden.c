/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden tests of the compiler: a case (policy, request and facts as data) and
 * the plan it must give, as text, byte by byte. A refusal is a text, too.
 *
 * Usage: golden [--update] CASE.json...; the text lies beside it in CASE.txt.
 *        golden --json CASE.json prints the plan as JSON, nothing for a refusal
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "getters.h"
#include "plan/data.h"

static const char *const kinds[] = {"directory", "none", "file", "symlink", "device", "other"};
static const enum tc_file_kind kind_values[] = {TC_FILE_DIRECTORY, TC_FILE_NONE,   TC_FILE_REGULAR,
                                                TC_FILE_SYMLINK,   TC_FILE_DEVICE, TC_FILE_OTHER};

/* One object of the host: what the world makes of its path, and what the case says otherwise. */
static struct tc_fact_path read_path(struct golden *golden, const struct tc_json *object)
{
    const char *path = get_text(golden, object, "path", "/home/user/project");
    struct tc_fact_path fact =
        world_path(&golden->world, path, kind_values[get_word(golden, object, "kind", kinds, TC_COUNT(kinds))]);
    struct tc_json submounts, item = {0};
    const char **lists[3];
    size_t count = 0;

    fact.uid = (uid_t)get_number(object, "uid", fact.uid);
    fact.gid = (gid_t)get_number(object, "gid", fact.gid);
    fact.filesystem = get_text(golden, object, "filesystem", fact.filesystem);
    fact.idmappable = get_flag(object, "idmappable", true);
    fact.folds_case = get_flag(object, "folds_case", false);
    fact.position = get_text(golden, object, "position", fact.position);
    if (!tc_json_member(object, "submounts", &submounts))
        return fact;
    for (size_t i = 0; i < TC_COUNT(lists); i++)
        if ((lists[i] = tc_arena_array(golden->world.arena, tc_json_size(&submounts) + 1, sizeof(*lists[i]))) == NULL)
            errx(2, "out of memory");
    for (; tc_json_next(&submounts, &item); count++) {
        lists[0][count] = get_text(golden, &item, "path", "");
        lists[1][count] = get_text(golden, &item, "position", "");
        lists[2][count] = get_text(golden, &item, "filesystem", "ext4");
    }
    fact.submounts = lists[0];
    fact.submount_positions = lists[1];
    fact.submount_filesystems = lists[2];
    return fact;
}

static const char *const *read_list(struct golden *golden, const struct tc_json *object, const char *key,
                                    const char *const *otherwise)
{
    struct tc_json list, item = {0};
    const char **texts;
    size_t count = 0;

    if (!tc_json_member(object, key, &list))
        return otherwise;
    if ((texts = tc_arena_array(golden->world.arena, tc_json_size(&list) + 1, sizeof(*texts))) == NULL)
        errx(2, "out of memory");
    for (; tc_json_next(&list, &item); count++)
        if (tc_json_string(&item, golden->world.arena, &texts[count], NULL, NULL) < 0)
            errx(2, "'%s' is no list of strings", key);
    return texts;
}

static void read_limits(struct golden *golden, struct tc_limits *limits)
{
    struct tc_json object;

    if (!tc_json_member(&golden->request, "limits", &object))
        return;
    for (enum tc_limit limit = 0; limit < TC_LIMIT_COUNT; limit++) {
        const char *text = get_text(golden, &object, tc_limit_name(limit), NULL);

        if (text == NULL)
            continue;
        if (tc_limit_parse(limit, text, &limits->value[limit]) < 0)
            errx(2, "limit '%s'", tc_limit_name(limit));
        limits->set |= 1u << limit;
    }
}

static void read_mounts(struct golden *golden)
{
    struct world *world = &golden->world;
    struct tc_json list, item = {0};

    if (tc_json_member(&golden->request, "mounts", &list))
        while (tc_json_next(&list, &item)) {
            struct tc_json source;
            size_t at = world->request.mount_count;

            world_mount(world, "/", get_text(golden, &item, "target", "/mnt"),
                        (enum tc_mount_mode)get_word(golden, &item, "mode", tc_mount_mode_names, 4));
            if (!tc_json_member(&item, "source", &source))
                errx(2, "a mount without a source");
            world->sources[at] = read_path(golden, &source);
        }
    item = (struct tc_json){0};
    if (tc_json_member(&golden->request, "tmpfs", &list))
        while (tc_json_next(&list, &item))
            world_tmpfs(world, get_text(golden, &item, "target", "/t"), (uint64_t)get_number(&item, "size", 0));
}

static void read_request(struct golden *golden)
{
    struct tc_request *request = &golden->world.request;
    struct tc_json workspace;
    const char *const *degraded = read_list(golden, &golden->request, "allow_degraded", NULL);

    request->argv = read_list(golden, &golden->request, "argv", request->argv);
    request->cwd = get_text(golden, &golden->request, "cwd", NULL);
    request->pass_env = read_list(golden, &golden->request, "pass_env", NULL);
    while (request->pass_env != NULL && request->pass_env[request->pass_env_count] != NULL)
        request->pass_env_count++;
    request->net = (enum tc_net)get_word(golden, &golden->request, "net", tc_net_names, 3);
    request->json = get_flag(&golden->request, "json", false);
    request->tty = get_flag(&golden->request, "tty", false);
    request->user_given = get_number(&golden->request, "user", -1) >= 0;
    request->user_uid = request->user_gid = (uid_t)get_number(&golden->request, "user", 0);
    request->workspace_named = get_flag(&golden->request, "workspace_named", false);
    if (tc_json_member(&golden->request, "workspace", &workspace)) {
        request->workspace.mode = (enum tc_mount_mode)get_word(golden, &workspace, "mode", tc_mount_mode_names, 4);
        request->workspace.target = get_text(golden, &workspace, "target", NULL);
    }
    for (; degraded != NULL && *degraded != NULL; degraded++)
        request->allow_degraded |= 1u << tc_name_index(tc_degradable_names, TC_DEGRADE_COUNT, *degraded);
    read_limits(golden, &request->limits);
    read_mounts(golden);
}

/* "groups" of the facts: for each controller the version that has it, or a word for what keeps it from being used. */
static void read_groups(struct golden *golden)
{
    static const char *const words[TC_GROUP_LACK_COUNT] = {"usable",    "absent",     "unseen",  "read-only",
                                                           "forbidden", "not-handed", "occupied"};
    struct tc_fact_groups *groups = &golden->world.facts.groups;
    struct tc_json object, item;

    groups->looked = tc_json_member(&golden->facts, "groups", &object);
    groups->scope.reason = get_text(golden, &golden->facts, "no_scope", NULL);
    groups->scope.remedy = get_text(golden, &golden->facts, "no_scope_remedy", NULL);
    groups->scope.state = groups->scope.reason == NULL ? TC_SCOPE_NONE : TC_SCOPE_LACKING;
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++) {
        bool there = groups->looked && tc_json_member(&object, tc_controller_name(i), &item);
        int lack = there ? get_word(golden, &item, "lack", words, TC_GROUP_LACK_COUNT) : TC_GROUP_ABSENT;

        groups->controllers[i] =
            (struct tc_fact_controller){there ? (unsigned)get_number(&item, "version", 2) : 0, (enum tc_group_lack)lack,
                                        lack ? NULL : "/group", false, there && get_flag(&item, "in_scope", false)};
    }
}

static void read_facts(struct golden *golden)
{
    struct tc_facts *facts = &golden->world.facts;
    struct tc_json member;

    facts->root = get_flag(&golden->facts, "root", false);
    facts->uid = (uid_t)get_number(&golden->facts, "uid", facts->root ? 0 : facts->uid);
    facts->gid = (gid_t)get_number(&golden->facts, "gid", facts->root ? 0 : facts->gid);
    facts->home = get_text(golden, &golden->facts, "home", facts->home);
    facts->directory = get_text(golden, &golden->facts, "directory", facts->directory);
    facts->environ = read_list(golden, &golden->facts, "environ", facts->environ);
    facts->landlock_abi = (unsigned)get_number(&golden->facts, "landlock_abi", facts->landlock_abi);
    facts->mediation = get_flag(&golden->facts, "mediation", false);
    facts->process_limit = get_flag(&golden->facts, "process_limit", true);
    read_groups(golden);
    facts->proc_visible = get_flag(&golden->facts, "proc_visible", true);
    facts->proc_masks = tc_proc_masks;
    facts->stdin_terminal = get_flag(&golden->facts, "stdin_terminal", false);
    facts->resolv_conf = get_text(golden, &golden->facts, "resolv_conf", NULL);
    facts->protect = read_list(golden, &golden->facts, "protect", facts->protect);
    facts->protect_files = (size_t)get_number(&golden->facts, "protect_files", 0);
    facts->protect_positions = read_list(golden, &golden->facts, "protect_positions", NULL);
    if (tc_json_member(&golden->facts, "workspace", &member))
        facts->workspace = read_path(golden, &member);
    if (tc_json_member(&golden->facts, "points", &member))
        for (struct tc_json item = {0}; tc_json_next(&member, &item);) {
            unsigned long index = strtoul(item.key, NULL, 10);
            const char *word = get_text(golden, &member, item.key, "directory");

            golden->world.points[index] = kind_values[tc_name_index(kinds, TC_COUNT(kinds), word)];
        }
}

/* What lies at the literal trees: a directory, unless "subtrees" of the facts says otherwise. */
static void look_at_subtrees(struct golden *golden)
{
    struct world *world = &golden->world;
    struct tc_analysis *analysis = tc_analysis_new(world->arena, golden->rules);
    struct tc_fact_subtree *list;
    struct tc_json kinds_given = {0};
    struct tc_layout layout;
    size_t count = 0;
    bool given = tc_json_member(&golden->facts, "subtrees", &kinds_given);

    if (tc_layout_make(world->arena, &world->request, &world->facts, &layout, NULL) < 0)
        return; /* the compiler will say so */
    list = tc_arena_array(world->arena, layout.count * TC_DATA_LOOKS + 1, sizeof(*list));
    for (size_t i = 0; i < layout.count; i++) {
        const struct tc_place *place = &layout.places[i];
        struct tc_fact_subtree *end;

        if (tc_data_roots(world->arena, analysis, &layout, place, &list[count], &end, NULL) < 0)
            errx(2, "out of memory");
        for (; &list[count] < end; count++) {
            const char *relative = list[count].relative;
            const char *host = tc_path_clean(world->arena, place->source->canonical, relative);
            int kind = given ? get_word(golden, &kinds_given, relative, kinds, TC_COUNT(kinds)) : 0;

            list[count].path = world_path(world, host, kind_values[kind]);
        }
    }
    world->facts.subtrees = list;
    world->facts.subtree_count = count;
}

/* What depends on the build (architecture, libseccomp, encoding) rather than on the case. */
static void blank_builds(struct tc_plan *plan)
{
    snprintf(plan->hash, sizeof(plan->hash), "-");
    snprintf(plan->policy_hash, sizeof(plan->policy_hash), "-");
    plan->filter_size = plan->notify_filter_size = 0;
}

static void compile_case(struct golden *golden, bool json, struct tc_buf *out)
{
    bool show = get_flag(&golden->root, "show", false);
    tc_auto_plan plan = NULL;
    struct tc_error err = {0};

    if (world_compile(&golden->world, golden->rules, show ? TC_COMPILE_SHOW : TC_COMPILE_RUN, &plan, &err) == 0) {
        if (json) {
            tc_plan_print_json(plan, out);
            return;
        }
        blank_builds(plan);
        tc_plan_print_text(plan, out);
        return;
    }
    if (json)
        return;
    tc_buf_printf(out, "refused at %s: %s\n", err.stage, err.message);
    if (err.hint[0] != '\0')
        tc_buf_printf(out, "hint: %s\n", err.hint);
}

static void run_case(const struct tc_json *root, bool json, struct tc_buf *out)
{
    struct golden golden = {.root = *root};
    struct tc_json policy;
    struct tc_error err = {0};
    const char *preset;

    world_init(&golden.world);
    if (!tc_json_member(root, "policy", &policy))
        errx(2, "a case without a policy");
    if (!tc_json_member(root, "request", &golden.request) || !tc_json_member(root, "facts", &golden.facts))
        errx(2, "a case without a request or facts");
    if (tc_json_type(&policy) == TC_JSON_STRING) {
        preset = get_text(&golden, root, "policy", NULL);
        if (tc_policy_preset(preset, &golden.rules, &err) < 0)
            errx(2, "%s", err.message);
    } else if (tc_policy_parse_value(&policy, "case", &golden.rules, &err) < 0) {
        errx(2, "%s", err.message);
    }
    read_facts(&golden);
    read_request(&golden);
    look_at_subtrees(&golden);
    compile_case(&golden, json, out);
    tc_ruleset_free(golden.rules);
    world_free(&golden.world);
}

static void read_file(const char *path, struct tc_buf *out)
{
    FILE *file = fopen(path, "re");
    char chunk[4096];
    size_t got;

    if (file == NULL)
        return;
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        tc_buf_append(out, chunk, got);
    fclose(file);
}

/* Every line a comment, as TAP wants it. */
static void print_comment(const char *path, char *text)
{
    printf("# got instead of %s:\n", path);
    for (char *line; (line = strsep(&text, "\n")) != NULL;)
        printf("# %s\n", line);
}

static void load_case(const char *path, bool json, struct tc_buf *out)
{
    tc_auto_buf text = {0};
    tc_auto_json document = NULL;
    struct tc_error err = {0};
    struct tc_json root;

    read_file(path, &text);
    if (text.data == NULL || tc_json_parse(text.data, text.length, path, &document, &root, &err) < 0)
        errx(2, "%s: %s", path, err.message);
    run_case(&root, json, out);
}

static bool check_case(const char *path, bool update)
{
    tc_auto_buf wanted = {0}, got = {0}, beside = {0};
    FILE *file;

    tc_buf_append(&beside, path, strlen(path) - strlen(".json"));
    tc_buf_string(&beside, ".txt");
    load_case(path, false, &got);
    if (update) {
        file = fopen(beside.data, "we");
        if (file == NULL || fwrite(got.data, 1, got.length, file) != got.length || fclose(file) != 0)
            errx(2, "%s: cannot be written", beside.data);
        return true;
    }
    read_file(beside.data, &wanted);
    if (wanted.data != NULL && got.length == wanted.length && memcmp(got.data, wanted.data, got.length) == 0)
        return true;
    print_comment(beside.data, got.data);
    return false;
}

int main(int argc, char **argv)
{
    bool update = argc > 1 && strcmp(argv[1], "--update") == 0;
    tc_auto_buf json = {0};
    int failed = 0;

    if (argc == 3 && strcmp(argv[1], "--json") == 0) {
        load_case(argv[2], true, &json);
        return json.length == 0 || fwrite(json.data, 1, json.length, stdout) == json.length ? 0 : 1;
    }
    argv += 1 + update;
    printf("1..%d\n", argc - 1 - update);
    for (int number = 1; *argv != NULL; argv++, number++) {
        bool passed = check_case(*argv, update);

        failed += !passed;
        printf("%sok %d - %s\n", passed ? "" : "not ", number, tc_path_name(*argv));
    }
    return failed == 0 ? 0 : 1;
}
