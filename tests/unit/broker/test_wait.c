/* SPDX-License-Identifier: Apache-2.0 */

/* What may wait, and who must not wait for it. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell.h"
#include "unit.h"

#define ASK_POLICY                                                                                                     \
    "{\"version\":1,\"rules\":[{\"pattern\":\"ask*\",\"operations\":\"all\",\"effect\":\"ask\",\"priority\":9},"       \
    "{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}]}"

static struct cell_outcome outcome;

static void prepare(void)
{
    cell_file("ok", "fine");
    cell_file("leased", "fine");
    cell_file("ask", "fine");
    cell_file("ask2", "fine");
    CELL_CHECK(mkfifo("fifo", 0644) == 0 && mkfifo("other", 0644) == 0);
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void check_ok(void)
{
    char text[16];

    CELL_CHECK(cell_read("ok", text, sizeof text) == 4);
}

/* ---- FIFOs ---- */

static const char *fifo_name;

static void *write_end(void *unused)
{
    int fd = open(fifo_name, O_WRONLY);

    (void)unused;
    CELL_CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 && write(fd, "abc", 3) == 3);
    close(fd);
    return NULL;
}

static void *read_end(void *unused)
{
    int fd = open(fifo_name, O_RDONLY);
    char text[4] = "";

    (void)unused;
    CELL_CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 && read(fd, text, 3) == 3);
    CELL_CHECK(strcmp(text, "abc") == 0);
    close(fd);
    return NULL;
}

static void meet(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t a, b;

    CELL_CHECK(pthread_create(&a, NULL, first, NULL) == 0);
    pause_ms(50);
    check_ok();
    CELL_CHECK(pthread_create(&b, NULL, second, NULL) == 0);
    CELL_CHECK(pthread_join(a, NULL) == 0 && pthread_join(b, NULL) == 0);
}

static int fifos(void *memory)
{
    static const char *const names[] = {"fifo", "/tmp/fifo"};

    (void)memory;
    CELL_CHECK(mkfifo("/tmp/fifo", 0600) == 0);
    for (size_t i = 0; i < 2; i++) {
        fifo_name = names[i];
        meet(read_end, write_end);
        meet(write_end, read_end);
    }
    CELL_CHECK(open("fifo", O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO);
    return 0;
}

START_TEST(test_fifos)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = fifos}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- many that wait ---- */

#define MANY 500

static atomic_uint waiting;

static void *wait_for_writer(void *unused)
{
    int fd;

    (void)unused;
    atomic_fetch_add(&waiting, 1);
    fd = open("fifo", O_RDONLY);
    CELL_CHECK(fd >= 0);
    return NULL;
}

static int many(void *memory)
{
    pthread_t threads[MANY];
    uint64_t begin;
    int fd;

    (void)memory;
    for (size_t i = 0; i < MANY; i++)
        CELL_CHECK(pthread_create(&threads[i], NULL, wait_for_writer, NULL) == 0);
    while (atomic_load(&waiting) < MANY)
        pause_ms(1);
    begin = tc_clock_ms();
    check_ok();
    CELL_CHECK(tc_clock_ms() - begin < 5000 * cell_slack());
    fd = open("fifo", O_WRONLY);
    CELL_CHECK(fd >= 0);
    for (size_t i = 0; i < MANY; i++)
        CELL_CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}

START_TEST(test_many)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = many}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- callers that are killed ---- */

static bool has_reader(void)
{
    int fd = open("fifo", O_WRONLY | O_NONBLOCK);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int killed(void *memory)
{
    uint64_t end;
    pid_t pids[20];

    (void)memory;
    for (size_t i = 0; i < 20; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(open("fifo", O_RDONLY) < 0);
    }
    end = tc_clock_ms() + 5000 * cell_slack();
    while (!has_reader() && tc_clock_ms() < end) /* the positive control: they do wait there */
        pause_ms(5);
    CELL_CHECK(tc_clock_ms() < end);
    /* Opening the other end has let those go on that were there. */
    for (size_t i = 0; i < 20; i++) {
        kill(pids[i], SIGKILL);
        CELL_CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
    }
    for (size_t i = 0; i < 20; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(open("other", O_RDONLY) < 0);
    }
    pause_ms(100);
    for (size_t i = 0; i < 20; i++) {
        kill(pids[i], SIGKILL);
        CELL_CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
    }
    end = tc_clock_ms() + 5000 * cell_slack();
    for (;;) {
        int fd = open("other", O_WRONLY | O_NONBLOCK);
        if (fd < 0) {
            CELL_CHECK(errno == ENXIO); /* no worker holds it open any more */
            break;
        }
        close(fd);
        CELL_CHECK(tc_clock_ms() < end);
        pause_ms(10);
    }
    check_ok();
    return 0;
}

START_TEST(test_killed)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = killed}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- leases ---- */

static void hold_lease(long ms)
{
    int fd = open("leased", O_RDONLY | O_CLOEXEC);
    atomic_uint *ready = cell_memory;

    signal(SIGIO, SIG_IGN);
    CELL_CHECK(fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0);
    atomic_store(ready, 1);
    pause_ms(ms);
    CELL_CHECK(fcntl(fd, F_SETLEASE, F_UNLCK) == 0);
    pause();
}

static void lease_briefly(void)
{
    hold_lease(400);
}

static void lease_long(void)
{
    hold_lease(30000);
}

static int lease(atomic_uint *ready, int expected)
{
    char text[16];
    pid_t other;
    int status;

    while (atomic_load(ready) == 0)
        pause_ms(1);
    other = fork();
    if (other == 0) {
        for (int i = 0; i < 50; i++)
            check_ok();
        _exit(0);
    }
    CELL_CHECK(cell_read("leased", text, sizeof text) == expected);
    CELL_CHECK(waitpid(other, &status, 0) == other && status == 0);
    return 0;
}

static int lease_ends(void *memory)
{
    return lease(memory, 4);
}

static int lease_stays(void *memory)
{
    return lease(memory, -EACCES);
}

START_TEST(test_lease)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = lease_ends, .outside = lease_briefly}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    cell_run(&(struct cell_case){.prepare = prepare, .inside = lease_stays, .outside = lease_long}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- asking ---- */

static enum tc_broker_answer yes_to_first(const struct tc_broker_message *message)
{
    ck_assert_uint_eq(message->operation, TC_OP_READ);
    ck_assert_uint_eq(message->rule.kind, TC_RULE_REF_RULE);
    ck_assert_uint_eq(message->rule.index, 0);
    return message->length == strlen("/workspace/ask") ? TC_BROKER_ALLOW : TC_BROKER_DENY;
}

static int asks(void *memory)
{
    char text[16];

    (void)memory;
    CELL_CHECK(cell_read("ask", text, sizeof text) == 4);
    CELL_CHECK(cell_read("ask2", text, sizeof text) == -EACCES);
    return 0;
}

START_TEST(test_asks)
{
    cell_run(&(struct cell_case){.policy = ASK_POLICY, .prepare = prepare, .inside = asks, .answer = yes_to_first},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(outcome.asks, 2);
    ck_assert_int_eq(outcome.messages, 1);
    ck_assert_uint_eq(outcome.denied[0].by, TC_DENIED_ASK);
}
END_TEST

static int asks_in_vain(void *memory)
{
    pid_t pids[MANY / 10];

    (void)memory;
    for (size_t i = 0; i < MANY / 10; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(open("ask", O_RDONLY) < 0);
    }
    pause_ms(100);
    check_ok();
    for (size_t i = 0; i < MANY / 10; i++) {
        kill(pids[i], SIGKILL);
        CELL_CHECK(waitpid(pids[i], NULL, 0) == pids[i]);
    }
    check_ok();
    return 0;
}

START_TEST(test_nobody_answers)
{
    cell_run(
        &(struct cell_case){
            .policy = ASK_POLICY, .prepare = prepare, .inside = asks_in_vain, .keep_first_answer = true},
        &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_ge(outcome.asks, 1);
    ck_assert_uint_eq(outcome.denials, 0);
}
END_TEST

/* ---- a caller whose memory is kept locked ---- */

#define HOG_SIZE (256ul << 20)

static void *hog(void *unused)
{
    (void)unused;
    for (;;) {
        char *map = mmap(NULL, HOG_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            continue;
        for (size_t i = 0; i < HOG_SIZE; i += 2ul << 20)
            mprotect(map + i, 4096, PROT_READ);
        munmap(map, HOG_SIZE);
    }
    return NULL;
}

static int locked(void *memory)
{
    pid_t hostile = fork();
    uint64_t begin;

    (void)memory;
    if (hostile == 0) {
        pthread_t threads[3];
        for (size_t i = 0; i < 3; i++)
            CELL_CHECK(pthread_create(&threads[i], NULL, hog, NULL) == 0);
        for (;;)
            check_ok();
    }
    begin = tc_clock_ms();
    for (int i = 0; i < 100; i++)
        check_ok();
    CELL_CHECK(tc_clock_ms() - begin < 10000 * cell_slack());
    kill(hostile, SIGKILL);
    CELL_CHECK(waitpid(hostile, NULL, 0) == hostile);
    return 0;
}

START_TEST(test_locked)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = locked}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker wait", test_fifos, test_many, test_killed, test_lease, test_asks,
                               test_nobody_answers, test_locked, NULL));
}
