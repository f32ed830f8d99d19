/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Literal characters that stand side by side in a pattern stand side by side
 * in every text it matches. Each rule keeps the few pairs of bytes that are
 * rarest in the whole ruleset; a path that lacks one of them cannot match. What
 * is relative to a mount is a tail of the absolute path, so the pairs of the
 * absolute path serve for all.
 */

#include "policy/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"

static uint16_t slot_of(char first, char second)
{
    uint32_t pair = (uint32_t)(unsigned char)first << 8 | (unsigned char)second;
    uint32_t slot = pair * UINT32_C(0x9E3779B1) >> 19; /* 13 bits; the multiplier is 2^32 over the golden ratio */

    return (uint16_t)(slot == 0 ? 1 : slot);
}

/* The literal bytes of the element at text, or NULL when it is a wildcard. */
static const char *literal_of(const char *text, size_t *length)
{
    if (text[0] == '\\' && *length > 1) {
        (*length)--;
        return text + 1;
    }
    if (text[0] == '*' || text[0] == '?' || (text[0] == '[' && *length > 1))
        return NULL;
    return text;
}

/* Call use for the slot of each pair that the pattern needs. */
static void each_pair(const struct tc_rule *rule, void (*use)(void *context, uint16_t slot), void *context)
{
    bool open = false; /* the byte before is literal */
    char last = '\0';

    for (size_t at = 0, length; at < rule->pattern_length; at += length) {
        size_t bytes = length = tc_glob_element(rule->pattern, rule->pattern_length, at);
        const char *literal = literal_of(rule->pattern + at, &bytes);
        for (size_t i = 0; literal != NULL && i < bytes; i++) {
            if (open)
                use(context, slot_of(last, literal[i]));
            last = literal[i];
            open = true;
        }
        open = literal != NULL;
    }
}

static void count_slot(void *context, uint16_t slot)
{
    uint32_t *counts = context;

    counts[slot]++;
}

/* Collecting the rarest pairs of one pattern, rarest first. */
struct choice {
    const uint32_t *counts;
    uint16_t slots[TC_PAIRS];
    size_t count;
};

static void choose_slot(void *context, uint16_t slot)
{
    struct choice *choice = context;
    size_t at = choice->count;

    for (size_t i = 0; i < choice->count; i++) {
        if (choice->slots[i] == slot)
            return;
    }
    while (at > 0 && choice->counts[choice->slots[at - 1]] > choice->counts[slot]) {
        if (at < TC_PAIRS)
            choice->slots[at] = choice->slots[at - 1];
        at--;
    }
    if (at < TC_PAIRS)
        choice->slots[at] = slot;
    choice->count += choice->count < TC_PAIRS;
}

int tc_filters_make(const struct tc_ruleset *rules, struct tc_arena *arena, const struct tc_filter **ret)
{
    struct tc_filter *filters = tc_arena_array(arena, rules->rule_count, sizeof(*filters));
    tc_auto_free uint32_t *counts = calloc(TC_PAIR_SLOTS, sizeof(*counts));

    if (filters == NULL || counts == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < rules->rule_count; i++)
        each_pair(&rules->rules[i], count_slot, counts);
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];
        struct choice choice = {.counts = counts};
        each_pair(rule, choose_slot, &choice);
        memcpy(filters[i].pairs, choice.slots, sizeof(choice.slots));
        filters[i].traits = tc_glob_traits(rule->pattern, rule->pattern_length);
    }
    *ret = filters;
    return 0;
}

static void mark(struct tc_marks *marks, uint16_t slot)
{
    marks->pairs[slot / 64] |= UINT64_C(1) << slot % 64;
}

void tc_marks_make(const char *path, size_t length, bool slash, struct tc_marks *ret)
{
    memset(ret->pairs, 0, sizeof(ret->pairs));
    mark(ret, 0);
    for (size_t i = 1; i < length; i++)
        mark(ret, slot_of(path[i - 1], path[i]));
    ret->traits = tc_text_traits(path, length);
    if (!slash)
        return;
    mark(ret, slot_of(path[length - 1], '/'));
    ret->traits |= tc_text_traits("/", 1);
}
