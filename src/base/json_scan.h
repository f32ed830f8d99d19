/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_JSON_SCAN_H
#define TC_BASE_JSON_SCAN_H

#include <stddef.h>

#include "base/error.h"

#define TC_JSON_DEPTH 512 /* levels of nesting; cJSON gives up at 1000 */

/**
 * Check that a text is JSON (RFC 8259) with comments, and blank the comments.
 *
 * @param source   the text as it was given; places are counted in it
 * @param text     a copy of its length bytes, in which comments become spaces
 * @param name     for messages
 * @param ret_nul  set to 0, or to the ordinal (from 1, keys counted) of the first string that contains `\u0000`
 * @return 0, or -EINVAL with "NAME: line L, column C: why"
 */
int tc_json_scan(const char *source, char *text, size_t length, const char *name, size_t *ret_nul,
                 struct tc_error *err);

#endif
