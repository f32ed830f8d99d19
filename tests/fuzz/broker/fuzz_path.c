/* SPDX-License-Identifier: Apache-2.0 */

/* Paths as the broker cleans them to judge them: exactly as the rest of toolcell does, within their buffer, and what is
 * too long is refused. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/path.h"
#include "broker/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tc_auto_arena arena = tc_arena_new();
    char *path = malloc(size + 2), *given = malloc(PATH_MAX), *child = malloc(PATH_MAX);

    if (arena != NULL && path != NULL && given != NULL && child != NULL) {
        path[0] = '/';
        memcpy(path + 1, data, size);
        path[size + 1] = '\0';
        /* An absolute path needs no caller. */
        int r = tc_resolve_given(NULL, AT_FDCWD, path, given);
        const char *expected = tc_path_clean(arena, "/", path);
        if (expected != NULL && r == 0 && strcmp(given, expected) != 0)
            abort();
        if (expected != NULL && r != 0 && (r != -ENAMETOOLONG || strlen(path) < PATH_MAX))
            abort();
        if (r == 0 && tc_path_child(given, "name", child) == 0 && strcmp(tc_path_name(child), "name") != 0)
            abort();
    }
    free(path);
    free(given);
    free(child);
    return 0;
}
