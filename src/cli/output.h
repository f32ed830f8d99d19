/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_OUTPUT_H
#define TC_CLI_OUTPUT_H

#include <stddef.h>

#include "base/buf.h"

/** Write all bytes to a descriptor; 0 or -errno. */
int tc_output_write(int fd, const char *bytes, size_t length);

/** Print a buffer on stdout. Returns status, or TC_STATUS_FAILED after telling why it could not be printed. */
int tc_output_print(const struct tc_buf *text, int status);

#endif
