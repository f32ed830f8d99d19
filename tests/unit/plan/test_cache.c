/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "policy/load.h"
#include "unit.h"
#include "world.h"

/* As root the cache has a fixed place, so the directory is given by descriptor here. */
static char top[64];
static int cache;

static void set_up(void)
{
    snprintf(top, sizeof(top), "/tmp/toolcell-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(top));
    cache = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(cache, 0);
}

static void tear_down(void)
{
    close(cache);
    world_remove(top);
}

static size_t count_entries(void)
{
    DIR *directory = opendir(top);
    size_t count = 0;

    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

START_TEST(test_round_trip)
{
    static const char *const texts[] = {"", "x", "a\0b"};

    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        tc_auto_buf out = {0};

        ck_assert_int_eq(tc_cache_put(cache, "entry", texts[i], i), 0);
        ck_assert_int_eq(tc_cache_get(cache, "entry", &out), 0);
        ck_assert_uint_eq(out.length, i);
        ck_assert_mem_eq(out.data, texts[i], i);
    }
    ck_assert_uint_eq(count_entries(), 1);
}
END_TEST

START_TEST(test_absent)
{
    tc_auto_buf out = {0};

    ck_assert_int_eq(tc_cache_get(cache, "entry", &out), -ENOENT);
}
END_TEST

/* Change the entry on disk at one place, or cut it there. */
static void damage(off_t where, bool cut)
{
    tc_auto_fd fd = openat(cache, "entry", O_RDWR | O_CLOEXEC);
    char byte;

    ck_assert_int_ge(fd, 0);
    if (cut) {
        ck_assert_int_eq(ftruncate(fd, where), 0);
        return;
    }
    ck_assert_int_eq(pread(fd, &byte, 1, where), 1);
    byte = (char)(byte ^ 1);
    ck_assert_int_eq(pwrite(fd, &byte, 1, where), 1);
}

START_TEST(test_damaged)
{
    for (off_t where = 0; where < 64 + 5; where++)
        for (int cut = 0; cut < 2; cut++) {
            tc_auto_buf out = {0};

            ck_assert_int_eq(tc_cache_put(cache, "entry", "hello", 5), 0);
            damage(where, cut);
            ck_assert_int_eq(tc_cache_get(cache, "entry", &out), -EBADMSG);
        }
}
END_TEST

START_TEST(test_not_only_ours)
{
    tc_auto_buf out = {0};

    ck_assert_int_eq(tc_cache_put(cache, "entry", "hello", 5), 0);
    ck_assert_int_eq(fchmodat(cache, "entry", 0622, 0), 0);
    ck_assert_int_eq(tc_cache_get(cache, "entry", &out), -EBADMSG);
    ck_assert_int_eq(fchmodat(cache, "entry", 0600, 0), 0);
    ck_assert_int_eq(tc_cache_get(cache, "entry", &out), 0);
}
END_TEST

START_TEST(test_no_file)
{
    tc_auto_buf out = {0};

    ck_assert_int_eq(symlinkat("/etc/passwd", cache, "link"), 0);
    ck_assert_int_lt(tc_cache_get(cache, "link", &out), 0);
    ck_assert_int_eq(mkfifoat(cache, "fifo", 0600), 0);
    ck_assert_int_lt(tc_cache_get(cache, "fifo", &out), 0);
    ck_assert_int_eq(mkdirat(cache, "directory", 0700), 0);
    ck_assert_int_lt(tc_cache_get(cache, "directory", &out), 0);
    /* A link is replaced, never followed. */
    ck_assert_int_eq(tc_cache_put(cache, "link", "hello", 5), 0);
    ck_assert_int_eq(tc_cache_get(cache, "link", &out), 0);
}
END_TEST

START_TEST(test_stays_small)
{
    for (int i = 0; i < 300; i++) {
        char name[16];

        snprintf(name, sizeof(name), "entry-%d", i);
        ck_assert_int_eq(tc_cache_put(cache, name, "hello", 5), 0);
    }
    ck_assert_uint_le(count_entries(), 128);
}
END_TEST

START_TEST(test_policy)
{
    static const char text[] = "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":[\"read\"],"
                               "\"effect\":\"deny\"}]}";
    struct tc_ruleset *first = NULL, *second = NULL;
    struct tc_error err = {0};

    if (geteuid() == 0) { /* root's cache has a fixed place that no test should touch */
        ck_assert_int_eq(fchown(cache, 65534, 65534), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    setenv("XDG_CACHE_HOME", top, 1);
    ck_assert_int_eq(tc_cache_policy_parse(text, strlen(text), "p.json", TC_NO_FD, &first, &err), 0);
    ck_assert_int_eq(tc_cache_policy_parse(text, strlen(text), "p.json", TC_NO_FD, &second, &err), 0);
    ck_assert_str_eq(first->hash, second->hash);
    ck_assert_str_eq(first->rules[0].pattern, second->rules[0].pattern);
    tc_ruleset_free(first);
    tc_ruleset_free(second);
    ck_assert_int_eq(tc_cache_policy_parse("{", 1, "p.json", TC_NO_FD, &first, &err), -EINVAL);
    unsetenv("HOME");
    setenv("XDG_CACHE_HOME", "relative", 1);
    ck_assert_int_eq(tc_cache_policy_parse(text, strlen(text), "p.json", TC_NO_FD, &first, &err), 0);
    tc_ruleset_free(first);
    ck_assert_uint_eq(count_entries(), 1); /* the directory "toolcell" */
    ck_assert_int_eq(seteuid(getuid()), 0);
}
END_TEST

START_TEST(test_policy_file)
{
    struct tc_ruleset *rules = NULL;
    struct tc_error err = {0};

    ck_assert_int_lt(tc_cache_policy_read("/nonexistent/p.json", &rules, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/p.json"));
    err = (struct tc_error){0};
    ck_assert_int_lt(tc_cache_policy_read(top, &rules, &err), 0);
    ck_assert_msg(err.message[0] != '\0', "a message");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("plan cache");
    Suite *suite = suite_create("plan cache");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_absent);
    tcase_add_test(tests, test_damaged);
    tcase_add_test(tests, test_not_only_ours);
    tcase_add_test(tests, test_no_file);
    tcase_add_test(tests, test_stays_small);
    tcase_add_test(tests, test_policy);
    tcase_add_test(tests, test_policy_file);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
