/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tc_buf_free(struct tc_buf *buf)
{
    free(buf->data);
    memset(buf, 0, sizeof *buf);
}

/* Make room for extra bytes and the NUL. */
static bool buf_reserve(struct tc_buf *buf, size_t extra)
{
    size_t need, capacity;
    char *data;

    if (buf->failed)
        return false;
    if (__builtin_add_overflow(buf->length, extra, &need) || need > SIZE_MAX / 2 - 1) {
        buf->failed = true;
        return false;
    }
    if (need < buf->capacity)
        return true;
    capacity = buf->capacity < 128 ? 256 : buf->capacity * 2;
    if (capacity <= need)
        capacity = need + 1;
    data = realloc(buf->data, capacity);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void tc_buf_append(struct tc_buf *buf, const void *bytes, size_t length)
{
    if (!buf_reserve(buf, length))
        return;
    if (length > 0)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void tc_buf_string(struct tc_buf *buf, const char *text)
{
    tc_buf_append(buf, text, strlen(text));
}

void tc_buf_char(struct tc_buf *buf, char byte)
{
    tc_buf_append(buf, &byte, 1);
}

void tc_buf_printf(struct tc_buf *buf, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !buf_reserve(buf, (size_t)length + 1)) {
        buf->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

void tc_buf_consume(struct tc_buf *buf, size_t length)
{
    if (length >= buf->length) {
        buf->length = 0;
    } else if (length > 0) {
        memmove(buf->data, buf->data + length, buf->length - length);
        buf->length -= length;
    }
    if (buf->data != NULL)
        buf->data[buf->length] = '\0';
}
