/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manager lives in init.scope, right below the part of the hierarchy that is
 * its to arrange: so where it lives tells which controllers it can give, and in
 * which of its slices the caller is. A scope that is asked for is put into the
 * same slice, since a limit of that is meant for the caller, too.
 *
 * Who listens at the socket need not be the manager: on a bus started by
 * somebody else, or seen from another pid namespace. Then the answer decides.
 */
#include "plan/scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "plan/hierarchy.h"
#include "plan/host.h"
#include "plan/kernel_facts.h"
#include "systemd/manager.h"
#include "systemd/scope.h"

#define HOME "/init.scope"
#define SLICE ".slice"

unsigned tc_scope_missing(const struct tc_fact_groups *groups, unsigned wanted)
{
    unsigned missing = 0;

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++) {
        const struct tc_fact_controller *fact = &groups->controllers[i];

        if ((wanted & TC_CONTROLLER_BIT(i)) && fact->version == 2 && fact->directory == NULL &&
            (fact->lack == TC_GROUP_FORBIDDEN || fact->lack == TC_GROUP_NOT_HANDED || fact->lack == TC_GROUP_OCCUPIED))
            missing |= TC_CONTROLLER_BIT(i);
    }
    return missing;
}

/* ---- where the manager is ---- */

/* The path of the group below which all is the manager's ("" for the real root), or NULL: unknown. */
static char *find_realm(struct tc_arena *arena, const char *manager)
{
    const char *path = manager == NULL ? NULL : tc_hierarchy_path(arena, manager, NULL);
    size_t length = path == NULL ? 0 : strlen(path);

    if (length < strlen(HOME) || strcmp(path + length - strlen(HOME), HOME) != 0)
        return NULL;
    return tc_arena_copy(arena, path, length - strlen(HOME));
}

static unsigned find_controllers(struct tc_arena *arena, const struct tc_mounts *mounts, const char *realm)
{
    const struct tc_mount *mount = tc_hierarchy_mount(mounts, NULL);
    const char *directory =
        mount == NULL || realm == NULL ? NULL : tc_hierarchy_directory(arena, mount, realm[0] == '\0' ? "/" : realm);

    return directory == NULL ? ~0u : tc_hierarchy_controllers(directory, "/cgroup.controllers");
}

/* The innermost slice on the way from the realm down to the caller; below what is no slice, names are not the
 * manager's.
 */
static const char *find_slice(struct tc_arena *arena, const char *own, const char *realm)
{
    const char *path = tc_hierarchy_path(arena, own, NULL);
    const char *slice = NULL;
    size_t length = 0;

    if (path == NULL || realm == NULL || strncmp(path, realm, strlen(realm)) != 0)
        return NULL;
    for (path += strlen(realm); *path == '/'; path += length) {
        length = strcspn(++path, "/");
        if (length <= strlen(SLICE) || strncmp(path + length - strlen(SLICE), SLICE, strlen(SLICE)) != 0)
            break;
        slice = tc_arena_copy(arena, path, length);
    }
    return slice;
}

/* ---- what follows ---- */

static int lack(struct tc_arena *arena, struct tc_fact_scope *scope, const char *reason, const char *remedy)
{
    scope->state = TC_SCOPE_LACKING;
    scope->reason = tc_arena_string(arena, reason);
    scope->remedy = remedy == NULL ? NULL : tc_arena_string(arena, remedy);
    return scope->reason == NULL || (remedy != NULL && scope->remedy == NULL) ? -ENOMEM : 0;
}

static int lack_controllers(struct tc_arena *arena, unsigned controllers, struct tc_fact_scope *scope)
{
    tc_auto_buf text = {0};

    tc_buf_printf(&text, "%s was not given", tc_manager_name(scope->system));
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if (controllers & TC_CONTROLLER_BIT(i))
            tc_buf_printf(&text, " %s", tc_controller_name(i));
    if (tc_buf_failed(&text))
        return -ENOMEM;
    return lack(arena, scope, text.data,
                scope->system ? NULL
                              : "as root: systemctl edit user@.service, there [Service] and "
                                "Delegate=cpu memory pids, and a new login of the user");
}

/* All of version 2 is in the scope then: a process has one group in it. */
static void offer(struct tc_fact_groups *groups, unsigned offered)
{
    groups->scope.state = TC_SCOPE_OFFERED;
    groups->vacate = false;
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++) {
        struct tc_fact_controller *fact = &groups->controllers[i];

        if (fact->version != 2)
            continue;
        fact->in_scope = (offered & TC_CONTROLLER_BIT(i)) != 0;
        fact->lack = fact->in_scope ? TC_GROUP_USABLE : TC_GROUP_NOT_HANDED;
        fact->directory = NULL;
        fact->hand_on = false;
    }
}

int tc_scope_judge(struct tc_arena *arena, const struct tc_mounts *mounts, const char *own, const char *manager,
                   unsigned wanted, unsigned missing, bool partial, struct tc_fact_groups *groups)
{
    const char *realm = find_realm(arena, manager);
    unsigned controllers = find_controllers(arena, mounts, realm);

    if ((missing & controllers) == 0 || (!partial && (missing & ~controllers) != 0))
        return lack_controllers(arena, missing & ~controllers, &groups->scope);
    groups->scope.slice = find_slice(arena, own, realm);
    offer(groups, wanted & controllers);
    return 0;
}

static int look(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted, unsigned missing, bool partial,
                struct tc_fact_groups *groups)
{
    static const char nobody[] = "start toolcell as root, or in a control group that was delegated to the caller, or "
                                 "where the caller has a systemd of its own";
    tc_auto_manager manager = {.fd = TC_NO_FD};
    struct tc_error err = {0};
    char path[64], own[16384], theirs[16384];

    if (tc_manager_connect(&manager, &err) < 0)
        return lack(arena, &groups->scope, err.message, err.hint[0] == '\0' ? nobody : err.hint);
    groups->scope.system = manager.system;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)manager.pid);
    if (tc_host_read("/proc/self/cgroup", own, sizeof own) < 0)
        own[0] = '\0';
    if (manager.pid <= 0 || tc_host_read(path, theirs, sizeof theirs) < 0)
        theirs[0] = '\0';
    return tc_scope_judge(arena, mounts, own, theirs, wanted, missing, partial, groups);
}

int tc_scope_look(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted, bool partial,
                  struct tc_fact_groups *groups)
{
    bool counted = tc_kernel_process_limit() || geteuid() == 0; /* as the compiler counts them */
    unsigned needed = counted ? wanted & ~TC_CONTROLLER_BIT(TC_CONTROLLER_PIDS) : wanted;
    unsigned missing = tc_scope_missing(groups, needed);

    return missing == 0 ? 0 : look(arena, mounts, wanted, missing, partial, groups);
}

/* ---- asking ---- */

static int ask(const struct tc_fact_groups *groups, struct tc_error *err)
{
    const char *controllers[TC_CONTROLLER_COUNT + 1] = {NULL};
    struct tc_scope_wish wish = {.controllers = controllers, .slice = groups->scope.slice};
    tc_auto_manager manager = {.fd = TC_NO_FD};
    char unit[TC_SCOPE_NAME_SIZE];
    size_t count = 0;

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        if (groups->controllers[i].in_scope)
            controllers[count++] = tc_controller_name(i);
    if (tc_manager_connect(&manager, err) < 0)
        return err->code;
    return tc_scope_enter(&manager, &wish, unit, err);
}

int tc_scope_take(struct tc_arena *arena, const struct tc_mounts *mounts, unsigned wanted,
                  struct tc_fact_groups *groups)
{
    struct tc_fact_scope scope = groups->scope;
    struct tc_error err = {0};
    int r;

    if (scope.state != TC_SCOPE_OFFERED)
        return 0;
    if (ask(groups, &err) < 0) {
        r = lack(arena, &scope, err.message, err.hint[0] == '\0' ? NULL : err.hint);
        if (r == 0)
            r = tc_groups_gather(arena, mounts, wanted, groups);
        groups->scope = scope;
        return r;
    }
    r = tc_groups_gather_own(arena, mounts, wanted, groups);
    groups->scope = scope;
    groups->scope.state = TC_SCOPE_ENTERED;
    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT; i++)
        groups->controllers[i].in_scope =
            groups->controllers[i].version == 2 && groups->controllers[i].directory != NULL;
    return r;
}
