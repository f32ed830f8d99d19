/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Build tool: reads preset files and writes their images as a C source.
 *
 *   preset_tool OUTPUT NAME.json...
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/encode.h"
#include "policy/load.h"

/* Presets stand for themselves: there are none yet when this runs. */
int tc_policy_preset(const char *name, struct tc_ruleset **ret, struct tc_error *err)
{
    (void)ret;
    return tc_error_plain(err, -ENOENT, "a preset extends nothing, not even '%s'", name);
}

static int read_text(const char *path, struct tc_buf *ret)
{
    FILE *file = fopen(path, "re");
    char chunk[4096];
    size_t got;

    if (file == NULL)
        return -errno;
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        tc_buf_append(ret, chunk, got);
    fclose(file);
    return tc_buf_failed(ret) ? -ENOMEM : 0;
}

static void write_image(FILE *out, unsigned number, const struct tc_buf *image)
{
    fprintf(out, "static const unsigned char image_%u[] = {", number);
    for (size_t i = 0; i < image->length; i++)
        fprintf(out, "%s%u,", i % 24 == 0 ? "\n    " : "", (unsigned char)image->data[i]);
    fprintf(out, "\n};\n\n");
}

static int convert(FILE *out, unsigned number, const char *path, char *name, size_t size)
{
    tc_auto_buf text = {0};
    tc_auto_buf image = {0};
    tc_auto_ruleset rules = NULL;
    struct tc_error err = {0};

    snprintf(name, size, "%s", tc_path_name(path));
    name[strcspn(name, ".")] = '\0';
    if (read_text(path, &text) < 0 || tc_policy_parse(text.data, text.length, name, TC_NO_FD, &rules, &err) < 0) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        return -1;
    }
    tc_ruleset_encode(rules, &image);
    if (tc_buf_failed(&image))
        return -1;
    write_image(out, number, &image);
    return 0;
}

int main(int argc, char **argv)
{
    FILE *out = argc < 3 ? NULL : fopen(argv[1], "we");
    char names[16][32];

    if (out == NULL || argc - 2 > (int)TC_COUNT(names))
        return EXIT_FAILURE;
    fprintf(out, "/* Made by preset_tool from policy/presets. */\n\n#include \"policy/preset.h\"\n\n");
    for (int i = 2; i < argc; i++) {
        if (convert(out, (unsigned)i - 2, argv[i], names[i - 2], sizeof(names[0])) < 0)
            return EXIT_FAILURE;
    }
    fprintf(out, "const struct tc_preset tc_presets[] = {\n");
    for (int i = 2; i < argc; i++)
        fprintf(out, "    {\"%s\", image_%d, sizeof(image_%d)},\n", names[i - 2], i - 2, i - 2);
    fprintf(out, "    {0},\n};\n");
    return fclose(out) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
