/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_CACHE_H
#define TC_POLICY_CACHE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "policy/load.h"
#include "policy/ruleset.h"

/*
 * The pure part of a cache of parsed policy files. Its key is the hash of the
 * file's bytes; its entry holds the encoded ruleset and, for every file that
 * was extended, its name relative to the first one's directory and the hash
 * of its bytes. An entry counts only while all of them still have that hash.
 * Where entries are stored, and that nobody else can write there, is the
 * caller's matter.
 */

/** Key of a policy text: depends on its bytes, the name used in messages and the format's version. */
void tc_policy_cache_key(const char *name, const char *text, size_t length, char ret[TC_SHA256_HEX]);

/**
 * As tc_policy_parse(), and make the entry to store.
 * @param entry  appended to; what is built in (presets) is bound to this binary's version of it by its hash
 */
int tc_policy_cache_make(const char *text, size_t length, const char *name, int directory, struct tc_ruleset **ret,
                         struct tc_buf *entry, struct tc_error *err);

/**
 * Use a stored entry.
 * @param key  of the text it shall stand for; an entry made for another one, stored under this name, is no entry
 * @param directory  as for tc_policy_parse(); what was extended is read again and compared
 * @return 0; -ESTALE (something that is extended has changed: parse again), -EBADMSG (damaged, or another text's: parse
 * again), -ENOMEM
 */
int tc_policy_cache_use(const char *key, const void *entry, size_t length, int directory, struct tc_ruleset **ret,
                        struct tc_error *err);

#endif
