/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_GLOB_TOKEN_H
#define TC_BASE_GLOB_TOKEN_H

/*
 * The tokens of a glob pattern, for the matcher and for what else reads
 * patterns. In a header, so that the matcher's loops have them inlined.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define NONE ((size_t)-1)
#define FIRST_BYTE 0x110000 /* a byte that is not UTF-8 sorts behind all code points */

enum token_kind { TOKEN_LITERAL, TOKEN_ONE, TOKEN_SET, TOKEN_STAR, TOKEN_DEEP, TOKEN_DEEP_SLASH };

struct token {
    enum token_kind kind;
    size_t length; /* bytes of pattern */
    size_t skip;   /* LITERAL: 1 when it begins with a backslash that is not part of the character */
};

struct pattern {
    const char *bytes;
    size_t length;
    size_t last_bracket; /* one more than the index of the last "]", 0 when there is none, NONE when not known yet */
};

/* Read the character at text; returns its length in bytes. */
static inline size_t char_read(const char *text, size_t length, uint32_t *ret)
{
    unsigned char first = (unsigned char)text[0];
    size_t size;

    if (first < 0x80) {
        *ret = first;
        return 1;
    }
    size = tc_utf8_decode(text, length, ret);
    if (size > 0)
        return size;
    *ret = FIRST_BYTE + first;
    return 1;
}

static inline size_t char_size(const char *text, size_t length)
{
    uint32_t point;

    return char_read(text, length, &point);
}

/* Length of the set at offset at, which holds "[", or 0 when it is never closed. */
static inline size_t set_length(struct pattern *pattern, size_t at)
{
    size_t first = at + 1;
    const char *end;

    if (pattern->last_bracket == NONE) {
        end = memrchr(pattern->bytes, ']', pattern->length);
        pattern->last_bracket = end == NULL ? 0 : (size_t)(end - pattern->bytes) + 1;
    }
    if (first < pattern->length && (pattern->bytes[first] == '!' || pattern->bytes[first] == '^'))
        first++;
    if (pattern->last_bracket <= first + 1) /* a bracket that comes first is a member */
        return 0;
    end = memchr(pattern->bytes + first + 1, ']', pattern->length - first - 1);
    return (size_t)(end - pattern->bytes) + 1 - at;
}

/* True when the set of length bytes, brackets included, has this character. */
static inline bool set_has(const char *set, size_t length, uint32_t point)
{
    bool negated = set[1] == '!' || set[1] == '^', found = false;
    size_t at = negated ? 2 : 1, end = length - 1;

    while (at < end) {
        uint32_t low, high;

        at += char_read(set + at, end - at, &low);
        high = low;
        if (end - at >= 2 && set[at] == '-')
            at += 1 + char_read(set + at + 1, end - at - 1, &high);
        found = found || (point >= low && point <= high);
    }
    return found != negated && point != '/';
}

static inline struct token token_read(struct pattern *pattern, size_t at)
{
    const char *bytes = pattern->bytes + at;
    size_t left = pattern->length - at, length;

    switch (bytes[0]) {
    case '*':
        if (left < 2 || bytes[1] != '*')
            return (struct token){TOKEN_STAR, 1, 0};
        if (left < 3 || bytes[2] != '/')
            return (struct token){TOKEN_DEEP, 2, 0};
        return (struct token){TOKEN_DEEP_SLASH, 3, 0};
    case '?':
        return (struct token){TOKEN_ONE, 1, 0};
    case '[':
        length = set_length(pattern, at);
        if (length > 0)
            return (struct token){TOKEN_SET, length, 0};
        break;
    case '\\':
        if (left > 1)
            return (struct token){TOKEN_LITERAL, 1 + char_size(bytes + 1, left - 1), 1};
        break;
    default:
        break;
    }
    return (struct token){TOKEN_LITERAL, char_size(bytes, left), 0};
}

/* True when a token that takes one character takes the one at text, whose size is returned then. */
static inline bool token_takes(struct pattern *pattern, size_t at, struct token token, const char *text, size_t length,
                               size_t *ret)
{
    uint32_t point;

    *ret = char_read(text, length, &point);
    if (token.kind == TOKEN_ONE)
        return point != '/';
    if (token.kind == TOKEN_SET)
        return set_has(pattern->bytes + at, token.length, point);
    return token.kind == TOKEN_LITERAL && *ret == token.length - token.skip &&
           memcmp(pattern->bytes + at + token.skip, text, *ret) == 0;
}

#endif
