/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include <stdint.h>

/** CLOCK_MONOTONIC in milliseconds and in microseconds. */
uint64_t tc_clock_ms(void);
uint64_t tc_clock_us(void);

#define TC_UUID_SIZE 37 /* 36 characters and a NUL */

/** A new UUID version 7 (RFC 9562): real time in milliseconds and 74 random bits. 0 or -errno. */
int tc_uuid7(char ret[TC_UUID_SIZE]);

#endif
