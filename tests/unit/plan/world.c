/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <err.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"

static const char *const arguments[] = {"true", NULL};
static const char *const environment[] = {"HOME=/home/user", "PATH=/usr/bin", "LANG=de_DE.UTF-8", "LD_PRELOAD=x.so",
                                          NULL};
static const char *const nothing[] = {NULL};

/* Also for programs that are no Check tests. */
static void require(bool holds, const char *otherwise)
{
    if (!holds)
        errx(2, "%s", otherwise);
}

struct tc_fact_path world_path(struct world *world, const char *path, enum tc_file_kind kind)
{
    struct tc_fact_path fact = {
        .given = path, .canonical = path, .kind = kind, .device = 2049, .uid = 1001, .gid = 1001};

    for (const char *at = path; *at != '\0'; at++)
        fact.inode = fact.inode * 31 + (unsigned char)*at;
    fact.mode = kind == TC_FILE_DIRECTORY ? 0755 : 0644;
    fact.filesystem = "ext4";
    fact.idmappable = true;
    fact.position = tc_arena_printf(world->arena, "8:1 %s", path);
    fact.submounts = fact.submount_positions = fact.submount_filesystems = nothing;
    require(fact.position != NULL, "out of memory");
    return fact;
}

static void add_entry(struct world *world, struct tc_fact_entry *entry, const char *target, const char *link)
{
    entry->target = target;
    entry->link = link;
    if (link == NULL)
        entry->path = world_path(world, target, TC_FILE_DIRECTORY);
}

void world_init(struct world *world)
{
    struct tc_fact_entry *rootfs, *devices;

    *world = (struct world){.arena = tc_arena_new()};
    require(world->arena != NULL, "out of memory");
    rootfs = tc_arena_array(world->arena, 4, sizeof(*rootfs));
    devices = tc_arena_array(world->arena, 1, sizeof(*devices));
    require(rootfs != NULL && devices != NULL, "out of memory");
    add_entry(world, &rootfs[0], "/usr", NULL);
    add_entry(world, &rootfs[1], "/bin", "usr/bin");
    add_entry(world, &rootfs[2], "/opt", NULL);
    add_entry(world, &rootfs[3], "/etc/alternatives", NULL);
    devices[0].target = "/dev/null";
    devices[0].path = world_path(world, "/dev/null", TC_FILE_DEVICE);
    world->request = (struct tc_request){.arena = world->arena, .argv = arguments, .rootfs = "host"};
    world->request.mounts = world->mounts;
    world->request.tmpfs = world->tmpfs;
    world->facts = (struct tc_facts){.arena = world->arena,
                                     .uid = 1001,
                                     .gid = 1001,
                                     .home = "/home/user",
                                     .directory = "/home/user/project",
                                     .environ = environment,
                                     .timezone = "Europe/Berlin",
                                     .landlock_abi = 7,
                                     .proc_visible = true,
                                     .proc_masks = tc_proc_masks,
                                     .overlay = true,
                                     .mounts = world->sources,
                                     .points = world->points,
                                     .rootfs = rootfs,
                                     .rootfs_count = 4,
                                     .devices = devices,
                                     .device_count = 1,
                                     .program_given = "/usr/bin/true",
                                     .program_real = "/usr/bin/true",
                                     .protect = nothing,
                                     .protect_positions = nothing};
    world->facts.workspace = world_path(world, "/home/user/project", TC_FILE_DIRECTORY);
    for (size_t i = 0; i < TC_COUNT(world->points); i++)
        world->points[i] = TC_FILE_DIRECTORY;
    world->facts.point_count = TC_COUNT(world->points);
}

void world_free(struct world *world)
{
    while (world->kept_count > 0)
        tc_ruleset_free(world->kept[--world->kept_count]);
    tc_arena_free(world->arena);
}

void world_mount(struct world *world, const char *source, const char *target, enum tc_mount_mode mode)
{
    size_t at = world->request.mount_count++;

    world->facts.mount_count++;
    world->mounts[at] = (struct tc_mount_request){source, target, mode, "--mount"};
    world->sources[at] = world_path(world, source, TC_FILE_DIRECTORY);
}

void world_tmpfs(struct world *world, const char *target, uint64_t size)
{
    world->tmpfs[world->request.tmpfs_count++] = (struct tc_tmpfs_request){target, size};
}

struct tc_ruleset *world_rules(const char *text)
{
    struct tc_ruleset *rules = NULL;
    struct tc_error err = {0};

    require(tc_policy_parse(text, strlen(text), "test.json", TC_NO_FD, &rules, &err) == 0, err.message);
    return rules;
}

struct tc_ruleset *world_keep(struct world *world, const char *text)
{
    require(world->kept_count < TC_COUNT(world->kept), "too many rulesets");
    return world->kept[world->kept_count++] = world_rules(text);
}

int world_compile(struct world *world, const struct tc_ruleset *rules, enum tc_compile_mode mode, struct tc_plan **ret,
                  struct tc_error *err)
{
    int result = tc_plan_compile(rules, &world->request, &world->facts, mode, ret, err);

    return result < 0 ? result : tc_plan_hash(*ret, &world->facts, err);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)walk;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

void world_remove(const char *path)
{
    require(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0, path);
}

const struct tc_step *world_step(const struct tc_plan *plan, const char *target)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (strcmp(plan->steps[i].target, target) == 0)
            return &plan->steps[i];
    return NULL;
}
