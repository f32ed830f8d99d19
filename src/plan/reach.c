/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/compiler.h"
#include "plan/mounts.h"

/*
 * Refusals that come from where sources lie on the host: one file must have one
 * name in the cell, and what toolcell itself goes by must not be writable in
 * it. Places are compared by their position in the file system, so that a bind
 * mount of the same tree is recognised under any name.
 */

/* One tree of the host that the cell sees. */
struct exposure {
    const char *name; /* for messages */
    const char *position;
    const struct tc_place *place; /* NULL: the root file system */
};

static int expose(struct tc_compiler *compiler, struct tc_list *list, const struct tc_fact_path *path,
                  const struct tc_place *place)
{
    for (size_t i = 0;; i++) {
        bool own = i == 0;
        const char *name = own ? path->canonical : path->submounts == NULL ? NULL : path->submounts[i - 1];
        struct exposure *exposure;

        if (name == NULL)
            return 0;
        if ((exposure = tc_list_add(compiler->arena, list, sizeof(*exposure))) == NULL)
            return -ENOMEM;
        exposure->name = name;
        exposure->position = own ? path->position : path->submount_positions[i - 1];
        exposure->place = place;
    }
}

static int expose_all(struct tc_compiler *compiler, struct tc_list *list)
{
    const struct tc_facts *facts = compiler->facts;
    int result = 0;

    for (size_t i = 0; i < compiler->layout.count && result == 0; i++)
        if (compiler->layout.places[i].source != NULL)
            result = expose(compiler, list, compiler->layout.places[i].source, &compiler->layout.places[i]);
    for (size_t i = 0; i < facts->rootfs_count && result == 0; i++)
        if (facts->rootfs[i].link == NULL)
            result = expose(compiler, list, &facts->rootfs[i].path, NULL);
    if (result == 0 && facts->rootfs_etc != NULL)
        result = expose(compiler, list, &facts->rootfs_etc_path, NULL);
    return result;
}

static int refuse_alias(struct tc_compiler *compiler, const struct exposure *a, const struct exposure *b,
                        struct tc_error *err)
{
    if (b->place == NULL)
        return tc_compiler_refuse(compiler, -EPERM, "move it out of the system directories, or choose another --rootfs",
                                  err, "%s: '%s' is also visible as '%s' of the root file system, under other rules",
                                  a->place->where, a->name, b->name);
    return tc_compiler_refuse(compiler, -EPERM, "mount each tree once", err,
                              "%s: '%s' and '%s' (%s) overlap, so that one file would have two names", a->place->where,
                              a->name, b->name, b->place->where);
}

/* All pairs, of which at least one is a declared mount. */
static int check_aliases(struct tc_compiler *compiler, const struct tc_list *list, struct tc_error *err)
{
    const struct exposure *all = list->items;
    int result = 0;

    for (size_t i = 0; i < list->count && all[i].place != NULL && result == 0; i++)
        for (size_t k = i + 1; k < list->count && result == 0; k++) {
            if (all[i].place == all[k].place || all[i].position == NULL || all[k].position == NULL)
                continue;
            if (tc_position_below(all[i].position, all[k].position) ||
                tc_position_below(all[k].position, all[i].position))
                result = refuse_alias(compiler, &all[i], &all[k], err);
        }
    return result;
}

/* File systems that are windows into the running system rather than files. */
static bool is_kernel_filesystem(const char *type)
{
    static const char *const types[] = {"proc",       "sysfs",       "cgroup",  "cgroup2",    "devpts",
                                        "devtmpfs",   "debugfs",     "tracefs", "bpf",        "configfs",
                                        "securityfs", "efivarfs",    "mqueue",  "hugetlbfs",  "pstore",
                                        "selinuxfs",  "binfmt_misc", "autofs",  "rpc_pipefs", "nsfs",
                                        "resctrl",    "smackfs",     "cpuset",  "fusectl",    NULL};

    for (const char *const *name = types; type != NULL && *name != NULL; name++)
        if (strcmp(type, *name) == 0)
            return true;
    return false;
}

static int check_filesystems(struct tc_compiler *compiler, const char *where, const struct tc_fact_path *path,
                             struct tc_error *err)
{
    if (is_kernel_filesystem(path->filesystem))
        return tc_compiler_refuse(compiler, -EPERM, NULL, err, "%s: '%s' lies on %s, a window into the host's kernel",
                                  where, path->canonical, path->filesystem);
    for (size_t i = 0; path->submounts != NULL && path->submounts[i] != NULL; i++)
        if (is_kernel_filesystem(path->submount_filesystems[i]))
            return tc_compiler_refuse(compiler, -EPERM, "unmount it, or choose a directory below", err,
                                      "%s: '%s' contains a mount of %s at '%s', a window into the host's kernel", where,
                                      path->canonical, path->submount_filesystems[i], path->submounts[i]);
    return 0;
}

static int check_sources(struct tc_compiler *compiler, struct tc_error *err)
{
    int result = 0;

    for (size_t i = 0; i < compiler->layout.count && result == 0; i++) {
        const struct tc_place *place = &compiler->layout.places[i];

        if (place->source == NULL)
            continue;
        if (place->source->kind != TC_FILE_DIRECTORY && (place->index == 0 || place->source->kind != TC_FILE_REGULAR))
            result = tc_compiler_refuse(compiler, -ENOTDIR, NULL, err, "%s: '%s' is not a directory%s", place->where,
                                        place->source->canonical, place->index == 0 ? "" : " or a regular file");
        if (result == 0)
            result = check_filesystems(compiler, place->where, place->source, err);
    }
    for (size_t i = 0; i < compiler->facts->rootfs_count && result == 0; i++)
        if (compiler->facts->rootfs[i].link == NULL)
            result = check_filesystems(compiler, "--rootfs", &compiler->facts->rootfs[i].path, err);
    return result;
}

/* The whole host, or the caller's home, is never the workspace by accident. */
static int check_workspace(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_facts *facts = compiler->facts;
    const char *workspace = facts->workspace.canonical;

    if (compiler->request->workspace_named)
        return 0;
    if (strcmp(workspace, "/") == 0 || (facts->home != NULL && tc_path_below(facts->home, workspace)))
        return tc_compiler_refuse(compiler, -EPERM, "change to a project directory, or name the directory with -w", err,
                                  "workspace: '%s' is %s", workspace,
                                  strcmp(workspace, "/") == 0 ? "the root of the host"
                                                              : "the home directory or contains it");
    return 0;
}

/* What toolcell goes by lies in an exposed tree, or the other way round. */
static bool overlaps(const struct tc_facts *facts, size_t own, const char *name, const char *position)
{
    const char *own_position = facts->protect_positions == NULL ? "" : facts->protect_positions[own];

    if (tc_path_below(facts->protect[own], name) || tc_path_below(name, facts->protect[own]))
        return true;
    return position != NULL && *own_position != '\0' &&
           (tc_position_below(own_position, position) || tc_position_below(position, own_position));
}

/* The path in the cell of what toolcell goes by, in a tree that is part of a step; NULL when it is not below it. */
static const char *path_in_cell(struct tc_compiler *compiler, const struct tc_step *step, size_t own, const char *name,
                                const char *position)
{
    const struct tc_facts *facts = compiler->facts;
    const char *own_position = facts->protect_positions == NULL ? "" : facts->protect_positions[own];
    const char *root = tc_path_relative(name, step->source);
    const char *rest = tc_path_relative(facts->protect[own], name);

    if (rest == NULL && position != NULL && tc_position_below(own_position, position))
        rest = own_position + strlen(position);
    if (root == NULL || rest == NULL)
        return NULL;
    return tc_path_clean(compiler->arena, step->target, tc_arena_printf(compiler->arena, "./%s/%s", root, rest));
}

/* The place that a step was made for: the innermost one it stands in. */
static const struct tc_place *place_of(const struct tc_compiler *compiler, const struct tc_step *step)
{
    const struct tc_place *found = NULL;

    for (size_t i = 0; i < compiler->layout.count; i++) /* outer ones come first */
        if (tc_path_below(step->target, compiler->layout.places[i].target))
            found = &compiler->layout.places[i];
    return found;
}

/* In a mediated mount names decide: does every rule about it, and about all that may lie below it, deny writing? A
 * directory on the way cannot be renamed either, since what is in it would be decided more freely elsewhere. */
static bool is_denied(struct tc_compiler *compiler, const struct tc_step *step, const char *path, bool file)
{
    const struct tc_place *place = place_of(compiler, step);
    struct tc_verdict verdict;
    struct tc_region region;

    if (!(step->flags & TC_STEP_MEDIATED) || path == NULL || place == NULL ||
        tc_data_region(compiler->arena, &compiler->layout, place, &region) < 0)
        return false;
    region.target = path;
    region.kind = file ? TC_REGION_FILE : TC_REGION_TREE;
    region.data_root = false;
    return tc_analysis_judge(compiler->analysis, &region, TC_OP_WRITE, NULL, &verdict) == 0 &&
           verdict.effects == TC_EFFECT_BIT(TC_DENY);
}

static int check_protected(struct tc_compiler *compiler, const struct tc_step *step, const char *name,
                           const char *position, struct tc_error *err)
{
    const struct tc_facts *facts = compiler->facts;

    size_t count = 0;

    while (facts->protect != NULL && facts->protect[count] != NULL)
        count++;
    for (size_t i = 0; i < count; i++)
        if (overlaps(facts, i, name, position) &&
            !is_denied(compiler, step, path_in_cell(compiler, step, i, name, position),
                       i >= count - facts->protect_files))
            return tc_compiler_refuse(compiler, -EPERM, "mount it read-only, or keep the two apart", err,
                                      "%s: '%s' would be writable in the cell as part of '%s', and toolcell goes by it",
                                      step->target, facts->protect[i], name);
    return 0;
}

/* The fact a step was made from. */
static const struct tc_fact_path *source_of(const struct tc_compiler *compiler, const struct tc_step *step)
{
    const struct tc_facts *facts = compiler->facts;

    for (size_t i = 0; i < compiler->layout.count; i++) {
        const struct tc_fact_path *source = compiler->layout.places[i].source;

        if (source != NULL && strcmp(source->canonical, step->source) == 0)
            return source;
    }
    for (size_t i = 0; i < facts->subtree_count; i++)
        if (facts->subtrees[i].path.canonical != NULL && strcmp(facts->subtrees[i].path.canonical, step->source) == 0)
            return &facts->subtrees[i].path;
    return NULL;
}

/* A writable step, with the mounts that come along in it. */
static int check_step(struct tc_compiler *compiler, const struct tc_step *step, struct tc_error *err)
{
    const struct tc_fact_path *source = source_of(compiler, step);
    int result = check_protected(compiler, step, step->source, source == NULL ? NULL : source->position, err);

    for (size_t i = 0; result == 0 && source != NULL && source->submounts != NULL && source->submounts[i] != NULL; i++)
        result = check_protected(compiler, step, source->submounts[i], source->submount_positions[i], err);
    return result;
}

int tc_compile_sources(struct tc_compiler *compiler, struct tc_error *err)
{
    struct tc_list exposures = {0};
    int result;

    if ((result = check_workspace(compiler, err)) < 0 || (result = check_sources(compiler, err)) < 0)
        return result;
    if (expose_all(compiler, &exposures) < 0)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    return check_aliases(compiler, &exposures, err);
}

/* By the cell itself, or for it by the broker. */
static bool is_writable(const struct tc_step *step)
{
    return (step->access & TC_ACCESS_WRITE) ||
           (step->flags & (TC_STEP_MEDIATED | TC_STEP_READ_ONLY)) == TC_STEP_MEDIATED;
}

int tc_compile_reach(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_step *steps = compiler->steps.items;
    int result = 0;

    for (size_t i = 0; i < compiler->steps.count && result == 0; i++)
        if (steps[i].kind == TC_STEP_BIND && is_writable(&steps[i]))
            result = check_step(compiler, &steps[i], err);
    return result;
}
