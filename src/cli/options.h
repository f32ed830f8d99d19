/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_OPTIONS_H
#define TC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Command-line options by table. Parsing only recognises; applying gives each
 * value its meaning. Between the two a caller can look at what was given (a
 * --request must be read before the options that override it).
 */

/** Give a value its meaning. The error is only the reason ("expected none or host"): the place is put before it. */
typedef int tc_option_apply(void *target, int parameter, const char *value, struct tc_error *err);

struct tc_option {
    const char *name;     /* long name without its dashes */
    char letter;          /* short name, or 0 */
    bool optional;        /* the argument may be left out; it is then given as --name=VALUE only */
    const char *argument; /* its name in the help text, or NULL: takes none */
    const char *help;     /* one sentence */
    tc_option_apply *apply;
    int parameter; /* handed to apply() */
};

struct tc_option_use {
    const struct tc_option *option;
    const char *value; /* NULL when the option takes none or it was left out */
};

struct tc_options {
    struct tc_option_use *uses; /* in the order given */
    size_t count;
    char *const *rest; /* what follows the options, NULL-terminated; borrowed from the arguments */
};

/**
 * Recognise the options at the start of arguments: `--name VALUE`, `--name=VALUE`, `-x VALUE`, `-xVALUE`. The first
 * argument that is none ends them; so does `--`, which is dropped.
 *
 * After an error the rest is still recognised as far as possible, so that a caller can find out how it was to report:
 * ret is filled in either way.
 *
 * @param table      count options, borrowed, must outlive ret
 * @param arguments  NULL-terminated
 * @return 0, -EINVAL (unknown option, missing or unexpected value), -ENOMEM
 */
int tc_options_parse(const struct tc_option *table, size_t count, char *const *arguments, struct tc_arena *arena,
                     struct tc_options *ret, struct tc_error *err);

/** Apply every use in order; errors read "--name 'value': why". */
int tc_options_apply(const struct tc_options *options, void *target, struct tc_error *err);

/** The last value given for a long name, or NULL; given (may be NULL) tells whether it was there at all. */
const char *tc_options_value(const struct tc_options *options, const char *name, bool *given);

#endif
