/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "broker/open_how.h"

unsigned tc_mounts_access(const struct tc_plan *plan, const char *path)
{
    unsigned access = plan->root_access;

    for (size_t i = 0; i < plan->step_count; i++) {
        if (plan->steps[i].access != 0 && tc_path_below(path, plan->steps[i].target))
            access |= plan->steps[i].access;
    }
    return access;
}

/* What lies in a mediated mount is mediated: the flag of an outer step holds for the inner ones. */
static bool mediated_at(const struct tc_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        if ((plan->steps[i].flags & TC_STEP_MEDIATED) && tc_path_below(path, plan->steps[i].target))
            return true;
    }
    return false;
}

/* Learn the mount at a target; kind: of the step that attached it. */
static int learn_one(struct tc_broker_state *state, const char *target, enum tc_step_kind kind,
                     struct tc_broker_mount *mount)
{
    const struct tc_view_mount *seen = tc_view_find(state->view, target, strlen(target));
    struct statx what;
    tc_auto_fd fd = tc_open_how(state->root, target, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);

    if (fd < 0)
        return fd;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &what) < 0)
        return -errno;
    if ((what.stx_mask & STATX_MNT_ID) == 0)
        return -EOPNOTSUPP; /* Linux 5.8 */
    *mount = (struct tc_broker_mount){.id = what.stx_mnt_id,
                                      .target = target,
                                      .target_length = strlen(target),
                                      .mediated = mediated_at(state->plan, target),
                                      .data = seen != NULL && seen->area == TC_AREA_DATA,
                                      .scratch = kind == TC_STEP_SCRATCH || kind == TC_STEP_TMPFS,
                                      .procfs = kind == TC_STEP_PROC,
                                      .access = tc_mounts_access(state->plan, target)};
    return -pthread_mutex_init(&mount->lock, NULL);
}

int tc_mounts_learn(struct tc_broker_state *state)
{
    const struct tc_plan *plan = state->plan;
    int r;

    state->mounts = calloc(plan->step_count + 1, sizeof *state->mounts);
    if (state->mounts == NULL)
        return -ENOMEM;
    r = learn_one(state, "/", TC_STEP_DIRECTORY, &state->mounts[0]);
    if (r < 0)
        return r;
    state->mounts[0].root = true;
    state->mount_count = 1;
    for (size_t i = 0; i < plan->step_count; i++) {
        if (!tc_step_attaches(plan->steps[i].kind))
            continue;
        r = learn_one(state, plan->steps[i].target, plan->steps[i].kind, &state->mounts[state->mount_count]);
        if (r < 0)
            return r;
        state->mount_count++;
    }
    return 0;
}
