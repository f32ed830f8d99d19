/* SPDX-License-Identifier: Apache-2.0 */

/*
 * connect while its arguments change: the address in memory, the socket under
 * the descriptor's number, the links and files on the way. Whatever comes out
 * of a round, the host's denied socket is never reached. Controls: the same
 * rounds do reach the allowed one, and denials do happen.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cell.h"
#include "peers.h"
#include "unit.h"

static struct cell_outcome outcome;
static int rounds;

/* In cell_memory, behind what the host sees. */
struct tally {
    struct peers_seen seen;
    unsigned fine, denied, other;
};

static void count(struct tally *tally, int result)
{
    if (result == 0)
        tally->fine++;
    else if (result == EACCES)
        tally->denied++;
    else
        tally->other++;
}

static bool enough(const struct tally *tally, int round)
{
    return round >= rounds && ((tally->fine > 0 && tally->denied > 0) || round >= rounds + 100000);
}

static atomic_bool stop;

/* ---- the address ---- */

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "allowed.sock"};

static void *flip_address(void *unused)
{
    static const char names[2][13] = {"allowed.sock", "denied.sock"};

    (void)unused;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        for (size_t k = 0; k < sizeof names[0]; k++)
            ((volatile char *)address.sun_path)[k] = names[i & 1][k];
        ((volatile struct sockaddr_un *)&address)->sun_family = i & 2 ? AF_INET : AF_UNIX;
        sched_yield();
        ((volatile struct sockaddr_un *)&address)->sun_family = AF_UNIX;
    }
    return NULL;
}

static int run_flipped(struct tally *tally, void *(*flip)(void *), int (*round)(void))
{
    pthread_t threads[2];

    peers_wait();
    for (size_t i = 0; i < 2; i++)
        CELL_CHECK(pthread_create(&threads[i], NULL, flip, NULL) == 0);
    for (int i = 0; !enough(tally, i); i++)
        count(tally, round());
    atomic_store(&stop, true);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int connect_once(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), r;

    CELL_CHECK(fd >= 0);
    r = connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
    close(fd);
    return r;
}

static int race_address(void *memory)
{
    return run_flipped(memory, flip_address, connect_once);
}

/* ---- the descriptor ---- */

static int shared_fd;

static void *flip_descriptor(void *unused)
{
    int other = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void)unused;
    while (!atomic_load(&stop)) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        dup2(other, shared_fd);
        dup2(fd, shared_fd);
        close(fd);
    }
    return NULL;
}

static void *flip_both(void *unused)
{
    pthread_t helper;

    CELL_CHECK(pthread_create(&helper, NULL, flip_descriptor, NULL) == 0);
    flip_address(unused);
    return pthread_join(helper, NULL) == 0 ? NULL : NULL;
}

static int connect_shared(void)
{
    return connect(shared_fd, (const struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
}

static int race_descriptor(void *memory)
{
    shared_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return run_flipped(memory, flip_both, connect_shared);
}

/* ---- the way there ---- */

static int call_flip(void)
{
    int fd = peers_connect("flip", SOCK_STREAM);

    if (fd < 0)
        return -fd;
    close(fd);
    return 0;
}

static void *idle(void *unused)
{
    return unused;
}

static int race_link(void *memory)
{
    return run_flipped(memory, idle, call_flip);
}

static void *host_exchange(void *unused)
{
    (void)unused;
    for (unsigned i = 0;; i++) {
        unlink("next");
        CELL_CHECK(symlink(i & 1 ? "allowed.sock" : "denied.sock", "next") == 0 && rename("next", "flip") == 0);
    }
    return NULL;
}

static void serve_and_exchange(void)
{
    pthread_t thread;

    CELL_CHECK(pthread_create(&thread, NULL, host_exchange, NULL) == 0);
    peers_serve();
}

/* The other thread may be at the same; renaming a link to another of the same file does nothing and leaves both. */
static void replace_flip(const char *file, const char *name)
{
    unlink(name);
    if (link(file, name) == 0)
        rename(name, "/plain/flip");
}

/* An own socket and the host's change places. */
static void *swap_files(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        CELL_CHECK(link("/plain/own", "/tmp/x") == -1); /* another mount: EXDEV, the control that these are two */
        replace_flip("/plain/denied.sock", "/plain/n1");
        replace_flip("/plain/own", "/plain/n2");
    }
    return NULL;
}

static void *accept_own(void *listener)
{
    for (;;) {
        int fd = accept(*(int *)listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        close(fd);
    }
}

static int race_files(void *memory)
{
    int listener = peers_listen("/plain/own", SOCK_STREAM, 100);
    pthread_t thread;

    CELL_CHECK(listener >= 0 && pthread_create(&thread, NULL, accept_own, &listener) == 0);
    CELL_CHECK(link("/plain/own", "/plain/flip") == 0);
    return run_flipped(memory, swap_files, call_flip);
}

static void run(int (*inside)(void *), void (*outside)(void), bool own)
{
    const struct tally *tally;

    rounds = cell_long() ? 100000 : 1000;
    cell_run(
        &(struct cell_case){
            .policy = PEERS_POLICY, .groups = TC_NOTIFY_CONNECT, .inside = inside, .outside = outside, .aliases = true},
        &outcome);
    tally = cell_memory;
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(tally->seen.denied, 0);
    ck_assert_uint_gt(tally->fine, 0);
    ck_assert_uint_gt(tally->denied, 0);
    ck_assert(own || tally->seen.allowed > 0);
}

START_TEST(test_address)
{
    run(race_address, peers_serve, false);
}
END_TEST

START_TEST(test_descriptor)
{
    run(race_descriptor, peers_serve, false);
}
END_TEST

START_TEST(test_link)
{
    run(race_link, serve_and_exchange, false);
}
END_TEST

START_TEST(test_files)
{
    run(race_files, peers_serve, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker connect race");
    TCase *tests = tcase_create("races");

    tcase_set_timeout(tests, cell_long() ? 1200 : 60);
    tcase_add_test(tests, test_address);
    tcase_add_test(tests, test_descriptor);
    tcase_add_test(tests, test_link);
    tcase_add_test(tests, test_files);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
