/* SPDX-License-Identifier: Apache-2.0 */

/* What the broker is, what it tells, and when it ends. That it ends with what it serves is part of every cell_run(). */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell.h"
#include "unit.h"

static struct cell_outcome outcome;

static void prepare(void)
{
    cell_file("ask", "fine");
}

/* ---- denials are told once, and only so many in full ---- */

static int many_denials(void *memory)
{
    char path[64];

    (void)memory;
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "%d.env", i % 150);
        if (cell_try_open(path, O_WRONLY | O_CREAT) != -EACCES)
            return 1;
    }
    return 0;
}

START_TEST(test_told)
{
    static const char policy[] = "{\"version\":1,\"rules\":[{\"pattern\":\"*.env\",\"operations\":[\"write\"],"
                                 "\"effect\":\"deny\"},{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":"
                                 "\"allow\"}]}";

    cell_run(&(struct cell_case){.policy = policy, .prepare = prepare, .inside = many_denials}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_int_eq(outcome.messages, 100);
    ck_assert_uint_eq(outcome.denials, 150);
}
END_TEST

/* ---- what the broker is ---- */

static void read_status(char *text, size_t size)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/%d/status", (int)cell_broker);
    ck_assert_int_gt(cell_read(path, text, size), 0);
}

static enum tc_broker_answer inspect(const struct tc_broker_message *message)
{
    static char status[8192];
    char path[40], link[16];

    (void)message;
    read_status(status, sizeof status);
    ck_assert_ptr_nonnull(strstr(status, "\nNoNewPrivs:\t1\n"));
    ck_assert_ptr_nonnull(strstr(status, "\nCapEff:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(status, "\nCapPrm:\t0000000000080000\n")); /* CAP_SYS_PTRACE, over the cell */
    ck_assert_ptr_nonnull(strstr(status, "\nCapInh:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(status, "\nCapBnd:\t0000000000000000\n"));
    ck_assert_ptr_nonnull(strstr(status, "\nCapAmb:\t0000000000000000\n"));
    ck_assert_ptr_null(strstr(status, "\nUid:\t0"));
    /* Not dumpable: its links are closed to everybody without privilege over it. */
    snprintf(path, sizeof path, "/proc/%d/root", (int)cell_broker);
    if (geteuid() != 0)
        ck_assert_int_eq(readlink(path, link, sizeof link), -1);
    return TC_BROKER_ALLOW;
}

static int ask_once(void *memory)
{
    (void)memory;
    return cell_try_open("ask", O_RDONLY) != 0;
}

START_TEST(test_itself)
{
    static const char policy[] = "{\"version\":1,\"rules\":[{\"pattern\":\"ask\",\"operations\":[\"read\"],"
                                 "\"effect\":\"ask\"},{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":"
                                 "\"allow\"}]}";

    cell_run(&(struct cell_case){.policy = policy, .prepare = prepare, .inside = ask_once, .answer = inspect},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(outcome.asks, 1);
}
END_TEST

/* ---- and its end ---- */

static int told[2];

struct told {
    pid_t broker;
    struct cell_directories directories;
};

static enum tc_broker_answer tell_and_hang(const struct tc_broker_message *message)
{
    struct told what = {cell_broker, cell_directories};

    (void)message;
    CELL_CHECK(write(told[1], &what, sizeof what) == sizeof what);
    pause();
    return TC_BROKER_DENY;
}

/* True when a process is gone, or waits for nothing but to be reaped. */
static bool is_gone(pid_t pid)
{
    char path[40], text[256];
    int r;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    r = cell_read(path, text, sizeof text);
    return r < 0 || strstr(text, ") Z ") != NULL || strstr(text, ") X ") != NULL;
}

START_TEST(test_owner_dies)
{
    static const char policy[] = "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":"
                                 "\"ask\"}]}";
    uint64_t end;
    struct told what;
    pid_t owner;

    ck_assert_int_eq(pipe(told), 0);
    owner = fork();
    if (owner == 0) {
        cell_run(&(struct cell_case){.policy = policy, .prepare = prepare, .inside = ask_once, .answer = tell_and_hang},
                 &outcome);
        _exit(0);
    }
    ck_assert_int_eq(read(told[0], &what, sizeof what), sizeof what);
    ck_assert(!is_gone(what.broker)); /* the positive control */
    kill(owner, SIGKILL);
    ck_assert_int_eq(waitpid(owner, NULL, 0), owner);
    end = tc_clock_ms() + 5000 * cell_slack();
    while (!is_gone(what.broker) && tc_clock_ms() < end)
        sched_yield();
    ck_assert(is_gone(what.broker));
    cell_remove(&what.directories);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker itself", test_told, test_itself, test_owner_dies, NULL));
}
