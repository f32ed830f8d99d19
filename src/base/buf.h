/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_BUF_H
#define TC_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A growing byte buffer. A failed allocation sticks: later appends do nothing
 * and tc_buf_failed() tells, so that writers check once, at the end. All bits
 * zero is an empty buffer. The bytes are always followed by a NUL that is not
 * counted.
 */
struct tc_buf {
    char *data; /* NULL while empty */
    size_t length;
    size_t capacity;
    bool failed;
};

/** Free the memory; the buffer is empty and usable again. */
void tc_buf_free(struct tc_buf *buf);
#define tc_auto_buf __attribute__((cleanup(tc_buf_free))) struct tc_buf

void tc_buf_append(struct tc_buf *buf, const void *bytes, size_t length);
void tc_buf_string(struct tc_buf *buf, const char *text);
void tc_buf_char(struct tc_buf *buf, char byte);
void tc_buf_printf(struct tc_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Drop the first length bytes (at most all). */
void tc_buf_consume(struct tc_buf *buf, size_t length);

/** True when an append ran out of memory; the content is then incomplete. */
static inline bool tc_buf_failed(const struct tc_buf *buf)
{
    return buf->failed;
}

#endif
