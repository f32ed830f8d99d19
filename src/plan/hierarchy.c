/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hierarchies are found by file system type in the mount table, groups of a
 * process in its /proc/PID/cgroup, whose lines read NUMBER:CONTROLLERS:PATH
 * with an empty list for version 2 (cgroups(7)).
 */
#include "plan/hierarchy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/host.h"

static const char *const names[TC_CONTROLLER_COUNT] = {[TC_CONTROLLER_CPU] = "cpu",
                                                       [TC_CONTROLLER_MEMORY] = "memory",
                                                       [TC_CONTROLLER_PIDS] = "pids",
                                                       [TC_CONTROLLER_CPUACCT] = "cpuacct",
                                                       [TC_CONTROLLER_IO] = "io"};

const char *tc_controller_name(enum tc_controller controller)
{
    return names[controller];
}

/* True when a list separated by any of ", \n" has the word. */
static bool has_word(const char *list, size_t length, const char *word)
{
    size_t size = strlen(word);

    for (size_t i = 0; i + size <= length; i++)
        if ((i == 0 || strchr(" ,", list[i - 1]) != NULL) && strncmp(list + i, word, size) == 0 &&
            (i + size == length || strchr(" ,\n", list[i + size]) != NULL))
            return true;
    return false;
}

/* The last one that was mounted: version 1 names its controllers among the options. */
const struct tc_mount *tc_hierarchy_mount(const struct tc_mounts *mounts, const char *controller)
{
    for (size_t i = mounts->count; i-- > 0;) {
        const struct tc_mount *mount = &mounts->list[i];

        if (controller == NULL ? strcmp(mount->filesystem, "cgroup2") == 0
                               : strcmp(mount->filesystem, "cgroup") == 0 &&
                                     has_word(mount->options, strlen(mount->options), controller))
            return mount;
    }
    return NULL;
}

const char *tc_hierarchy_path(struct tc_arena *arena, const char *groups, const char *controller)
{
    for (const char *line = groups; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t size = strcspn(line, "\n");
        const char *list = memchr(line, ':', size);
        const char *path = list == NULL ? NULL : memchr(list + 1, ':', size - (size_t)(list + 1 - line));
        size_t length;

        if (path == NULL)
            continue;
        length = (size_t)(path - ++list);
        if (controller == NULL ? length == 0 : has_word(list, length, controller))
            return tc_arena_copy(arena, path + 1, size - (size_t)(path + 1 - line));
    }
    return NULL;
}

const char *tc_hierarchy_directory(struct tc_arena *arena, const struct tc_mount *mount, const char *path)
{
    size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

    if (strncmp(path, mount->root, root) != 0 || (path[root] != '\0' && path[root] != '/') ||
        strncmp(path, "/..", 3) == 0)
        return NULL;
    return tc_arena_printf(arena, "%s%s", mount->target, strcmp(path + root, "/") == 0 ? "" : path + root);
}

ssize_t tc_hierarchy_read(const char *directory, const char *file, char *text, size_t size)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s", directory, file);

    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    return tc_host_read(path, text, size);
}

unsigned tc_hierarchy_controllers(const char *directory, const char *file)
{
    char text[4096];
    ssize_t length = tc_hierarchy_read(directory, file, text, sizeof text);
    unsigned found = 0;

    for (enum tc_controller i = 0; i < TC_CONTROLLER_COUNT && length > 0; i++)
        if (has_word(text, (size_t)length, names[i]))
            found |= TC_CONTROLLER_BIT(i);
    return found;
}
