/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/data.h"
#include "plan/environment.h"
#include "plan/host.h"
#include "plan/kernel_facts.h"
#include "plan/layout.h"
#include "plan/mounts.h"
#include "plan/protect.h"
#include "plan/resolve.h"
#include "plan/rootfs.h"
#include "plan/timezone.h"

/*
 * Theory of operation
 *
 * compile() may not look at the host, so everything it could want to know is
 * looked up here, in one pass, before it runs: the caller, the sources, the
 * entries of the root file system, the kernel. Nothing is created and nothing
 * is opened for longer than a look. What was seen may be something else by the
 * time the cell is built; each object is therefore recorded with device and
 * inode, and the cell refuses one that is not the same.
 *
 * Later steps need the results of earlier ones: the sources give the targets
 * (`@same`), the targets give what lies at nested mount points, and all of it
 * together is the tree in which the program is searched.
 */

static int gather_caller(struct tc_facts *facts, struct tc_error *err)
{
    const char *home;
    tc_auto_free char *canonical = NULL;
    tc_auto_free char *directory = getcwd(NULL, 0);

    facts->uid = geteuid();
    facts->gid = getegid();
    facts->root = facts->uid == 0;
    facts->environ = (const char *const *)environ;
    home = tc_environment_get(facts->environ, "HOME");
    if ((home == NULL || home[0] != '/') && facts->root)
        home = "/root";
    canonical = home == NULL || home[0] != '/' ? NULL : realpath(home, NULL);
    facts->home = tc_arena_string(facts->arena, canonical);
    /* A directory outside of the caller's root has a text without a leading slash. */
    if (directory != NULL && directory[0] == '/')
        facts->directory = tc_arena_string(facts->arena, directory);
    if ((canonical != NULL && facts->home == NULL) || (directory != NULL && directory[0] == '/' && !facts->directory))
        return tc_error_set(err, -ENOMEM, "look at the caller");
    return 0;
}

static int gather_source(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_mount_request *request,
                         struct tc_fact_path *ret, struct tc_error *err)
{
    const char *given = request->source != NULL ? request->source : facts->directory;
    int result;

    if (given == NULL)
        return tc_error_plain(err, -ENOENT, "workspace: the current directory does not exist any more");
    result = tc_host_look(facts->arena, mounts, given, ret, err);
    if (result == 0 && ret->kind == TC_FILE_NONE)
        result = tc_error_plain(err, -ENOENT, "%s: '%s' does not exist",
                                request->where != NULL ? request->where : "workspace", given);
    if (result == 0)
        result = tc_host_submounts(facts->arena, mounts, ret, err);
    if (result == 0 && facts->root)
        ret->idmappable = tc_kernel_idmappable(ret);
    if (result == 0 && facts->mediation)
        ret->folds_case = tc_kernel_folds_case(ret);
    return result;
}

static int gather_sources(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_request *request,
                          struct tc_error *err)
{
    struct tc_fact_path *list = tc_arena_array(facts->arena, request->mount_count + 1, sizeof(*list));
    int result;

    if (list == NULL)
        return tc_error_set(err, -ENOMEM, "look at the mounts");
    result = gather_source(facts, mounts, &request->workspace, &facts->workspace, err);
    for (size_t i = 0; i < request->mount_count && result == 0; i++)
        result = gather_source(facts, mounts, &request->mounts[i], &list[i], err);
    facts->mounts = list;
    facts->mount_count = request->mount_count;
    return result;
}

static int gather_rootfs(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_request *request,
                         struct tc_error *err)
{
    struct tc_fact_path directory;
    int result;

    if (request->rootfs == NULL || strcmp(request->rootfs, "host") == 0)
        return tc_rootfs_host(facts, mounts, err);
    if (strchr(request->rootfs, '/') == NULL) {
        tc_error_plain(err, -EOPNOTSUPP, "--rootfs %s: there is no store of root file systems yet", request->rootfs);
        tc_error_hint(err, "use 'host', or a directory as './%s'", request->rootfs);
        return -EOPNOTSUPP;
    }
    result = tc_host_look(facts->arena, mounts, request->rootfs, &directory, err);
    if (result < 0) {
        tc_error_wrap(err, "--rootfs");
        return result;
    }
    if (directory.kind != TC_FILE_DIRECTORY)
        return tc_error_plain(err, directory.kind == TC_FILE_NONE ? -ENOENT : -ENOTDIR, "--rootfs '%s': %s",
                              request->rootfs,
                              directory.kind == TC_FILE_NONE ? "does not exist" : "is not a directory");
    facts->overlay = tc_kernel_overlay();
    return tc_rootfs_directory(facts, mounts, directory.canonical, err);
}

/* What lies at one target in the host tree that will contain it. */
static int gather_point(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_layout *layout,
                        const struct tc_place *place, enum tc_file_kind *ret, struct tc_error *err)
{
    const struct tc_place *parent = tc_layout_parent(layout, place->target);
    const struct tc_fact_entry *entry = tc_layout_entry(facts, place->target);
    const char *host = NULL, *above = NULL;
    struct tc_fact_path found;
    int result;

    *ret = place->source == NULL ? TC_FILE_DIRECTORY : place->source->kind;
    if (parent != NULL && parent->source != NULL) {
        host = parent->source->canonical;
        above = parent->target;
    } else if (parent == NULL && entry != NULL && strcmp(entry->target, place->target) != 0) {
        host = entry->path.canonical;
        above = entry->target;
    }
    if (host == NULL)
        return 0;
    result = tc_host_look_below(facts->arena, mounts, host, tc_path_relative(place->target, above), &found, err);
    *ret = found.kind;
    return result;
}

static int gather_points(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_layout *layout,
                         struct tc_error *err)
{
    enum tc_file_kind *points = tc_arena_array(facts->arena, layout->count, sizeof(*points));
    int result = 0;

    if (points == NULL)
        return tc_error_set(err, -ENOMEM, "look at the mount points");
    for (size_t i = 0; i < layout->count && result == 0; i++)
        result = gather_point(facts, mounts, layout, &layout->places[i], &points[layout->places[i].index], err);
    facts->points = points;
    facts->point_count = layout->count;
    return result;
}

/* The literal trees that the compiler may grant one by one. */
static int gather_subtrees(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_ruleset *rules,
                           const struct tc_layout *layout, struct tc_error *err)
{
    struct tc_analysis *analysis = tc_analysis_new(facts->arena, rules);
    struct tc_fact_subtree *list = tc_arena_array(facts->arena, layout->count * TC_DATA_LOOKS + 1, sizeof(*list));
    size_t count = 0;

    if (analysis == NULL || list == NULL)
        return tc_error_set(err, -ENOMEM, "look at the subtrees");
    for (size_t i = 0; i < layout->count; i++) {
        const struct tc_place *place = &layout->places[i];
        struct tc_fact_subtree *end;
        int result = tc_data_roots(facts->arena, analysis, layout, place, &list[count], &end, err);

        for (; result == 0 && &list[count] < end; count++) {
            struct tc_fact_path *path = &list[count].path;

            result =
                tc_host_look_below(facts->arena, mounts, place->source->canonical, list[count].relative, path, err);
            if (result == 0 && path->kind != TC_FILE_NONE)
                result = tc_host_submounts(facts->arena, mounts, path, err);
        }
        if (result < 0)
            return result;
    }
    facts->subtrees = list;
    facts->subtree_count = count;
    return 0;
}

static int gather_tree(struct tc_facts *facts, const struct tc_mounts *mounts, const struct tc_ruleset *rules,
                       const struct tc_request *request, struct tc_error *err)
{
    struct tc_layout layout;
    int result = tc_layout_make(facts->arena, request, facts, &layout, err);

    if (result == 0)
        result = gather_points(facts, mounts, &layout, err);
    if (result == 0)
        result = gather_subtrees(facts, mounts, rules, &layout, err);
    if (result == 0)
        result = tc_resolve_program(facts, rules, request, &layout, err);
    return result;
}

/* What the host's programs ask for names; a cell on the host's network asks the same. */
static int gather_resolver(struct tc_facts *facts, const struct tc_request *request, struct tc_error *err)
{
    char text[16384];
    ssize_t length;

    facts->stdin_terminal = isatty(STDIN_FILENO);
    if (request->net != TC_NET_HOST)
        return 0;
    length = tc_host_read("/etc/resolv.conf", text, sizeof(text));
    if (length < 0) /* none: names are then resolved from /etc/hosts alone, as on the host */
        return 0;
    facts->resolv_conf = tc_arena_copy(facts->arena, text, (size_t)length);
    return facts->resolv_conf == NULL ? tc_error_set(err, -ENOMEM, "read '/etc/resolv.conf'") : 0;
}

static int gather_masks(struct tc_facts *facts, struct tc_error *err)
{
    size_t count = 0;
    const char **list;

    while (tc_proc_masks[count] != NULL)
        count++;
    list = tc_arena_array(facts->arena, count + 1, sizeof(*list));
    if (list == NULL)
        return tc_error_set(err, -ENOMEM, "look at '/proc'");
    facts->proc_masks = list;
    for (const char *const *mask = tc_proc_masks; *mask != NULL; mask++)
        if (access(*mask, F_OK) == 0)
            *list++ = *mask;
    return 0;
}

static int gather_all(struct tc_facts *facts, const struct tc_ruleset *rules, const struct tc_request *request,
                      const char *const *protect, struct tc_error *err)
{
    struct tc_mounts mounts;
    int result = gather_caller(facts, err);

    facts->landlock_abi = tc_kernel_landlock_abi();
    facts->process_limit = tc_kernel_process_limit();
    facts->mediation = tc_kernel_mediation();
    if (result == 0)
        result = tc_mounts_read(facts->arena, &mounts, err);
    if (result < 0)
        return result;
    facts->proc_visible = tc_mounts_proc_visible(&mounts);
    if ((result = gather_sources(facts, &mounts, request, err)) == 0 && (result = gather_masks(facts, err)) == 0 &&
        (result = gather_rootfs(facts, &mounts, request, err)) == 0 &&
        (result = tc_rootfs_devices(facts, &mounts, err)) == 0 && (result = tc_timezone_gather(facts, err)) == 0 &&
        (result = gather_resolver(facts, request, err)) == 0 &&
        (result = tc_protect_gather(facts, &mounts, protect, err)) == 0)
        result = gather_tree(facts, &mounts, rules, request, err);
    return result;
}

int tc_facts_gather(const struct tc_ruleset *rules, const struct tc_request *request, const char *const *protect,
                    struct tc_facts **ret, struct tc_error *err)
{
    struct tc_arena *arena = tc_arena_new();
    struct tc_facts *facts = arena == NULL ? NULL : tc_arena_alloc(arena, sizeof(*facts));
    int result;

    if (facts == NULL) {
        tc_arena_free(arena);
        return tc_error_set(err, -ENOMEM, "look at the host");
    }
    facts->arena = arena;
    result = gather_all(facts, rules, request, protect, err);
    if (result < 0) {
        tc_facts_free(facts);
        tc_error_stage(err, "facts");
        return result;
    }
    *ret = facts;
    return 0;
}

void tc_facts_free(struct tc_facts *facts)
{
    if (facts != NULL)
        tc_arena_free(facts->arena);
}
