/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NUMBER_LENGTH 63 /* cJSON cuts longer numbers in two */

struct scan {
    const char *source; /* as it was given: places are counted in it */
    char *text;         /* the copy in which comments are blanked */
    size_t length;
    size_t at;
    size_t strings; /* begun so far */
    size_t nul;     /* ordinal of the first one with a NUL, or 0 */
    const char *name;
    struct tc_error *err;
};

static int scan_value(struct scan *scan, unsigned depth);

/* Report what is wrong at an offset, by line and column in characters. */
static int scan_fail(struct scan *scan, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int scan_fail(struct scan *scan, size_t at, const char *format, ...)
{
    size_t line = 1, column = 1;
    char why[128];
    va_list args;

    for (size_t i = 0; i < at; i++) {
        if (scan->source[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)scan->source[i] & 0xc0) != 0x80) {
            column++;
        }
    }
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return tc_error_plain(scan->err, -EINVAL, "%s: line %zu, column %zu: %s", scan->name, line, column, why);
}

/* The byte at the current place, or NUL at the end (there are no NULs inside). */
static char scan_peek(const struct scan *scan)
{
    return scan->at < scan->length ? scan->text[scan->at] : '\0';
}

static bool scan_take(struct scan *scan, char c)
{
    if (scan_peek(scan) != c)
        return false;
    scan->at++;
    return true;
}

/* "expected WHAT, found ..." */
static int scan_unexpected(struct scan *scan, const char *what)
{
    uint32_t point;
    size_t size;

    if (scan->at == scan->length)
        return scan_fail(scan, scan->at, "expected %s, but the text ends", what);
    size = tc_utf8_decode(scan->text + scan->at, scan->length - scan->at, &point);
    if (point < 0x20 || (point >= 0x7f && point < 0xa0))
        return scan_fail(scan, scan->at, "expected %s, found a control character", what);
    return scan_fail(scan, scan->at, "expected %s, found '%.*s'", what, (int)size, scan->text + scan->at);
}

/* Blank the comment that begins here. */
static int scan_comment(struct scan *scan)
{
    size_t begin = scan->at, end;
    bool line = scan->text[begin + 1] == '/';

    for (end = begin + 2; end < scan->length; end++) {
        if (line && scan->text[end] == '\n')
            break;
        if (!line && scan->text[end] == '*' && end + 1 < scan->length && scan->text[end + 1] == '/')
            break;
    }
    if (!line && end == scan->length)
        return scan_fail(scan, begin, "this comment never ends");
    scan->at = line ? end : end + 2;
    for (size_t i = begin; i < scan->at; i++)
        scan->text[i] = ' ';
    return 0;
}

static int scan_space(struct scan *scan)
{
    for (;; scan->at++) {
        char c = scan_peek(scan);

        while (c == '/' && scan->at + 1 < scan->length &&
               (scan->text[scan->at + 1] == '/' || scan->text[scan->at + 1] == '*')) {
            int r = scan_comment(scan);

            if (r < 0)
                return r;
            c = scan_peek(scan);
        }
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return 0;
    }
}

/* Four hexadecimal digits behind "\u", or -1. */
static int scan_hex(const struct scan *scan, size_t at)
{
    int value = 0;

    for (size_t i = at; i < at + 4; i++) {
        char c = i < scan->length ? scan->text[i] : '\0';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* One escape; the backslash stands at the current place. */
static int scan_escape(struct scan *scan)
{
    size_t begin = scan->at;
    const char *text = scan->text + begin;
    int unit, low;

    if (begin + 1 >= scan->length || strchr("\"\\/bfnrtu", text[1]) == NULL)
        return scan_fail(scan, begin, "unknown escape in a string");
    scan->at += 2;
    if (text[1] != 'u')
        return 0;
    unit = scan_hex(scan, begin + 2);
    if (unit < 0)
        return scan_fail(scan, begin, "\\u needs four hexadecimal digits");
    scan->at += 4;
    if (unit == 0 && scan->nul == 0)
        scan->nul = scan->strings;
    if (unit < 0xd800 || unit > 0xdfff)
        return 0;
    low = scan->length - begin > 8 && text[6] == '\\' && text[7] == 'u' ? scan_hex(scan, begin + 8) : -1;
    if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return scan_fail(scan, begin, "half of a surrogate pair");
    scan->at += 6;
    return 0;
}

static int scan_string(struct scan *scan)
{
    size_t begin = scan->at++;

    scan->strings++;
    while (scan->at < scan->length) {
        char c = scan->text[scan->at];
        int r = 0;

        if (c == '"') {
            scan->at++;
            return 0;
        }
        if ((unsigned char)c < 0x20)
            return scan_fail(scan, scan->at, "control character 0x%02x in a string, write it as an escape", c);
        if (c == '\\')
            r = scan_escape(scan);
        else
            scan->at++;
        if (r < 0)
            return r;
    }
    return scan_fail(scan, begin, "this string never ends");
}

static size_t scan_digits(struct scan *scan)
{
    size_t begin = scan->at;

    while (scan_peek(scan) >= '0' && scan_peek(scan) <= '9')
        scan->at++;
    return scan->at - begin;
}

static int scan_number(struct scan *scan)
{
    size_t begin = scan->at, digits;
    bool zero, fine;

    scan_take(scan, '-');
    zero = scan_peek(scan) == '0';
    digits = scan_digits(scan);
    fine = digits == 1 || (digits > 1 && !zero);
    if (fine && scan_take(scan, '.'))
        fine = scan_digits(scan) > 0;
    if (fine && (scan_take(scan, 'e') || scan_take(scan, 'E'))) {
        if (!scan_take(scan, '+'))
            scan_take(scan, '-');
        fine = scan_digits(scan) > 0;
    }
    if (!fine)
        return scan_fail(scan, begin, "this is not a number in JSON");
    if (scan->at - begin > NUMBER_LENGTH)
        return scan_fail(scan, begin, "this number is too long");
    return 0;
}

static int scan_word(struct scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);

        if (scan->length - scan->at >= length && memcmp(scan->text + scan->at, words[i], length) == 0) {
            scan->at += length;
            return 0;
        }
    }
    return scan_unexpected(scan, "a value");
}

static int scan_member(struct scan *scan, unsigned depth)
{
    int r;

    if (scan_peek(scan) != '"')
        return scan_unexpected(scan, "a key in double quotes");
    r = scan_string(scan);
    if (r == 0)
        r = scan_space(scan);
    if (r < 0)
        return r;
    if (!scan_take(scan, ':'))
        return scan_unexpected(scan, "':'");
    return scan_value(scan, depth);
}

/* An array or an object, from its opening bracket on. */
static int scan_container(struct scan *scan, unsigned depth)
{
    bool object = scan->text[scan->at] == '{';
    char end = object ? '}' : ']';
    int r;

    if (depth == TC_JSON_DEPTH)
        return scan_fail(scan, scan->at, "nested more than %d levels deep", TC_JSON_DEPTH);
    scan->at++;
    r = scan_space(scan);
    if (r < 0 || scan_take(scan, end))
        return r;
    for (;;) {
        r = object ? scan_member(scan, depth + 1) : scan_value(scan, depth + 1);
        if (r < 0 || scan_take(scan, end))
            return r;
        if (!scan_take(scan, ','))
            return scan_unexpected(scan, object ? "',' or '}'" : "',' or ']'");
        r = scan_space(scan);
        if (r < 0)
            return r;
    }
}

/* A value with the space around it. */
static int scan_value(struct scan *scan, unsigned depth)
{
    int r = scan_space(scan);
    char c = scan_peek(scan);

    if (r < 0)
        return r;
    if (c == '{' || c == '[')
        r = scan_container(scan, depth);
    else if (c == '"')
        r = scan_string(scan);
    else if (c == '-' || (c >= '0' && c <= '9'))
        r = scan_number(scan);
    else
        r = scan_word(scan);
    return r < 0 ? r : scan_space(scan);
}

/* What no JSON text has anywhere. */
static int scan_bytes(struct scan *scan)
{
    const char *nul = memchr(scan->text, '\0', scan->length);
    size_t at = 0;

    if (nul != NULL)
        return scan_fail(scan, (size_t)(nul - scan->text), "NUL byte");
    if (scan->length >= 3 && memcmp(scan->text, "\xef\xbb\xbf", 3) == 0)
        return scan_fail(scan, 0, "the text begins with a byte order mark");
    if (tc_utf8_valid(scan->text, scan->length))
        return 0;
    for (size_t size = 1; size > 0; at += size) {
        uint32_t point;

        size = tc_utf8_decode(scan->text + at, scan->length - at, &point);
    }
    return scan_fail(scan, at, "byte 0x%02x is not UTF-8", (unsigned char)scan->text[at]);
}

int tc_json_scan(const char *source, char *text, size_t length, const char *name, size_t *ret_nul, struct tc_error *err)
{
    struct scan scan = {.source = source, .text = text, .length = length, .name = name, .err = err};
    int r = scan_bytes(&scan);

    if (r == 0)
        r = scan_value(&scan, 0);
    if (r == 0 && scan.at < length)
        r = scan_unexpected(&scan, "the end of the text");
    if (r == 0)
        *ret_nul = scan.nul;
    return r;
}
