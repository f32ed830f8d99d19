/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Performed changes against native ones: the same table of calls is made in a
 * cell without filter and in one with a broker, in equal trees that no rule
 * restricts. The errors must be equal, and what the tree looks like afterwards.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "cell.h"
#include "change_calls.h"
#include "change_tree.h"
#include "unit.h"

#define GROUPS (TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS | TC_NOTIFY_WATCH)
#define SEEN_MOST (CELL_MEMORY / sizeof(struct seen))

#define SECONDS 200 /* for 10,000 calls, most of which change the tree, on a machine that has other things to do */

struct seen {
    int error;
    unsigned state; /* of the tree afterwards */
};

static struct cell_outcome outcome;
static struct seen natively[SEEN_MOST];

/* ---- on these names ---- */

static char long_name[300], long_path[5000];

static const char *const singles[] = {"file",
                                      "file/",
                                      "file/x",
                                      "dir",
                                      "dir/",
                                      "dir/new",
                                      "dir/new/",
                                      "full",
                                      "full/",
                                      "full/inner",
                                      "missing",
                                      "missing/",
                                      "missing/x",
                                      "",
                                      ".",
                                      "..",
                                      "/",
                                      "./",
                                      "dir/.",
                                      "dir/..",
                                      "full/../file",
                                      "link",
                                      "link/",
                                      "dirlink",
                                      "dirlink/",
                                      "dirlink/inner",
                                      "dirlink/new",
                                      "dangling",
                                      "dangling/",
                                      "loop",
                                      "loop/",
                                      "loop/x",
                                      "shut",
                                      "shut/x",
                                      "readonly",
                                      "readonly/new",
                                      "readonly/old",
                                      "fifo",
                                      "absolute",
                                      "new\nline",
                                      "\xff\xfe",
                                      "/proc/self/cwd/file",
                                      "/proc/self/cwd/new",
                                      "/proc/self/fd/0",
                                      "/proc/self/fd/new",
                                      "/proc/new",
                                      "/dev/null",
                                      "/dev/new",
                                      "/usr/bin/env",
                                      "/usr/new",
                                      "/none/x",
                                      long_name,
                                      long_path,
                                      NULL,
                                      (const char *)8,
                                      "/tmp/other",
                                      "/tmp/new"};
static const char *const pairs[] = {
    "file",        "file/",        "twin",       "dir",     "dir/",         "full",
    "full/inner",  "full/sub",     "full/sub/x", "missing", "missing/",     "missing/x",
    ".",           "..",           "dir/.",      "link",    "dirlink",      "dirlink/",
    "dirlink/new", "dangling",     "loop/x",     "shut/x",  "readonly/old", "/proc/self/cwd/new",
    "/tmp/other",  "/usr/bin/env", "",           long_name, (const char *)8};

/* ---- running them ---- */

static const char *base; /* the tree stands in d in there */

static void record(struct seen *ret, int r, unsigned *state)
{
    int error = r < 0 ? errno : 0;

    *ret = (struct seen){error, change_tree_look()};
    if (error == 0 || ret->state != *state) {
        change_tree_make(base);
        *state = change_tree_look();
    }
}

static int differ(void *memory)
{
    struct seen *seen = memory;
    unsigned state;

    memset(long_name, 'n', sizeof long_name - 1);
    for (size_t i = 0; i + 2 < sizeof long_path; i += 2)
        memcpy(long_path + i, "./", 2);
    change_tree_make(base);
    state = change_tree_look();
    change_inotify = inotify_init1(IN_CLOEXEC);
    CELL_CHECK(change_inotify >= 0);
    for (size_t o = 0; o < change_one_count; o++)
        for (size_t p = 0; p < sizeof singles / sizeof *singles; p++, seen++)
            record(seen, change_ones[o].run(singles[p]), &state);
    for (size_t o = 0; o < change_two_count; o++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            for (size_t q = 0; q < sizeof pairs / sizeof *pairs; q++, seen++)
                record(seen, change_twos[o].run(pairs[p], pairs[q]), &state);
    CELL_CHECK((size_t)(seen - (struct seen *)memory) < SEEN_MOST);
    return 0;
}

static const char *shown(const char *path)
{
    if (path == NULL)
        return "NULL";
    return path == (const char *)8 ? "8" : path == long_name ? "LONG NAME" : path == long_path ? "LONG PATH" : path;
}

static unsigned tell(const struct seen *a, const struct seen *b, const char *name, const char *first,
                     const char *second)
{
    if (a->error == b->error && a->state == b->state)
        return 0;
    fprintf(stderr, "in %s: %s(%s, %s): natively error %d, performed %d%s\n", base, name, shown(first), shown(second),
            a->error, b->error, a->state == b->state ? "" : "; the tree differs");
    return 1;
}

static unsigned compare(const struct seen *performed)
{
    const struct seen *native = natively;
    unsigned different = 0;

    for (size_t o = 0; o < change_one_count; o++)
        for (size_t p = 0; p < sizeof singles / sizeof *singles; p++)
            different += tell(native++, performed++, change_ones[o].name, singles[p], "");
    for (size_t o = 0; o < change_two_count; o++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            for (size_t q = 0; q < sizeof pairs / sizeof *pairs; q++)
                different += tell(native++, performed++, change_twos[o].name, pairs[p], pairs[q]);
    return different;
}

static void check_in(const char *where)
{
    static const char all[] =
        "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}";

    base = where;
    cell_run(&(struct cell_case){.policy = all, .groups = GROUPS, .inside = differ, .native = true, .seconds = SECONDS},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    memcpy(natively, cell_memory, sizeof natively);
    cell_run(&(struct cell_case){.policy = all, .groups = GROUPS, .inside = differ, .seconds = SECONDS}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(compare(cell_memory), 0);
    ck_assert_uint_gt(outcome.calls, 1000);
}

START_TEST(test_workspace)
{
    check_in("/workspace");
}
END_TEST

START_TEST(test_scratch)
{
    check_in("/tmp");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker change differ");
    TCase *tests = tcase_create("broker change differ");

    tcase_set_timeout(tests, 2 * SECONDS * cell_slack());
    tcase_add_test(tests, test_workspace);
    tcase_add_test(tests, test_scratch);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
