/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/names.h"

#include "base/cleanup.h"

static const char *const step_kinds[] = {"directory", "symlink", "file", "copy",       "bind",  "overlay",
                                         "scratch",   "tmpfs",   "proc", "proc-empty", "devpts"};
_Static_assert(TC_COUNT(step_kinds) == TC_STEP_DEVPTS + 1, "a name for every step");

static const char *const identity_kinds[] = {"caller", "lease", "fixed"};
_Static_assert(TC_COUNT(identity_kinds) == TC_IDENTITY_FIXED + 1, "a name for every identity");

static const char *const ways[] = {"static", "mediated"};
_Static_assert(TC_COUNT(ways) == TC_WAY_MEDIATED + 1, "a name for every way");

static const char *const strengths[] = {"kernel", "mediated", "advisory", "none"};
_Static_assert(TC_COUNT(strengths) == TC_STRENGTH_NONE + 1, "a name for every strength");

static const char *const stdins[] = {"default", "none", "inherit", "data"};
_Static_assert(TC_COUNT(stdins) == TC_STDIN_DATA + 1, "a name for every kind of stdin");

static const char *const areas[] = {"data", "rootfs", "scratch", "system"};
_Static_assert(TC_COUNT(areas) == TC_AREA_SYSTEM + 1, "a name for every area");

const char *const tc_step_flag_names[] = {"read-only", "noexec",   "device", "idmap",
                                          "nested",    "mediated", "itself", NULL};
_Static_assert(TC_STEP_ITSELF == 1 << (TC_COUNT(tc_step_flag_names) - 2), "a name for every flag");

const char *const tc_access_names[] = {"read", "list", "write", "execute", "modify", "ioctl", NULL};
_Static_assert(TC_ACCESS_IOCTL == 1 << (TC_COUNT(tc_access_names) - 2), "a name for every right");

const char *tc_step_kind_name(enum tc_step_kind kind)
{
    return step_kinds[kind];
}

const char *tc_identity_kind_name(enum tc_identity_kind kind)
{
    return identity_kinds[kind];
}

const char *tc_way_name(enum tc_way way)
{
    return ways[way];
}

const char *tc_strength_name(enum tc_strength strength)
{
    return strengths[strength];
}

const char *tc_stdin_name(enum tc_stdin mode)
{
    return stdins[mode];
}

const char *tc_area_name(enum tc_area area)
{
    return areas[area];
}
