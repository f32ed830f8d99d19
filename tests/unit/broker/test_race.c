/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whoever changes what was looked at: the cell's threads, its processes, the
 * host. Each with the positive control that the change does happen in time to
 * matter: both outcomes are seen.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "unit.h"

static struct cell_outcome outcome;
static int rounds;

/* What was seen, in shared memory. */
struct tally {
    unsigned fine, denied, missing, other, secret;
};

static void prepare(void)
{
    cell_file("ok", "fine");
    cell_file(".env", "SECRET");
    CELL_CHECK(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0 && mkdir("open", 0755) == 0);
    cell_file("a/file", "fine");
    cell_file("b/.env", "SECRET");
    CELL_CHECK(symlink("../b/.env", "open/file") == 0);
    CELL_CHECK(symlink("ok", "flip") == 0);
}

static void look(const char *path, struct tally *tally)
{
    char text[32] = "";
    int r = cell_read(path, text, sizeof text);

    if (r >= 0 && strcmp(text, "fine") == 0)
        tally->fine++;
    else if (r >= 0 && strstr(text, "SECRET") != NULL)
        tally->secret++;
    else if (r == -EACCES)
        tally->denied++;
    else if (r == -ENOENT)
        tally->missing++;
    else
        tally->other++;
}

static void check_tally(const struct tally *tally)
{
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(tally->secret, 0);
    ck_assert_uint_eq(tally->other, 0);
    /* The positive control: both were met. */
    ck_assert_uint_gt(tally->fine, 0);
    ck_assert_uint_gt(tally->denied, 0);
}

/* ---- the pointer race ---- */

static volatile char buffer[8] = "ok";
static atomic_bool stop_flipping;

static void *flip(void *unused)
{
    static const char names[2][8] = {"ok", ".env"};

    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop_flipping); i++) {
        for (size_t k = 0; k < sizeof buffer; k++)
            buffer[k] = names[i & 1][k];
        sched_yield();
    }
    return NULL;
}

static int pointer(void *memory)
{
    struct tally *tally = memory;
    pthread_t threads[2];

    for (size_t i = 0; i < 2; i++)
        CELL_CHECK(pthread_create(&threads[i], NULL, flip, NULL) == 0);
    for (int i = 0; i < rounds; i++)
        look((const char *)buffer, tally);
    for (int i = 0; i < 100000 && (tally->fine == 0 || tally->denied == 0); i++)
        look((const char *)buffer, tally);
    atomic_store(&stop_flipping, true);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* Names that are half of one and half of the other are not there. */
    return 0;
}

START_TEST(test_pointer)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = pointer}, &outcome);
    check_tally(cell_memory);
}
END_TEST

/* ---- links and directories that are exchanged ---- */

static void exchange_link(void)
{
    for (unsigned i = 0;; i++) {
        unlink("next");
        CELL_CHECK(symlink(i & 1 ? "ok" : ".env", "next") == 0 && rename("next", "flip") == 0);
    }
}

static int follow_flip(void *memory)
{
    struct tally *tally = memory;

    for (int i = 0; i < rounds || ((tally->fine == 0 || tally->denied == 0) && i < 100000); i++)
        look("flip", tally);
    return 0;
}

START_TEST(test_link)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = follow_flip, .outside = exchange_link}, &outcome);
    check_tally(cell_memory);
}
END_TEST

static void exchange_directory(void)
{
    for (;;)
        CELL_CHECK(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "open", 2 /* RENAME_EXCHANGE */) == 0);
}

static int follow_directory(void *memory)
{
    struct tally *tally = memory;
    int directory = open("a", O_PATH);

    CELL_CHECK(directory >= 0);
    for (int i = 0; i < rounds || ((tally->fine == 0 || tally->denied == 0) && i < 100000); i++)
        look(i & 1 ? "a/file" : "b/../a/file", tally);
    return 0;
}

START_TEST(test_ancestor)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = follow_directory, .outside = exchange_directory},
             &outcome);
    check_tally(cell_memory);
}
END_TEST

/* A file that is denied by its name and one that is not, exchanged under one name: what is read goes by the name. */
static void exchange_names(void)
{
    for (;;)
        CELL_CHECK(syscall(SYS_renameat2, AT_FDCWD, "ok", AT_FDCWD, "other.env", 2) == 0);
}

static void prepare_names(void)
{
    cell_file("ok", "fine");
    cell_file("other.env", "fine");
}

static int write_names(void *memory)
{
    struct tally *tally = memory;

    for (int i = 0; i < rounds; i++) {
        int fd = open("ok", O_WRONLY | O_TRUNC);
        CELL_CHECK(fd >= 0 && write(fd, "fine", 4) == 4);
        close(fd);
        tally->fine++;
    }
    return 0;
}

START_TEST(test_write_while_exchanged)
{
    cell_run(&(struct cell_case){.prepare = prepare_names, .inside = write_names, .outside = exchange_names}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- descriptors of what has been replaced ---- */

static void replace_when_told(void)
{
    atomic_uint *step = cell_memory;

    while (atomic_load(step) != 1)
        sched_yield();
    cell_file("next", "NEWSECRET");
    CELL_CHECK(rename("next", ".env") == 0 && unlink("ok") == 0);
    atomic_store(step, 2);
}

static int reopen(void *memory)
{
    atomic_uint *step = memory;
    int secret = open(".env", O_PATH), fine = open("ok", O_RDONLY);
    char path[40], text[32];

    CELL_CHECK(secret >= 0 && fine >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fine);
    CELL_CHECK(cell_read(path, text, sizeof text) == 4); /* the positive control */
    snprintf(path, sizeof path, "/dev/fd/%d", secret);
    CELL_CHECK(cell_read(path, text, sizeof text) == -EACCES);
    atomic_store(step, 1);
    while (atomic_load(step) != 2)
        sched_yield();
    CELL_CHECK(cell_read(path, text, sizeof text) == -ENOENT);
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fine);
    CELL_CHECK(cell_read(path, text, sizeof text) == -ENOENT);
    CELL_CHECK(open(path, O_WRONLY) == -1 && errno == ENOENT);
    return 0;
}

START_TEST(test_replaced)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = reopen, .outside = replace_when_told}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker race");
    TCase *tests = tcase_create("broker race");

    rounds = cell_long() ? 100000 : 1000;
    tcase_set_timeout(tests, (cell_long() ? 1200 : 60) * cell_slack());
    tcase_add_test(tests, test_pointer);
    tcase_add_test(tests, test_link);
    tcase_add_test(tests, test_ancestor);
    tcase_add_test(tests, test_write_while_exchanged);
    tcase_add_test(tests, test_replaced);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
