/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_GLOB_H
#define TC_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The pattern language: anchored, case-sensitive, by code point (a byte that
 * is not UTF-8 is one character).
 *
 *   any-slash  "**" + "/"   nothing, or any text that ends in "/"
 *   "**"                    any text
 *   "*"                     any text without "/"
 *   "?"                     one character but "/"
 *   [seq] [!seq] [^seq]     one character of, or not of, a set; never "/"
 *   backslash               takes the next character literally (in a set it is an ordinary character)
 *   everything else         itself; so is an unclosed "["
 *
 * A range in a set compares code points; bytes that are not UTF-8 come after
 * all of them, by value. Matching takes O(pattern * text) time at worst and no
 * memory: hostile patterns and texts cannot make it slower than that.
 */

#define TC_GLOB_MAX 4096 /* longest pattern in bytes; whoever loads patterns must refuse longer ones */

/** True when the whole text matches the pattern. Both are borrowed; NULs are ordinary bytes. A pattern longer than
 *  TC_GLOB_MAX matches nothing. */
bool tc_glob_match(const char *pattern, size_t pattern_length, const char *text, size_t text_length);

/**
 * Which bytes every matching text must have, and which bytes a text has, as sets of 64 kinds. A text that lacks
 * one (`tc_glob_traits(...) & ~tc_text_traits(...)` is not 0) cannot match: with the first computed once per rule and
 * the second once per decision, most rules of a long list are passed over without being looked at.
 */
uint64_t tc_glob_traits(const char *pattern, size_t length);
uint64_t tc_text_traits(const char *text, size_t length);

/**
 * Length in bytes of the element at offset at: one character, set or star. A pattern may be cut between two elements,
 * and what stands before the cut means what it meant. at must be the start of an element, less than length.
 */
size_t tc_glob_element(const char *pattern, size_t length, size_t at);

/** What a pattern looks like to a compiler that wants prefixes, not matching. */
enum tc_glob_shape {
    TC_GLOB_LITERAL, /* no wildcard: one path */
    TC_GLOB_ALL,     /* two stars only: everything */
    TC_GLOB_SUBTREE, /* a literal path, then slash and two stars: everything below that path */
    TC_GLOB_OTHER
};

/**
 * Classify a pattern.
 *
 * @param literal         buffer of at least pattern_length + 1 bytes: receives the unescaped literal path
 *                        for LITERAL and SUBTREE (without the trailing slash), and for OTHER the literal text before
 *                        the first wildcard; NUL-terminated. Empty for slash and two stars alone. May be NULL.
 * @param literal_length  its length, may be NULL
 */
enum tc_glob_shape tc_glob_classify(const char *pattern, size_t pattern_length, char *literal, size_t *literal_length);

/** A reason why the pattern may not mean what its author thinks ("'{' is an ordinary character", "'[' is never
 *  closed"), or NULL. */
const char *tc_glob_warning(const char *pattern, size_t pattern_length);

#endif
