/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/openat2.h"

#include <fcntl.h>

#include "kernel/raw.h"

int tc_openat2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve};

    return (int)tc_raw4(__NR_openat2, directory, path, &how, sizeof how);
}
