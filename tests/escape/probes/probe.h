/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ESCAPE_PROBE_H
#define ESCAPE_PROBE_H

/* Every probe prints one JSON object: what was tried, and the errno's name, or null when it succeeded. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int probe_count;

/* A result below 0 is a failure whose reason is in errno. */
static inline void tell(const char *what, long result)
{
    const char *name = result >= 0 ? NULL : strerrorname_np(errno);

    printf("%s\"%s\": ", probe_count++ == 0 ? "{" : ", ", what);
    if (result >= 0)
        printf("null");
    else
        printf("\"%s\"", name == NULL ? "unknown" : name);
    fflush(stdout); /* a child that is forked later must not print it again */
}

static inline int tell_end(void)
{
    printf("%s}\n", probe_count == 0 ? "{" : "");
    return fflush(stdout) == 0 ? 0 : 1;
}

#endif
