/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "plan/host.h"

/*
 * Theory of operation
 *
 * The host's tree is offered by name, never as a whole: what is not named here
 * does not exist in a cell. Links stay links, so that a merged /usr, the
 * alternatives and /etc/localtime work as they do outside. Of /etc only what
 * programs need to start and to speak their language, time zone and
 * certificates is named; each costs a start some 20 us, so what only holds defaults (host.conf, gai.conf, rpc,
 * networks, magic, inputrc) is left out. Nothing there may hold a secret: no accounts, no credentials of package
 * managers (npmrc, pip.conf, apt/auth.conf, maven, gitconfig), no private keys (only the public parts of ssl and pki).
 */

static const char *const host_directories[] = {"usr",   "bin",    "sbin",   "lib", "lib32",
                                               "lib64", "libx32", "libo32", "opt", NULL};

static const char *const etc_names[] = {
    "alternatives",     "alpine-release", "crypto-policies",     "debian_version", "fedora-release", "fonts",
    "gnutls",           "ld.so.cache",    "ld.so.conf",          "ld.so.conf.d",   "locale.conf",    "localtime",
    "lsb-release",      "mime.types",     "os-release",          "perl",           "pki/ca-trust",   "pki/java",
    "pki/tls/cert.pem", "pki/tls/certs",  "pki/tls/openssl.cnf", "protocols",      "redhat-release", "services",
    "ssl/cert.pem",     "ssl/certs",      "ssl/openssl.cnf",     "system-release", "timezone",       NULL};

/* Names with a version in them. */
static const char *const etc_families[] = {"java-", "ld-musl-", "python3", NULL};

/* A growing list of entries; kept in the arena. */
struct entries {
    struct tc_arena *arena;
    const struct tc_mounts *mounts;
    struct tc_fact_entry *list;
    size_t count, capacity;
};

static struct tc_fact_entry *add_entry(struct entries *entries)
{
    if (entries->count == entries->capacity) {
        size_t capacity = entries->capacity * 2 + 32;
        struct tc_fact_entry *list = tc_arena_array(entries->arena, capacity, sizeof(*list));

        if (list == NULL)
            return NULL;
        if (entries->count > 0)
            memcpy(list, entries->list, entries->count * sizeof(*list));
        entries->list = list;
        entries->capacity = capacity;
    }
    return &entries->list[entries->count++];
}

/* Add what lies at path, if anything does; only links, directories and files are taken. The directory of path is free
 * of links when plain is set. */
static int take_path(struct entries *entries, const char *path, const char *target, bool plain, struct tc_error *err)
{
    struct tc_fact_entry *entry = add_entry(entries);
    int result;

    if (entry == NULL)
        return tc_error_set(err, -ENOMEM, "look at '%s'", path);
    *entry = (struct tc_fact_entry){.target = target};
    result = tc_host_look_plain(entries->arena, entries->mounts, path, &entry->path, err);
    if (result == 0 && entry->path.kind == TC_FILE_SYMLINK) {
        entry->path = (struct tc_fact_path){0};
        result = tc_host_link(entries->arena, path, &entry->link);
        return result < 0 ? tc_error_set(err, result, "read the link '%s'", path) : 0;
    }
    if (result == 0 && !plain && entry->path.kind != TC_FILE_NONE)
        result = tc_host_look(entries->arena, entries->mounts, path, &entry->path, err);
    if (result == 0 && entry->path.kind != TC_FILE_DIRECTORY && entry->path.kind != TC_FILE_REGULAR)
        entries->count--; /* nothing, or nothing that a root file system needs */
    else if (result == 0)
        result = tc_host_submounts(entries->arena, entries->mounts, &entry->path, err);
    return result;
}

static int take_name(struct entries *entries, const char *directory, const char *name, const char *parent, bool plain,
                     struct tc_error *err)
{
    const char *path = tc_arena_printf(entries->arena, "%s/%s", directory, name);
    const char *target = tc_arena_printf(entries->arena, "%s/%s", parent, name);

    if (path == NULL || target == NULL)
        return tc_error_set(err, -ENOMEM, "look at '%s/%s'", directory, name);
    return take_path(entries, path, target, plain && strchr(name, '/') == NULL, err);
}

static bool has_prefix(const char *name, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The sorted names of a directory that begin with one of the prefixes (all names when NULL); "." and ".." are left
 * out. A missing directory has none. */
static int list_names(struct tc_arena *arena, const char *path, const char *const *prefixes, const char ***ret,
                      size_t *ret_count)
{
    DIR *directory = opendir(path);
    const char **names = NULL;
    size_t count = 0, capacity = 0;
    struct dirent *entry;
    int result = 0;

    *ret_count = 0;
    if (directory == NULL)
        return errno == ENOENT || errno == EACCES ? 0 : -errno;
    while (result == 0 && (errno = 0, entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (prefixes != NULL && !has_prefix(entry->d_name, prefixes)))
            continue;
        if (count == capacity) {
            const char **grown = tc_arena_array(arena, capacity = capacity * 2 + 16, sizeof(*grown));

            if (grown != NULL && count > 0)
                memcpy(grown, names, count * sizeof(*grown));
            names = grown;
        }
        if (names == NULL || (names[count++] = tc_arena_string(arena, entry->d_name)) == NULL)
            result = -ENOMEM;
    }
    if (result == 0 && errno != 0)
        result = -errno;
    closedir(directory);
    if (result == 0 && count > 1)
        qsort(names, count, sizeof(*names), compare_names);
    *ret = names;
    *ret_count = count;
    return result;
}

static int take_etc(struct entries *entries, struct tc_error *err)
{
    const char **names = NULL;
    size_t count;
    struct tc_fact_path etc;
    int result = tc_host_look_plain(entries->arena, entries->mounts, "/etc", &etc, err);
    bool plain = result == 0 && etc.kind == TC_FILE_DIRECTORY; /* a link on some systems */

    for (const char *const *name = etc_names; *name != NULL && result == 0; name++)
        result = take_name(entries, "/etc", *name, "/etc", plain, err);
    if (result < 0)
        return result;
    result = list_names(entries->arena, "/etc", etc_families, &names, &count);
    if (result < 0)
        return tc_error_set(err, result, "list '/etc'");
    for (size_t i = 0; i < count && result == 0; i++)
        result = take_name(entries, "/etc", names[i], "/etc", plain, err);
    return result;
}

int tc_rootfs_host(struct tc_facts *facts, const struct tc_mounts *mounts, struct tc_error *err)
{
    struct entries entries = {.arena = facts->arena, .mounts = mounts};
    int result = 0;

    for (const char *const *name = host_directories; *name != NULL && result == 0; name++)
        result = take_name(&entries, "", *name, "", true, err);
    if (result == 0)
        result = take_etc(&entries, err);
    facts->rootfs = entries.list;
    facts->rootfs_count = entries.count;
    return result;
}

/* Top-level names that are the cell's own; etc comes through an overlay. */
static bool is_cell_name(const char *name)
{
    static const char *const names[] = {"dev", "proc", "sys", "tmp", "run", "home", "workspace", "etc", NULL};

    for (const char *const *own = names; *own != NULL; own++)
        if (strcmp(name, *own) == 0)
            return true;
    return false;
}

int tc_rootfs_directory(struct tc_facts *facts, const struct tc_mounts *mounts, const char *directory,
                        struct tc_error *err)
{
    struct entries entries = {.arena = facts->arena, .mounts = mounts};
    const char **names = NULL;
    size_t count;
    int result = list_names(facts->arena, directory, NULL, &names, &count);

    if (result < 0)
        return tc_error_set(err, result, "list '%s'", directory);
    for (size_t i = 0; i < count && result == 0; i++)
        if (!is_cell_name(names[i]))
            result = take_name(&entries, directory, names[i], "", true, err);
    if (result < 0)
        return result;
    facts->rootfs = entries.list;
    facts->rootfs_count = entries.count;
    result = tc_host_look_below(facts->arena, mounts, directory, "etc", &facts->rootfs_etc_path, err);
    if (result < 0 || facts->rootfs_etc_path.kind != TC_FILE_DIRECTORY)
        return result;
    facts->rootfs_etc = facts->rootfs_etc_path.canonical;
    return tc_host_submounts(facts->arena, mounts, &facts->rootfs_etc_path, err);
}

int tc_rootfs_devices(struct tc_facts *facts, const struct tc_mounts *mounts, struct tc_error *err)
{
    static const char *const names[] = {"null", "zero", "full", "random", "urandom", "tty"};
    struct tc_fact_entry *list = tc_arena_array(facts->arena, TC_COUNT(names), sizeof(*list));
    int result = 0;

    if (list == NULL)
        return tc_error_set(err, -ENOMEM, "look at '/dev'");
    for (size_t i = 0; i < TC_COUNT(names) && result == 0; i++) {
        list[i].target = tc_arena_printf(facts->arena, "/dev/%s", names[i]);
        if (list[i].target == NULL)
            return tc_error_set(err, -ENOMEM, "look at '/dev'");
        result = tc_host_look_plain(facts->arena, mounts, list[i].target, &list[i].path, err);
        if (result == 0 && list[i].path.kind != TC_FILE_DEVICE)
            result = tc_error_plain(err, -ENODEV, "'%s' is not a device node on this host", list[i].target);
    }
    facts->devices = list;
    facts->device_count = TC_COUNT(names);
    return result;
}
