/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "unit.h"

/* Parse a literal with all its bytes; the message is what was reported, "" when it is fine. */
static struct tc_error parse(const char *text, size_t length)
{
    struct tc_error err = {0};
    tc_auto_json document = NULL;
    struct tc_json root;
    int r = tc_json_parse(text, length, "f", &document, &root, &err);

    ck_assert_int_eq(r, err.code);
    ck_assert((r == 0) == (document != NULL));
    ck_assert(r == 0 || r == -EINVAL);
    return err;
}

START_TEST(test_accepted)
{
    static const char *const cases[] = {
        "{}",
        "[]",
        "null",
        " true ",
        "\"\"",
        "0",
        "-0",
        "-1.5e+10",
        "1E5",
        "[1,2]\r\n\t ",
        "{\"a\":{\"a\":[{\"a\":1}]},\"A\":1}",
        "// first\n{/* in */\"a\"/**/:/***/1/* * / */}// last",
        "\"// no /* comment\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
        "\"\x7f\xc3\xa9\xe2\x80\xa8\"",
        "[\"\\u0001\"]",
        "123456789012345678901234567890123456789012345678901234567890123",
        "{\"\":1,\" \":2}",
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++)
        ck_assert_str_eq(parse(cases[i], strlen(cases[i])).message, "");
}
END_TEST

#define BAD(text, why)                                                                                                 \
    {                                                                                                                  \
        (text), sizeof(text) - 1, (why)                                                                                \
    }

START_TEST(test_refused)
{
    static const struct {
        const char *text;
        size_t length;
        const char *why;
    } cases[] = {
        BAD("", "f: line 1, column 1: expected a value, but the text ends"),
        BAD("\n\n  ", "f: line 3, column 3: expected a value, but the text ends"),
        BAD("{", "f: line 1, column 2: expected a key in double quotes, but the text ends"),
        BAD("{\"a\" 1}", "f: line 1, column 6: expected ':', found '1'"),
        BAD("{\"a\":1,}", "f: line 1, column 8: expected a key in double quotes, found '}'"),
        BAD("{a:1}", "f: line 1, column 2: expected a key in double quotes, found 'a'"),
        BAD("[1,]", "f: line 1, column 4: expected a value, found ']'"),
        BAD("[1 2]", "f: line 1, column 4: expected ',' or ']', found '2'"),
        BAD("[1}", "f: line 1, column 3: expected ',' or ']', found '}'"),
        BAD("{} {}", "f: line 1, column 4: expected the end of the text, found '{'"),
        BAD("nullx", "f: line 1, column 5: expected the end of the text, found 'x'"),
        BAD("True", "f: line 1, column 1: expected a value, found 'T'"),
        BAD("'a'", "f: line 1, column 1: expected a value, found '''"),
        BAD("[\"\xc3\xa9\xe2\x82\xac\", x]", "f: line 1, column 8: expected a value, found 'x'"),
        BAD("/* \xc3\xa9\xc3\xa9\n \xc3\xa9 */ \xc3\xa9", "f: line 2, column 7: expected a value, found '\xc3\xa9'"),
        BAD("[1, /* x", "f: line 1, column 5: this comment never ends"),
        BAD("/*/", "f: line 1, column 1: this comment never ends"),
        BAD("1 / 2", "f: line 1, column 3: expected the end of the text, found '/'"),
        BAD("[\"abc", "f: line 1, column 2: this string never ends"),
        BAD("\"a\\", "f: line 1, column 3: unknown escape in a string"),
        BAD("\"\\q\"", "f: line 1, column 2: unknown escape in a string"),
        BAD("\"\\u12g4\"", "f: line 1, column 2: \\u needs four hexadecimal digits"),
        BAD("\"\\u12", "f: line 1, column 2: \\u needs four hexadecimal digits"),
        BAD("\"\\ud800\"", "f: line 1, column 2: half of a surrogate pair"),
        BAD("\"\\ud800\\u0041\"", "f: line 1, column 2: half of a surrogate pair"),
        BAD("\"\\udc00\\ud800\"", "f: line 1, column 2: half of a surrogate pair"),
        BAD("\"\\ud800\\udc0", "f: line 1, column 2: half of a surrogate pair"),
        BAD("\"a\nb\"", "f: line 1, column 3: control character 0x0a in a string, write it as an escape"),
        BAD("\"\t\"", "f: line 1, column 2: control character 0x09 in a string, write it as an escape"),
        BAD("[\v1]", "f: line 1, column 2: expected a value, found a control character"),
        BAD("[\xc2\xa0 1]", "f: line 1, column 2: expected a value, found '\xc2\xa0'"),
        BAD("[\n1\0]", "f: line 2, column 2: NUL byte"),
        BAD("[\"\xff\"]", "f: line 1, column 3: byte 0xff is not UTF-8"),
        BAD("// \xed\xa0\x80\n1", "f: line 1, column 4: byte 0xed is not UTF-8"),
        BAD("\"\xc3\xa9\xc3", "f: line 1, column 3: byte 0xc3 is not UTF-8"),
        BAD("\xef\xbb\xbf{}", "f: line 1, column 1: the text begins with a byte order mark"),
        BAD("01", "f: line 1, column 1: this is not a number in JSON"),
        BAD("-", "f: line 1, column 1: this is not a number in JSON"),
        BAD("-01", "f: line 1, column 1: this is not a number in JSON"),
        BAD("1.", "f: line 1, column 1: this is not a number in JSON"),
        BAD("1e", "f: line 1, column 1: this is not a number in JSON"),
        BAD("1e+", "f: line 1, column 1: this is not a number in JSON"),
        BAD("+1", "f: line 1, column 1: expected a value, found '+'"),
        BAD(".5", "f: line 1, column 1: expected a value, found '.'"),
        BAD("NaN", "f: line 1, column 1: expected a value, found 'N'"),
        BAD("-Infinity", "f: line 1, column 1: this is not a number in JSON"),
        BAD("0x10", "f: line 1, column 2: expected the end of the text, found 'x'"),
        BAD("1234567890123456789012345678901234567890123456789012345678901234",
            "f: line 1, column 1: this number is too long"),
        BAD("{\"a\":1,\"a\":2}", "f: /a: given twice"),
        BAD("{\"a\":1,\"\\u0061\":2}", "f: /a: given twice"),
        BAD("[0,{\"x\":{\"a/b~\":1,\"c\":0,\"a/b~\":2}}]", "f: /1/x/a~1b~0: given twice"),
        BAD("{\"\":1,\"\":2}", "f: /: given twice"),
        BAD("\"a\\u0000\"", "f: /: contains \\u0000"),
        BAD("{\"rules\":[{},{},{},{\"pattern\":\"a\\u0000b\"}]}", "f: /rules/3/pattern: contains \\u0000"),
        BAD("{\"x\":{\"a\":1,\"a\\u0000b\":2}}", "f: /x: a key contains \\u0000"),
        BAD("{\"x\":[\"\\u0000\",\"\\u0000\"]}", "f: /x/0: contains \\u0000"),
        BAD("{\"a\\n\\u001b[1m\":1,\"a\\n\\u001b[1m\":1}", "f: /a\\n\\x1b[1m: given twice"),
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++)
        ck_assert_str_eq(parse(cases[i].text, cases[i].length).message, cases[i].why);
}
END_TEST

START_TEST(test_depth)
{
    tc_auto_buf text = {0};

    for (int i = 0; i < 512; i++)
        tc_buf_char(&text, '[');
    for (int i = 0; i < 512; i++)
        tc_buf_char(&text, ']');
    ck_assert_str_eq(parse(text.data, text.length).message, "");
    for (int i = 0; i < 1000000; i++)
        tc_buf_string(&text, "[{\"a\":");
    tc_buf_consume(&text, 1024);
    ck_assert_str_eq(parse(text.data, text.length).message, "f: line 1, column 1537: nested more than 512 levels deep");
}
END_TEST

/* Cost must not grow faster than the text: 10^5 keys, 10^5 elements, and a policy of 5,000 rules. */
START_TEST(test_large)
{
    tc_auto_buf keys = {0}, rules = {0};
    uint64_t begin = tc_clock_ms();
    struct tc_error err;

    tc_buf_char(&keys, '{');
    for (int i = 0; i < 100000; i++)
        tc_buf_printf(&keys, "\"key%d\":[%d,2],", i, i);
    tc_buf_string(&keys, "\"key77\":1}");
    err = parse(keys.data, keys.length);
    ck_assert_str_eq(err.message, "f: /key77: given twice");
    tc_buf_char(&rules, '[');
    for (int i = 0; i < 5000; i++)
        tc_buf_printf(&rules, "{\"pattern\": \"src/%d/**/*.c\", \"operations\": [\"read\"], \"effect\": \"deny\"},\n",
                      i);
    tc_buf_string(&rules, "{}]");
    ck_assert_str_eq(parse(rules.data, rules.length).message, "");
    ck_assert_uint_lt(tc_clock_ms() - begin, 10000); /* valgrind and sanitizers included */
}
END_TEST

struct fixture {
    struct tc_json_document *document;
    struct tc_arena *arena;
    struct tc_json root;
    struct tc_error err;
};

static void fixture_open(struct fixture *fixture, const char *text)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->arena = tc_arena_new();
    ck_assert_int_eq(tc_json_parse(text, strlen(text), "f", &fixture->document, &fixture->root, &fixture->err), 0);
}

static void fixture_close(struct fixture *fixture)
{
    tc_json_free(fixture->document);
    tc_arena_free(fixture->arena);
}

START_TEST(test_walk)
{
    static const char *const known[] = {"a", "b", NULL}, *const few[] = {"a", NULL};
    struct tc_json child = {0}, inner = {0};
    char pointer[64];
    struct fixture f;

    fixture_open(&f, "{\"a\": [true, null, {\"x/y\": 1}], \"b\": \"text\"}");
    ck_assert_int_eq(tc_json_type(&f.root), TC_JSON_OBJECT);
    ck_assert_uint_eq(tc_json_size(&f.root), 2);
    ck_assert_int_eq(tc_json_keys(&f.root, known, &f.err), 0);
    ck_assert_int_eq(tc_json_keys(&f.root, few, &f.err), -EINVAL);
    ck_assert_str_eq(f.err.message, "f: /b: unknown key");
    ck_assert(tc_json_member(&f.root, "a", &child));
    ck_assert(!tc_json_member(&f.root, "A", &inner));
    ck_assert(!tc_json_member(&child, "a", &inner));
    ck_assert_int_eq(tc_json_keys(&child, few, &f.err), -EINVAL);
    ck_assert_str_eq(f.err.message, "f: /a: expected an object");
    for (size_t i = 0; i < 3; i++) {
        static const enum tc_json_type types[] = {TC_JSON_BOOL, TC_JSON_NULL, TC_JSON_OBJECT};

        ck_assert(tc_json_next(&child, &inner));
        ck_assert_uint_eq(inner.index, i);
        ck_assert_ptr_null(inner.key);
        ck_assert_int_eq(tc_json_type(&inner), types[i]);
    }
    ck_assert(tc_json_member(&inner, "x/y", &(struct tc_json){0}));
    ck_assert_str_eq(tc_json_pointer(&inner, pointer, sizeof pointer), "/a/2");
    ck_assert(!tc_json_next(&child, &inner));
    ck_assert_str_eq(tc_json_pointer(&f.root, pointer, sizeof pointer), "");
    ck_assert_int_eq(tc_json_bad(&f.root, &f.err, "no %d", 7), -EINVAL);
    ck_assert_str_eq(f.err.message, "f: /: no 7");
    fixture_close(&f);
}
END_TEST

START_TEST(test_strings)
{
    const char *text = NULL;
    struct tc_json child = {0};
    size_t length = 0;
    struct fixture f;

    fixture_open(&f, "[\"\\u00e9\\n\", {\"base64\": \"/wA=\"}, {\"base64\": \"/w=\"}, {\"base64\": 1}, {\"base64\": "
                     "\"\", \"x\": 1}, 7,"
                     "{\"base64\": \"/w==\"}, {\"base64\": \"\"}]");
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_string(&child, f.arena, &text, &length, &f.err), 0);
    ck_assert_str_eq(text, "\xc3\xa9\n");
    ck_assert_uint_eq(length, 3);
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_string(&child, f.arena, &text, &length, &f.err), 0);
    ck_assert_uint_eq(length, 2);
    ck_assert_mem_eq(text, "\xff\0", 3);
    ck_assert_int_eq(tc_json_string(&child, f.arena, &text, NULL, &f.err), -EINVAL);
    ck_assert_str_eq(f.err.message, "f: /1: contains a NUL byte");
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_string(&child, f.arena, &text, NULL, &f.err), -EINVAL);
    ck_assert_str_eq(f.err.message, "f: /2: not base64");
    for (int i = 3; i < 6; i++) {
        ck_assert(tc_json_next(&f.root, &child));
        ck_assert_int_eq(tc_json_string(&child, f.arena, &text, &length, &f.err), -EINVAL);
        ck_assert_ptr_nonnull(strstr(f.err.message, ": expected a string"));
    }
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_string(&child, f.arena, &text, NULL, &f.err), 0);
    ck_assert_str_eq(text, "\xff");
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_string(&child, f.arena, &text, NULL, &f.err), 0);
    ck_assert_str_eq(text, "");
    fixture_close(&f);
}
END_TEST

START_TEST(test_numbers)
{
    static const struct {
        int code;
        int64_t value;
        const char *why;
    } cases[] = {
        {0, 0, ""},
        {0, 100, ""},
        {0, -9007199254740991, ""},
        {-EINVAL, 7, "f: /3: expected a whole number"},
        {-EINVAL, 7, "f: /4: number out of range"},
        {-EINVAL, 7, "f: /5: number out of range"},
        {-EINVAL, 7, "f: /6: expected a number from -9007199254740991 to 100"},
        {-EINVAL, 7, "f: /7: expected a number"},
        {-EINVAL, 7, "f: /8: expected a whole number"},
    };
    struct tc_json child = {0};
    double real;
    struct fixture f;

    fixture_open(&f, "[-0, 1e2, -9007199254740991, 1.5, 9007199254740992, 1e999, 101, \"1\", 1e-300]");
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        int64_t value = 7;

        ck_assert(tc_json_next(&f.root, &child));
        memset(&f.err, 0, sizeof f.err);
        ck_assert_int_eq(tc_json_integer(&child, -9007199254740991, 100, &value, &f.err), cases[i].code);
        ck_assert_int_eq(value, cases[i].value);
        ck_assert_str_eq(f.err.message, cases[i].why);
    }
    ck_assert_int_eq(tc_json_number(&child, &real, &f.err), 0);
    ck_assert(real > 0 && real < 1e-299);
    fixture_close(&f);
}
END_TEST

START_TEST(test_bools)
{
    struct tc_json child = {0};
    bool value = false;
    struct fixture f;

    fixture_open(&f, "[true, false, 1]");
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_bool(&child, &value, &f.err), 0);
    ck_assert(value);
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_bool(&child, &value, &f.err), 0);
    ck_assert(!value);
    ck_assert(tc_json_next(&f.root, &child));
    ck_assert_int_eq(tc_json_bool(&child, &value, &f.err), -EINVAL);
    ck_assert_str_eq(f.err.message, "f: /2: expected true or false");
    fixture_close(&f);
}
END_TEST

/* A pointer that does not fit ends in dots and never beyond the buffer. */
START_TEST(test_pointer_size)
{
    struct tc_json root = {.key = "f"};
    struct tc_json outer = {.parent = &root, .key = "long~key"}, inner = {.parent = &outer, .index = 12};
    char text[32];

    for (size_t size = 0; size <= sizeof text; size++) {
        memset(text, '#', sizeof text);
        tc_json_pointer(&inner, text, size);
        for (size_t i = size; i < sizeof text; i++)
            ck_assert_int_eq(text[i], '#');
        if (size > 0)
            ck_assert_uint_lt(strnlen(text, size), size);
    }
    ck_assert_str_eq(text, "/long~0key/12");
    ck_assert_str_eq(tc_json_pointer(&inner, text, 10), "/long...");
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("json", test_accepted, test_refused, test_depth, test_large, test_walk, test_strings,
                               test_numbers, test_bools, test_pointer_size, NULL));
}
