/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The glob matcher against another one: a table over all tokens and all places
 * of the text, filled row by row from the definition of each token. It is slow
 * and takes memory, and there is nothing in it to get wrong.
 *
 * Input: pattern, a byte 0xfe, text. (0xfe is in no UTF-8 text; as a character
 * of its own it is covered by 0xff.)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

#define MOST 512 /* characters of pattern or text */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Characters as numbers: code points, and bytes that belong to none behind them all. */
static size_t characters(const uint8_t *bytes, size_t length, uint32_t *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < length; count++) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        uint8_t b = bytes[i];
        size_t want = b < 0x80             ? 1
                      : (b & 0xe0) == 0xc0 ? 2
                      : (b & 0xf0) == 0xe0 ? 3
                      : (b & 0xf8) == 0xf0 ? 4
                                           : 0,
               n = 1;
        uint32_t value = want < 2 ? b : b & (0x7fu >> want);

        for (; n < want && i + n < length && (bytes[i + n] & 0xc0) == 0x80; n++)
            value = value << 6 | (bytes[i + n] & 0x3fu);
        if (want == 0 || n < want || value < least[want] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
            value = 0x110000u + b;
            want = 1;
        }
        ret[count] = value;
        i += want;
    }
    return count;
}

/* Where the set that begins at p[0] ends (behind its bracket), or 0 when it does not. */
static size_t set_end(const uint32_t *p, size_t length)
{
    size_t i = 1;

    if (i < length && (p[i] == '!' || p[i] == '^'))
        i++;
    for (i++; i < length; i++)
        if (p[i] == ']')
            return i + 1;
    return 0;
}

static bool set_holds(const uint32_t *p, size_t end, uint32_t c)
{
    bool negated = p[1] == '!' || p[1] == '^', in = false;

    for (size_t i = negated ? 2 : 1; i < end - 1;) {
        bool range = i + 2 < end - 1 && p[i + 1] == '-';

        in = in || (range ? p[i] <= c && c <= p[i + 2] : p[i] == c);
        i += range ? 3 : 1;
    }
    return c != '/' && in != negated;
}

/* reach[i]: the pattern so far matches the first i characters. Each function makes the next row of one token. */
static void row_star(bool *reach, const uint32_t *t, size_t n, bool slashes)
{
    for (size_t i = 0; i < n; i++)
        if (reach[i] && (slashes || t[i] != '/'))
            reach[i + 1] = true;
}

static void row_deep_slash(bool *reach, const uint32_t *t, size_t n)
{
    bool before = false;

    for (size_t i = 0; i <= n; i++) {
        bool arrives = reach[i];

        if (i > 0 && t[i - 1] == '/' && before)
            reach[i] = true;
        before = before || arrives;
    }
}

static void row_character(bool *reach, const uint32_t *t, size_t n, const uint32_t *p, size_t set, bool one)
{
    for (size_t i = n; i > 0; i--)
        reach[i] = reach[i - 1] && (one ? t[i - 1] != '/' : set > 0 ? set_holds(p, set, t[i - 1]) : t[i - 1] == p[0]);
    reach[0] = false;
}

static bool reference(const uint32_t *p, size_t m, const uint32_t *t, size_t n)
{
    bool reach[MOST + 1] = {true};

    for (size_t i = 0; i < m;) {
        size_t set = p[i] == '[' ? set_end(p + i, m - i) : 0;

        if (p[i] == '*' && i + 2 < m && p[i + 1] == '*' && p[i + 2] == '/') {
            row_deep_slash(reach, t, n);
            i += 3;
        } else if (p[i] == '*' && i + 1 < m && p[i + 1] == '*') {
            row_star(reach, t, n, true);
            i += 2;
        } else if (p[i] == '*') {
            row_star(reach, t, n, false);
            i++;
        } else {
            bool escaped = p[i] == '\\' && i + 1 < m;

            row_character(reach, t, n, p + i + escaped, set, p[i] == '?');
            i += escaped ? 2 : set > 0 ? set : 1;
        }
    }
    return reach[n];
}

static void check_shape(const char *pattern, size_t length)
{
    char *literal = malloc(length + 1);
    size_t literal_length;
    enum tc_glob_shape shape;

    if (literal == NULL)
        return;
    shape = tc_glob_classify(pattern, length, literal, &literal_length);
    if (literal_length > length || literal[literal_length] != '\0')
        abort();
    if (shape == TC_GLOB_LITERAL && !tc_glob_match(pattern, length, literal, literal_length))
        abort();
    if (shape == TC_GLOB_SUBTREE && tc_glob_match(pattern, length, literal, literal_length))
        abort();
    free(literal);
    tc_glob_warning(pattern, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t p[MOST], t[MOST];
    const uint8_t *split = size > 0 ? memchr(data, 0xfe, size) : NULL;
    const char *pattern = (const char *)data, *text;
    size_t pattern_length, text_length;
    bool matches;

    if (split == NULL || size > MOST)
        return 0;
    pattern_length = (size_t)(split - data);
    text = (const char *)split + 1;
    text_length = size - pattern_length - 1;
    matches = tc_glob_match(pattern, pattern_length, text, text_length);
    if (matches != reference(p, characters(data, pattern_length, p), t, characters(split + 1, text_length, t))) {
        fprintf(stderr, "'%.*s' on '%.*s': %d\n", (int)pattern_length, pattern, (int)text_length, text, matches);
        abort();
    }
    if (matches && (tc_glob_traits(pattern, pattern_length) & ~tc_text_traits(text, text_length)) != 0)
        abort();
    check_shape(pattern, pattern_length);
    return 0;
}
