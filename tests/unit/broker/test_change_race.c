/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Changes while what they name changes: the text in memory, a link on the way,
 * the directory under a descriptor's number, directories that the host
 * exchanges. What is denied stays untouched, to its change time. Controls: the
 * same rounds do change what is allowed, and denials do happen.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"
#include "unit.h"

#define GROUPS (TC_NOTIFY_OPEN | TC_NOTIFY_CHANGE)
#define MORE_MOST 100 /* times the rounds, until both outcomes were met */

static const char policy[] =
    "{\"version\": 1, \"rules\": ["
    "{\"pattern\": \"lock/**\", \"operations\": \"all\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"lock\", \"operations\": \"write\", \"effect\": \"deny\", \"priority\": 90},"
    "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

static struct cell_outcome outcome;
static unsigned rounds, seconds;

struct tally {
    unsigned fine, denied, other;
};

static void prepare(void)
{
    CELL_CHECK(mkdir("fine", 0755) == 0 && mkdir("lock", 0755) == 0 && mkdir("spare", 0755) == 0);
    CELL_CHECK(mkdir("fine/d", 0755) == 0 && mkdir("lock/d", 0755) == 0);
    cell_file("fine/x", "fine");
    cell_file("spare/x", "fine");
    cell_file("lock/x", "SECRET");
    cell_file("a", "mine");
    CELL_CHECK(symlink("fine", "way") == 0);
}

/* ---- what is done: to x, which is there, or n, which is not; and undone where it is allowed ---- */

static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};

static int exchange(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
}

static void restore_x(void)
{
    mknod("fine/x", S_IFREG | 0644, 0);
}

static void restore_y(void)
{
    rename("fine/y", "fine/x");
    unlink("fine/y");
    restore_x();
}

static void restore_n(void)
{
    rmdir("fine/n");
    unlink("fine/n");
}

static void restore_a(void)
{
    unlink("fine/n");
    mknod("a", S_IFREG | 0644, 0);
}

#define DO(name, call)                                                                                                 \
    static int name(const char *x, const char *n)                                                                      \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        (void)n;                                                                                                       \
        return (call);                                                                                                 \
    }
DO(do_mkdir, mkdir(n, 0755))
DO(do_mknod, mknod(n, S_IFREG | 0644, 0))
DO(do_symlink, symlink("x", n))
DO(do_unlink, unlink(x))
DO(do_move_out, rename(x, "fine/y"))
DO(do_move_in, rename("a", n))
DO(do_move_over, rename("a", x))
DO(do_exchange, exchange(x, "a"))
DO(do_exchange_in, exchange("a", x))
DO(do_link_out, link(x, "fine/y"))
DO(do_link_in, link("a", n))
DO(do_chmod, chmod(x, 0640))
DO(do_chown, chown(x, 1000, 1000))
DO(do_times, utimensat(AT_FDCWD, x, times, 0))
DO(do_truncate, truncate(x, 2))
DO(do_xattr, setxattr(x, "user.x", "v", 1, 0))

static const struct {
    int (*run)(const char *x, const char *n);
    void (*restore)(void);
} changes[] = {{do_mkdir, restore_n},    {do_mknod, restore_n},    {do_symlink, restore_n},   {do_unlink, restore_x},
               {do_move_out, restore_y}, {do_move_in, restore_a},  {do_move_over, restore_a}, {do_exchange, NULL},
               {do_exchange_in, NULL},   {do_link_out, restore_y}, {do_link_in, restore_n},   {do_chmod, NULL},
               {do_chown, NULL},         {do_times, NULL},         {do_truncate, NULL},       {do_xattr, NULL}};

static void count(struct tally *tally, int r)
{
    if (r == 0)
        tally->fine++;
    else if (errno == EACCES)
        tally->denied++;
    else
        tally->other++;
}

static void look(struct stat ret[3])
{
    CELL_CHECK(lstat("lock", &ret[0]) == 0 && lstat("lock/x", &ret[1]) == 0 && lstat("lock/d", &ret[2]) == 0);
}

static void check_untouched(const struct stat before[3])
{
    struct stat after[3];

    look(after);
    for (size_t i = 0; i < 3; i++)
        CELL_CHECK(after[i].st_ino == before[i].st_ino && after[i].st_nlink == before[i].st_nlink &&
                   after[i].st_size == before[i].st_size &&
                   memcmp(&after[i].st_ctim, &before[i].st_ctim, sizeof after[i].st_ctim) == 0);
}

/* One change after the other, each for all its rounds. */
static void run_changes(struct tally *tallies, const char *x, const char *n)
{
    struct stat before[3];

    look(before);
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        struct tally *tally = &tallies[c];
        for (unsigned i = 0; i < rounds || ((tally->fine == 0 || tally->denied == 0) && i < rounds * MORE_MOST); i++) {
            count(tally, changes[c].run(x, n));
            if (changes[c].restore != NULL)
                changes[c].restore();
        }
        check_untouched(before);
    }
}

static void check(int (*inside)(void *memory), void (*outside)(void))
{
    const struct tally *tallies;

    cell_run(
        &(struct cell_case){
            .policy = policy, .groups = GROUPS, .prepare = prepare, .inside = inside, .outside = outside},
        &outcome);
    ck_assert_int_eq(outcome.status, 0);
    tallies = cell_memory;
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        ck_assert_msg(tallies[c].fine > 0, "change %zu never worked", c);
        ck_assert_msg(tallies[c].denied > 0, "change %zu was never denied", c);
    }
}

/* ---- the text ---- */

static atomic_bool stop;
static volatile char text_x[8] = "fine/x", text_n[8] = "fine/n";

static void *flip_text(void *unused)
{
    static const char names[2][4] = {{'f', 'i', 'n', 'e'}, {'l', 'o', 'c', 'k'}};

    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        for (size_t k = 0; k < 4; k++)
            text_x[k] = text_n[k] = names[i & 1][k];
        sched_yield();
    }
    return NULL;
}

static int with_thread(void *memory, void *(*flip)(void *), const char *x, const char *n)
{
    pthread_t thread;

    CELL_CHECK(pthread_create(&thread, NULL, flip, NULL) == 0);
    run_changes(memory, x, n);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    return 0;
}

static int race_text(void *memory)
{
    return with_thread(memory, flip_text, (const char *)text_x, (const char *)text_n);
}

START_TEST(test_text)
{
    check(race_text, NULL);
}
END_TEST

/* ---- a link on the way, by the cell and by the host ---- */

static void flip_link_once(unsigned i)
{
    unlink("next");
    if (symlink(i & 1 ? "fine" : "lock", "next") == 0)
        rename("next", "way");
}

static void *flip_link(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop); i++)
        flip_link_once(i);
    return NULL;
}

static void flip_link_outside(void)
{
    for (unsigned i = 0;; i++) {
        flip_link_once(i);
        sched_yield();
    }
}

static int race_link(void *memory)
{
    return with_thread(memory, flip_link, "way/x", "way/n");
}

static int race_link_outside(void *memory)
{
    run_changes(memory, "way/x", "way/n");
    return 0;
}

START_TEST(test_link)
{
    check(race_link, NULL);
}
END_TEST

START_TEST(test_link_of_host)
{
    check(race_link_outside, flip_link_outside);
}
END_TEST

/* ---- the directory under a descriptor's number ---- */

#define NUMBER 100

static int fine, lock;

static void *flip_descriptor(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        dup2(i & 1 ? fine : lock, NUMBER);
        sched_yield();
    }
    return NULL;
}

static int race_descriptor(void *memory)
{
    fine = open("fine", O_PATH | O_CLOEXEC);
    lock = open("lock", O_PATH | O_CLOEXEC);
    CELL_CHECK(fine >= 0 && lock >= 0 && dup2(fine, NUMBER) == NUMBER);
    return with_thread(memory, flip_descriptor, "/proc/self/fd/100/x", "/proc/self/fd/100/n");
}

START_TEST(test_descriptor)
{
    check(race_descriptor, NULL);
}
END_TEST

/* ---- directories, by the host and by the cell: what stands at an allowed name is allowed ---- */

static void exchange_outside(void)
{
    for (;;) {
        exchange("fine", "spare");
        sched_yield();
    }
}

static void *flip_way(void *unused)
{
    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        exchange("fine", "spare");
        flip_link_once(i);
    }
    return NULL;
}

static int race_directories(void *memory)
{
    return with_thread(memory, flip_way, "way/x", "way/n");
}

START_TEST(test_directories)
{
    check(race_directories, exchange_outside);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker change race");
    TCase *tests = tcase_create("broker change race");

    rounds = cell_long() ? 100000 : 1000;
    seconds = rounds > 1000 ? 3600 : 100;
    tcase_set_timeout(tests, seconds * cell_slack() + 10);
    tcase_add_test(tests, test_text);
    tcase_add_test(tests, test_link);
    tcase_add_test(tests, test_link_of_host);
    tcase_add_test(tests, test_descriptor);
    tcase_add_test(tests, test_directories);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
