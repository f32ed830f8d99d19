/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_RESOLVE_BASE_H
#define TC_BROKER_RESOLVE_BASE_H

#include "broker/resolve.h"

/*
 * As in resolve.h, for who looks from the same directory more than once: the
 * caller's working directory may change in between, this one does not.
 */

/** The directory where path starts, to be closed with tc_base_close(); or as tc_caller_base(). */
int tc_base_open(struct tc_stopped *stopped, int dirfd, const char *path);
void tc_base_close(const struct tc_stopped *stopped, int base);

/** As tc_object_from(), but walked by hand at once: the kernel was asked already. */
int tc_object_walk(struct tc_stopped *stopped, int base, const char *path, bool follow, struct tc_object *ret);

/** tc_resolve_object() from a directory; path is not empty. */
int tc_object_from(struct tc_stopped *stopped, int base, const char *path, bool follow, struct tc_object *ret);

/** The last name in a path as it is spelt, without the slashes behind it: not terminated; empty where there is none. */
const char *tc_last_name(const char *path, size_t *ret_length);

/** tc_resolve_entry() from a directory. */
int tc_entry_from(struct tc_stopped *stopped, int base, const char *path, struct tc_object *ret_parent,
                  char name[NAME_MAX + 1], bool *ret_slash);

/** tc_resolve_given() from a directory. */
int tc_given_from(struct tc_stopped *stopped, int base, const char *path, char *ret);

#endif
