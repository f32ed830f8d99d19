/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cache entries:
 *
 *   "TCRC", the entry's key, number of dependencies            word, 64 digits, word
 *   per dependency: 1 for a preset; hash; length; reference    word, 64 digits, word, bytes
 *   the ruleset's image
 *
 * An entry is only ever a shortcut: whatever is wrong with it, the policy is
 * parsed again.
 */

#include "policy/cache.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/encode.h"
#include "policy/files.h"
#include "policy/image.h"
#include "policy/parts.h"
#include "policy/preset.h"

#define ENTRY_MAGIC "TCRC"
#define DIGITS TC_IMAGE_DIGITS

void tc_policy_cache_key(const char *name, const char *text, size_t length, char ret[TC_SHA256_HEX])
{
    char inner[TC_SHA256_HEX], outer[2 * DIGITS + 1];

    /* A hash of hashes, so that the text need not be copied behind the name. */
    tc_sha256_hex(text, length, inner);
    memcpy(outer, inner, DIGITS);
    tc_sha256_hex(name, strlen(name), inner);
    memcpy(outer + DIGITS, inner, DIGITS);
    outer[2 * DIGITS] = (char)TC_IMAGE_VERSION;
    tc_sha256_hex(outer, 2 * DIGITS + 1, ret);
}

static void put_word(struct tc_buf *out, uint32_t word)
{
    tc_buf_append(out, &word, sizeof(word));
}

static void put_dependency(struct tc_buf *out, const struct tc_dependency *dependency)
{
    size_t length = strlen(dependency->reference);

    put_word(out, dependency->preset);
    tc_buf_append(out, dependency->hash, DIGITS);
    put_word(out, (uint32_t)length);
    tc_buf_append(out, dependency->reference, length);
}

int tc_policy_cache_make(const char *text, size_t length, const char *name, int directory, struct tc_ruleset **ret,
                         struct tc_buf *entry, struct tc_error *err)
{
    struct tc_dependencies dependencies;
    char key[TC_SHA256_HEX];
    int r = tc_policy_load(text, length, name, directory, false, &dependencies, ret, err);

    if (r < 0)
        return r;
    tc_policy_cache_key(name, text, length, key);
    tc_buf_append(entry, ENTRY_MAGIC, 4);
    tc_buf_append(entry, key, DIGITS);
    put_word(entry, (uint32_t)dependencies.count);
    for (size_t i = 0; i < dependencies.count; i++)
        put_dependency(entry, &dependencies.items[i]);
    tc_ruleset_encode(*ret, entry);
    return 0;
}

/* Take length bytes from the front. */
static bool take(const char **at, size_t *left, void *ret, size_t length)
{
    if (*left < length)
        return false;
    memcpy(ret, *at, length);
    *at += length;
    *left -= length;
    return true;
}

static bool preset_is_current(const char *name, const char *hash)
{
    for (const struct tc_preset *preset = tc_presets; preset->name != NULL; preset++) {
        if (strcmp(preset->name, name) == 0)
            return memcmp(preset->image + TC_IMAGE_HASHES, hash, DIGITS) == 0;
    }
    return false;
}

static bool file_is_current(int directory, const char *path, const char *hash)
{
    tc_auto_buf text = {0};
    char now[TC_SHA256_HEX];

    if (directory == TC_NO_FD)
        return false;
    tc_auto_fd fd = tc_policy_open(directory, path, path, NULL);
    if (fd < 0 || tc_policy_slurp(fd, path, &text, NULL) < 0)
        return false;
    tc_sha256_hex(text.data == NULL ? "" : text.data, text.length, now);
    return memcmp(now, hash, DIGITS) == 0;
}

/* Check one dependency and step behind it: 0, -ESTALE, -EBADMSG. */
static int use_dependency(const char **at, size_t *left, int directory)
{
    uint32_t preset, length;
    char hash[DIGITS], reference[PATH_MAX];

    if (!take(at, left, &preset, sizeof(preset)) || !take(at, left, hash, sizeof(hash)) ||
        !take(at, left, &length, sizeof(length)) || length >= sizeof(reference) || preset > 1 ||
        !take(at, left, reference, length))
        return -EBADMSG;
    reference[length] = '\0';
    bool current = preset == 1 ? preset_is_current(reference, hash) : file_is_current(directory, reference, hash);
    return current ? 0 : -ESTALE;
}

int tc_policy_cache_use(const char *key, const void *entry, size_t length, int directory, struct tc_ruleset **ret,
                        struct tc_error *err)
{
    const char *at = entry;
    char magic[4], own[DIGITS];
    uint32_t count;

    if (!take(&at, &length, magic, sizeof(magic)) || memcmp(magic, ENTRY_MAGIC, 4) != 0 ||
        !take(&at, &length, own, sizeof(own)) || memcmp(own, key, DIGITS) != 0 ||
        !take(&at, &length, &count, sizeof(count)))
        return tc_error_plain(err, -EBADMSG, "policy cache: not an entry");
    for (uint32_t i = 0; i < count; i++) {
        int r = use_dependency(&at, &length, directory);
        if (r < 0)
            return tc_error_plain(err, r, r == -ESTALE ? "policy cache: out of date" : "policy cache: damaged");
    }
    return tc_ruleset_decode(at, length, false, ret, err);
}
