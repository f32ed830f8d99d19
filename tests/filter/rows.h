/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FILTER_ROWS_H
#define TESTS_FILTER_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define ALLOWED 0
#define PRETENDED (-1) /* answered with success, and not done */

/* A call with its arguments, and the errno it gets. */
struct row {
    const char *call;
    uint64_t arguments[6];
    int expected; /* errno, ALLOWED or PRETENDED */
};

extern const struct row rows[];
extern const size_t row_count;

/* Rows whose arguments are pointers in both halves. */
extern const struct row pointer_rows[];
extern const size_t pointer_row_count;

#endif
