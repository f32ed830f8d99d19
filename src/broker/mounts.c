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

/* Whether links may be on the way, which only what lies in another mount of the plan can have: the private tree is
 * read-only by now, and the plan's own links are no parents of targets. */
static bool lies_in_mount(const struct tc_plan *plan, size_t step)
{
    for (size_t i = 0; i < step; i++)
        if (tc_step_attaches(plan->steps[i].kind) && tc_path_relative(plan->steps[step].target, plan->steps[i].target))
            return true;
    return false;
}

/* One call where that is safe, of some thirty in all. */
static int look_at(int root, const char *target, bool nested, struct statx *ret)
{
    tc_auto_fd fd = TC_NO_FD;

    if (!nested) {
        const char *relative = target[1] == '\0' ? "." : target + 1;

        return statx(root, relative, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, ret) < 0 ? -errno : 0;
    }
    fd = tc_open_how(root, target, O_PATH | O_NOFOLLOW, 0, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return fd;
    return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

/* Learn the mount at a target; kind: of the step that attached it. */
static int learn_one(const struct tc_plan *plan, int root, const char *target, enum tc_step_kind kind, bool nested,
                     struct tc_broker_mount *mount)
{
    const struct tc_view_mount *seen = tc_view_find(&plan->view, target, strlen(target));
    struct statx what;
    int r = look_at(root, target, nested, &what);

    if (r < 0)
        return r;
    if ((what.stx_mask & STATX_MNT_ID) == 0)
        return -EOPNOTSUPP; /* Linux 5.8 */
    *mount = (struct tc_broker_mount){.id = what.stx_mnt_id,
                                      .target = target,
                                      .target_length = strlen(target),
                                      .mediated = mediated_at(plan, target),
                                      .data = seen != NULL && seen->area == TC_AREA_DATA,
                                      .scratch = kind == TC_STEP_SCRATCH || kind == TC_STEP_TMPFS,
                                      .procfs = kind == TC_STEP_PROC,
                                      .access = tc_mounts_access(plan, target)};
    return -pthread_mutex_init(&mount->lock, NULL);
}

int tc_mounts_learn(const struct tc_plan *plan, int root, struct tc_broker_mount **ret, size_t *ret_count)
{
    struct tc_broker_mount *mounts = calloc(plan->step_count + 1, sizeof *mounts);
    size_t count = 1;
    int r;

    if (mounts == NULL)
        return -ENOMEM;
    r = learn_one(plan, root, "/", TC_STEP_DIRECTORY, false, &mounts[0]);
    mounts[0].root = true;
    for (size_t i = 0; r == 0 && i < plan->step_count; i++) {
        const struct tc_step *step = &plan->steps[i];

        if (tc_step_attaches(step->kind))
            r = learn_one(plan, root, step->target, step->kind, lies_in_mount(plan, i), &mounts[count++]);
    }
    if (r < 0) {
        free(mounts);
        return r;
    }
    *ret = mounts;
    *ret_count = count;
    return 0;
}
