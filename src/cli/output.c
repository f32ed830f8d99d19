/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <unistd.h>

#include "cli/failure.h"
#include "cli/verb.h"

int tc_output_write(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

int tc_output_print(const struct tc_buf *text, int status)
{
    struct tc_error err = {0};
    int code = tc_buf_failed(text) ? -ENOMEM : tc_output_write(STDOUT_FILENO, text->data, text->length);

    if (code == 0)
        return status;
    tc_error_set(&err, code, "stdout");
    tc_failure_print(&err);
    return TC_STATUS_FAILED;
}
