/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <string.h>

/* Append the components of path to the clean path at *end, whose first byte is out[0]. */
static char *path_append(char *out, char *end, const char *path)
{
    while (*path != '\0') {
        size_t length = strcspn(path, "/");

        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (end > out && *--end != '/')
                ;
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            *end++ = '/';
            memcpy(end, path, length);
            end += length;
        }
        path += length;
        path += strspn(path, "/");
    }
    return end;
}

char *tc_path_clean(struct tc_arena *arena, const char *base, const char *path)
{
    char *out = tc_arena_alloc(arena, strlen(base) + strlen(path) + 3);
    char *end = out;

    if (out == NULL)
        return NULL;
    if (path[0] != '/')
        end = path_append(out, end, base);
    end = path_append(out, end, path);
    if (end == out)
        *end++ = '/';
    *end = '\0';
    return out;
}

const char *tc_path_relative(const char *path, const char *tree)
{
    size_t length = strlen(tree);

    if (length > 0 && tree[length - 1] == '/') /* only "/" is clean and ends so */
        length--;
    if (strncmp(path, tree, length) != 0)
        return NULL;
    if (path[length] == '\0')
        return path + length;
    return path[length] == '/' ? path + length + 1 : NULL;
}

bool tc_path_below(const char *path, const char *tree)
{
    return tc_path_relative(path, tree) != NULL;
}

const char *tc_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}
