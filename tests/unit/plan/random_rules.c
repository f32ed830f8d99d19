/* SPDX-License-Identifier: Apache-2.0 */
#include "random_rules.h"

#include <string.h>

static uint64_t state;

void random_seed(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        random_below(2);
}

unsigned random_below(unsigned bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % bound);
}

static const char *const patterns[] = {
    "**",
    "**",
    "**",
    "**",
    "a",
    "a/**",
    "a/**",
    "b/**",
    "b",
    "a/b",
    "a/b/**",
    "a/b/**",
    "a/b/c",
    "b/c/**",
    "c",
    "c/**",
    "*",
    "a/*",
    "**/c",
    "**/a/**",
    "*/b/**",
    "?",
    "?/**",
    "[ab]/**",
    "a*/**",
    "a/**/c",
    "a**",
    "\\\\a/**",
    "",
    "/**",
    "/workspace",
    "/workspace/**",
    "/workspace/a/**",
    "/workspace/a",
    "/workspace/*",
    "/workspace/b/**",
    "/data/**",
    "/data",
    "/data/a/**",
    "/tmp/**",
    "/tmp/x/**",
    "/usr/**",
    "/usr",
    "/bin/**",
    "/home",
    "/home/agent/**",
    "/",
    "/etc/**",
    "/opt/sdk/**",
    "/w*/**",
    "/run",
    "a/",
    "a//**",
    "./a/**",
    "../**",
    "/workspace/../tmp/**",
    "a/../b/**",
    "/workspace/a/b/**",
    "/workspace/a/b",
    "/tmp/x",
    "/tmp/x/a/**",
    "/workspace/n/**",
    "n/**",
    "n",
    "n/a/**",
};

/* Rules that are likely to make unions of subtrees. */
static const char *const literals[] = {
    "a/**",
    "a",
    "b/**",
    "b",
    "a/b/**",
    "a/b",
    "b/c/**",
    "c/**",
    "a/b/c/**",
    "a/a/**",
    "/workspace/a/**",
    "/data/a/**",
    "/data/b",
    "/tmp/x/a/**",
    "n/b/**",
    "/lone/deep/c/**",
    "ab/**",
    "x/**",
};

static const char *const operations[] = {
    "\"all\"",
    "\"all\"",
    "[\"read\"]",
    "[\"write\"]",
    "[\"read\",\"write\"]",
    "[\"execute\"]",
    "[\"list\"]",
    "[\"read\",\"execute\"]",
    "[\"read\",\"write\",\"execute\"]",
    "[\"edit\"]",
};

static const char *const effects[] = {"allow", "allow", "allow", "allow", "deny", "deny", "ask"};

void random_rules(struct tc_buf *out, unsigned most, bool connect)
{
    unsigned count = random_below(most + 1);
    bool literal = random_below(2) == 0;

    tc_buf_string(out, "{\"version\":1,\"rules\":[");
    for (unsigned i = 0; i < count; i++) {
        const char *pattern = literal && random_below(8) != 0 ? PICK(literals) : PICK(patterns);
        const char *operation = PICK(operations);

        if (strcmp(operation, "\"all\"") == 0 && strcmp(pattern, "**") != 0)
            operation = "[\"read\",\"write\",\"execute\"]";
        tc_buf_printf(out, "%s{\"pattern\":\"%s\",\"operations\":%s,\"effect\":\"%s\",\"priority\":%u}",
                      i == 0 ? "" : ",", pattern, operation, PICK(effects), random_below(3));
    }
    if (connect)
        tc_buf_printf(out, "%s{\"pattern\":\"**\",\"operations\":[\"connect\"],\"effect\":\"allow\",\"priority\":9}",
                      count == 0 ? "" : ",");
    tc_buf_string(out, "]}");
}

void random_programs(struct tc_buf *out)
{
    tc_buf_string(out, "{\"version\":1,\"rules\":[");
    for (unsigned i = 2 + random_below(5); i > 0; i--)
        tc_buf_printf(out, "{\"pattern\":\"%s\",\"operations\":[\"execute\"],\"effect\":\"%s\",\"priority\":%u},",
                      random_below(4) != 0 ? PICK(literals) : PICK(patterns), PICK(effects), 1 + random_below(3));
    tc_buf_printf(out,
                  "{\"pattern\":\"**\",\"operations\":[\"execute\"],\"effect\":\"%s\"},"
                  "{\"pattern\":\"**/.env\",\"operations\":[\"read\"],\"effect\":\"deny\",\"priority\":1},"
                  "{\"pattern\":\"**\",\"operations\":[\"read\",\"write\",\"connect\"],\"effect\":\"allow\"}]}",
                  random_below(4) == 0 ? "ask" : "deny");
}
