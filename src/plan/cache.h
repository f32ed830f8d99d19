/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_CACHE_H
#define TC_PLAN_CACHE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "policy/ruleset.h"

/**
 * As tc_policy_parse(), but a text that was parsed before comes from the
 * cache: $XDG_CACHE_HOME/toolcell or ~/.cache/toolcell, as root
 * /var/cache/toolcell. A cache that cannot be used (no home, not writable, not
 * the caller's alone, damaged) only costs the time of parsing.
 */
int tc_cache_policy_parse(const char *text, size_t length, const char *name, int directory, struct tc_ruleset **ret,
                          struct tc_error *err);

/** As tc_policy_read(), through the same cache. */
int tc_cache_policy_read(const char *path, struct tc_ruleset **ret, struct tc_error *err);

/**
 * Open the cache directory, making it (mode 0700) when it is missing. It must
 * be a directory of the caller's that nobody else can write.
 * @return a descriptor, or -errno
 */
int tc_cache_open(void);

/** Read the entry of a name; ret must be empty. 0, -ENOENT, -EBADMSG (damaged, or not the caller's alone), -errno. */
int tc_cache_get(int cache, const char *name, struct tc_buf *ret);

/** Store an entry under a name, atomically; one that exists is replaced. Old entries go when there are many. */
int tc_cache_put(int cache, const char *name, const void *bytes, size_t length);

#endif
