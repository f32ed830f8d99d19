/* SPDX-License-Identifier: Apache-2.0 */
#include "base/emit.h"

#include "base/cleanup.h"
#include "unit.h"

static void write_sample(struct tc_emit *emit)
{
    tc_emit_object(emit, NULL);
    tc_emit_string(emit, "s", "x");
    tc_emit_array(emit, "a");
    tc_emit_integer(emit, NULL, INT64_MIN);
    tc_emit_unsigned(emit, NULL, UINT64_MAX);
    tc_emit_object(emit, NULL);
    tc_emit_object_end(emit);
    tc_emit_array_end(emit);
    tc_emit_array(emit, "e");
    tc_emit_array_end(emit);
    tc_emit_bool(emit, "t", true);
    tc_emit_bool(emit, "f", false);
    tc_emit_null(emit, "n");
    tc_emit_string(emit, "null", NULL);
    tc_emit_object_end(emit);
}

START_TEST(test_one_line)
{
    tc_auto_buf out = {0};
    struct tc_emit emit = {.out = &out};

    write_sample(&emit);
    ck_assert_str_eq(out.data, "{\"s\":\"x\",\"a\":[-9223372036854775808,18446744073709551615,{}],\"e\":[],\"t\":true,"
                               "\"f\":false,\"n\":null,\"null\":null}");
    ck_assert(!tc_buf_failed(&out));
}
END_TEST

START_TEST(test_indented)
{
    tc_auto_buf out = {0};
    struct tc_emit emit = {.out = &out, .indent = 2};

    write_sample(&emit);
    ck_assert_str_eq(out.data, "{\n  \"s\": \"x\",\n  \"a\": [\n    -9223372036854775808,\n    18446744073709551615,\n"
                               "    {}\n  ],\n  \"e\": [],\n  \"t\": true,\n  \"f\": false,\n  \"n\": null,\n"
                               "  \"null\": null\n}");
}
END_TEST

START_TEST(test_strings)
{
    static const struct {
        const char *bytes, *json;
        size_t length;
    } cases[] = {
        {"", "\"\"", 0},
        {"a\"\\/", "\"a\\\"\\\\/\"", 4},
        {"\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\"", 5},
        {"\0\x01\x1f\x7f", "\"\\u0000\\u0001\\u001f\\u007f\"", 4},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\"", 6},
        {"\xe2\x80\xa8", "\"\xe2\x80\xa8\"", 3},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"", 4},
        {"\xff", "{\"base64\":\"/w==\"}", 1},
        {"a\xed\xa0\x80", "{\"base64\":\"Ye2ggA==\"}", 4},
        {"\xc2", "{\"base64\":\"wg==\"}", 1},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        tc_auto_buf out = {0};
        struct tc_emit emit = {.out = &out};

        tc_emit_bytes(&emit, NULL, cases[i].bytes, cases[i].length);
        ck_assert_str_eq(out.data, cases[i].json);
    }
}
END_TEST

/* A key has to be a string: what is not UTF-8 in it is replaced. */
START_TEST(test_keys)
{
    tc_auto_buf out = {0};
    struct tc_emit emit = {.out = &out};

    tc_emit_object(&emit, NULL);
    tc_emit_null(&emit, "a\"\n");
    tc_emit_null(&emit, "\xff\xc3\xa9\xc3");
    tc_emit_null(&emit, "");
    tc_emit_object_end(&emit);
    ck_assert_str_eq(out.data, "{\"a\\\"\\n\":null,\"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\":null,\"\":null}");
}
END_TEST

/* A caller that nests without end, or closes what it did not open, is noticed and not undefined. */
START_TEST(test_depth)
{
    tc_auto_buf deep = {0}, shut = {0};
    struct tc_emit emit = {.out = &deep};

    for (int i = 0; i < 63; i++)
        tc_emit_array(&emit, NULL);
    ck_assert(!tc_buf_failed(&deep));
    tc_emit_array(&emit, NULL);
    ck_assert(tc_buf_failed(&deep));
    emit = (struct tc_emit){.out = &shut};
    tc_emit_array_end(&emit);
    ck_assert(tc_buf_failed(&shut));
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("emit", test_one_line, test_indented, test_strings, test_keys, test_depth, NULL));
}
