/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_HASH_H
#define TC_BASE_HASH_H

#include <stddef.h>

#define TC_SHA256_HEX 65 /* 64 digits and a NUL */

/** SHA-256 of length bytes as lower-case hex. */
void tc_sha256_hex(const void *bytes, size_t length, char ret[TC_SHA256_HEX]);

#endif
