/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/view.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

/* What every cell has beside its mounts. */
static const struct tc_view_mount fixed_mounts[] = {
    {"/tmp", TC_AREA_SCRATCH, false}, {"/home/agent", TC_AREA_SCRATCH, false}, {"/proc", TC_AREA_SYSTEM, false},
    {"/dev", TC_AREA_SYSTEM, false},  {"/dev/shm", TC_AREA_SCRATCH, false},
};

const char *tc_plan_mount_target(const struct tc_request *request, const struct tc_facts *facts, size_t index,
                                 struct tc_arena *arena)
{
    const struct tc_mount_request *mount = index == 0 ? &request->workspace : &request->mounts[index - 1];
    const struct tc_fact_path *fact = index == 0 ? &facts->workspace : &facts->mounts[index - 1];

    if (mount->target == NULL)
        return "/workspace";
    if (strcmp(mount->target, "@same") == 0)
        return fact->canonical;
    return tc_path_clean(arena, "/", mount->target);
}

static struct tc_view_mount view_of(const char *target, enum tc_mount_mode mode)
{
    return (struct tc_view_mount){
        .target = target,
        .area = mode == TC_MODE_TOOLS ? TC_AREA_ROOTFS : TC_AREA_DATA,
        .read_only = mode == TC_MODE_RO || mode == TC_MODE_TOOLS,
    };
}

int tc_plan_view(const struct tc_request *request, const struct tc_facts *facts, struct tc_arena *arena,
                 struct tc_view *ret, struct tc_error *err)
{
    size_t count = 0, room = 1 + request->mount_count + request->tmpfs_count + TC_COUNT(fixed_mounts);
    struct tc_view_mount *mounts = tc_arena_array(arena, room, sizeof(*mounts));

    if (mounts == NULL)
        return tc_error_set(err, -ENOMEM, "plan");
    mounts[count++] = view_of(tc_plan_mount_target(request, facts, 0, arena), request->workspace.mode);
    for (size_t i = 0; i < request->mount_count; i++)
        mounts[count++] = view_of(tc_plan_mount_target(request, facts, i + 1, arena), request->mounts[i].mode);
    for (size_t i = 0; i < request->tmpfs_count; i++)
        mounts[count++] =
            (struct tc_view_mount){tc_path_clean(arena, "/", request->tmpfs[i].target), TC_AREA_SCRATCH, false};
    for (size_t i = 0; i < TC_COUNT(fixed_mounts); i++)
        mounts[count++] = fixed_mounts[i];
    for (size_t i = 0; i < count; i++)
        if (mounts[i].target == NULL)
            return tc_error_set(err, -ENOMEM, "plan");
    *ret = (struct tc_view){.mounts = mounts, .count = count, .rootfs_writable = strcmp(request->rootfs, "host") != 0};
    return 0;
}
