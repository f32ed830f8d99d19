/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PLAN_WORLD_H
#define TESTS_UNIT_PLAN_WORLD_H

/*
 * A made-up host for tests of the compiler: facts without a system call.
 */

#include "base/arena.h"
#include "plan/compile.h"
#include "plan/facts.h"
#include "policy/load.h"

struct world {
    struct tc_arena *arena;
    struct tc_request request;
    struct tc_facts facts;
    struct tc_mount_request mounts[8];
    struct tc_fact_path sources[8];
    struct tc_tmpfs_request tmpfs[8];
    enum tc_file_kind points[32];
    struct tc_ruleset *kept[16]; /* freed with the world */
    size_t kept_count;
};

/** Set up a user's request of one command with the workspace /home/user/project, on a usual host. */
void world_init(struct world *world);
void world_free(struct world *world);

/** Describe a directory or file of the host; position and inode follow from the path. */
struct tc_fact_path world_path(struct world *world, const char *path, enum tc_file_kind kind);

/** Declare one more mount, whose source exists as a directory. */
void world_mount(struct world *world, const char *source, const char *target, enum tc_mount_mode mode);
void world_tmpfs(struct world *world, const char *target, uint64_t size);

/** Parse a policy text; the test fails when it is malformed. */
struct tc_ruleset *world_rules(const char *text);

/** As world_rules(), for rules that live as long as the world. */
struct tc_ruleset *world_keep(struct world *world, const char *text);

/** Compile; asserts nothing. */
int world_compile(struct world *world, const struct tc_ruleset *rules, enum tc_compile_mode mode, struct tc_plan **ret,
                  struct tc_error *err);

/** Remove a directory and all below it. */
void world_remove(const char *path);

/** The step at a target, or NULL. */
const struct tc_step *world_step(const struct tc_plan *plan, const char *target);

#endif
