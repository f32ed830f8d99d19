/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A hash table from what rules cover to the first rule that does, per
 * operation. A key is one letter and a text:
 *
 *   P pattern    exactly this pattern
 *   S path       everything below this path (a subtree, absolute or relative)
 *   R            every relative pattern
 *   A            everything
 */

#include "policy/cover.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/glob.h"

struct entry {
    char kind;
    const char *text;
    size_t length;
    const struct tc_rule *rules[TC_OP_COUNT];
    bool used;
};

struct tc_cover {
    struct tc_arena *arena;
    struct entry *entries;
    size_t size; /* a power of two, more than twice what can be added */
};

struct tc_cover *tc_cover_new(struct tc_arena *arena, size_t count)
{
    struct tc_cover *cover = tc_arena_alloc(arena, sizeof(*cover));
    size_t size = 16;

    while (size < count * 4)
        size *= 2;
    if (cover == NULL)
        return NULL;
    cover->arena = arena;
    cover->size = size;
    cover->entries = tc_arena_array(arena, size, sizeof(*cover->entries));
    return cover->entries == NULL ? NULL : cover;
}

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t hash_of(char kind, const char *text, size_t length)
{
    uint64_t hash = (UINT64_C(14695981039346656037) ^ (unsigned char)kind) * UINT64_C(1099511628211);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

static struct entry *find_entry(struct tc_cover *cover, char kind, const char *text, size_t length)
{
    size_t at = hash_of(kind, text, length) & (cover->size - 1);

    while (cover->entries[at].used) {
        struct entry *entry = &cover->entries[at];
        if (entry->kind == kind && entry->length == length && memcmp(entry->text, text, length) == 0)
            return entry;
        at = (at + 1) & (cover->size - 1);
    }
    return &cover->entries[at];
}

static void add_entry(struct tc_cover *cover, char kind, const char *text, size_t length, const struct tc_rule *rule)
{
    struct entry *entry = find_entry(cover, kind, text, length);

    if (!entry->used)
        *entry = (struct entry){.kind = kind, .text = text, .length = length, .used = true};
    for (enum tc_operation operation = 0; operation < TC_OP_COUNT; operation++) {
        if (rule->operations & TC_OP_BIT(operation) && entry->rules[operation] == NULL)
            entry->rules[operation] = rule;
    }
}

int tc_cover_add(struct tc_cover *cover, const struct tc_rule *rule)
{
    char *literal = tc_arena_alloc(cover->arena, rule->pattern_length + 1);
    size_t length;

    if (literal == NULL)
        return -ENOMEM;
    add_entry(cover, 'P', rule->pattern, rule->pattern_length, rule);
    switch (tc_glob_classify(rule->pattern, rule->pattern_length, literal, &length)) {
    case TC_GLOB_ALL:
        add_entry(cover, 'R', "", 0, rule);
        break;
    case TC_GLOB_SUBTREE:
        add_entry(cover, rule->absolute && length == 0 ? 'A' : 'S', literal, length, rule);
        break;
    case TC_GLOB_LITERAL:
    case TC_GLOB_OTHER:
        break;
    }
    return 0;
}

/* Mark the operations that an entry decides. */
static const struct tc_rule *take_entry(struct tc_cover *cover, char kind, const char *text, size_t length,
                                        unsigned *open)
{
    const struct entry *entry = find_entry(cover, kind, text, length);
    const struct tc_rule *taken = NULL;

    for (enum tc_operation operation = 0; entry->used && operation < TC_OP_COUNT; operation++) {
        if (!(*open & TC_OP_BIT(operation)) || entry->rules[operation] == NULL)
            continue;
        *open &= ~TC_OP_BIT(operation);
        taken = entry->rules[operation];
    }
    return taken;
}

const struct tc_rule *tc_cover_find(struct tc_cover *cover, const struct tc_rule *rule)
{
    bool network = rule->operations == TC_OP_BIT(TC_OP_CONNECT);
    const struct tc_rule *last = NULL, *taken;
    unsigned open = rule->operations;
    char literal[TC_GLOB_MAX + 1];
    size_t length = 0;

    if ((taken = take_entry(cover, 'P', rule->pattern, rule->pattern_length, &open)) != NULL)
        last = taken;
    if ((taken = take_entry(cover, 'A', "", 0, &open)) != NULL)
        last = taken;
    if (!rule->absolute && (taken = take_entry(cover, 'R', "", 0, &open)) != NULL)
        last = taken;
    if (network || rule->pattern_length > TC_GLOB_MAX)
        return open == 0 ? last : NULL;

    /* Whatever a pattern matches begins with its literal text; with the slash, where it is a subtree. */
    if (tc_glob_classify(rule->pattern, rule->pattern_length, literal, &length) == TC_GLOB_SUBTREE)
        literal[length++] = '/';
    for (size_t i = 0; i < length && open != 0; i++) {
        if (literal[i] == '/' && (taken = take_entry(cover, 'S', literal, i, &open)) != NULL)
            last = taken;
    }
    return open == 0 ? last : NULL;
}
