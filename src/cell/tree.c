/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/file.h"
#include "kernel/mount.h"

/*
 * The cell's tree, built from the plan's steps on one private tmpfs.
 *
 * That tmpfs is attached on top of "/": the process keeps resolving host paths,
 * since its own root lies below, while the new tree is reached by descriptor
 * only. A hidden directory carries the scratch file system, of which each
 * SCRATCH step binds one directory and which holds the lower layers of
 * overlays: a detached mount can be copied from Linux 6.15 on only. It is moved
 * into the old tree at the end and goes with it, in one unmount; each unmount
 * costs an RCU grace period.
 */

#define ROOT_SIZE (16u << 20) /* directories and small files of the plan; read-only in the end */
#define BYTES_PER_INODE 4096
#define MEMORY_PER_INODE 1024 /* what the kernel keeps for an empty file, about */
#define PTY_MOST "128"        /* what waits in a terminal counts as nobody's memory, and the host has 3072 for all */
#define SPARE_INODES 4096     /* the plan's own directories, and many small files in a small size */

/*
 * Empty files, short links and attributes take no block but a kilobyte of the kernel's memory each. Only this limit
 * counts them where a broker makes them, which is no process of the cell's control group: so there are no more than
 * the cell's memory would hold.
 */
static uint64_t count_inodes(const struct tc_plan *plan, uint64_t size)
{
    uint64_t most = UINT64_MAX;
    uint64_t count = size / BYTES_PER_INODE;

    if (plan->limits.set & 1u << TC_LIMIT_MEMORY)
        most = plan->limits.value[TC_LIMIT_MEMORY] / MEMORY_PER_INODE;
    return (count < most ? count : most) + SPARE_INODES;
}

static int new_tmpfs(const struct tc_plan *plan, uint64_t size, unsigned mode, unsigned attributes)
{
    char size_text[24], inodes_text[24], mode_text[8];
    /* Size 0 would mean no limit to the kernel; without the option it is half of the memory. */
    const struct tc_mount_option options[] = {
        {"source", "toolcell"}, {"mode", mode_text}, {"size", size_text}, {"nr_inodes", inodes_text}};

    snprintf(inodes_text, sizeof inodes_text, "%" PRIu64, count_inodes(plan, size));
    snprintf(size_text, sizeof size_text, "%llu", (unsigned long long)size);
    snprintf(mode_text, sizeof mode_text, "%04o", mode & 07777);
    return tc_mount_new("tmpfs", options, TC_COUNT(options) - (size == 0 ? 2 : 0), attributes);
}

static int begin_root(struct tc_child *child)
{
    tc_auto_fd top = tc_file_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    int r;

    if (top < 0)
        return top;
    child->root = new_tmpfs(child->plan, ROOT_SIZE, 0755, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (child->root < 0)
        return child->root;
    r = tc_mount_attach(child->root, top);
    return r < 0 ? r : tc_target_own(child, child->root);
}

static int begin_scratch(struct tc_child *child)
{
    tc_auto_fd place = TC_NO_FD;
    int r;

    child->scratch = new_tmpfs(child->plan, child->plan->scratch_size, 0755, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (child->scratch < 0)
        return child->scratch;
    r = tc_file_make_directory(child->root, TC_SCRATCH_PLACE, 0700);
    if (r < 0)
        return r;
    place = tc_file_open(child->root, TC_SCRATCH_PLACE, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    r = place < 0 ? place : tc_mount_attach(child->scratch, place);
    return r < 0 ? r : tc_target_own(child, child->scratch);
}

static bool has_step(const struct tc_plan *plan, enum tc_step_kind kind)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].kind == kind)
            return true;
    return false;
}

/*
 * Should: leave an empty file system of the cell's own on top of "/", private, nosuid, nodev.
 * Mustn't: touch any file of the host, or make host paths unreachable yet.
 */
int tc_tree_begin(struct tc_child *child, struct tc_error *err)
{
    const struct tc_plan *plan = child->plan;
    int r = begin_root(child);

    if (r == 0)
        r = tc_rules_allow(child, child->root, true, plan->root_access);
    if (r < 0)
        return tc_error_set(err, r, "make the cell's root");
    if (has_step(plan, TC_STEP_SCRATCH) || has_step(plan, TC_STEP_OVERLAY))
        r = begin_scratch(child);
    return r < 0 ? tc_error_set(err, r, "make the scratch file system") : 0;
}

/* Attach a mount at a step's target, with its Landlock rule. The descriptor stays the caller's. */
static int attach_kind(struct tc_child *child, const struct tc_step *step, int mount, bool directory,
                       struct tc_error *err)
{
    int r = tc_target_attach(child, step, mount, directory, err);

    if (r < 0)
        return r;
    r = tc_rules_allow(child, mount, directory, step->access);
    return r < 0 ? tc_error_set(err, r, "add the Landlock rule of '%s'", step->target) : 0;
}

static int attach(struct tc_child *child, const struct tc_step *step, int mount, struct tc_error *err)
{
    return attach_kind(child, step, mount, true, err);
}

static int add_bind(struct tc_child *child, size_t index, struct tc_error *err)
{
    const struct tc_step *step = &child->plan->steps[index];
    int mount = tc_source_open(child, index, err);
    struct stat what = {0};
    int r;

    if (mount < 0)
        return mount;
    r = tc_file_status(mount, &what);
    if (r < 0)
        return tc_error_set(err, r, "stat the mount for '%s'", step->target);
    if (step->flags & TC_STEP_MEDIATED)
        child->launch->kept[index] = mount;
    return attach_kind(child, step, mount, S_ISDIR(what.st_mode), err);
}

/* A fresh directory of scratch, for one step. Returns an O_PATH descriptor. */
static int scratch_directory(const struct tc_child *child, size_t index, unsigned mode)
{
    char name[24];
    int r;

    snprintf(name, sizeof name, "%zu", index);
    r = tc_file_make_directory(child->scratch, name, mode);
    return r < 0 ? r : tc_file_open(child->scratch, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* By descriptor: a path could contain colons and be swapped. The host's /proc is still there. */
static int make_overlay(const struct tc_step *step, int upper, int lower)
{
    char layers[64];
    const struct tc_mount_option options[] = {{"source", "toolcell"}, {"lowerdir", layers}};

    snprintf(layers, sizeof layers, "/proc/self/fd/%d:/proc/self/fd/%d", upper, lower);
    return tc_mount_new("overlay", options, TC_COUNT(options), tc_source_attributes(step) | MOUNT_ATTR_RDONLY);
}

/* The private directory that is there covers the source. */
static int add_overlay(struct tc_child *child, size_t index, struct tc_error *err)
{
    const struct tc_step *step = &child->plan->steps[index];
    int source = tc_source_open(child, index, err);
    tc_auto_fd upper = source < 0 ? TC_NO_FD : tc_target_directory(child, step, err);
    tc_auto_fd place = TC_NO_FD;
    tc_auto_fd mount = TC_NO_FD;
    int r;

    if (source < 0 || upper < 0)
        return err->code;
    place = scratch_directory(child, index, 0700);
    r = place < 0 ? place : tc_mount_attach(source, place);
    if (r < 0)
        return tc_error_set(err, r, "attach the lower layer of '%s'", step->target);
    mount = make_overlay(step, upper, source);
    if (mount < 0)
        return tc_error_set(err, mount, "make the overlay of '%s'", step->target);
    return attach(child, step, mount, err);
}

static int add_scratch(struct tc_child *child, size_t index, struct tc_error *err)
{
    const struct tc_step *step = &child->plan->steps[index];
    tc_auto_fd directory = scratch_directory(child, index, step->mode);
    tc_auto_fd mount = directory < 0 ? directory : tc_mount_copy(directory);
    int r = mount < 0 ? mount : tc_mount_change(mount, tc_source_attributes(step), false, TC_NO_FD);

    if (r < 0)
        return tc_error_set(err, r, "make scratch for '%s'", step->target);
    r = attach(child, step, mount, err);
    if (r == 0 && (step->flags & TC_STEP_MEDIATED))
        child->launch->kept[index] = tc_take_fd(&mount);
    return r;
}

/* Later steps may make their mount points in it, so read-only waits for tc_tree_close(). */
static int add_tmpfs(struct tc_child *child, size_t index, struct tc_error *err)
{
    const struct tc_step *step = &child->plan->steps[index];
    tc_auto_fd mount =
        new_tmpfs(child->plan, step->size, step->mode, tc_source_attributes(step) & ~(unsigned)MOUNT_ATTR_RDONLY);
    int r = mount < 0 ? mount : tc_target_own(child, mount);

    if (r < 0)
        return tc_error_set(err, r, "make the tmpfs for '%s'", step->target);
    r = attach(child, step, mount, err);
    if (r == 0 && (step->flags & (TC_STEP_READ_ONLY | TC_STEP_MEDIATED)))
        child->launch->kept[index] = tc_take_fd(&mount);
    return r;
}

static int add_proc(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const struct tc_mount_option options[] = {{"source", "proc"}};
    unsigned attributes = tc_source_attributes(step) | MOUNT_ATTR_NOEXEC;

    child->proc = tc_mount_new("proc", options, TC_COUNT(options), attributes);
    if (child->proc >= 0)
        return attach(child, step, child->proc, err);
    tc_error_set(err, child->proc, "mount a procfs at '%s'", step->target);
    if (err->code == -EPERM)
        /* mount_too_revealing(): a user namespace gets a new procfs only while none is masked where it came from. */
        tc_error_hint(err, "an outer container masks parts of /proc: unmask them there, or use --allow-degraded=proc");
    return err->code;
}

static int add_proc_empty(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    tc_auto_fd mount =
        new_tmpfs(child->plan, 4096, 0555, tc_source_attributes(step) | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);

    return mount < 0 ? tc_error_set(err, mount, "mount an empty '%s'", step->target) : attach(child, step, mount, err);
}

static int add_devpts(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const struct tc_mount_option options[] = {
        {"source", "devpts"}, {"newinstance", NULL}, {"ptmxmode", "0666"}, {"mode", "0620"}, {"max", PTY_MOST}};
    unsigned attributes = (tc_source_attributes(step) | MOUNT_ATTR_NOEXEC) & ~(unsigned)MOUNT_ATTR_NODEV;
    tc_auto_fd mount = tc_mount_new("devpts", options, TC_COUNT(options), attributes);

    return mount < 0 ? tc_error_set(err, mount, "mount a devpts at '%s'", step->target)
                     : attach(child, step, mount, err);
}

static int add(struct tc_child *child, size_t index, struct tc_error *err)
{
    const struct tc_step *step = &child->plan->steps[index];

    switch (step->kind) {
    case TC_STEP_DIRECTORY:
        return tc_entry_directory(child, step, err);
    case TC_STEP_SYMLINK:
        return tc_entry_symlink(child, step, err);
    case TC_STEP_FILE:
        return tc_entry_file(child, step, err);
    case TC_STEP_COPY:
        return tc_entry_copy(child, step, err);
    case TC_STEP_BIND:
        return add_bind(child, index, err);
    case TC_STEP_OVERLAY:
        return add_overlay(child, index, err);
    case TC_STEP_SCRATCH:
        return add_scratch(child, index, err);
    case TC_STEP_TMPFS:
        return add_tmpfs(child, index, err);
    case TC_STEP_PROC:
        return add_proc(child, step, err);
    case TC_STEP_PROC_EMPTY:
        return add_proc_empty(child, step, err);
    case TC_STEP_DEVPTS:
        return add_devpts(child, step, err);
    }
    return tc_error_plain(err, -EINVAL, "'%s': no such step", step->target);
}

/*
 * Should: run the plan's steps in order.
 * Mustn't: create anything in a tree of the host; follow a link anywhere.
 */
int tc_tree_build(struct tc_child *child, struct tc_error *err)
{
    for (size_t i = 0; i < child->plan->step_count; i++) {
        int r = add(child, i, err);

        if (r < 0)
            return r;
    }
    return 0;
}

/* What was bound from it stays. /proc is a directory that every launch has needed by now and none needs any more. */
static int move_scratch_away(const struct tc_child *child)
{
    tc_auto_fd place = TC_NO_FD;
    int r;

    if (child->scratch < 0)
        return 0;
    place = tc_file_open(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, 0);
    r = place < 0 ? place : tc_mount_attach(child->scratch, place);
    if (r < 0)
        return r;
    return (int)tc_raw3(__NR_unlinkat, child->root, TC_SCRATCH_PLACE, AT_REMOVEDIR);
}

/* A mount left on top of the new root would be entered by "/..". */
static int check_root(const struct tc_child *child)
{
    struct stat root = {0}, above = {0};
    int r = tc_file_status(child->root, &root);

    if (r == 0)
        r = (int)tc_raw4(__NR_newfstatat, AT_FDCWD, "/..", &above, 0);
    if (r < 0)
        return r;
    return root.st_dev == above.st_dev && root.st_ino == above.st_ino ? 0 : -EXDEV;
}

/*
 * Should: make the private tree the root, and drop every mount of the host with it.
 * Mustn't: leave a working directory or a mount of the host reachable.
 */
int tc_tree_enter(struct tc_child *child, struct tc_error *err)
{
    int r = move_scratch_away(child);

    if (r < 0)
        return tc_error_set(err, r, "hide the scratch file system");
    r = tc_mount_pivot(child->root);
    if (r == 0)
        r = check_root(child);
    return r < 0 ? tc_error_set(err, r, "enter the cell's root") : 0;
}

/*
 * Should: turn the private root, and every tmpfs the plan wants so, read-only.
 * Mustn't: touch scratch or data.
 */
int tc_tree_close(struct tc_child *child, struct tc_error *err)
{
    int r = tc_mount_change(child->root, MOUNT_ATTR_RDONLY, false, TC_NO_FD);

    for (size_t i = 0; r == 0 && i < child->plan->step_count; i++)
        if (child->launch->kept[i] >= 0 && (child->plan->steps[i].flags & TC_STEP_READ_ONLY))
            r = tc_mount_change(child->launch->kept[i], MOUNT_ATTR_RDONLY, false, TC_NO_FD);
    return r < 0 ? tc_error_set(err, r, "turn the cell's root read-only") : 0;
}
