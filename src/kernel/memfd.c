/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MFD_NOEXEC_SEAL_ 0x0008U /* Linux 6.3 */
#define MFD_EXEC_ 0x0010U        /* Linux 6.3; needed where vm.memfd_noexec is 1 */

static int create(const char *name, bool executable)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | (executable ? MFD_EXEC_ : MFD_NOEXEC_SEAL_));

    if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 */
        fd = memfd_create(name, flags);
    return fd < 0 ? -errno : fd;
}

int tc_memfd_sealed(const char *name, const void *bytes, size_t length, bool executable)
{
    tc_auto_fd fd = create(name, executable);
    const char *from = bytes;

    if (fd < 0)
        return fd;
    while (length > 0) {
        ssize_t written = write(fd, from, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        from += written;
        length -= (size_t)written;
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return tc_take_fd(&fd);
}
