/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The decoder of images. The input is what stands behind the header, led by
 * two bytes that say how long its first part is; the header is made here, so
 * that a wrong hash does not end the matter. As it is it is also tried as an
 * image and as an entry of the cache.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "policy/cache.h"
#include "policy/check.h"
#include "policy/decide.h"
#include "policy/encode.h"
#include "policy/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct tc_ruleset *rules)
{
    static const struct tc_view_mount mounts[] = {{"/w", TC_AREA_DATA, false}};
    static const struct tc_view view = {.mounts = mounts, .count = TC_COUNT(mounts)};
    static const char *const argv[] = {"env", "rm", "-rf", "/w", NULL};
    tc_auto_arena arena = tc_arena_new();
    tc_auto_buf image = {0};
    struct tc_warnings warnings;

    for (enum tc_operation operation = 0; operation < TC_OP_CONNECT; operation++)
        tc_decide(rules, &view, operation, "/w/a/b", 6, true);
    tc_decide_call(rules, &view, "/w/x", "/usr/x", argv);
    tc_decide_connect(rules, "a.b", NULL, 1);
    tc_decide_rename(rules, &view, "/w/a", "/w/b", true);
    if (tc_policy_check(rules, arena, &warnings) < 0)
        abort();
    tc_ruleset_encode(rules, &image);
    tc_ruleset_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_ruleset *rules = NULL;
    char hash[TC_SHA256_HEX] = {0};
    tc_auto_buf image = {0};

    if (tc_ruleset_decode(data, size, false, &rules, NULL) == 0)
        use(tc_take_ptr(rules));
    if (size >= 4 + TC_SHA256_HEX) /* whatever key it has is the right one */
        memcpy(hash, data + 4, TC_SHA256_HEX - 1);
    if (tc_policy_cache_use(hash, data, size, TC_NO_FD, &rules, NULL) == 0)
        use(tc_take_ptr(rules));
    if (size < 2)
        return 0;

    size_t first = (size_t)data[0] | (size_t)data[1] << 8;
    if (first > size - 2)
        first = size - 2;
    uint32_t words[] = {TC_IMAGE_VERSION, (uint32_t)first, (uint32_t)(size - 2 - first)};
    tc_buf_append(&image, TC_IMAGE_MAGIC, 4);
    tc_buf_append(&image, words, sizeof(words));
    tc_sha256_hex(data + 2, first, hash);
    tc_buf_append(&image, hash, TC_IMAGE_DIGITS);
    tc_sha256_hex(data + 2 + first, size - 2 - first, hash);
    tc_buf_append(&image, hash, TC_IMAGE_DIGITS);
    tc_buf_append(&image, data + 2, size - 2);
    if (tc_ruleset_decode(image.data, image.length, false, &rules, NULL) == 0)
        use(tc_take_ptr(rules));
    return 0;
}
