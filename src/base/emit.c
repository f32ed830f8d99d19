/* SPDX-License-Identifier: Apache-2.0 */
#include "base/emit.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define DEPTH_LIMIT 63 /* bits of started */

static void emit_line(struct tc_emit *emit)
{
    if (emit->indent == 0)
        return;
    tc_buf_char(emit->out, '\n');
    for (unsigned i = 0; i < emit->depth * emit->indent; i++)
        tc_buf_char(emit->out, ' ');
}

/* Length of the character at text that cannot stand in a string as it is, or 0. C1 controls are legal JSON, but
 * terminals obey them. */
static size_t emit_special(const char *text, size_t length)
{
    unsigned char c = (unsigned char)text[0];

    if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
        return 1;
    return c == 0xc2 && length > 1 && (unsigned char)text[1] < 0xa0 ? 2 : 0;
}

static void emit_escape(struct tc_buf *out, const char *text, size_t length)
{
    static const char plain[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *found = text[0] == '\0' ? NULL : strchr(plain, text[0]);

    if (length == 2)
        tc_buf_printf(out, "\\u%04x", (unsigned char)text[1]); /* U+0080 to U+009F end in just that byte */
    else if (found != NULL)
        tc_buf_printf(out, "\\%c", letters[found - plain]);
    else
        tc_buf_printf(out, "\\u%04x", (unsigned char)text[0]);
}

/* A string in quotes; text is valid UTF-8. */
static void emit_quoted(struct tc_buf *out, const char *text, size_t length)
{
    size_t plain = 0;

    tc_buf_char(out, '"');
    for (size_t at = 0; at < length;) {
        size_t special = emit_special(text + at, length - at);

        if (special == 0) {
            at++;
            continue;
        }
        tc_buf_append(out, text + plain, at - plain);
        emit_escape(out, text + at, special);
        at += special;
        plain = at;
    }
    tc_buf_append(out, text + plain, length - plain);
    tc_buf_char(out, '"');
}

/* Keys must be strings: bytes that are not UTF-8 become U+FFFD. */
static void emit_key(struct tc_emit *emit, const char *key)
{
    tc_auto_buf clean = {0};
    size_t length = strlen(key);

    if (tc_utf8_valid(key, length)) {
        emit_quoted(emit->out, key, length);
    } else {
        for (size_t at = 0, size; at<length; at += size> 0 ? size : 1) {
            uint32_t point;

            size = tc_utf8_decode(key + at, length - at, &point);
            tc_buf_append(&clean, size > 0 ? key + at : "\xef\xbf\xbd", size > 0 ? size : 3);
        }
        if (tc_buf_failed(&clean))
            emit->out->failed = true;
        else
            emit_quoted(emit->out, clean.data, clean.length);
    }
    tc_buf_string(emit->out, emit->indent > 0 ? ": " : ":");
}

/* What comes before any value: comma, line, key. */
static void emit_begin(struct tc_emit *emit, const char *key)
{
    uint64_t bit = UINT64_C(1) << emit->depth;

    if (emit->depth > 0) {
        if ((emit->started & bit) != 0)
            tc_buf_char(emit->out, ',');
        emit->started |= bit;
        emit_line(emit);
    }
    if (key != NULL)
        emit_key(emit, key);
}

static void emit_open(struct tc_emit *emit, const char *key, char bracket)
{
    emit_begin(emit, key);
    tc_buf_char(emit->out, bracket);
    if (emit->depth == DEPTH_LIMIT) { /* only a mistake in the caller nests so deep */
        emit->out->failed = true;
        return;
    }
    emit->depth++;
    emit->started &= ~(UINT64_C(1) << emit->depth);
}

static void emit_close(struct tc_emit *emit, char bracket)
{
    bool any = (emit->started >> emit->depth & 1) != 0;

    if (emit->depth == 0) {
        emit->out->failed = true;
        return;
    }
    emit->depth--;
    if (any)
        emit_line(emit);
    tc_buf_char(emit->out, bracket);
}

void tc_emit_object(struct tc_emit *emit, const char *key)
{
    emit_open(emit, key, '{');
}

void tc_emit_object_end(struct tc_emit *emit)
{
    emit_close(emit, '}');
}

void tc_emit_array(struct tc_emit *emit, const char *key)
{
    emit_open(emit, key, '[');
}

void tc_emit_array_end(struct tc_emit *emit)
{
    emit_close(emit, ']');
}

void tc_emit_string(struct tc_emit *emit, const char *key, const char *text)
{
    if (text == NULL)
        tc_emit_null(emit, key);
    else
        tc_emit_bytes(emit, key, text, strlen(text));
}

void tc_emit_bytes(struct tc_emit *emit, const char *key, const char *bytes, size_t length)
{
    emit_begin(emit, key);
    if (tc_utf8_valid(bytes, length)) {
        emit_quoted(emit->out, bytes, length);
        return;
    }
    tc_buf_string(emit->out, emit->indent > 0 ? "{\"base64\": \"" : "{\"base64\":\"");
    tc_base64_encode(emit->out, bytes, length);
    tc_buf_string(emit->out, "\"}");
}

void tc_emit_integer(struct tc_emit *emit, const char *key, int64_t value)
{
    emit_begin(emit, key);
    tc_buf_printf(emit->out, "%" PRId64, value);
}

void tc_emit_unsigned(struct tc_emit *emit, const char *key, uint64_t value)
{
    emit_begin(emit, key);
    tc_buf_printf(emit->out, "%" PRIu64, value);
}

void tc_emit_bool(struct tc_emit *emit, const char *key, bool value)
{
    emit_begin(emit, key);
    tc_buf_string(emit->out, value ? "true" : "false");
}

void tc_emit_null(struct tc_emit *emit, const char *key)
{
    emit_begin(emit, key);
    tc_buf_string(emit->out, "null");
}
