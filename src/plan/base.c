/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/compiler.h"

/*
 * The part of the tree that every cell has: the root file system, the cell's
 * own /etc files, a minimal /dev, /proc and scratch. Everything is attached
 * read-only but scratch; nothing here depends on the rules.
 */

#define HOSTNAME "toolcell"
#define SYSTEM_ACCESS (TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_EXECUTE)

static const char passwd_text[] = "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                                  "agent:x:1000:1000:agent:" TC_CELL_HOME ":/bin/sh\n"
                                  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char group_text[] = "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n";
static const char hosts_text[] = "127.0.0.1\tlocalhost\n"
                                 "127.0.1.1\t" HOSTNAME "\n"
                                 "::1\tlocalhost ip6-localhost ip6-loopback\n";
static const char nsswitch_text[] = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
                                    "networks: files\nprotocols: files\nservices: files\nrpc: files\n";
static const char hostname_text[] = HOSTNAME "\n";

/* A directory or file of the host. */
static int bind_path(struct tc_compiler *compiler, const char *target, const struct tc_fact_path *path,
                     const char *origin, unsigned flags, unsigned access)
{
    struct tc_step *step = tc_compiler_step(compiler, TC_STEP_BIND, target, origin);

    if (step == NULL)
        return -ENOMEM;
    step->source = path->canonical;
    step->device = path->device;
    step->inode = path->inode;
    step->flags = flags;
    step->access = access;
    return 0;
}

static int add_link(struct tc_compiler *compiler, const char *target, const char *text, const char *origin)
{
    struct tc_step *step = tc_compiler_step(compiler, TC_STEP_SYMLINK, target, origin);

    if (step == NULL)
        return -ENOMEM;
    step->text = text;
    step->text_length = strlen(text);
    return 0;
}

static int add_file(struct tc_compiler *compiler, const char *target, const char *text)
{
    struct tc_step *step = tc_compiler_step(compiler, TC_STEP_FILE, target, "base");

    if (step == NULL)
        return -ENOMEM;
    step->text = text;
    step->text_length = strlen(text);
    step->mode = 0444;
    return 0;
}

static int add_directory(struct tc_compiler *compiler, const char *target, unsigned access)
{
    struct tc_step *step = tc_compiler_step(compiler, TC_STEP_DIRECTORY, target, "base");

    if (step == NULL)
        return -ENOMEM;
    step->mode = 0755;
    step->access = access;
    return 0;
}

/* A snapshot of a small public file: a mount would cost more than its content. One that the cell's own id may not read
 * is attached, so that it stays as unreadable as it is. */
static bool is_copied(const struct tc_fact_entry *entry)
{
    return tc_path_below(entry->target, "/etc") && entry->path.kind == TC_FILE_REGULAR &&
           entry->path.size <= TC_COPY_LIMIT && (entry->path.mode & 0444) == 0444;
}

static int copy_path(struct tc_compiler *compiler, const char *target, const struct tc_fact_path *path)
{
    struct tc_step *step = tc_compiler_step(compiler, TC_STEP_COPY, target, "rootfs");

    if (step == NULL)
        return -ENOMEM;
    step->source = path->canonical;
    step->device = path->device;
    step->inode = path->inode;
    step->mode = 0444;
    return 0;
}

/* A declared mount may take the place of /opt. */
static bool is_replaced(const struct tc_compiler *compiler, const char *target)
{
    for (size_t i = 0; i < compiler->layout.count; i++)
        if (strcmp(compiler->layout.places[i].target, target) == 0)
            return true;
    return false;
}

static int add_rootfs(struct tc_compiler *compiler)
{
    int result = add_directory(compiler, "/etc", compiler->facts->rootfs_etc == NULL ? SYSTEM_ACCESS : 0);

    for (size_t i = 0; i < compiler->facts->rootfs_count && result == 0; i++) {
        const struct tc_fact_entry *entry = &compiler->facts->rootfs[i];

        if (is_replaced(compiler, entry->target))
            continue;
        if (entry->link != NULL)
            result = add_link(compiler, entry->target, entry->link, "rootfs");
        else if (is_copied(entry))
            result = copy_path(compiler, entry->target, &entry->path);
        else /* /etc has one path rule for all that lies in it */
            result = bind_path(compiler, entry->target, &entry->path, "rootfs", TC_STEP_READ_ONLY,
                               tc_path_below(entry->target, "/etc") ? 0 : SYSTEM_ACCESS);
    }
    return result;
}

static int add_etc(struct tc_compiler *compiler)
{
    const struct tc_facts *facts = compiler->facts;
    struct tc_step *step;
    int result;

    if ((result = add_file(compiler, "/etc/passwd", passwd_text)) < 0 ||
        (result = add_file(compiler, "/etc/group", group_text)) < 0 ||
        (result = add_file(compiler, "/etc/hosts", hosts_text)) < 0 ||
        (result = add_file(compiler, "/etc/nsswitch.conf", nsswitch_text)) < 0 ||
        (result = add_file(compiler, "/etc/hostname", hostname_text)) < 0 ||
        (result = add_link(compiler, "/etc/mtab", "/proc/self/mounts", "base")) < 0)
        return result;
    if (compiler->plan->net == TC_NET_HOST && facts->resolv_conf != NULL &&
        (result = add_file(compiler, "/etc/resolv.conf", facts->resolv_conf)) < 0)
        return result;
    if (facts->rootfs_etc == NULL)
        return 0;
    if ((step = tc_compiler_step(compiler, TC_STEP_OVERLAY, "/etc", "rootfs")) == NULL)
        return -ENOMEM;
    step->source = facts->rootfs_etc;
    step->device = facts->rootfs_etc_path.device;
    step->inode = facts->rootfs_etc_path.inode;
    step->flags = TC_STEP_READ_ONLY;
    step->access = SYSTEM_ACCESS;
    return 0;
}

static int add_devices(struct tc_compiler *compiler)
{
    static const char *const links[][2] = {
        {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
        {"/dev/stderr", "/proc/self/fd/2"}, {"/dev/ptmx", "pts/ptmx"},
    };
    const struct tc_facts *facts = compiler->facts;
    int result = add_directory(compiler, "/dev", TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_MODIFY | TC_ACCESS_IOCTL);

    for (size_t i = 0; i < facts->device_count && result == 0; i++)
        result = bind_path(compiler, facts->devices[i].target, &facts->devices[i].path, "base",
                           TC_STEP_READ_ONLY | TC_STEP_NOEXEC | TC_STEP_DEVICE, 0);
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) && result == 0; i++)
        result = add_link(compiler, links[i][0], links[i][1], "base");
    if (result == 0 && tc_compiler_step(compiler, TC_STEP_DEVPTS, "/dev/pts", "base") == NULL)
        result = -ENOMEM;
    return result;
}

static int add_scratch(struct tc_compiler *compiler)
{
    int result = 0;

    for (const char *const *target = tc_scratch_targets; *target != NULL; target++) {
        struct tc_step *step;

        if (is_replaced(compiler, *target))
            continue;
        if ((step = tc_compiler_step(compiler, TC_STEP_SCRATCH, *target, "scratch")) == NULL)
            return -ENOMEM;
        step->mode = strcmp(*target, TC_CELL_HOME) == 0 ? 0755 : 01777;
        step->access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_WRITE | TC_ACCESS_EXECUTE;
    }
    if ((result = add_directory(compiler, "/run", 0)) < 0)
        return result;
    if (tc_layout_entry(compiler->facts, "/var/tmp") == NULL) /* a root file system of its own has its /var */
        result = add_link(compiler, "/var/tmp", "/tmp", "base");
    return result;
}

/*
 * locks lists the open file description locks of the whole machine (only other kinds are told by pid namespace), with
 * their ranges: 128 bits of any cell's choice for every other cell to read. keys names the keyrings that the caller of
 * toolcell has on the host. cmdline is how the host was booted, config.gz how its kernel was built; no command needs
 * either. (version stays: uname(2) says the same.) Nothing replaces a name in procfs, so that a mask holds.
 */
const char *const tc_proc_masks[] = {"/proc/locks", "/proc/keys", "/proc/cmdline", "/proc/config.gz", NULL};

static const struct tc_fact_path *find_null(const struct tc_facts *facts)
{
    for (size_t i = 0; i < facts->device_count; i++)
        if (strcmp(facts->devices[i].target, "/dev/null") == 0)
            return &facts->devices[i].path;
    return NULL;
}

static int mask_proc(struct tc_compiler *compiler)
{
    const struct tc_fact_path *null = find_null(compiler->facts);
    int result = 0;

    for (const char *const *mask = compiler->facts->proc_masks; *mask != NULL && result == 0; mask++)
        result = null == NULL ? -ENODEV
                              : bind_path(compiler, *mask, null, "base",
                                          TC_STEP_READ_ONLY | TC_STEP_NOEXEC | TC_STEP_DEVICE | TC_STEP_NESTED, 0);
    return result;
}

static int add_proc(struct tc_compiler *compiler, struct tc_error *err)
{
    bool visible = compiler->facts->proc_visible;
    struct tc_step *step;
    int result = 0;

    if (!visible && !(compiler->request->allow_degraded & (1u << TC_DEGRADE_PROC)))
        result =
            tc_compiler_refuse(compiler, -EOPNOTSUPP,
                               "unmask the outer container's /proc (docker: --security-opt systempaths=unconfined), "
                               "or run with an empty one: --allow-degraded=proc",
                               err,
                               "/proc: parts of this host's /proc are covered, so that the kernel refuses a "
                               "new one in a user namespace");
    else if (!visible)
        result = tc_compiler_degrade(compiler, "proc", "/proc is empty: the host's is covered in parts", err);
    if (result < 0)
        return result;
    step = tc_compiler_step(compiler, visible ? TC_STEP_PROC : TC_STEP_PROC_EMPTY, "/proc", "base");
    if (step == NULL)
        return tc_error_set(err, -ENOMEM, "compile the plan");
    step->access = TC_ACCESS_READ | TC_ACCESS_LIST | (visible ? TC_ACCESS_MODIFY : 0);
    result = visible ? mask_proc(compiler) : 0;
    return result < 0 ? tc_error_set(err, result, "compile the plan") : 0;
}

int tc_compile_base(struct tc_compiler *compiler, struct tc_error *err)
{
    int result;

    compiler->plan->hostname = HOSTNAME;
    if (compiler->facts->rootfs_etc != NULL && !compiler->facts->overlay)
        return tc_compiler_refuse(compiler, -EOPNOTSUPP, "load the overlay module", err,
                                  "--rootfs: this kernel has no overlayfs, which the cell's /etc needs");
    if ((result = add_rootfs(compiler)) < 0 || (result = add_etc(compiler)) < 0 ||
        (result = add_devices(compiler)) < 0 || (result = add_scratch(compiler)) < 0)
        return tc_error_set(err, result, "compile the plan");
    return add_proc(compiler, err);
}
