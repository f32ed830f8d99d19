/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files, without a fuzzer: each argument is a file, or
 * a directory all of whose files are run. A target that finds a fault aborts.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t inputs;

static int replay_file(const char *path)
{
    tc_auto_buf content = {0};
    uint8_t *exact; /* of just that size, so that a read past the end is seen */
    char chunk[65536];
    size_t got;
    FILE *file = fopen(path, "re");

    if (file == NULL)
        return -errno;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        tc_buf_append(&content, chunk, got);
    fclose(file);
    exact = malloc(content.length > 0 ? content.length : 1);
    if (exact == NULL || tc_buf_failed(&content)) {
        free(exact);
        return -ENOMEM;
    }
    if (content.length > 0)
        memcpy(exact, content.data, content.length);
    LLVMFuzzerTestOneInput(exact, content.length);
    free(exact);
    inputs++;
    return 0;
}

static int replay_directory(const char *path)
{
    struct dirent *entry;
    DIR *directory = opendir(path);
    int r = 0;

    if (directory == NULL)
        return -errno;
    while (r == 0 && (entry = readdir(directory)) != NULL) {
        tc_auto_buf name = {0};

        if (entry->d_name[0] == '.')
            continue;
        tc_buf_printf(&name, "%s/%s", path, entry->d_name);
        r = tc_buf_failed(&name) ? -ENOMEM : replay_file(name.data);
    }
    closedir(directory);
    return r;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int r = stat(argv[i], &st) < 0 ? -errno
                : S_ISDIR(st.st_mode)  ? replay_directory(argv[i])
                                       : replay_file(argv[i]);

        if (r < 0) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
            return 1;
        }
    }
    printf("%zu inputs\n", inputs);
    return inputs > 0 ? 0 : 1; /* an empty corpus proves nothing */
}
