/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "unit.h"

START_TEST(test_monotonic)
{
    uint64_t before = tc_clock_us(), ms = tc_clock_ms(), after = tc_clock_us();

    ck_assert_uint_le(before / 1000, ms);
    ck_assert_uint_le(ms, after / 1000);
    ck_assert_uint_gt(before, 0);
}
END_TEST

START_TEST(test_uuid)
{
    char one[TC_UUID_SIZE], two[TC_UUID_SIZE];
    unsigned long long seconds;
    time_t now = time(NULL);

    ck_assert_int_eq(tc_uuid7(one), 0);
    ck_assert_int_eq(tc_uuid7(two), 0);
    ck_assert_uint_eq(strlen(one), 36);
    ck_assert_uint_eq(strspn(one, "0123456789abcdef-"), 36);
    ck_assert(one[8] == '-' && one[13] == '-' && one[18] == '-' && one[23] == '-');
    ck_assert_int_eq(one[14], '7');
    ck_assert_ptr_nonnull(strchr("89ab", one[19]));
    ck_assert_str_ne(one, two);
    seconds = (strtoull(one, NULL, 16) << 16 | strtoull(one + 9, NULL, 16)) / 1000;
    ck_assert_int_le(llabs((long long)seconds - (long long)now), 2);
}
END_TEST

START_TEST(test_sha256)
{
    char hex[TC_SHA256_HEX], *million = malloc(1000000);

    ck_assert_ptr_nonnull(million);
    tc_sha256_hex(NULL, 0, hex);
    ck_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    tc_sha256_hex("abc", 3, hex);
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    memset(million, 'a', 1000000);
    tc_sha256_hex(million, 1000000, hex); /* FIPS 180-2, appendix B.3 */
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("clock", test_monotonic, test_uuid, test_sha256, NULL));
}
