/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_REQUEST_H
#define TC_CLI_REQUEST_H

#include "cli/invocation.h"

#define TC_REQUEST_MAX_BYTES (16u << 20)

/**
 * Read a request document into a call.
 *
 * @param path  a file (regular or a pipe), or "-" for stdin
 * @return 0, -EINVAL (the message names the place as a JSON pointer, or line and column), -EFBIG (over 16 MiB), the
 *         error of reading it, -ENOMEM
 */
int tc_request_read(struct tc_invocation *call, const char *path, struct tc_error *err);

/** As tc_request_read() for a text. */
int tc_request_parse(struct tc_invocation *call, const char *text, size_t length, const char *name,
                     struct tc_error *err);

#endif
