/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/options.h"
#include "unit.h"

/* What the sample options do: note what they were given. */
struct noted {
    int calls;
    int last;
    const char *value;
};

static int note(void *target, int parameter, const char *value, struct tc_error *err)
{
    struct noted *noted = target;

    if (value != NULL && strcmp(value, "bad") == 0)
        return tc_error_plain(err, -EINVAL, "expected something good");
    noted->calls++;
    noted->last = parameter;
    noted->value = value;
    return 0;
}

static const struct tc_option table[] = {
    {"policy", 'p', false, "NAME", "takes a value", note, 1},
    {"quiet", 'q', false, NULL, "takes none", note, 2},
    {"verbose", 'v', false, NULL, "takes none", note, 3},
    {"allow", 0, true, "NAME", "may take one", note, 4},
};

static struct tc_arena *arena;
static struct tc_options options;
static struct tc_error err;

/* Parse words in a fresh arena; the one before goes. */
static int parse(char *const *words)
{
    tc_arena_free(arena);
    arena = tc_arena_new();
    ck_assert_ptr_nonnull(arena);
    memset(&err, 0, sizeof(err));
    return tc_options_parse(table, TC_COUNT(table), words, arena, &options, &err);
}

#define PARSE(...)                                                                                                     \
    ({                                                                                                                 \
        static const char *const words[] = {__VA_ARGS__ __VA_OPT__(, ) NULL};                                          \
        parse((char *const *)words);                                                                                   \
    })

START_TEST(forms_of_a_value)
{
    ck_assert_int_eq(PARSE("--policy", "a", "--policy=b", "-p", "c", "-pd", "--policy=", "prog", "-q"), 0);
    ck_assert_uint_eq(options.count, 5);
    ck_assert_str_eq(options.uses[0].value, "a");
    ck_assert_str_eq(options.uses[1].value, "b");
    ck_assert_str_eq(options.uses[2].value, "c");
    ck_assert_str_eq(options.uses[3].value, "d");
    ck_assert_str_eq(options.uses[4].value, "");
    ck_assert_str_eq(options.rest[0], "prog");
    ck_assert_str_eq(options.rest[1], "-q");
}
END_TEST

START_TEST(values_that_look_like_options)
{
    ck_assert_int_eq(PARSE("--policy", "--quiet", "-p", "--", "--", "--policy"), 0);
    ck_assert_uint_eq(options.count, 2);
    ck_assert_str_eq(options.uses[0].value, "--quiet");
    ck_assert_str_eq(options.uses[1].value, "--");
    ck_assert_str_eq(options.rest[0], "--policy");
}
END_TEST

START_TEST(end_of_options)
{
    ck_assert_int_eq(PARSE("-q", "-", "-v"), 0);
    ck_assert_uint_eq(options.count, 1);
    ck_assert_str_eq(options.rest[0], "-");
    ck_assert_int_eq(PARSE("--"), 0);
    ck_assert_ptr_null(options.rest[0]);
    ck_assert_int_eq(PARSE(), 0);
    ck_assert_ptr_null(options.rest[0]);
    ck_assert_int_eq(PARSE("", "-q"), 0);
    ck_assert_str_eq(options.rest[0], "");
}
END_TEST

START_TEST(joined_short_options)
{
    ck_assert_int_eq(PARSE("-qvpname", "x"), 0);
    ck_assert_uint_eq(options.count, 3);
    ck_assert_str_eq(options.uses[2].value, "name");
    ck_assert_int_eq(PARSE("-qp", "name"), 0);
    ck_assert_str_eq(options.uses[1].value, "name");
}
END_TEST

START_TEST(optional_values)
{
    ck_assert_int_eq(PARSE("--allow", "prog"), 0);
    ck_assert_ptr_null(options.uses[0].value);
    ck_assert_str_eq(options.rest[0], "prog");
    ck_assert_int_eq(PARSE("--allow=x"), 0);
    ck_assert_str_eq(options.uses[0].value, "x");
}
END_TEST

START_TEST(errors_name_the_place)
{
    ck_assert_int_eq(PARSE("--polic", "x"), -EINVAL);
    ck_assert_str_eq(err.message, "--polic: unknown option");
    ck_assert_int_eq(PARSE("--policyx=1"), -EINVAL);
    ck_assert_str_eq(err.message, "--policyx: unknown option");
    ck_assert_int_eq(PARSE("--policy"), -EINVAL);
    ck_assert_str_eq(err.message, "--policy: needs a value");
    ck_assert_int_eq(PARSE("-qp"), -EINVAL);
    ck_assert_str_eq(err.message, "-p: needs a value");
    ck_assert_int_eq(PARSE("--quiet=1"), -EINVAL);
    ck_assert_str_eq(err.message, "--quiet: takes no value");
    ck_assert_int_eq(PARSE("-qx"), -EINVAL);
    ck_assert_str_eq(err.message, "-qx: unknown option");
    ck_assert_int_eq(PARSE("--=x"), -EINVAL);
    ck_assert_int_eq(PARSE("---"), -EINVAL);
}
END_TEST

START_TEST(parsing_goes_on_after_an_error)
{
    bool quiet, verbose;

    ck_assert_int_eq(PARSE("--nonsense", "-q", "--", "-v"), -EINVAL);
    ck_assert_str_eq(err.message, "--nonsense: unknown option");
    tc_options_value(&options, "quiet", &quiet);
    tc_options_value(&options, "verbose", &verbose);
    ck_assert(quiet && !verbose);
}
END_TEST

START_TEST(many_options)
{
    enum { MANY = 20000 };
    char **words = calloc(MANY + 1, sizeof(*words));

    ck_assert_ptr_nonnull(words);
    for (int i = 0; i < MANY; i++)
        words[i] = (char *)"-qv";
    ck_assert_int_eq(parse(words), 0);
    ck_assert_uint_eq(options.count, 2 * MANY);
    free(words);
}
END_TEST

START_TEST(applying_keeps_the_order)
{
    struct noted noted = {0};

    ck_assert_int_eq(PARSE("-q", "--policy", "x"), 0);
    ck_assert_int_eq(tc_options_apply(&options, &noted, &err), 0);
    ck_assert_int_eq(noted.calls, 2);
    ck_assert_int_eq(noted.last, 1);
    ck_assert_str_eq(noted.value, "x");
}
END_TEST

START_TEST(applying_names_the_option)
{
    struct noted noted = {0};

    ck_assert_int_eq(PARSE("-p", "bad"), 0);
    ck_assert_int_eq(tc_options_apply(&options, &noted, &err), -EINVAL);
    ck_assert_str_eq(err.message, "--policy 'bad': expected something good");
}
END_TEST

START_TEST(the_last_value_counts)
{
    bool given;

    ck_assert_int_eq(PARSE("-p", "a", "-p", "b"), 0);
    ck_assert_str_eq(tc_options_value(&options, "policy", &given), "b");
    ck_assert(given);
    ck_assert_ptr_null(tc_options_value(&options, "quiet", &given));
    ck_assert(!given);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("options", forms_of_a_value, values_that_look_like_options, end_of_options,
                               joined_short_options, optional_values, errors_name_the_place,
                               parsing_goes_on_after_an_error, many_options, applying_keeps_the_order,
                               applying_names_the_option, the_last_value_counts, NULL));
}
