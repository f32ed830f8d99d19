/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Theory of operation.
 *
 * A policy becomes a ruleset in three steps: its text is parsed into parts
 * (rules.c, settings.c; import.c for the foreign format), what it extends is
 * parsed into the same parts behind it, and the parts are sorted, indexed and
 * hashed (parts.c). Deciding (decide.c, command.c, rename.c) works on the
 * ruleset alone; check.c and explain.c only look at it.
 *
 * This file does the second step. A file is loaded once: when it is reached a
 * second time, its rules would come after the same rules and could never
 * decide, so leaving it out changes nothing and keeps a tangle of files from
 * growing without bounds. While it is being loaded, reaching it again is a
 * cycle. Files are told apart by device and inode, presets by name.
 */

#include "policy/load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/files.h"
#include "policy/parts.h"

#define DEPTH_MAX 8  /* its message says so too */
#define FILES_MAX 64 /* extended by one policy, all levels together */

struct source {
    const char *preset; /* or NULL for a file */
    dev_t device;
    ino_t inode;
    bool open; /* being loaded: further up in the chain */
};

struct loader {
    struct tc_parts parts;
    struct source sources[FILES_MAX];
    size_t source_count;
    struct tc_dependency *dependencies;
    size_t dependency_count;
};

/* A policy text and where it stands. */
struct place {
    const char *name;     /* for messages */
    const char *relative; /* its directory relative to the first file's, "" for that; for the cache */
    int directory;        /* borrowed, or TC_NO_FD */
    unsigned depth;
};

static int load_text(struct loader *loader, const char *text, size_t length, const struct place *place,
                     struct tc_error *err);
/* As tc_json_bad(), with a code of its own. */
static int bad_as(const struct tc_json *json, int code, struct tc_error *err, const char *why)
{
    tc_json_bad(json, err, "%s", why);
    if (err != NULL)
        err->code = code;
    return code;
}

/* Enter a source: 1 when it has been loaded before, -ELOOP for a cycle. */
static int enter_source(struct loader *loader, const struct tc_json *json, const struct source *source, size_t *ret,
                        struct tc_error *err)
{
    for (size_t i = 0; i < loader->source_count; i++) {
        const struct source *other = &loader->sources[i];
        bool same = source->preset != NULL
                        ? other->preset != NULL && strcmp(source->preset, other->preset) == 0
                        : other->preset == NULL && source->device == other->device && source->inode == other->inode;
        if (!same)
            continue;
        if (!other->open)
            return 1;
        return bad_as(json, -ELOOP, err, "the files extend each other in a circle");
    }
    if (loader->source_count == FILES_MAX)
        return tc_json_bad(json, err, "more than %d files are extended", FILES_MAX);
    *ret = loader->source_count++;
    loader->sources[*ret] = *source;
    return 0;
}

static int add_dependency(struct loader *loader, const char *reference, bool preset, const char hash[TC_SHA256_HEX])
{
    struct tc_dependency *dependency;

    if (loader->dependencies == NULL)
        loader->dependencies = tc_arena_array(loader->parts.arena, FILES_MAX, sizeof(*loader->dependencies));
    if (loader->dependencies == NULL || reference == NULL)
        return -ENOMEM;
    dependency = &loader->dependencies[loader->dependency_count++];
    dependency->reference = reference;
    dependency->preset = preset;
    memcpy(dependency->hash, hash, TC_SHA256_HEX);
    return 0;
}

static int extend_preset(struct loader *loader, const struct tc_json *json, const char *name, struct tc_error *err)
{
    struct source source = {.preset = name};
    tc_auto_ruleset preset = NULL;
    size_t at;
    int r = enter_source(loader, json, &source, &at, err);

    if (r != 0)
        return r < 0 ? r : 0;
    r = tc_policy_preset(name, &preset, err);
    if (r == -ENOENT)
        return bad_as(json, r, err, "no such preset; the name of a file has a '/' or ends in .json");
    if (r < 0)
        return r;
    if (tc_parts_ruleset(&loader->parts, preset) < 0 || add_dependency(loader, name, true, preset->hash) < 0)
        return tc_no_memory(err);
    return 0;
}

/* The directory part of a reference, with its slash. */
static char *directory_part(struct tc_arena *arena, const char *path)
{
    return tc_arena_copy(arena, path, (size_t)(tc_path_name(path) - path));
}

/* "DIRECTORY/" + reference, unless that is absolute. */
static char *below(struct tc_arena *arena, const char *directory, const char *reference)
{
    return tc_arena_printf(arena, "%s%s", reference[0] == '/' ? "" : directory, reference);
}

/* The reference as it is named in messages: beside the file that extends it. */
static char *display_name(struct tc_arena *arena, const char *name, const char *reference)
{
    char *directory = directory_part(arena, name);

    while (reference[0] == '.' && reference[1] == '/')
        reference += 2;
    return directory == NULL ? NULL : below(arena, directory, reference);
}

static int load_file(struct loader *loader, int fd, const char *reference, const struct place *place,
                     struct tc_error *err)
{
    struct tc_arena *arena = loader->parts.arena;
    tc_auto_buf text = {0};
    tc_auto_free char *directory = NULL;
    char hash[TC_SHA256_HEX];
    int r = tc_policy_slurp(fd, place->name, &text, err);

    if (r < 0)
        return r;
    directory = strndup(reference, (size_t)(tc_path_name(reference) - reference));
    if (directory == NULL)
        return tc_no_memory(err);
    tc_sha256_hex(text.data == NULL ? "" : text.data, text.length, hash);
    if (add_dependency(loader, tc_arena_string(arena, place->relative), false, hash) < 0)
        return tc_no_memory(err);

    tc_auto_fd parent =
        openat(place->directory, directory[0] == '\0' ? "." : directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return tc_error_set(err, -errno, "open the directory of '%s'", place->name);
    struct place inner = *place;
    inner.directory = parent;
    inner.relative = directory_part(arena, place->relative);
    if (inner.relative == NULL)
        return tc_no_memory(err);
    return load_text(loader, text.data, text.length, &inner, err);
}

static int extend_file(struct loader *loader, const struct tc_json *json, const char *reference,
                       const struct place *place, struct tc_error *err)
{
    struct tc_arena *arena = loader->parts.arena;
    struct place inner = {.name = display_name(arena, place->name, reference),
                          .relative = below(arena, place->relative, reference),
                          .directory = place->directory,
                          .depth = place->depth + 1};
    struct stat status;
    size_t at;

    if (inner.name == NULL || inner.relative == NULL)
        return tc_no_memory(err);
    if (place->directory == TC_NO_FD)
        return tc_json_bad(json, err, "only presets can be extended here");
    tc_auto_fd fd = tc_policy_open(place->directory, reference, inner.name, err);
    if (fd < 0) {
        char pointer[128];
        tc_error_wrap(err, "%s: %s", place->name, tc_json_pointer(json, pointer, sizeof(pointer)));
        return fd;
    }
    if (fstat(fd, &status) < 0)
        return tc_error_set(err, -errno, "look at '%s'", inner.name);
    int r = enter_source(loader, json, &(struct source){.device = status.st_dev, .inode = status.st_ino, .open = true},
                         &at, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (tc_parts_file(&loader->parts, inner.name) < 0)
        return tc_no_memory(err);
    r = load_file(loader, fd, reference, &inner, err);
    loader->sources[at].open = false;
    return r;
}

static bool names_file(const char *reference)
{
    size_t length = strlen(reference);

    return strchr(reference, '/') != NULL || (length > 5 && strcmp(reference + length - 5, ".json") == 0);
}

static int extend_one(struct loader *loader, const struct tc_json *json, const struct place *place,
                      struct tc_error *err)
{
    const char *reference;
    int r = tc_json_string(json, loader->parts.arena, &reference, NULL, err);

    if (r < 0)
        return r;
    if (place->depth == DEPTH_MAX)
        return bad_as(json, -ELOOP, err, "extended more than 8 deep");
    return names_file(reference) ? extend_file(loader, json, reference, place, err)
                                 : extend_preset(loader, json, reference, err);
}

static int load_extends(struct loader *loader, const struct tc_json *json, const struct place *place,
                        struct tc_error *err)
{
    int r = 0;

    if (tc_json_type(json) == TC_JSON_STRING)
        return extend_one(loader, json, place, err);
    if (tc_json_type(json) != TC_JSON_ARRAY)
        return tc_json_bad(json, err, "expected a preset, a file or a list of them");
    for (struct tc_json item = {0}; r == 0 && tc_json_next(json, &item);)
        r = extend_one(loader, &item, place, err);
    return r;
}

static int load_root(struct loader *loader, const struct tc_json *root, const struct place *place, struct tc_error *err)
{
    struct tc_json extends;
    const char *source = tc_arena_string(loader->parts.arena, place->name);
    int r;

    if (source == NULL)
        return tc_no_memory(err);
    if (tc_import_recognise(root))
        return tc_import_parse(root, source, &loader->parts, err);
    r = tc_rules_parse(root, source, &loader->parts, err);
    return r == 0 && tc_json_member(root, "extends", &extends) ? load_extends(loader, &extends, place, err) : r;
}

static int load_text(struct loader *loader, const char *text, size_t length, const struct place *place,
                     struct tc_error *err)
{
    tc_auto_json document = NULL;
    struct tc_json root;
    int r = tc_json_parse(text == NULL ? "" : text, length, place->name, &document, &root, err);

    return r < 0 ? r : load_root(loader, &root, place, err);
}

/* The file itself counts as being loaded, where it can be told: an extends of it is a cycle. */
static void enter_first(struct loader *loader, const char *name, int directory)
{
    struct stat status;

    if (directory == TC_NO_FD || fstatat(directory, tc_path_name(name), &status, 0) < 0 || !S_ISREG(status.st_mode))
        return;
    loader->sources[loader->source_count++] =
        (struct source){.device = status.st_dev, .inode = status.st_ino, .open = true};
}

static int finish(struct loader *loader, const char *name, struct tc_ruleset **ret, struct tc_error *err)
{
    int r = tc_parts_finish(&loader->parts, name, ret);

    return r < 0 ? tc_error_set(err, r, "policy '%s'", name) : 0;
}

int tc_policy_load(const char *text, size_t length, const char *name, int directory, bool project,
                   struct tc_dependencies *dependencies, struct tc_ruleset **ret, struct tc_error *err)
{
    tc_auto_arena arena = tc_arena_new();
    struct loader loader = {.parts = {.arena = arena, .project = project}};
    struct place place = {.name = name, .relative = "", .directory = directory};

    if (arena == NULL)
        return tc_no_memory(err);
    enter_first(&loader, name, directory);
    int r = load_text(&loader, text, length, &place, err);
    if (r == 0)
        r = finish(&loader, name, ret, err);
    if (r < 0)
        return r;
    arena = NULL; /* the ruleset's now */
    if (dependencies != NULL)
        *dependencies = (struct tc_dependencies){.items = loader.dependencies, .count = loader.dependency_count};
    return 0;
}

int tc_policy_parse(const char *text, size_t length, const char *name, int directory, struct tc_ruleset **ret,
                    struct tc_error *err)
{
    return tc_policy_load(text, length, name, directory, false, NULL, ret, err);
}

int tc_policy_parse_value(const struct tc_json *value, const char *name, struct tc_ruleset **ret, struct tc_error *err)
{
    tc_auto_arena arena = tc_arena_new();
    struct loader loader = {.parts = {.arena = arena}};
    struct place place = {.name = name, .relative = "", .directory = TC_NO_FD};

    if (arena == NULL)
        return tc_no_memory(err);
    int r = load_root(&loader, value, &place, err);
    if (r == 0)
        r = finish(&loader, name, ret, err);
    if (r < 0)
        return r;
    arena = NULL; /* the ruleset's now */
    return 0;
}
