/* SPDX-License-Identifier: Apache-2.0 */

/* Images and cache entries: what goes in comes out, and what is damaged is refused. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"
#include "policy/cache.h"
#include "policy/decide.h"
#include "policy/encode.h"
#include "policy/image.h"
#include "vectors.h"

static const char full[] =
    "{\"version\": 1, \"extends\": \"git\", \"rules\": [{\"pattern\": \"a/**\", \"operations\": [\"read\"], "
    "\"effect\": "
    "\"ask\", \"priority\": -5, \"reason\": \"why\"}, {\"pattern\": \"*.x:1-2\", \"operations\": [\"connect\"], "
    "\"effect\": \"allow\"}], \"commands\": [{\"argv\": [\"a\", \"...\"], \"effect\": \"deny\"}], \"limits\": "
    "{\"wall\": "
    "\"1s\"}, \"environment\": {\"pass\": [\"A\"], \"set\": {\"B\": \"c\"}}, \"approval\": {\"timeout\": \"1s\"}}";
static const char project[] =
    "{\"version\": 1, \"rules\": [{\"pattern\": \"p\", \"operations\": [\"write\"], \"effect\": "
    "\"deny\"}], \"limits\": {\"pids\": 3}, \"environment\": {\"pass\": []}}";
static const char imported[] =
    "{\"default\": \"deny\", \"ls\": {\"default\": \"allow\", \"rules\": [{\"pattern\": \"x\", \"action\": \"ask\"}, "
    "{\"pattern\": \"*\", \"action\": \"allow\"}, {\"pattern\": \"y\", \"action\": \"deny\"}]}, \"glob\": "
    "{\"default\": "
    "\"allow\"}, \"grep\": {}, \"execute\": {\"default\": \"deny\", \"rules\": [{\"pattern\": \"git *\", \"action\": "
    "\"allow\"}]}}";

static void check_same_text(const char *a, const char *b)
{
    ck_assert_pstr_eq(a, b);
}

static void check_same_rules(const struct tc_ruleset *a, const struct tc_ruleset *b)
{
    ck_assert_uint_eq(a->rule_count, b->rule_count);
    for (size_t i = 0; i < a->rule_count; i++) {
        const struct tc_rule *x = &a->rules[i], *y = &b->rules[i];
        check_same_text(x->pattern, y->pattern);
        check_same_text(x->reason, y->reason);
        check_same_text(x->source, y->source);
        check_same_text(x->section, y->section);
        ck_assert(x->operations == y->operations && x->effect == y->effect && x->priority == y->priority &&
                  x->index == y->index && x->lists == y->lists && x->absolute == y->absolute);
    }
    ck_assert_uint_eq(a->command_count, b->command_count);
    for (size_t i = 0; i < a->command_count; i++) {
        const struct tc_command_rule *x = &a->commands[i], *y = &b->commands[i];
        ck_assert(x->count == y->count && x->more == y->more && x->any_order == y->any_order && x->line == y->line &&
                  x->effect == y->effect && x->index == y->index);
        for (size_t k = 0; k < x->count; k++)
            check_same_text(x->argv[k], y->argv[k]);
        check_same_text(x->source, y->source);
        check_same_text(x->section, y->section);
        check_same_text(x->reason, y->reason);
    }
}

static void check_same(const struct tc_ruleset *a, const struct tc_ruleset *b)
{
    check_same_text(a->name, b->name);
    check_same_text(a->hash, b->hash);
    check_same_rules(a, b);
    ck_assert_uint_eq(a->limits.set, b->limits.set);
    for (size_t i = 0; i < TC_LIMIT_COUNT; i++)
        ck_assert(!(a->limits.set & 1u << i) || a->limits.value[i] == b->limits.value[i]);
    ck_assert_uint_eq(a->approval_ms, b->approval_ms);
    ck_assert_uint_eq(a->environment_count, b->environment_count);
    for (size_t i = 0; i < a->environment_count; i++) {
        check_same_text(a->environment[i].name, b->environment[i].name);
        check_same_text(a->environment[i].value, b->environment[i].value);
    }
    ck_assert_uint_eq(a->file_count, b->file_count);
    for (size_t i = 0; i < a->file_count; i++)
        ck_assert_str_eq(a->files[i], b->files[i]);
    ck_assert_uint_eq(a->pass_count, b->pass_count);
    for (size_t i = 0; i < a->pass_count; i++)
        check_same_text(a->pass[i], b->pass[i]);
    ck_assert((a->project == NULL) == (b->project == NULL));
    if (a->project != NULL)
        check_same(a->project, b->project);
}

static void check_round_trip(const struct tc_ruleset *rules)
{
    tc_auto_buf image = {0}, again = {0};
    tc_auto_ruleset borrowed = NULL;
    tc_auto_ruleset copied = NULL;

    tc_ruleset_encode(rules, &image);
    ck_assert_int_eq(tc_ruleset_decode(image.data, image.length, true, &borrowed, NULL), 0);
    check_same(rules, borrowed);
    tc_ruleset_encode(borrowed, &again);
    ck_assert_uint_eq(again.length, image.length);
    ck_assert_mem_eq(again.data, image.data, image.length);
    ck_assert_int_eq(tc_ruleset_decode(image.data, image.length, false, &copied, NULL), 0);
    memset(image.data, 0xff, image.length);
    check_same(rules, copied);
}

START_TEST(test_round_trip)
{
    tc_auto_ruleset rules = parse_policy(full);
    tc_auto_ruleset foreign = parse_policy(imported);
    tc_auto_ruleset empty = parse_policy("{\"version\": 1}");

    check_round_trip(rules);
    tighten_policy(rules, project);
    check_round_trip(rules);
    check_round_trip(foreign);
    check_round_trip(empty);
}
END_TEST

START_TEST(test_hash)
{
    tc_auto_ruleset a = parse_policy(full);
    tc_auto_ruleset b = NULL;
    tc_auto_ruleset c = NULL;
    char other[sizeof(full)];

    ck_assert_int_eq(tc_policy_parse(full, strlen(full), "/elsewhere/b.json", TC_NO_FD, &b, NULL), 0);
    ck_assert_str_eq(a->hash, b->hash); /* the same rules, wherever they stand */
    memcpy(other, full, sizeof(full));
    *strstr(other, "why") = 'W';
    c = parse_policy(other);
    ck_assert_str_ne(a->hash, c->hash);
    tighten_policy(b, project);
    ck_assert_str_ne(a->hash, b->hash);
}
END_TEST

START_TEST(test_damage)
{
    tc_auto_ruleset rules = parse_policy(full);
    tc_auto_buf image = {0};
    struct tc_ruleset *decoded = NULL;

    tighten_policy(rules, project);
    tc_ruleset_encode(rules, &image);
    for (size_t i = 0; i < image.length; i++) {
        for (unsigned bit = 0; bit < 8; bit += 3) {
            image.data[i] ^= (char)(1 << bit);
            ck_assert_int_eq(tc_ruleset_decode(image.data, image.length, true, &decoded, NULL), -EBADMSG);
            image.data[i] ^= (char)(1 << bit);
        }
    }
    for (size_t length = 0; length < image.length; length++)
        ck_assert_int_eq(tc_ruleset_decode(image.data, length, true, &decoded, NULL), -EBADMSG);
    tc_buf_char(&image, '\0');
    ck_assert_int_eq(tc_ruleset_decode(image.data, image.length, true, &decoded, NULL), -EBADMSG);
}
END_TEST

/* Give an image the hashes of what it holds now, so that what is behind them is read. */
static void rehash(struct tc_buf *image)
{
    uint32_t words[4];
    char hash[TC_SHA256_HEX];

    memcpy(words, image->data, sizeof(words));
    tc_sha256_hex(image->data + TC_IMAGE_HEADER, words[2], hash);
    memcpy(image->data + TC_IMAGE_HASHES, hash, TC_IMAGE_DIGITS);
    tc_sha256_hex(image->data + TC_IMAGE_HEADER + words[2], words[3], hash);
    memcpy(image->data + TC_IMAGE_HASHES + TC_IMAGE_DIGITS, hash, TC_IMAGE_DIGITS);
}

/* Whatever an image with right hashes says, it is refused or gives a ruleset that can be used. */
START_TEST(test_forged)
{
    static const uint32_t words[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    const struct tc_view view = {0};
    tc_auto_ruleset rules = parse_policy(full);
    tc_auto_buf image = {0};

    tighten_policy(rules, project);
    tc_ruleset_encode(rules, &image);
    for (size_t at = TC_IMAGE_HEADER; at + 4 <= image.length; at++) {
        char saved[4];
        memcpy(saved, image.data + at, 4);
        for (size_t i = 0; i < TC_COUNT(words); i++) {
            tc_auto_ruleset decoded = NULL;
            memcpy(image.data + at, &words[i], 4);
            rehash(&image);
            if (tc_ruleset_decode(image.data, image.length, false, &decoded, NULL) == 0) {
                tc_decide(decoded, &view, TC_OP_READ, "/a/b", 4, false);
                tc_decide_connect(decoded, "a.x", NULL, 1);
            }
        }
        memcpy(image.data + at, saved, 4);
    }
}
END_TEST

/* ---- cache ---- */

static int open_vectors(void)
{
    int fd = open(vectors_path("policies"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return fd;
}

START_TEST(test_cache)
{
    static const char text[] = "{\"version\": 1, \"extends\": [\"merge.json\", \"parts/middle.json\"]}";
    tc_auto_ruleset rules = NULL;
    tc_auto_ruleset cached = NULL;
    tc_auto_buf entry = {0};
    tc_auto_fd directory = open_vectors();
    struct tc_error err = {0};
    char key[TC_SHA256_HEX], other[TC_SHA256_HEX];

    tc_policy_cache_key("x.json", text, strlen(text), key);
    tc_policy_cache_key("x.json", text, strlen(text) - 1, other);
    ck_assert_msg(tc_policy_cache_make(text, strlen(text), "x.json", directory, &rules, &entry, &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(tc_policy_cache_use(key, entry.data, entry.length, directory, &cached, NULL), 0);
    check_same(rules, cached);

    struct tc_ruleset *none = NULL;
    ck_assert_int_eq(tc_policy_cache_use(other, entry.data, entry.length, directory, &none, NULL), -EBADMSG);
    tc_auto_fd elsewhere = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(tc_policy_cache_use(key, entry.data, entry.length, elsewhere, &none, NULL), -ESTALE);
    ck_assert_int_eq(tc_policy_cache_use(key, entry.data, entry.length, TC_NO_FD, &none, NULL), -ESTALE);
    for (size_t length = 0; length < entry.length; length += 7)
        ck_assert_int_lt(tc_policy_cache_use(key, entry.data, length, directory, &none, NULL), 0);
    for (size_t i = 0; i < entry.length; i += 3) {
        entry.data[i] ^= 4;
        ck_assert_int_lt(tc_policy_cache_use(key, entry.data, entry.length, directory, &none, NULL), 0);
        entry.data[i] ^= 4;
    }
}
END_TEST

START_TEST(test_cache_follows_files)
{
    static const char text[] = "{\"version\": 1, \"extends\": \"base.json\"}";
    char path[] = "/tmp/toolcell-cache-XXXXXX";
    tc_auto_ruleset rules = NULL;
    tc_auto_buf entry = {0};
    struct tc_ruleset *cached = NULL;
    char key[TC_SHA256_HEX];

    tc_policy_cache_key("x.json", text, strlen(text), key);
    ck_assert_ptr_nonnull(mkdtemp(path));
    tc_auto_fd directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tc_auto_fd file = openat(directory, "base.json", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(file, "{\"version\": 1}", 14), 14);
    ck_assert_int_eq(tc_policy_cache_make(text, strlen(text), "x.json", directory, &rules, &entry, NULL), 0);
    ck_assert_int_eq(tc_policy_cache_use(key, entry.data, entry.length, directory, &cached, NULL), 0);
    tc_ruleset_free(cached);
    ck_assert_int_eq(write(file, " ", 1), 1);
    ck_assert_int_eq(tc_policy_cache_use(key, entry.data, entry.length, directory, &cached, NULL), -ESTALE);
    unlinkat(directory, "base.json", 0);
    ck_assert_int_eq(tc_policy_cache_use(key, entry.data, entry.length, directory, &cached, NULL), -ESTALE);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

START_TEST(test_cache_key)
{
    char a[TC_SHA256_HEX], b[TC_SHA256_HEX];

    tc_policy_cache_key("x", "y", 1, a);
    tc_policy_cache_key("x", "y", 1, b);
    ck_assert_str_eq(a, b);
    tc_policy_cache_key("xy", "", 0, b);
    ck_assert_str_ne(a, b);
    tc_policy_cache_key("x", "z", 1, b);
    ck_assert_str_ne(a, b);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("image", test_round_trip, test_hash, test_damage, test_forged, test_cache,
                               test_cache_follows_files, test_cache_key, NULL));
}
