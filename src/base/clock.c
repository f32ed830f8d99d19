/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static uint64_t clock_read_us(clockid_t id)
{
    struct timespec now = {0};

    clock_gettime(id, &now); /* fails for unknown clocks only */
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t tc_clock_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

uint64_t tc_clock_ms(void)
{
    return tc_clock_us() / 1000;
}

int tc_uuid7(char ret[TC_UUID_SIZE])
{
    uint64_t ms = clock_read_us(CLOCK_REALTIME) / 1000;
    unsigned char b[16];
    ssize_t got;

    do /* up to 256 bytes come whole or not at all: random(4) */
        got = getrandom(b + 6, sizeof b - 6, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof b - 6)
        return got < 0 ? -errno : -EIO;
    for (int i = 0; i < 6; i++)
        b[i] = (unsigned char)(ms >> (40 - 8 * i));
    b[6] = (unsigned char)(0x70 | (b[6] & 0x0f));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
    snprintf(ret, TC_UUID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return 0;
}
