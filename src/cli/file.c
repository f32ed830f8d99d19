/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/file.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

/* A descriptor of the caller may be non-blocking: then wait for it as read() would have. */
static int wait_readable(int fd)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};

    return poll(&item, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int tc_file_read(int fd, size_t max, struct tc_buf *out)
{
    char chunk[65536];
    int code = 0;

    while (code == 0) {
        ssize_t got = read(fd, chunk, sizeof(chunk));

        if (got == 0)
            return tc_buf_failed(out) ? -ENOMEM : 0;
        if (got > 0 && (size_t)got > max - out->length)
            code = -EFBIG;
        else if (got > 0)
            tc_buf_append(out, chunk, (size_t)got);
        else if (errno == EAGAIN)
            code = wait_readable(fd);
        else if (errno != EINTR)
            code = -errno;
    }
    return code;
}
