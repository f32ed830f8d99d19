/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_TEXT_H
#define TC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Small text tools: UTF-8, base64, quantities, names.
 */

/**
 * Decode one character of UTF-8 (no surrogates, no overlong forms, at most U+10FFFF).
 * @return its length in bytes 1..4, or 0 when the bytes at text are not valid
 *         (the caller then takes the first byte as one character); length must be > 0
 */
size_t tc_utf8_decode(const char *text, size_t length, uint32_t *ret);

/** True when all of text is valid UTF-8. */
bool tc_utf8_valid(const char *text, size_t length);

/** Length of the longest prefix of text that does not end inside a character: an incomplete but so far
 *  valid sequence at the end is left out, invalid bytes are not. */
size_t tc_utf8_complete(const char *text, size_t length);

void tc_base64_encode(struct tc_buf *out, const void *bytes, size_t length);

/** Append the decoded bytes; 0, or -EINVAL for anything but canonical padded base64. */
int tc_base64_decode(struct tc_buf *out, const char *text, size_t length);

/** Parse a duration: 500ms, 30s, 5m, 2h, a bare number of seconds; decimals allowed ("1.5s"). Returns 0, -EINVAL or
 *  -ERANGE. Milliseconds, a part of one is rounded up; zero, and what does not fit 64 bits in nanoseconds, is -ERANGE.
 */
int tc_parse_duration(const char *text, uint64_t *ret_ms);

/** Parse a size: bytes, or with K, M, G, T (powers of 1024, an optional "B" or "iB" is not accepted). Returns 0,
 *  -EINVAL, or -ERANGE when it does not fit an off_t. */
int tc_parse_size(const char *text, uint64_t *ret_bytes);

/** Parse a plain decimal number without sign or blanks. */
int tc_parse_unsigned(const char *text, uint64_t max, uint64_t *ret);

/** Look a name up in a table of count names; returns its index or -EINVAL. NULL entries never match. */
int tc_name_index(const char *const *names, size_t count, const char *name);

/** Append text with control characters, invalid UTF-8, line separators and marks of writing direction made visible as
 *  \n, \t, \xNN, \uNNNN, so that it is safe on a terminal and stays on one line. It is for people: a backslash stays as
 *  it is. */
void tc_text_escape(struct tc_buf *out, const char *text, size_t length);

#endif
