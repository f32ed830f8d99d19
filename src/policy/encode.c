/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The image of a ruleset:
 *
 *   "TCRS", version, length of each of the two parts    4 words
 *   SHA-256 of the canonical part, and of the origins   64 digits each
 *   canonical part, origins
 *
 * A word is 32 bits, a long one 64, in the machine's order (an image never
 * leaves the machine; another order fails the version). A string is a word
 * of length plus one, its bytes and a NUL; a word of 0 stands for NULL.
 */

#include "policy/encode.h"

#include <errno.h>

#include <string.h>

#include "base/hash.h"
#include "policy/image.h"

static void put_word(struct tc_buf *out, uint32_t word)
{
    tc_buf_append(out, &word, sizeof(word));
}

static void put_long(struct tc_buf *out, uint64_t value)
{
    tc_buf_append(out, &value, sizeof(value));
}

static void put_bytes(struct tc_buf *out, const char *bytes, size_t length)
{
    put_word(out, (uint32_t)length + 1);
    tc_buf_append(out, bytes, length);
    tc_buf_char(out, '\0');
}

static void put_string(struct tc_buf *out, const char *text)
{
    if (text == NULL)
        put_word(out, 0);
    else
        put_bytes(out, text, strlen(text));
}

static void put_rules(const struct tc_ruleset *rules, struct tc_buf *out)
{
    put_word(out, (uint32_t)rules->rule_count);
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct tc_rule *rule = &rules->rules[i];
        put_word(out, rule->operations | rule->lists << TC_IMAGE_LISTS);
        put_word(out, (uint32_t)rule->effect);
        put_word(out, (uint32_t)rule->priority);
        if (rule->lists != 0) /* the order within a list decides */
            put_word(out, rule->index);
        put_bytes(out, rule->pattern, rule->pattern_length);
        put_string(out, rule->reason);
    }
}

static void put_commands(const struct tc_ruleset *rules, struct tc_buf *out)
{
    put_word(out, (uint32_t)rules->command_count);
    for (size_t i = 0; i < rules->command_count; i++) {
        const struct tc_command_rule *command = &rules->commands[i];
        put_word(out, (command->more ? TC_IMAGE_MORE : 0u) | (command->any_order ? TC_IMAGE_ANY_ORDER : 0u) |
                          (command->line ? TC_IMAGE_LINE : 0u));
        put_word(out, (uint32_t)command->effect);
        put_word(out, (uint32_t)command->count);
        for (size_t k = 0; k < command->count; k++)
            put_string(out, command->argv[k]);
        put_string(out, command->reason);
    }
}

static void put_settings(const struct tc_ruleset *rules, struct tc_buf *out)
{
    put_word(out, rules->limits.set);
    for (size_t i = 0; i < TC_LIMIT_COUNT; i++) {
        if (rules->limits.set & 1u << i)
            put_long(out, rules->limits.value[i]);
    }
    put_long(out, rules->approval_ms);
    put_word(out, (uint32_t)rules->environment_count);
    for (size_t i = 0; i < rules->environment_count; i++) {
        put_string(out, rules->environment[i].name);
        put_string(out, rules->environment[i].value);
    }
    put_word(out, (uint32_t)rules->pass_count);
    for (size_t i = 0; i < rules->pass_count; i++)
        put_string(out, rules->pass[i]);
}

static void put_canonical(const struct tc_ruleset *rules, struct tc_buf *out)
{
    put_rules(rules, out);
    put_commands(rules, out);
    put_settings(rules, out);
    put_word(out, rules->project != NULL);
    if (rules->project != NULL)
        put_canonical(rules->project, out);
}

/* Sources repeat from rule to rule: a string stands once, then a word of UINT32_MAX means the one before. */
static void put_source(struct tc_buf *out, const char *source, const char **last)
{
    if (*last != NULL && strcmp(source, *last) == 0) {
        put_word(out, TC_IMAGE_SAME);
        return;
    }
    put_string(out, source);
    *last = source;
}

static void put_origins(const struct tc_ruleset *rules, struct tc_buf *out)
{
    const char *last = NULL;

    put_string(out, rules->name);
    put_word(out, (uint32_t)rules->file_count);
    for (size_t i = 0; i < rules->file_count; i++)
        put_string(out, rules->files[i]);
    for (size_t i = 0; i < rules->rule_count; i++) {
        put_source(out, rules->rules[i].source, &last);
        put_string(out, rules->rules[i].section);
        put_word(out, rules->rules[i].index);
    }
    for (size_t i = 0; i < rules->command_count; i++) {
        put_source(out, rules->commands[i].source, &last);
        put_string(out, rules->commands[i].section);
        put_word(out, rules->commands[i].index);
    }
    if (rules->project != NULL)
        put_origins(rules->project, out);
}

int tc_ruleset_hash(const struct tc_ruleset *rules, char ret[TC_SHA256_HEX])
{
    tc_auto_buf canonical = {0};

    put_canonical(rules, &canonical);
    if (tc_buf_failed(&canonical))
        return -ENOMEM;
    tc_sha256_hex(canonical.data, canonical.length, ret);
    return 0;
}

void tc_ruleset_encode(const struct tc_ruleset *rules, struct tc_buf *out)
{
    tc_auto_buf canonical = {0};
    tc_auto_buf origins = {0};
    char hash[TC_SHA256_HEX];

    put_canonical(rules, &canonical);
    put_origins(rules, &origins);
    if (tc_buf_failed(&canonical) || tc_buf_failed(&origins)) {
        out->failed = true;
        return;
    }
    tc_buf_append(out, TC_IMAGE_MAGIC, 4);
    put_word(out, TC_IMAGE_VERSION);
    put_word(out, (uint32_t)canonical.length);
    put_word(out, (uint32_t)origins.length);
    tc_buf_append(out, rules->hash, TC_IMAGE_DIGITS);
    tc_sha256_hex(origins.data, origins.length, hash);
    tc_buf_append(out, hash, TC_IMAGE_DIGITS);
    tc_buf_append(out, canonical.data, canonical.length);
    tc_buf_append(out, origins.data, origins.length);
}
