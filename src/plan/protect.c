/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/protect.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/environment.h"
#include "plan/host.h"

/* Where toolcell keeps things: as root by the file system standard, else by the XDG base directories. */
struct own_directory {
    const char *root;     /* as root; NULL: not used */
    const char *variable; /* else below this variable */
    const char *fallback; /* else below this part of the home directory */
};

static const struct own_directory own_directories[] = {
    {"/etc/toolcell", "XDG_CONFIG_HOME", ".config"},
    {"/var/cache/toolcell", "XDG_CACHE_HOME", ".cache"},
    {"/var/lib/toolcell", "XDG_STATE_HOME", ".local/state"},
    {"/run/toolcell", "XDG_RUNTIME_DIR", NULL},
};

/* NULL where there is none. */
static int own_path(const struct tc_facts *facts, const struct own_directory *own, const char **ret)
{
    const char *base = tc_environment_get(facts->environ, own->variable);

    *ret = NULL;
    if (base != NULL && base[0] == '/')
        *ret = tc_arena_printf(facts->arena, "%s/toolcell", base);
    else if (own->fallback != NULL && facts->home != NULL)
        *ret = tc_arena_printf(facts->arena, "%s/%s/toolcell", facts->home, own->fallback);
    else
        return 0;
    return *ret == NULL ? -ENOMEM : 0;
}

static size_t count_paths(const char *const *paths)
{
    size_t count = 0;

    while (paths != NULL && paths[count] != NULL)
        count++;
    return count;
}

/* Canonical form and position of each collected path. */
static int locate(struct tc_facts *facts, const struct tc_mounts *mounts, const char **paths, size_t count)
{
    const char **positions = tc_arena_array(facts->arena, count + 1, sizeof(*positions));

    if (positions == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct tc_mount *mount;

        paths[i] = tc_host_canonical_prefix(facts->arena, paths[i]);
        mount = paths[i] == NULL ? NULL : tc_mounts_containing(mounts, paths[i]);
        positions[i] = mount == NULL ? "" : tc_mounts_position(facts->arena, mount, paths[i]);
        if (paths[i] == NULL || positions[i] == NULL)
            return -ENOMEM;
    }
    facts->protect = paths;
    facts->protect_positions = positions;
    return 0;
}

int tc_protect_gather(struct tc_facts *facts, const struct tc_mounts *mounts, const char *const *extra,
                      struct tc_error *err)
{
    size_t extra_count = count_paths(extra), count = 0;
    const char **paths = tc_arena_array(facts->arena, extra_count + 2 * TC_COUNT(own_directories) + 2, sizeof(*paths));
    int result;

    if (paths == NULL)
        return tc_error_set(err, -ENOMEM, "find what is out of reach");
    /* The kernel's own text, free of links. A file that was removed since has a note behind its name. */
    result = tc_host_link(facts->arena, "/proc/self/exe", &paths[count]);
    if (result == -ENOMEM)
        return tc_error_set(err, result, "find what is out of reach");
    if (result == 0 && access(paths[count], F_OK) == 0)
        count++;
    for (size_t i = 0; i < TC_COUNT(own_directories); i++) {
        const char *own;

        if (own_path(facts, &own_directories[i], &own) < 0)
            return tc_error_set(err, -ENOMEM, "find what is out of reach");
        paths[count++] = own_directories[i].root;
        if (own != NULL)
            paths[count++] = own;
    }
    for (size_t i = 0; i < extra_count; i++) {
        const char *base = facts->directory != NULL ? facts->directory : "/";

        if ((paths[count++] = tc_path_clean(facts->arena, base, extra[i])) == NULL)
            return tc_error_set(err, -ENOMEM, "find what is out of reach");
    }
    facts->protect_files = extra_count;
    result = locate(facts, mounts, paths, count);
    return result < 0 ? tc_error_set(err, result, "find what is out of reach") : 0;
}
