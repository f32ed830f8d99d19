/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit.h"

START_TEST(test_utf8)
{
    static const struct {
        const char *bytes;
        size_t size; /* 0: not valid */
        uint32_t point;
    } cases[] = {
        {"a", 1, 'a'},
        {"\x7f", 1, 0x7f},
        {"\xc2\x80", 2, 0x80},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff},
        {"\xee\x80\x80", 3, 0xe000},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
        {"\x80", 0, 0},
        {"\xbf", 0, 0},
        {"\xc0\x80", 0, 0},
        {"\xc1\xbf", 0, 0},
        {"\xc2", 0, 0},
        {"\xc2x", 0, 0},
        {"\xe0\x9f\xbf", 0, 0},
        {"\xe0\xa0", 0, 0},
        {"\xed\xa0\x80", 0, 0},
        {"\xed\xbf\xbf", 0, 0},
        {"\xe1\x80x", 0, 0},
        {"\xf0\x8f\xbf\xbf", 0, 0},
        {"\xf4\x90\x80\x80", 0, 0},
        {"\xf5\x80\x80\x80", 0, 0},
        {"\xff", 0, 0},
        {"\xf1\x80\x80", 0, 0},
        {"\xf1\x80\x80x", 0, 0},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        size_t length = strlen(cases[i].bytes);
        uint32_t point = 0;

        ck_assert_msg(tc_utf8_decode(cases[i].bytes, length, &point) == cases[i].size, "case %zu", i);
        ck_assert_msg(point == cases[i].point, "case %zu", i);
        ck_assert_msg(tc_utf8_valid(cases[i].bytes, length) == (cases[i].size > 0), "case %zu", i);
    }
    ck_assert(tc_utf8_valid("", 0));
    ck_assert(tc_utf8_valid("\0", 1));
    ck_assert(tc_utf8_valid("eight by\xc3\xa9te words, then more", 30));
    ck_assert(!tc_utf8_valid("eight by\xc3te words, then more", 29));
}
END_TEST

/* What is left out at the end is exactly what more bytes could complete. */
START_TEST(test_utf8_complete)
{
    static const struct {
        const char *bytes;
        size_t complete;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"ab\xc3", 2},
        {"ab\xc3\xa9", 4},
        {"\xe2\x82", 0},
        {"x\xe2", 1},
        {"x\xf0\x9f\x98", 1},
        {"x\xf0\x9f", 1},
        {"x\xf0", 1},
        {"x\xf0\x9f\x98\x80", 5},
        {"x\x80", 2},
        {"x\x80\x80\x80\x80", 5},
        {"x\xff", 2},
        {"x\xc0", 2},
        {"x\xed\xa0", 3},
        {"x\xf4\x90", 3},
        {"x\xf0\x8f\xbf", 4},
        {"x\xe0\x9f", 3},
        {"\xc3\xa9\x80", 3},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++)
        ck_assert_msg(tc_utf8_complete(cases[i].bytes, strlen(cases[i].bytes)) == cases[i].complete, "case %zu", i);
}
END_TEST

START_TEST(test_base64)
{
    static const struct {
        const char *plain, *encoded; /* RFC 4648, section 10 */
    } cases[] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                 {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        tc_auto_buf encoded = {0}, decoded = {0};

        tc_base64_encode(&encoded, cases[i].plain, strlen(cases[i].plain));
        tc_buf_char(&encoded, '.');
        ck_assert_uint_eq(encoded.length - 1, strlen(cases[i].encoded));
        ck_assert_mem_eq(encoded.data, cases[i].encoded, encoded.length - 1);
        ck_assert_int_eq(tc_base64_decode(&decoded, encoded.data, encoded.length - 1), 0);
        ck_assert_uint_eq(decoded.length, strlen(cases[i].plain));
        if (decoded.length > 0)
            ck_assert_mem_eq(decoded.data, cases[i].plain, decoded.length);
    }
}
END_TEST

START_TEST(test_base64_refused)
{
    static const char *const cases[] = {"Z",        "Zg",   "Zg=",    "Zg===",     "Zh==",     "Zm9=",
                                        "====",     "Z===", "Zm9v\n", "Zm 9",      "Zg==Zg==", "Zm-_",
                                        "Zm9v====", "=Zm9", "Zm=v",   "\xc3\xa9zz"};

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        tc_auto_buf out = {0};

        tc_buf_string(&out, "before");
        ck_assert_msg(tc_base64_decode(&out, cases[i], strlen(cases[i])) == -EINVAL, "'%s'", cases[i]);
        ck_assert_str_eq(out.data, "before");
    }
}
END_TEST

START_TEST(test_base64_every_length)
{
    unsigned char bytes[10000];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 131 + i / 256);
    for (size_t length = 0; length <= sizeof bytes; length += length < 20 ? 1 : 499) {
        tc_auto_buf encoded = {0}, decoded = {0};

        tc_base64_encode(&encoded, bytes, length);
        ck_assert_uint_eq(encoded.length, (length + 2) / 3 * 4);
        if (length == 0)
            continue;
        ck_assert_int_eq(tc_base64_decode(&decoded, encoded.data, encoded.length), 0);
        ck_assert_uint_eq(decoded.length, length);
        ck_assert_mem_eq(decoded.data, bytes, length);
    }
}
END_TEST

START_TEST(test_durations)
{
    static const struct {
        const char *text;
        int code;
        uint64_t ms;
    } cases[] = {
        {"500ms", 0, 500},
        {"30s", 0, 30000},
        {"5m", 0, 300000},
        {"2h", 0, 7200000},
        {"7", 0, 7000},
        {"1.5s", 0, 1500},
        {"0.25", 0, 250},
        {"1.5m", 0, 90000},
        {"0.5ms", 0, 1},
        {"0.0001s", 0, 1},
        {"0.0000000000001s", 0, 1},
        {"007s", 0, 7000},
        {"1.0000000000s", 0, 1000},
        {"0.1h", 0, 360000},
        {"9223372036854ms", 0, 9223372036854},
        {"0", -ERANGE, 0},
        {"0ms", -ERANGE, 0},
        {"0.000h", -ERANGE, 0},
        {"9223372036855ms", -ERANGE, 0},
        {"9223372036854775807h", -ERANGE, 0},
        {"99999999999999999999", -ERANGE, 0},
        {"18446744073709551615ms", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"+1s", -EINVAL, 0},
        {" 1s", -EINVAL, 0},
        {"1s ", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"1S", -EINVAL, 0},
        {"1d", -EINVAL, 0},
        {"1.s", -EINVAL, 0},
        {".5s", -EINVAL, 0},
        {"1..5s", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1m30s", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"1,5s", -EINVAL, 0},
        {"\xd9\xa1s", -EINVAL, 0},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        uint64_t ms = 0;

        ck_assert_msg(tc_parse_duration(cases[i].text, &ms) == cases[i].code, "'%s'", cases[i].text);
        ck_assert_msg(ms == cases[i].ms, "'%s'", cases[i].text);
    }
}
END_TEST

START_TEST(test_sizes)
{
    static const struct {
        const char *text;
        int code;
        uint64_t bytes;
    } cases[] = {
        {"0", 0, 0},
        {"1000", 0, 1000},
        {"64K", 0, 65536},
        {"512M", 0, 536870912},
        {"2G", 0, 2147483648},
        {"1T", 0, 1099511627776},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775808", -ERANGE, 0},
        {"8388608T", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"18446744073709551615K", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"K", -EINVAL, 0},
        {"1k", -EINVAL, 0},
        {"1KB", -EINVAL, 0},
        {"1KiB", -EINVAL, 0},
        {"1B", -EINVAL, 0},
        {"1P", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1.5G", -EINVAL, 0},
        {"1 K", -EINVAL, 0},
        {"1K ", -EINVAL, 0},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        uint64_t bytes = 0;

        ck_assert_msg(tc_parse_size(cases[i].text, &bytes) == cases[i].code, "'%s'", cases[i].text);
        ck_assert_msg(bytes == cases[i].bytes, "'%s'", cases[i].text);
    }
}
END_TEST

START_TEST(test_unsigned)
{
    uint64_t value = 7;

    ck_assert_int_eq(tc_parse_unsigned("0", 0, &value), 0);
    ck_assert_uint_eq(value, 0);
    ck_assert_int_eq(tc_parse_unsigned("18446744073709551615", UINT64_MAX, &value), 0);
    ck_assert_uint_eq(value, UINT64_MAX);
    ck_assert_int_eq(tc_parse_unsigned("18446744073709551616", UINT64_MAX, &value), -ERANGE);
    ck_assert_int_eq(tc_parse_unsigned("65536", 65535, &value), -ERANGE);
    ck_assert_int_eq(tc_parse_unsigned("", 9, &value), -EINVAL);
    ck_assert_int_eq(tc_parse_unsigned("1x", 9, &value), -EINVAL);
    ck_assert_int_eq(tc_parse_unsigned("-1", 9, &value), -EINVAL);
    ck_assert_uint_eq(value, UINT64_MAX);
}
END_TEST

START_TEST(test_names)
{
    static const char *const names[] = {"none", NULL, "host"};

    ck_assert_int_eq(tc_name_index(names, 3, "host"), 2);
    ck_assert_int_eq(tc_name_index(names, 3, "none"), 0);
    ck_assert_int_eq(tc_name_index(names, 3, "Host"), -EINVAL);
    ck_assert_int_eq(tc_name_index(names, 2, "host"), -EINVAL);
    ck_assert_int_eq(tc_name_index(names, 3, ""), -EINVAL);
}
END_TEST

/* Whatever a command or a file is called, it stays on its line and gives the terminal no orders. */
START_TEST(test_escape)
{
    static const struct {
        const char *text, *escaped;
        size_t length;
    } cases[] = {
        {"plain \xc3\xa9 \\ text", "plain \xc3\xa9 \\ text", 15},
        {"a\nb\tc\r\x1b[31m", "a\\nb\\tc\\r\\x1b[31m", 11},
        {"\0\x7f", "\\x00\\x7f", 2},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m", 5},
        {"\xff\xc3x", "\\xff\\xc3x", 3},
        {"\xe2\x80\xae"
         "evil",
         "\\u202eevil", 7},
        {"\xe2\x80\xa8", "\\u2028", 3},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 4},
        {"", "", 0},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        tc_auto_buf out = {0};

        tc_text_escape(&out, cases[i].text, cases[i].length);
        ck_assert_str_eq(out.data, cases[i].escaped);
    }
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("text", test_utf8, test_utf8_complete, test_base64, test_base64_refused,
                               test_base64_every_length, test_durations, test_sizes, test_unsigned, test_names,
                               test_escape, NULL));
}
