/* SPDX-License-Identifier: Apache-2.0 */

/* Changes that the rules ask about: how often, about what, and that nobody else waits for the answer. */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell.h"
#include "unit.h"

static const char policy[] =
    "{\"version\": 1, \"rules\": ["
    "{\"pattern\": \"ask*\", \"operations\": [\"write\"], \"effect\": \"ask\", \"priority\": 9},"
    "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

static struct cell_outcome outcome;
static char asked[16][160]; /* what was asked about; names separated by '|' */
static unsigned asked_count;

static enum tc_broker_answer note(const struct tc_broker_message *ask)
{
    char *text = asked[asked_count++ % 16];
    size_t length = ask->length < 159 ? ask->length : 159;

    for (size_t i = 0; i < length; i++)
        text[i] = ask->target[i] == '\0' ? '|' : ask->target[i];
    text[length] = '\0';
    return strstr(text, "ask-no") != NULL ? TC_BROKER_DENY : TC_BROKER_ALLOW;
}

static void prepare(void)
{
    cell_file("ask1", "x");
    cell_file("ask2", "x");
    cell_file("ask-no", "x");
    cell_file("free", "x");
    CELL_CHECK(mkdir("ask-dir", 0755) == 0);
}

static int change(void *memory)
{
    (void)memory;
    CELL_CHECK(rename("ask1", "ask3") == 0);
    CELL_CHECK(syscall(SYS_renameat2, AT_FDCWD, "ask2", AT_FDCWD, "ask3", RENAME_EXCHANGE) == 0);
    CELL_CHECK(unlink("ask2") == 0);
    CELL_CHECK(unlink("ask-no") < 0 && errno == EACCES);
    CELL_CHECK(chmod("ask3", 0600) == 0);
    /* Not asked: what fails anyway, and questions. */
    CELL_CHECK(mkdir("ask-dir", 0755) < 0 && errno == EEXIST);
    CELL_CHECK(unlink("ask-none") < 0 && errno == ENOENT);
    CELL_CHECK(rename("ask-none", "free") < 0 && errno == ENOENT);
    CELL_CHECK(access("ask-no", W_OK) == 0);
    CELL_CHECK(mkdir("other", 0755) == 0);
    return 0;
}

START_TEST(test_asked)
{
    static const char *const expected[] = {"/workspace/ask1|/workspace/ask3", "/workspace/ask2|/workspace/ask3",
                                           "/workspace/ask2", "/workspace/ask-no", "/workspace/ask3"};

    cell_run(&(struct cell_case){.policy = policy,
                                 .groups = TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS,
                                 .prepare = prepare,
                                 .inside = change,
                                 .answer = note},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(asked_count, TC_COUNT(expected));
    for (size_t i = 0; i < TC_COUNT(expected); i++)
        ck_assert_str_eq(asked[i], expected[i]);
    ck_assert_int_eq(outcome.messages, 1);
    ck_assert_uint_eq(outcome.denied[0].by, TC_DENIED_ASK);
}
END_TEST

/* ---- while one waits, others change the same tree ---- */

static void *wait_in_vain(void *unused)
{
    (void)unused;
    unlink("ask1");
    return NULL;
}

static int go_on(void *memory)
{
    pthread_t thread;

    (void)memory;
    CELL_CHECK(pthread_create(&thread, NULL, wait_in_vain, NULL) == 0);
    for (int i = 0; i < 2000; i++)
        CELL_CHECK(mkdir("new", 0755) == 0 && rename("new", "newer") == 0 && rmdir("newer") == 0);
    CELL_CHECK(access("ask1", F_OK) == 0); /* it still waits */
    return 0;
}

START_TEST(test_others_go_on)
{
    cell_run(&(struct cell_case){.policy = policy,
                                 .groups = TC_NOTIFY_CHANGE,
                                 .prepare = prepare,
                                 .inside = go_on,
                                 .keep_first_answer = true},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(outcome.asks, 1);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker change ask", test_asked, test_others_go_on, NULL));
}
