/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reading an image, which may be damaged or made up: whatever is taken from it
 * is checked against what is left of it, and against what a parsed policy
 * could say. A failure sticks in the reader and is looked at once per piece.
 */

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "policy/encode.h"
#include "policy/image.h"
#include "policy/load.h"
#include "policy/parts.h"

struct reader {
    const char *at, *end;
    struct tc_arena *arena;
    int error; /* 0, -EBADMSG or -ENOMEM */
};

static uint32_t get_word(struct reader *in)
{
    uint32_t word = 0;

    if (in->error == 0 && (size_t)(in->end - in->at) < sizeof(word))
        in->error = -EBADMSG;
    if (in->error < 0)
        return 0;
    memcpy(&word, in->at, sizeof(word));
    in->at += sizeof(word);
    return word;
}

static uint64_t get_long(struct reader *in)
{
    uint64_t value = 0;

    if (in->error == 0 && (size_t)(in->end - in->at) < sizeof(value))
        in->error = -EBADMSG;
    if (in->error < 0)
        return 0;
    memcpy(&value, in->at, sizeof(value));
    in->at += sizeof(value);
    return value;
}

/* A word that must lie below a bound. */
static uint32_t get_below(struct reader *in, uint32_t bound)
{
    uint32_t word = get_word(in);

    if (in->error == 0 && word >= bound)
        in->error = -EBADMSG;
    return in->error < 0 ? 0 : word;
}

/* The string of a word that has been read already: size bytes, the NUL included, that no other NUL may precede. */
static const char *get_sized(struct reader *in, uint32_t size)
{
    const char *text = in->at;

    if (in->error < 0 || size == 0)
        return NULL;
    if ((size_t)(in->end - in->at) < size || memchr(text, '\0', size) != text + size - 1) {
        in->error = -EBADMSG;
        return NULL;
    }
    in->at += size;
    return text;
}

static const char *get_string(struct reader *in)
{
    return get_sized(in, get_word(in));
}

/* A string that must be there; never NULL, so that callers need not look before the error. */
static const char *get_text(struct reader *in)
{
    const char *text = get_string(in);

    if (text != NULL)
        return text;
    if (in->error == 0)
        in->error = -EBADMSG;
    return "";
}

/* An array for count elements, of which each takes at least `least` bytes of what is left. */
static void *get_array(struct reader *in, uint32_t count, size_t size, size_t least)
{
    void *array = NULL;

    if (in->error == 0 && count > (size_t)(in->end - in->at) / least)
        in->error = -EBADMSG;
    if (in->error == 0) {
        array = tc_arena_array(in->arena, count, size);
        if (array == NULL)
            in->error = -ENOMEM;
    }
    return array;
}

static void get_rule(struct reader *in, struct tc_rule *rule)
{
    uint32_t operations = get_word(in);

    rule->operations = operations & ((1u << TC_IMAGE_LISTS) - 1);
    rule->lists = operations >> TC_IMAGE_LISTS;
    rule->effect = (enum tc_effect)get_below(in, TC_DENY + 1);
    rule->priority = (int)get_word(in);
    if (rule->lists != 0)
        rule->index = get_word(in);
    rule->pattern = get_text(in);
    rule->pattern_length = strlen(rule->pattern);
    rule->absolute = rule->pattern[0] == '/';
    rule->reason = get_string(in);
    if (rule->operations == 0 || rule->operations >> TC_OP_COUNT || rule->lists > TC_LIST_ALL ||
        rule->pattern_length > TC_GLOB_MAX)
        in->error = in->error < 0 ? in->error : -EBADMSG;
}

static void get_rules(struct reader *in, struct tc_ruleset *rules)
{
    uint32_t count = get_word(in);
    struct tc_rule *array = get_array(in, count, sizeof(*array), 5 * sizeof(uint32_t));

    for (uint32_t i = 0; in->error == 0 && i < count; i++) {
        get_rule(in, &array[i]);
        if (i > 0 && array[i].priority > array[i - 1].priority)
            in->error = -EBADMSG;
    }
    rules->rules = array;
    rules->rule_count = count;
}

static void get_command(struct reader *in, struct tc_command_rule *command)
{
    uint32_t flags = get_below(in, TC_IMAGE_LINE * 2);

    command->more = flags & TC_IMAGE_MORE;
    command->any_order = flags & TC_IMAGE_ANY_ORDER;
    command->line = flags & TC_IMAGE_LINE;
    command->effect = (enum tc_effect)get_below(in, TC_DENY + 1);

    uint32_t count = get_word(in);
    const char **argv = get_array(in, count, sizeof(*argv), sizeof(uint32_t));
    for (uint32_t i = 0; in->error == 0 && i < count; i++)
        argv[i] = get_text(in);
    if (in->error == 0 && count == 0)
        in->error = -EBADMSG;
    command->argv = argv;
    command->count = count;
    command->reason = get_string(in);
}

static void get_commands(struct reader *in, struct tc_ruleset *rules)
{
    uint32_t count = get_word(in);
    struct tc_command_rule *array = get_array(in, count, sizeof(*array), 4 * sizeof(uint32_t));

    for (uint32_t i = 0; in->error == 0 && i < count; i++)
        get_command(in, &array[i]);
    rules->commands = array;
    rules->command_count = count;
}

static const char *const *get_names(struct reader *in, size_t *ret_count)
{
    uint32_t count = get_word(in);
    const char **names = get_array(in, count, sizeof(*names), sizeof(uint32_t));

    for (uint32_t i = 0; in->error == 0 && i < count; i++)
        names[i] = get_text(in);
    *ret_count = count;
    return names;
}

static void get_settings(struct reader *in, struct tc_ruleset *rules)
{
    rules->limits.set = get_below(in, 1u << TC_LIMIT_COUNT);
    for (size_t i = 0; i < TC_LIMIT_COUNT; i++) {
        if (rules->limits.set & 1u << i)
            rules->limits.value[i] = get_long(in);
    }
    rules->approval_ms = get_long(in);

    uint32_t count = get_word(in);
    struct tc_setting *settings = get_array(in, count, sizeof(*settings), 2 * sizeof(uint32_t));
    for (uint32_t i = 0; in->error == 0 && i < count; i++) {
        settings[i].name = get_text(in);
        settings[i].value = get_text(in);
    }
    rules->environment = settings;
    rules->environment_count = count;

    rules->pass = get_names(in, &rules->pass_count);
}

/* One ruleset of the canonical part; *more tells that a project's follows. */
static void get_canonical(struct reader *in, struct tc_ruleset *rules, bool *more)
{
    get_rules(in, rules);
    get_commands(in, rules);
    get_settings(in, rules);
    *more = get_below(in, 2) == 1;
}

static const char *get_source(struct reader *in, const char **last)
{
    uint32_t size = get_word(in);

    if (size != TC_IMAGE_SAME)
        *last = get_sized(in, size);
    if (in->error == 0 && *last == NULL)
        in->error = -EBADMSG;
    return *last;
}

static void get_origins(struct reader *in, struct tc_ruleset *rules)
{
    struct tc_rule *array = (struct tc_rule *)rules->rules;
    struct tc_command_rule *commands = (struct tc_command_rule *)rules->commands;
    const char *last = NULL;

    rules->name = get_text(in);
    rules->files = get_names(in, &rules->file_count);
    for (size_t i = 0; in->error == 0 && i < rules->rule_count; i++) {
        array[i].source = get_source(in, &last);
        array[i].section = get_string(in);
        array[i].index = get_word(in);
        if (array[i].index == TC_INDEX_DEFAULT && array[i].section == NULL)
            in->error = -EBADMSG;
    }
    for (size_t i = 0; in->error == 0 && i < rules->command_count; i++) {
        commands[i].source = get_source(in, &last);
        commands[i].section = get_string(in);
        commands[i].index = get_word(in);
        if (commands[i].index == TC_INDEX_DEFAULT && commands[i].section == NULL)
            in->error = -EBADMSG;
    }
}

static bool part_is_whole(const char *image, unsigned which, const char *part, size_t length)
{
    char hash[TC_SHA256_HEX];

    tc_sha256_hex(part, length, hash);
    return memcmp(hash, image + TC_IMAGE_HASHES + which * TC_IMAGE_DIGITS, TC_IMAGE_DIGITS) == 0;
}

static int read_header(const char *image, size_t length, uint32_t *canonical, struct tc_error *err)
{
    uint32_t words[4];

    if (length < TC_IMAGE_HEADER)
        return tc_error_plain(err, -EBADMSG, "ruleset image: too short");
    memcpy(words, image, sizeof(words));
    if (memcmp(image, TC_IMAGE_MAGIC, 4) != 0 || words[1] != TC_IMAGE_VERSION)
        return tc_error_plain(err, -EBADMSG, "ruleset image: another format");
    if ((uint64_t)words[2] + words[3] + TC_IMAGE_HEADER != length)
        return tc_error_plain(err, -EBADMSG, "ruleset image: wrong length");
    if (!part_is_whole(image, 0, image + TC_IMAGE_HEADER, words[2]) ||
        !part_is_whole(image, 1, image + TC_IMAGE_HEADER + words[2], words[3]))
        return tc_error_plain(err, -EBADMSG, "ruleset image: damaged");
    *canonical = words[2];
    return 0;
}

/* Both parts into rulesets: the operator's, and the project's when there is one. */
static int read_parts(struct reader *canonical, struct reader *origins, struct tc_ruleset *rules,
                      struct tc_ruleset **project)
{
    bool more;

    *project = NULL;
    get_canonical(canonical, rules, &more);
    if (canonical->error == 0 && more) {
        *project = tc_arena_alloc(canonical->arena, sizeof(**project));
        if (*project == NULL)
            return -ENOMEM;
        get_canonical(canonical, *project, &more);
        if (canonical->error == 0 && more)
            canonical->error = -EBADMSG;
    }
    if (canonical->error < 0)
        return canonical->error;
    get_origins(origins, rules);
    if (*project != NULL && origins->error == 0)
        get_origins(origins, *project);
    if (origins->error < 0)
        return origins->error;
    return canonical->at == canonical->end && origins->at == origins->end ? 0 : -EBADMSG;
}

/* Index both; both lie in the one arena, so only the operator's owns it. */
static int complete(struct tc_ruleset *rules, struct tc_ruleset *project, struct tc_arena *arena)
{
    int r = 0;

    rules->arena = arena;
    if (project != NULL) {
        project->arena = arena;
        r = tc_ruleset_complete(project, true);
        project->arena = NULL;
        rules->project = project;
    }
    return r < 0 ? r : tc_ruleset_complete(rules, false);
}

int tc_ruleset_decode(const void *image, size_t length, bool borrow, struct tc_ruleset **ret, struct tc_error *err)
{
    tc_auto_arena arena = tc_arena_new();
    const char *bytes = image;
    struct tc_ruleset *rules, *project;
    uint32_t canonical = 0;
    int r = arena == NULL ? tc_no_memory(err) : read_header(bytes, length, &canonical, err);

    if (r < 0)
        return r;
    rules = tc_arena_alloc(arena, sizeof(*rules));
    if (!borrow)
        bytes = tc_arena_copy(arena, image, length);
    if (rules == NULL || bytes == NULL)
        return tc_no_memory(err);

    const char *middle = bytes + TC_IMAGE_HEADER + canonical;
    struct reader parts = {.at = bytes + TC_IMAGE_HEADER, .end = middle, .arena = arena};
    struct reader origins = {.at = middle, .end = bytes + length, .arena = arena};
    r = read_parts(&parts, &origins, rules, &project);
    if (r == 0)
        r = complete(rules, project, arena);
    if (r == -ENOMEM)
        return tc_no_memory(err);
    if (r < 0)
        return tc_error_plain(err, -EBADMSG, "ruleset image: damaged");
    memcpy(rules->hash, bytes + TC_IMAGE_HASHES, TC_IMAGE_DIGITS);
    *ret = rules;
    arena = NULL;
    return 0;
}
