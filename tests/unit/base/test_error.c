/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "unit.h"

START_TEST(test_messages)
{
    struct tc_error err = {0};

    ck_assert_int_eq(tc_error_set(&err, -ENOENT, "open '%s'", "x"), -ENOENT);
    ck_assert_int_eq(err.code, -ENOENT);
    ck_assert_str_eq(err.message, "open 'x': No such file or directory");
    ck_assert_int_eq(tc_error_wrap(&err, "policy %d", 3), -ENOENT);
    ck_assert_str_eq(err.message, "policy 3: open 'x': No such file or directory");
    ck_assert_int_eq(tc_error_hint(&err, "make %s", "it"), -ENOENT);
    ck_assert_str_eq(err.hint, "make it");
    ck_assert_int_eq(tc_error_stage(&err, "policy"), -ENOENT);
    tc_error_stage(&err, "outer");
    ck_assert_str_eq(err.stage, "policy");
}
END_TEST

/* A new error does not inherit the old one's remedy or stage. */
START_TEST(test_set_again)
{
    struct tc_error err = {0};

    tc_error_set(&err, -ENOENT, "a");
    tc_error_hint(&err, "hint");
    tc_error_stage(&err, "stage");
    ck_assert_int_eq(tc_error_plain(&err, -EINVAL, "b"), -EINVAL);
    ck_assert_str_eq(err.message, "b");
    ck_assert_str_eq(err.hint, "");
    ck_assert_str_eq(err.stage, "");
}
END_TEST

START_TEST(test_long)
{
    struct tc_error err = {0};
    char text[2000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tc_error_set(&err, -EIO, "%s", text);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    tc_error_wrap(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.message), sizeof err.message - 1);
    tc_error_hint(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.hint), sizeof err.hint - 1);
    tc_error_stage(&err, text);
    ck_assert_uint_eq(strlen(err.stage), sizeof err.stage - 1);
}
END_TEST

/* However the limit falls, the message stays UTF-8. */
START_TEST(test_cut_inside_a_character)
{
    struct tc_error err = {0};
    char text[2000] = "";

    for (size_t lead = 0; lead < 3; lead++) {
        memset(text, 'x', lead);
        for (size_t i = lead; i + 4 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        tc_error_plain(&err, -EIO, "%s", text);
        ck_assert(tc_utf8_valid(err.message, strlen(err.message)));
        tc_error_wrap(&err, "y");
        ck_assert(tc_utf8_valid(err.message, strlen(err.message)));
        tc_error_hint(&err, "%s", text);
        ck_assert(tc_utf8_valid(err.hint, strlen(err.hint)));
        ck_assert_uint_ge(strlen(err.hint), sizeof err.hint - 3);
    }
}
END_TEST

START_TEST(test_general_hint)
{
    struct tc_error err;

    tc_error_set(&err, -EIO, "x");
    ck_assert_int_eq(tc_error_hint_general(&err), -EIO);
    ck_assert_str_eq(err.hint, "");
    tc_error_set(&err, -ENOSYS, "x");
    ck_assert_int_eq(tc_error_hint_general(&err), -ENOSYS);
    ck_assert_ptr_nonnull(strstr(err.hint, "toolcell doctor"));
    tc_error_hint(&err, "better");
    tc_error_hint_general(&err);
    ck_assert_str_eq(err.hint, "better");
    ck_assert_int_lt(tc_error_hint_general(NULL), 0);
}
END_TEST

START_TEST(test_nobody_asks)
{
    ck_assert_int_eq(tc_error_set(NULL, -EIO, "x"), -EIO);
    ck_assert_int_eq(tc_error_plain(NULL, -EIO, "x"), -EIO);
    ck_assert_int_lt(tc_error_wrap(NULL, "x"), 0);
    ck_assert_int_lt(tc_error_hint(NULL, "x"), 0);
    ck_assert_int_lt(tc_error_stage(NULL, "x"), 0);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("error", test_messages, test_set_again, test_long, test_cut_inside_a_character,
                               test_general_hint, test_nobody_asks, NULL));
}
