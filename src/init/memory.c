/* SPDX-License-Identifier: Apache-2.0 */

/* What compilers call by themselves, even without a C library. */

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);

void *memcpy(void *to, const void *from, size_t size)
{
    char *target = to;
    const char *source = from;

    while (size-- > 0)
        *target++ = *source++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    char *target = to;
    const char *source = from;

    if (target < source)
        return memcpy(to, from, size);
    while (size-- > 0)
        target[size] = source[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    char *target = to;

    while (size-- > 0)
        *target++ = (char)byte;
    return to;
}
