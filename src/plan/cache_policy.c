/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "plan/cache.h"
#include "policy/cache.h"
#include "policy/load.h"

/*
 * Parsed policies by the hash of their text.
 */

#define POLICY_LIMIT ((size_t)16 << 20)

static int use_entry(int cache, const char *name, const char *key, int directory, struct tc_ruleset **ret)
{
    tc_auto_buf entry = {0};
    int result = tc_cache_get(cache, name, &entry);

    return result < 0 ? result : tc_policy_cache_use(key, entry.data, entry.length, directory, ret, NULL);
}

int tc_cache_policy_parse(const char *text, size_t length, const char *name, int directory, struct tc_ruleset **ret,
                          struct tc_error *err)
{
    char key[TC_SHA256_HEX], file[TC_SHA256_HEX + 8];
    tc_auto_fd cache = tc_cache_open();
    tc_auto_buf entry = {0};
    int result;

    if (cache < 0)
        return tc_policy_parse(text, length, name, directory, ret, err);
    tc_policy_cache_key(name, text, length, key);
    snprintf(file, sizeof(file), "policy-%s", key);
    if (use_entry(cache, file, key, directory, ret) == 0)
        return 0;
    result = tc_policy_cache_make(text, length, name, directory, ret, &entry, err);
    if (result == 0 && !tc_buf_failed(&entry)) /* a full disk is no reason to refuse a call */
        tc_cache_put(cache, file, entry.data, entry.length);
    return result;
}

/* The directory of a file, against which what it extends is opened. */
static int open_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    tc_auto_buf parent = {0};
    int fd;

    if (slash == NULL)
        tc_buf_char(&parent, '.');
    else
        tc_buf_append(&parent, path, slash == path ? 1 : (size_t)(slash - path));
    if (tc_buf_failed(&parent))
        return -ENOMEM;
    fd = open(parent.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int read_policy(const char *path, struct tc_buf *ret)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char chunk[16384];
    struct stat status;
    ssize_t got;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    while ((got = read(fd, chunk, sizeof(chunk))) != 0) {
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0)
            tc_buf_append(ret, chunk, (size_t)got);
        if (ret->length > POLICY_LIMIT)
            return -EFBIG;
    }
    return tc_buf_failed(ret) ? -ENOMEM : 0;
}

int tc_cache_policy_read(const char *path, struct tc_ruleset **ret, struct tc_error *err)
{
    tc_auto_fd parent = open_parent(path);
    tc_auto_buf text = {0};

    /* Whatever is wrong with the file is told by the reader that has the words for it. */
    if (parent < 0 || read_policy(path, &text) < 0)
        return tc_policy_read(path, ret, err);
    return tc_cache_policy_parse(text.data == NULL ? "" : text.data, text.length, path, parent, ret, err);
}
