/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_EMIT_H
#define TC_BASE_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Writing JSON into a buffer: commas are placed here, strings that are not
 * UTF-8 become {"base64": "…"}. With indent > 0 the output is pretty-printed,
 * else it is one line without spaces after separators. Allocation failures
 * stick in the buffer.
 */
struct tc_emit {
    struct tc_buf *out; /* borrowed */
    unsigned depth;
    unsigned indent;  /* spaces per level, 0 for one line */
    uint64_t started; /* bit per level: something was written at that level (depth < 64) */
};

/* key is NULL for array elements and the root. */
void tc_emit_object(struct tc_emit *emit, const char *key);
void tc_emit_object_end(struct tc_emit *emit);
void tc_emit_array(struct tc_emit *emit, const char *key);
void tc_emit_array_end(struct tc_emit *emit);
void tc_emit_string(struct tc_emit *emit, const char *key, const char *text); /* NULL text: null */
void tc_emit_bytes(struct tc_emit *emit, const char *key, const char *bytes, size_t length);
void tc_emit_integer(struct tc_emit *emit, const char *key, int64_t value);
void tc_emit_unsigned(struct tc_emit *emit, const char *key, uint64_t value);
void tc_emit_bool(struct tc_emit *emit, const char *key, bool value);
void tc_emit_null(struct tc_emit *emit, const char *key);

#endif
