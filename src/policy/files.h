/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_FILES_H
#define TC_POLICY_FILES_H

/*
 * Private to src/policy: reading policy files, and loading one with what it
 * extends.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "policy/ruleset.h"

/* What a file was made of beside itself, for the cache. */
struct tc_dependency {
    const char *reference; /* preset name, or path relative to the first file's directory */
    bool preset;
    char hash[TC_SHA256_HEX]; /* of the bytes; of the ruleset for a preset */
};

struct tc_dependencies {
    struct tc_dependency *items; /* in the ruleset's arena */
    size_t count;
};

/** Read a descriptor to its end into ret: a regular file, pipe or the like of at most 16 MiB. 0, -EFBIG, -errno. */
int tc_policy_slurp(int fd, const char *name, struct tc_buf *ret, struct tc_error *err);

/** Open a policy file for reading: never waits, never gets a terminal, regular files only. A descriptor or -errno. */
int tc_policy_open(int directory, const char *path, const char *name, struct tc_error *err);

/** As tc_policy_parse(), and tell what was extended.
 *  @param dependencies  filled in, may be NULL
 *  @param project       read as a project's policy */
int tc_policy_load(const char *text, size_t length, const char *name, int directory, bool project,
                   struct tc_dependencies *dependencies, struct tc_ruleset **ret, struct tc_error *err);

#endif
