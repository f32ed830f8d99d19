/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <nettle/base64.h>
#include <string.h>

/* Durations end up as nanoseconds in signed 64 bits, sizes as off_t. */
#define DURATION_MAX_MS ((uint64_t)INT64_MAX / 1000000)
#define SIZE_MAX_BYTES ((uint64_t)INT64_MAX)

/* What may follow a lead byte; the first continuation byte has a range of its own (Unicode 15, table 3-7). */
struct utf8_form {
    unsigned char length, low, high;
};

static struct utf8_form utf8_form(unsigned char lead)
{
    if (lead < 0x80)
        return (struct utf8_form){1, 0, 0};
    if (lead < 0xc2 || lead > 0xf4)
        return (struct utf8_form){0, 0, 0};
    if (lead < 0xe0)
        return (struct utf8_form){2, 0x80, 0xbf};
    if (lead < 0xf0)
        return (struct utf8_form){3, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf};
    return (struct utf8_form){4, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf};
}

/* True when the bytes after a lead byte are, as far as there are any, what its form wants. */
static bool utf8_continues(struct utf8_form form, const unsigned char *bytes, size_t length)
{
    if (length > 1 && (bytes[1] < form.low || bytes[1] > form.high))
        return false;
    for (size_t i = 2; i < length && i < form.length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return false;
    return true;
}

size_t tc_utf8_decode(const char *text, size_t length, uint32_t *ret)
{
    const unsigned char *bytes = (const unsigned char *)text;
    struct utf8_form form = utf8_form(bytes[0]);
    uint32_t point;

    if (form.length == 1) {
        *ret = bytes[0];
        return 1;
    }
    if (form.length == 0 || form.length > length || !utf8_continues(form, bytes, form.length))
        return 0;
    point = bytes[0] & (0x7fu >> form.length);
    for (size_t i = 1; i < form.length; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    *ret = point;
    return form.length;
}

bool tc_utf8_valid(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        uint64_t word;
        uint32_t point;
        size_t step;

        if (length - at >= sizeof word) { /* eight bytes of ASCII at a time: streams are mostly that */
            memcpy(&word, text + at, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof word;
                continue;
            }
        }
        step = tc_utf8_decode(text + at, length - at, &point);
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

size_t tc_utf8_complete(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t back = 1; back <= 3 && back <= length; back++) {
        struct utf8_form form;

        if ((bytes[length - back] & 0xc0) == 0x80)
            continue;
        form = utf8_form(bytes[length - back]);
        return form.length > back && utf8_continues(form, bytes + length - back, back) ? length - back : length;
    }
    return length;
}

void tc_base64_encode(struct tc_buf *out, const void *bytes, size_t length)
{
    enum { CHUNK = 3 * 1024 };
    char encoded[BASE64_ENCODE_RAW_LENGTH(CHUNK)];
    const uint8_t *from = bytes;

    while (length > 0) {
        size_t take = length < CHUNK ? length : CHUNK;

        base64_encode_raw(encoded, take, from);
        tc_buf_append(out, encoded, BASE64_ENCODE_RAW_LENGTH(take));
        from += take;
        length -= take;
    }
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -EINVAL;
}

/* Decode four characters into one to three bytes; returns how many, or -EINVAL. Padding is for the last group only. */
static int base64_group(const char *text, bool last, char bytes[3])
{
    int pad = !last || text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
    uint32_t group = 0;

    for (int i = 0; i < 4; i++) {
        int digit = i < 4 - pad ? base64_digit(text[i]) : 0;

        if (digit < 0)
            return digit;
        group = group << 6 | (uint32_t)digit;
    }
    if ((group & ((1u << 8 * pad) - 1)) != 0) /* bits that decode to nothing: a second spelling of the same bytes */
        return -EINVAL;
    for (int i = 0; i < 3; i++)
        bytes[i] = (char)(group >> (16 - 8 * i));
    return 3 - pad;
}

int tc_base64_decode(struct tc_buf *out, const char *text, size_t length)
{
    size_t before = out->length;

    if (length % 4 != 0)
        return -EINVAL;
    for (size_t at = 0; at < length; at += 4) {
        char bytes[3];
        int count = base64_group(text + at, at + 4 == length, bytes);

        if (count < 0) {
            out->length = before;
            if (out->data != NULL)
                out->data[before] = '\0';
            return count;
        }
        tc_buf_append(out, bytes, (size_t)count);
    }
    return 0;
}

/* Read decimal digits; advances *text past them. -EINVAL when there are none, -ERANGE on overflow. */
static int parse_digits(const char **text, uint64_t *ret)
{
    const char *at = *text;
    uint64_t value = 0;

    if (!isdigit((unsigned char)*at))
        return -EINVAL;
    for (; isdigit((unsigned char)*at); at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return -ERANGE;
    *text = at;
    *ret = value;
    return 0;
}

/* Read an optional ".digits" as thousandths of thousandths of thousandths, rounded up. */
static int parse_fraction(const char **text, uint64_t *ret_billionths)
{
    const char *at = *text;
    uint64_t value = 0, unit = 1000000000;
    bool more = false;

    *ret_billionths = 0;
    if (*at != '.')
        return 0;
    if (!isdigit((unsigned char)*++at))
        return -EINVAL;
    for (; isdigit((unsigned char)*at); at++) {
        unit /= 10;
        value += unit * (uint64_t)(*at - '0');
        more = more || (unit == 0 && *at != '0');
    }
    *text = at;
    *ret_billionths = value + more;
    return 0;
}

static uint64_t duration_unit_ms(const char *unit)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ms;
    return 0;
}

int tc_parse_duration(const char *text, uint64_t *ret_ms)
{
    uint64_t whole = 0, fraction = 0, unit, ms;
    int r = parse_digits(&text, &whole);

    if (r == 0)
        r = parse_fraction(&text, &fraction);
    if (r < 0)
        return r;
    unit = duration_unit_ms(text);
    if (unit == 0)
        return -EINVAL;
    if (__builtin_mul_overflow(whole, unit, &ms))
        return -ERANGE;
    fraction = (fraction * unit + 999999999) / 1000000000;
    if (__builtin_add_overflow(ms, fraction, &ms) || ms == 0 || ms > DURATION_MAX_MS)
        return -ERANGE;
    *ret_ms = ms;
    return 0;
}

int tc_parse_size(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMGT";
    uint64_t value, factor = 1;
    int r = parse_digits(&text, &value);

    if (r < 0)
        return r;
    if (*text != '\0') {
        const char *unit = strchr(units, *text);

        if (unit == NULL || text[1] != '\0')
            return -EINVAL;
        factor = UINT64_C(1) << 10 * (unit - units + 1);
    }
    if (__builtin_mul_overflow(value, factor, &value) || value > SIZE_MAX_BYTES)
        return -ERANGE;
    *ret_bytes = value;
    return 0;
}

int tc_parse_unsigned(const char *text, uint64_t max, uint64_t *ret)
{
    uint64_t value;
    int r = parse_digits(&text, &value);

    if (r == -EINVAL || (r == 0 && *text != '\0'))
        return -EINVAL;
    if (r < 0 || value > max)
        return -ERANGE;
    *ret = value;
    return 0;
}

int tc_name_index(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count && i <= INT_MAX; i++)
        if (names[i] != NULL && strcmp(names[i], name) == 0)
            return (int)i;
    return -EINVAL;
}

/* Characters that move the cursor, break the line or reorder what stands around them. */
static bool text_is_unsafe(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x061c || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

static void escape_point(struct tc_buf *out, uint32_t point)
{
    static const char letters[] = "abtnvfr"; /* from 0x07 on */

    if (point >= 7 && point <= 13)
        tc_buf_printf(out, "\\%c", letters[point - 7]);
    else
        tc_buf_printf(out, point < 0x80 ? "\\x%02x" : "\\u%04x", point);
}

void tc_text_escape(struct tc_buf *out, const char *text, size_t length)
{
    size_t plain = 0; /* start of the stretch that can be copied as it is */

    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t step = tc_utf8_decode(text + at, length - at, &point);

        if (step > 0 && !text_is_unsafe(point)) {
            at += step;
            continue;
        }
        tc_buf_append(out, text + plain, at - plain);
        if (step > 0)
            escape_point(out, point);
        else
            tc_buf_printf(out, "\\x%02x", (unsigned char)text[at]);
        at += step > 0 ? step : 1;
        plain = at;
    }
    tc_buf_append(out, text + plain, length - plain);
}
