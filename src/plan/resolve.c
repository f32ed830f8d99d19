/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/openat2.h"
#include "plan/environment.h"
#include "plan/host.h"

/*
 * Theory of operation
 *
 * The tree does not exist yet, so paths are walked component by component
 * through what it will consist of: links of the root file system, bound trees
 * (whose content is looked at in place on the host), and directories of the
 * cell's own. A link is followed as the cell would follow it: an absolute one
 * starts at the cell's root. The answer is what the call is judged by; the
 * kernel resolves again when the program starts, in the tree as it then is.
 */

#define LINKS_LIMIT 40 /* as the kernel's MAXSYMLINKS */

struct walk {
    struct tc_arena *arena;
    const struct tc_facts *facts;
    const struct tc_layout *layout;
    unsigned links;
};

/* What stands at one clean path of the cell whose parent directories are no links. */
struct node {
    enum tc_file_kind kind; /* NONE: nothing */
    const char *link;       /* SYMLINK */
    unsigned mode;
};

static int read_host_link(struct tc_arena *arena, const char *host, struct node *ret)
{
    char text[4096];
    ssize_t length = readlink(host, text, sizeof(text));

    if (length < 0 || (size_t)length == sizeof(text)) {
        ret->kind = TC_FILE_NONE;
        return 0;
    }
    ret->link = tc_arena_copy(arena, text, (size_t)length);
    return ret->link == NULL ? -ENOMEM : 0;
}

static int look_at_host(struct tc_arena *arena, const char *host, const char *relative, struct node *ret)
{
    const char *path = *relative == '\0' ? host : tc_arena_printf(arena, "%s/%s", host, relative);
    struct stat status;

    if (path == NULL)
        return -ENOMEM;
    if (lstat(path, &status) < 0) {
        ret->kind = TC_FILE_NONE;
        return 0;
    }
    ret->kind = tc_host_kind(status.st_mode);
    ret->mode = status.st_mode & 07777;
    return ret->kind == TC_FILE_SYMLINK ? read_host_link(arena, path, ret) : 0;
}

/* Directories that exist because something stands below them. */
static bool is_made(const struct walk *walk, const char *path)
{
    for (size_t i = 0; i < walk->facts->rootfs_count; i++)
        if (tc_path_below(walk->facts->rootfs[i].target, path))
            return true;
    for (size_t i = 0; i < walk->layout->count; i++)
        if (tc_path_below(walk->layout->places[i].target, path))
            return true;
    return strcmp(path, "/") == 0;
}

static int look(const struct walk *walk, const char *path, struct node *ret)
{
    const struct tc_place *place = NULL;
    const struct tc_fact_entry *entry;

    *ret = (struct node){.kind = TC_FILE_NONE};
    for (size_t i = 0; i < walk->layout->count; i++)
        if (tc_path_below(path, walk->layout->places[i].target))
            place = &walk->layout->places[i];
    if (place != NULL && place->source != NULL)
        return look_at_host(walk->arena, place->source->canonical, tc_path_relative(path, place->target), ret);
    if (place == NULL && (entry = tc_layout_entry(walk->facts, path)) != NULL)
        return look_at_host(walk->arena, entry->path.canonical, tc_path_relative(path, entry->target), ret);
    for (size_t i = 0; i < walk->facts->rootfs_count; i++)
        if (walk->facts->rootfs[i].link != NULL && strcmp(walk->facts->rootfs[i].target, path) == 0) {
            ret->kind = TC_FILE_SYMLINK;
            ret->link = walk->facts->rootfs[i].link;
            return 0;
        }
    if (is_made(walk, path))
        ret->kind = TC_FILE_DIRECTORY;
    return 0;
}

/* Look at a path of the root file system in one call, which tells nothing when a link is on the way or at the end. Most
 * programs are found so. 1 when that told what stands there, 0, or -ENOMEM. */
static int look_at_once(const struct walk *walk, const char *path, struct node *ret)
{
    const struct tc_fact_entry *entry = tc_layout_entry(walk->facts, path);
    const char *clean = entry == NULL ? path : tc_path_clean(walk->arena, "/", path);
    tc_auto_fd fd = TC_NO_FD;
    struct stat status;
    const char *host;

    if (clean == NULL)
        return -ENOMEM;
    if (entry == NULL || strcmp(path, clean) != 0)
        return 0;
    for (size_t i = 0; i < walk->layout->count; i++)
        if (tc_path_below(path, walk->layout->places[i].target))
            return 0;
    host = tc_path_clean(walk->arena, entry->path.canonical, tc_path_relative(path, entry->target));
    if (host == NULL)
        return -ENOMEM;
    *ret = (struct node){.kind = TC_FILE_NONE};
    fd = tc_openat2(AT_FDCWD, host, O_PATH, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR;
    if (fstat(fd, &status) < 0)
        return 0;
    ret->kind = tc_host_kind(status.st_mode);
    ret->mode = status.st_mode & 07777;
    return 1;
}

/* Resolve every link of an absolute clean path. ret is NULL when it leads nowhere; the node is what stands there. */
static int walk_path(struct walk *walk, const char *path, const char **ret, struct node *ret_node)
{
    const char *done = "/";
    int told = look_at_once(walk, path, ret_node);

    *ret = told == 1 && ret_node->kind != TC_FILE_NONE ? path : NULL;
    if (told != 0)
        return told < 0 ? told : 0;
    *ret_node = (struct node){.kind = TC_FILE_DIRECTORY};
    while (*(path += strspn(path, "/")) != '\0') {
        size_t length = strcspn(path, "/");
        const char *name = tc_arena_copy(walk->arena, path, length);
        const char *next = name == NULL ? NULL : tc_path_clean(walk->arena, done, name);
        int result = next == NULL ? -ENOMEM : look(walk, next, ret_node);

        if (result < 0)
            return result;
        path += length;
        if (ret_node->kind == TC_FILE_NONE ||
            (*path != '\0' && ret_node->kind != TC_FILE_DIRECTORY && ret_node->kind != TC_FILE_SYMLINK))
            return 0;
        if (ret_node->kind != TC_FILE_SYMLINK) {
            done = next;
            continue;
        }
        if (++walk->links > LINKS_LIMIT)
            return 0;
        if (ret_node->link[0] == '/')
            done = "/";
        /* The rest is walked with the link's text before it, ".." included: `done` has no links left. */
        if ((path = tc_arena_printf(walk->arena, "%s%s", ret_node->link, path)) == NULL)
            return -ENOMEM;
        *ret_node = (struct node){.kind = TC_FILE_DIRECTORY};
    }
    *ret = done;
    return 0;
}

/* Try one candidate; a program is a regular file, and when searched for, one with an execute bit. */
static int try_program(struct tc_facts *facts, const struct tc_layout *layout, const char *directory, const char *name,
                       bool searched, bool *ret_found)
{
    struct walk walk = {.arena = facts->arena, .facts = facts, .layout = layout};
    const char *whole = name[0] == '/' ? name : tc_arena_printf(facts->arena, "%s/%s", directory, name);
    const char *given = tc_path_clean(facts->arena, directory, name);
    struct node node;
    const char *real;
    int result;

    *ret_found = false;
    if (whole == NULL || given == NULL)
        return -ENOMEM;
    result = walk_path(&walk, whole, &real, &node);
    if (result < 0 || real == NULL || node.kind == TC_FILE_DIRECTORY)
        return result;
    if (searched && (node.kind != TC_FILE_REGULAR || !(node.mode & 0111)))
        return 0;
    facts->program_given = given;
    facts->program_real = real;
    *ret_found = true;
    return 0;
}

static int search_program(struct tc_facts *facts, const struct tc_layout *layout, const char *name, const char *list,
                          const char *cwd)
{
    bool found = false;
    int result = 0;

    while (result == 0 && !found && list != NULL) {
        size_t length = strcspn(list, ":");
        const char *directory = tc_arena_copy(facts->arena, list, length);
        const char *base = directory == NULL ? NULL : tc_path_clean(facts->arena, cwd, directory);

        result = base == NULL ? -ENOMEM : try_program(facts, layout, base, name, true, &found);
        list = list[length] == ':' ? list + length + 1 : NULL;
    }
    return result;
}

const char *tc_resolve_cwd(struct tc_arena *arena, const struct tc_request *request, const struct tc_facts *facts,
                           const struct tc_layout *layout)
{
    const char *workspace = tc_layout_at(layout, 0)->target;
    const char *relative = NULL;

    if (request->cwd != NULL)
        return tc_path_clean(arena, workspace, request->cwd);
    if (facts->directory != NULL && facts->workspace.kind == TC_FILE_DIRECTORY)
        relative = tc_path_relative(facts->directory, facts->workspace.canonical);
    return tc_path_clean(arena, workspace, relative == NULL ? "" : relative);
}

int tc_resolve_program(struct tc_facts *facts, const struct tc_ruleset *rules, const struct tc_request *request,
                       const struct tc_layout *layout, struct tc_error *err)
{
    const char *name = request->argv[0];
    const char *cwd = tc_resolve_cwd(facts->arena, request, facts, layout);
    const char *const *list = NULL;
    bool found;
    int result;

    if (cwd == NULL)
        return tc_error_set(err, -ENOMEM, "find '%s'", name);
    if (name[0] == '\0')
        return 0;
    if (strchr(name, '/') != NULL) {
        result = try_program(facts, layout, cwd, name, false, &found);
    } else {
        result = tc_environment_make(facts->arena, rules, request, facts, cwd, &list, err);
        if (result < 0)
            return result;
        result = search_program(facts, layout, name, tc_environment_get(list, "PATH"), cwd);
    }
    return result < 0 ? tc_error_set(err, result, "find '%s'", name) : 0;
}

/* Resolve the deepest part that exists, and keep the rest as text. A link whose target is missing counts as missing. */
static int resolve_existing(struct walk *walk, const char *path, struct tc_resolved *ret)
{
    struct node node = {.kind = TC_FILE_NONE};
    const char *head = path, *real = NULL;
    int result = walk_path(walk, path, &real, &node);

    ret->directory = real != NULL && node.kind == TC_FILE_DIRECTORY;
    while (result == 0 && real == NULL) {
        const char *slash = strrchr(head, '/');

        head = tc_arena_copy(walk->arena, head, (size_t)(slash - head));
        walk->links = 0;
        result = head == NULL ? -ENOMEM : walk_path(walk, head, &real, &node);
    }
    if (result < 0)
        return result;
    ret->real = tc_path_clean(walk->arena, real, path + strlen(head) + strspn(path + strlen(head), "/"));
    return ret->real == NULL ? -ENOMEM : 0;
}

int tc_resolve_path(struct tc_arena *arena, const struct tc_request *request, const struct tc_facts *facts,
                    const char *path, struct tc_resolved *ret, struct tc_error *err)
{
    struct tc_layout layout;
    struct walk walk = {.arena = arena, .facts = facts, .layout = &layout};
    const char *cwd, *whole;
    int result;

    result = tc_layout_make(arena, request, facts, &layout, err);
    if (result < 0)
        return result;
    cwd = tc_resolve_cwd(arena, request, facts, &layout);
    if (cwd == NULL)
        return tc_error_set(err, -ENOMEM, "resolve '%s'", path);
    whole = path[0] == '/' ? path : tc_arena_printf(arena, "%s/%s", cwd, path);
    ret->given = tc_path_clean(arena, cwd, path);
    if (whole == NULL || ret->given == NULL)
        return tc_error_set(err, -ENOMEM, "resolve '%s'", path);
    result = resolve_existing(&walk, whole, ret);
    return result < 0 ? tc_error_set(err, result, "resolve '%s'", path) : 0;
}
