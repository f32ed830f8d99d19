/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <nettle/sha2.h>
#include <stdint.h>

void tc_sha256_hex(const void *bytes, size_t length, char ret[TC_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx context;

    sha256_init(&context);
    if (length > 0)
        sha256_update(&context, length, bytes);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[2 * sizeof digest] = '\0';
}
