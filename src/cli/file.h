/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_FILE_H
#define TC_CLI_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/** Read a descriptor (borrowed) to its end. 0, -EFBIG when there is more than max bytes, -ENOMEM, or -errno of read. */
int tc_file_read(int fd, size_t max, struct tc_buf *out);

/** The path of the regular file behind a descriptor (borrowed), in the arena: NULL when it has none, as a pipe or what
 *  was deleted. 0 or -ENOMEM. */
int tc_file_path(int fd, struct tc_arena *arena, const char **ret);

#endif
