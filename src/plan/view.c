/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/view.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/layout.h"

/* What every cell has beside its places. */
static const struct tc_view_mount fixed_mounts[] = {
    {"/proc", TC_AREA_SYSTEM, false},
    {"/dev", TC_AREA_SYSTEM, false},
};

static struct tc_view_mount view_of(const struct tc_place *place)
{
    struct tc_view_mount mount = {.target = place->target, .area = TC_AREA_SCRATCH};

    if (place->source != NULL) {
        mount.area = place->mode == TC_MODE_TOOLS ? TC_AREA_ROOTFS : TC_AREA_DATA;
        mount.read_only = place->mode != TC_MODE_RW;
    }
    return mount;
}

static bool is_placed(const struct tc_layout *layout, const char *target)
{
    for (size_t i = 0; i < layout->count; i++)
        if (strcmp(layout->places[i].target, target) == 0)
            return true;
    return false;
}

static size_t scratch_count(void)
{
    size_t count = 0;

    while (tc_scratch_targets[count] != NULL)
        count++;
    return count;
}

int tc_plan_view(const struct tc_request *request, const struct tc_facts *facts, struct tc_arena *arena,
                 struct tc_view *ret, struct tc_error *err)
{
    struct tc_view_mount *mounts;
    struct tc_layout layout;
    size_t count = 0;
    int result;

    result = tc_layout_make(arena, request, facts, &layout, err);
    if (result < 0)
        return result;
    mounts = tc_arena_array(arena, layout.count + scratch_count() + TC_COUNT(fixed_mounts), sizeof(*mounts));
    if (mounts == NULL)
        return tc_error_set(err, -ENOMEM, "look at the rules");
    for (size_t i = 0; i < TC_COUNT(fixed_mounts); i++)
        mounts[count++] = fixed_mounts[i];
    for (const char *const *target = tc_scratch_targets; *target != NULL; target++)
        if (!is_placed(&layout, *target))
            mounts[count++] = (struct tc_view_mount){*target, TC_AREA_SCRATCH, false};
    for (size_t i = 0; i < layout.count; i++)
        mounts[count++] = view_of(&layout.places[i]);
    *ret = (struct tc_view){.mounts = mounts, .count = count, .rootfs_writable = strcmp(request->rootfs, "host") != 0};
    return 0;
}
