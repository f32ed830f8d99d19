/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_PRESET_H
#define TC_POLICY_PRESET_H

/*
 * Private to src/policy: what the build makes of policy/presets.
 */

#include <stddef.h>

struct tc_preset {
    const char *name;
    const unsigned char *image;
    size_t length;
};

/* In a fixed order, ended by one without a name. */
extern const struct tc_preset tc_presets[];

#endif
