/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The built-in presets: images that the build made from policy/presets, so
 * that a call under a preset reads no JSON.
 */

#include "policy/preset.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/encode.h"
#include "policy/load.h"

int tc_policy_preset(const char *name, struct tc_ruleset **ret, struct tc_error *err)
{
    for (const struct tc_preset *preset = tc_presets; preset->name != NULL; preset++) {
        if (strcmp(preset->name, name) == 0)
            return tc_ruleset_decode(preset->image, preset->length, true, ret, err);
    }
    return tc_error_plain(err, -ENOENT, "no preset is named '%s'", name);
}

const char *const *tc_policy_preset_names(void)
{
    static const char *const names[] = {"readonly", "default", "permissive", "strict", "workspace", "git", NULL};

    return names;
}
