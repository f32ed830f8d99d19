/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_GOLDEN_GETTERS_H
#define TC_GOLDEN_GETTERS_H

/* A case, and reading values of its JSON; what is not there has the given value, what is malformed ends the program. */

#include <err.h>

#include "base/json.h"
#include "base/text.h"
#include "world.h"

struct golden {
    struct world world;
    struct tc_json root, request, facts;
    struct tc_ruleset *rules;
};

static inline const char *get_text(struct golden *golden, const struct tc_json *object, const char *key,
                                   const char *otherwise)
{
    const char *text = otherwise;
    struct tc_json member;

    if (tc_json_member(object, key, &member) && tc_json_string(&member, golden->world.arena, &text, NULL, NULL) < 0)
        errx(2, "'%s' is no string", key);
    return text;
}

static inline int64_t get_number(const struct tc_json *object, const char *key, int64_t otherwise)
{
    struct tc_json member;

    if (tc_json_member(object, key, &member) && tc_json_integer(&member, 0, INT64_C(1) << 40, &otherwise, NULL) < 0)
        errx(2, "'%s' is no number", key);
    return otherwise;
}

static inline bool get_flag(const struct tc_json *object, const char *key, bool otherwise)
{
    struct tc_json member;

    if (tc_json_member(object, key, &member) && tc_json_bool(&member, &otherwise, NULL) < 0)
        errx(2, "'%s' is no flag", key);
    return otherwise;
}

static inline int get_word(struct golden *golden, const struct tc_json *object, const char *key,
                           const char *const *names, size_t count)
{
    const char *text = get_text(golden, object, key, names[0]);
    int index = tc_name_index(names, count, text);

    if (index < 0)
        errx(2, "'%s': unknown word '%s'", key, text);
    return index;
}

#endif
