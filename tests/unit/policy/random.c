/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include "fixture.h"

static const struct tc_view_mount mounts[] = {
    {"/w", TC_AREA_DATA, false},      {"/w/m", TC_AREA_DATA, false},    {"/ro", TC_AREA_DATA, true},
    {"/tmp", TC_AREA_SCRATCH, false}, {"/w/t", TC_AREA_SCRATCH, false},
};
const struct tc_view random_view = {.mounts = mounts, .count = TC_COUNT(mounts), .rootfs_writable = true};

static uint64_t state;

void random_begin(uint64_t seed)
{
    state = seed;
}

/* xorshift64* (Marsaglia, Vigna). */
unsigned random_pick(unsigned below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % below;
}

const char *random_one(const char *const *list, size_t count)
{
    return list[random_pick((unsigned)count)];
}

void random_pattern(struct tc_buf *out)
{
    static const char *const starts[] = {"", "", "", "**/", "**/", "/w/", "/", "/tmp/", "/w/m/", "/**/"};
    static const char *const parts[] = {"a",  "b",    "ab",  "*",   "**",   "?",   "[ab]", "a*",
                                        "*b", "**/a", "m/a", "a/b", "[!a]", "t/*", "*/*",  "a**b"};

    tc_buf_string(out, random_one(starts, TC_COUNT(starts)));
    for (unsigned i = random_pick(3); i > 0; i--) {
        tc_buf_string(out, random_one(parts, TC_COUNT(parts)));
        tc_buf_char(out, '/');
    }
    tc_buf_string(out, random_one(parts, TC_COUNT(parts)));
}

void random_policy(struct tc_buf *out)
{
    static const char *const operations[] = {
        "\"read\"", "\"list\"", "\"write\"", "\"edit\"", "\"execute\"", "\"read\", \"write\"", "\"all\""};
    static const char *const effects[] = {"allow", "ask", "deny"};

    tc_buf_string(out, "{\"version\": 1, \"rules\": [");
    for (unsigned i = 0, count = random_pick(7); i < count; i++) {
        tc_buf_string(out, i == 0 ? "{\"pattern\": \"" : ", {\"pattern\": \"");
        random_pattern(out);
        tc_buf_printf(out, "\", \"operations\": [%s], \"effect\": \"%s\", \"priority\": %u}",
                      random_one(operations, TC_COUNT(operations)), random_one(effects, TC_COUNT(effects)),
                      random_pick(3));
    }
    tc_buf_string(out, "]}");
}

struct tc_ruleset *random_rules(void)
{
    tc_auto_buf text = {0};

    random_policy(&text);
    return parse_policy(text.data);
}

void random_name(struct tc_buf *out)
{
    static const char *const names[] = {"a", "b", "ab", "ba", "m", "t", "c", "abb"};

    for (unsigned i = 1 + random_pick(3); i > 0; i--) {
        tc_buf_char(out, '/');
        tc_buf_string(out, random_one(names, TC_COUNT(names)));
    }
}

void random_path(struct tc_buf *out)
{
    static const char *const roots[] = {"/w", "/w", "/w", "/w/m", "/tmp", "/ro", "/w/t", ""};

    tc_buf_consume(out, out->length);
    tc_buf_string(out, random_one(roots, TC_COUNT(roots)));
    if (random_pick(8) != 0 || out->length == 0)
        random_name(out);
}
