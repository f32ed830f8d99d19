/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/compiler.h"
#include "plan/programs.h"

/*
 * The workspace, declared mounts and tmpfs, parents before what lies in them.
 * A mount that can be enforced as a whole is attached as a whole. One that is a
 * union of subtrees becomes a private skeleton of directories with only the
 * subtrees in it: nothing the host does around them can move a grant.
 */

static const char *origin_of(const struct tc_place *place)
{
    return place->index == 0 ? "workspace" : place->source == NULL ? "scratch" : "mount";
}

static struct tc_data_verdict *verdict_of(const struct tc_compiler *compiler, const struct tc_place *place)
{
    return &compiler->verdicts[place - compiler->layout.places];
}

/* The tree of the host that a target lies in once everything before it is attached. */
static bool lies_in_host_tree(const struct tc_compiler *compiler, const char *target)
{
    const struct tc_place *parent = tc_layout_parent(&compiler->layout, target);
    const struct tc_data_verdict *verdict;
    const struct tc_fact_entry *entry;

    if (parent == NULL) {
        entry = tc_layout_entry(compiler->facts, target);
        return entry != NULL && strcmp(entry->target, target) != 0;
    }
    if (parent->source == NULL)
        return false;
    verdict = verdict_of(compiler, parent);
    if (verdict->whole)
        return true;
    for (size_t i = 0; i < verdict->root_count; i++)
        if (tc_path_below(target, verdict->roots[i].target))
            return true;
    return false;
}

/* A skeleton is made of directories in the private tree. In scratch the command could write around them. */
static bool may_stand_as_skeleton(const struct tc_compiler *compiler, const struct tc_place *place)
{
    const struct tc_place *parent = tc_layout_parent(&compiler->layout, place->target);

    if (parent != NULL)
        return parent->source != NULL && !lies_in_host_tree(compiler, place->target);
    return tc_layout_scratch(place->target) == NULL && !lies_in_host_tree(compiler, place->target);
}

/* What the path rules of the trees around a target grant there; rights are inherited downwards. */
static unsigned inherited_access(const struct tc_compiler *compiler, const char *target)
{
    const struct tc_step *steps = compiler->steps.items;
    unsigned access = 0;

    for (size_t i = 0; i < compiler->steps.count; i++)
        if (tc_path_below(target, steps[i].target))
            access |= steps[i].access;
    return access;
}

static int check_inherited(struct tc_compiler *compiler, const struct tc_place *place, const char *target,
                           enum tc_file_kind kind, unsigned access, struct tc_error *err)
{
    unsigned more = inherited_access(compiler, target) & ~access & TC_ACCESS_READ;

    if (kind == TC_FILE_DIRECTORY)
        more |= inherited_access(compiler, target) & ~access & TC_ACCESS_LIST;
    if (more == 0 || (compiler->notify & TC_NOTIFY_OPEN)) /* a broker opens, whatever the kernel's rules would let */
        return 0;
    return tc_compiler_refuse(compiler, -EPERM, "choose a target outside of it", err,
                              "%s: the rules do not let '%s' be %s, but it lies in a tree that may be", place->where,
                              target, more & TC_ACCESS_READ ? "read" : "listed");
}

/* A read-only mount takes data for a FIFO all the same, and the right to write is inherited from the tree around it:
 * only where no path rule above grants it does Landlock refuse. What FIFOs there are the host may change at any time.
 */
static int note_fifos(struct tc_compiler *compiler, const char *target, const struct tc_fact_path *source,
                      unsigned access, struct tc_error *err)
{
    const char *lack = tc_data_lacking(compiler->facts, NULL);

    if (source->kind != TC_FILE_DIRECTORY || (compiler->notify & TC_NOTIFY_OPEN) ||
        !(inherited_access(compiler, target) & ~access & TC_ACCESS_WRITE))
        return 0;
    if (lack == NULL) /* a broker opens, and for the mount's rules a FIFO is written to like a file */
        compiler->notify |= TC_NOTIFY_FILES;
    return tc_compiler_need(compiler, target,
                            "it lies in a tree that may be written, and so may be a FIFO of the host in it", NULL, lack,
                            err);
}

static int check_point(struct tc_compiler *compiler, const struct tc_place *place, struct tc_error *err)
{
    enum tc_file_kind wanted = place->source == NULL ? TC_FILE_DIRECTORY : place->source->kind;
    enum tc_file_kind found = compiler->facts->points[place->index];

    if (found == wanted)
        return 0;
    if (found == TC_FILE_NONE)
        return tc_compiler_refuse(compiler, -ENOENT, "make it on the host first, or choose another target", err,
                                  "%s: '%s' does not exist in the tree it lies in (or a link is on the way), and "
                                  "nothing is ever made in a tree of the host",
                                  place->where, place->target);
    return tc_compiler_refuse(compiler, -ENOTDIR, NULL, err,
                              "%s: '%s' is %sa directory, but what is mounted there is%s", place->where, place->target,
                              found == TC_FILE_DIRECTORY ? "" : "not ", found == TC_FILE_DIRECTORY ? " not" : "");
}

/* Id-mapping is for data: files keep their owner while the cell acts as that owner. */
static int map_ids(struct tc_compiler *compiler, const struct tc_place *place, struct tc_step *step,
                   struct tc_error *err)
{
    if (compiler->plan->identity.kind != TC_IDENTITY_LEASE)
        return 0;
    if (!place->source->idmappable) {
        if (step->flags & TC_STEP_READ_ONLY) /* readable as far as it is for everyone */
            return 0;
        return tc_compiler_refuse(compiler, -EOPNOTSUPP,
                                  "mount it read-only, or keep it on ext4, xfs, btrfs or tmpfs, or use --user", err,
                                  "%s: '%s': %s cannot be mounted with mapped ids", place->where,
                                  place->source->canonical, place->source->filesystem);
    }
    step->flags |= TC_STEP_IDMAP;
    step->owner_uid = place->source->uid;
    step->owner_gid = place->source->gid;
    return 0;
}

static int attach(struct tc_compiler *compiler, const struct tc_place *place, const char *target,
                  const struct tc_fact_path *source, unsigned access, bool nested, struct tc_error *err)
{
    struct tc_step *step;
    const struct tc_data_verdict *verdict = verdict_of(compiler, place);
    bool writable = verdict->mediated ? verdict->writable : (access & TC_ACCESS_WRITE) != 0;
    int result = check_inherited(compiler, place, target, source->kind, access, err);

    if (result == 0)
        result = note_fifos(compiler, target, source, access, err);
    if (result < 0)
        return result;
    step = tc_compiler_step(compiler, TC_STEP_BIND, target, origin_of(place));
    if (step == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    step->source = source->canonical;
    step->device = source->device;
    step->inode = source->inode;
    step->access = access;
    step->flags = (writable ? 0 : TC_STEP_READ_ONLY) | (access & TC_ACCESS_EXECUTE ? 0 : TC_STEP_NOEXEC) |
                  (nested ? TC_STEP_NESTED : 0) | (verdict->mediated ? TC_STEP_MEDIATED : 0);
    return map_ids(compiler, place, step, err);
}

/* Directories of a mediated mount that programs may be executed from: mounted over themselves. */
static int attach_programs(struct tc_compiler *compiler, const struct tc_place *place,
                           const struct tc_data_verdict *verdict, struct tc_error *err)
{
    struct tc_step *steps;
    int result = 0;

    for (size_t i = 0; i < verdict->program_count && result == 0; i++) {
        const struct tc_data_root *program = &verdict->programs[i];

        result = attach(compiler, place, program->target, program->source, program->access, true, err);
        steps = compiler->steps.items;
        if (result == 0)
            steps[compiler->steps.count - 1].flags |= TC_STEP_ITSELF;
    }
    return result;
}

static int attach_skeleton(struct tc_compiler *compiler, const struct tc_place *place,
                           const struct tc_data_verdict *verdict, struct tc_error *err)
{
    struct tc_step *step;
    bool file = place->source->kind == TC_FILE_REGULAR;
    int result = check_inherited(compiler, place, place->target, place->source->kind, 0, err);

    if (result < 0)
        return result;
    step = tc_compiler_step(compiler, file ? TC_STEP_FILE : TC_STEP_DIRECTORY, place->target, origin_of(place));
    if (step == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    step->mode = file ? 0444 : 0755;
    step->text = file ? "" : NULL;
    for (size_t i = 0; i < verdict->root_count && result == 0; i++)
        result = attach(compiler, place, verdict->roots[i].target, verdict->roots[i].source, verdict->roots[i].access,
                        false, err);
    return result;
}

static int attach_tmpfs(struct tc_compiler *compiler, const struct tc_place *place, bool nested, struct tc_error *err)
{
    struct tc_step *step =
        tc_compiler_step(compiler, place->size == 0 ? TC_STEP_SCRATCH : TC_STEP_TMPFS, place->target, "scratch");

    if (step == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    step->mode = 01777;
    step->size = place->size;
    step->flags = nested ? TC_STEP_NESTED : 0;
    step->access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_WRITE | TC_ACCESS_EXECUTE;
    return 0;
}

static int note_needs(struct tc_compiler *compiler, const struct tc_place *place, const struct tc_data_verdict *verdict,
                      struct tc_error *err)
{
    const char *lack = tc_data_lacking(compiler->facts, place->source);
    int result = 0;

    for (size_t i = 0; i < verdict->need_count && result == 0; i++) {
        const struct tc_rule *rule = verdict->needs[i];
        const char *why = rule->effect == TC_ASK ? "an answer is asked for while the command runs"
                                                 : "part of a mount is decided differently than the rest";

        result = tc_compiler_need(compiler, place->target, why, rule, lack, err);
    }
    if (verdict->need_count == 0)
        result = tc_compiler_need(compiler, place->target, verdict->why, NULL, lack, err);
    return result;
}

static int note_mount(struct tc_compiler *compiler, const struct tc_place *place, const struct tc_data_verdict *verdict,
                      struct tc_error *err)
{
    struct tc_data_mount *data;

    if (place->source == NULL)
        return 0;
    if ((data = tc_list_add(compiler->arena, &compiler->data, sizeof(*data))) == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    *data = (struct tc_data_mount){.target = place->target,
                                   .source = place->source->canonical,
                                   .mode = place->mode,
                                   .way = verdict->way,
                                   .access = verdict->access};
    for (size_t i = 0; i < verdict->root_count; i++)
        data->access |= verdict->roots[i].access;
    /* execve opens the file for reading under the same path rules (seen on Linux 6.18). */
    if ((data->access & TC_ACCESS_EXECUTE) && !(data->access & TC_ACCESS_READ) &&
        tc_compiler_degrade(compiler, "execute",
                            tc_arena_printf(compiler->arena,
                                            "nothing in %s can be executed, since nothing there may be read",
                                            place->target),
                            err) < 0)
        return -ENOMEM;
    return verdict->way == TC_WAY_MEDIATED ? note_needs(compiler, place, verdict, err) : 0;
}

/* Places are judged before any is attached: whether opens are notified matters to all of them. */
static int judge_place(struct tc_compiler *compiler, const struct tc_place *place, struct tc_error *err)
{
    struct tc_data_verdict *verdict = verdict_of(compiler, place);
    int result = lies_in_host_tree(compiler, place->target) ? check_point(compiler, place, err) : 0;

    if (result == 0 && place->source != NULL)
        result = tc_data_judge(compiler->arena, compiler->analysis, &compiler->layout, place, compiler->facts,
                               may_stand_as_skeleton(compiler, place), verdict, err);
    if (verdict->mediated)
        compiler->notify |= TC_NOTIFY_FILES | (verdict->looked ? TC_NOTIFY_EXECUTE : 0);
    return result < 0 ? result : note_mount(compiler, place, verdict, err);
}

/* Rules that allow execute, and by which nothing can be executed anywhere; each once. */
static int note_lost(struct tc_compiler *compiler, struct tc_error *err)
{
    const struct tc_data_verdict *verdicts = compiler->verdicts;
    int result = 0;

    for (size_t i = 0; i < compiler->layout.count; i++)
        for (size_t k = verdicts[i].held_count; k < verdicts[i].allowing_count && result == 0; k++) {
            const struct tc_rule *rule = verdicts[i].allowing[k];

            if (tc_programs_lost(verdicts, compiler->layout.count, rule) && !tc_programs_lost(verdicts, i, rule))
                result = tc_compiler_degrade(
                    compiler, "execute",
                    tc_arena_printf(compiler->arena,
                                    "nothing is executed by the rule '%s': only what lies below a directory that a "
                                    "rule names in full, and that is there at the start, can be",
                                    rule->pattern),
                    err);
        }
    return result;
}

static int attach_place(struct tc_compiler *compiler, const struct tc_place *place, struct tc_error *err)
{
    const struct tc_data_verdict *verdict = verdict_of(compiler, place);
    bool nested = lies_in_host_tree(compiler, place->target);
    int result;

    if (place->source == NULL)
        return attach_tmpfs(compiler, place, nested, err);
    if (!verdict->whole)
        return attach_skeleton(compiler, place, verdict, err);
    result = attach(compiler, place, place->target, place->source, verdict->access, nested, err);
    return result < 0 ? result : attach_programs(compiler, place, verdict, err);
}

int tc_compile_data(struct tc_compiler *compiler, struct tc_error *err)
{
    int result = 0;

    compiler->verdicts = tc_arena_array(compiler->arena, compiler->layout.count, sizeof(*compiler->verdicts));
    if (compiler->verdicts == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    for (size_t i = 0; i < compiler->layout.count && result == 0; i++)
        result = judge_place(compiler, &compiler->layout.places[i], err);
    if (result == 0)
        result = note_lost(compiler, err);
    for (size_t i = 0; i < compiler->layout.count && result == 0; i++)
        result = attach_place(compiler, &compiler->layout.places[i], err);
    return result;
}
