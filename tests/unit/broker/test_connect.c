/* SPDX-License-Identifier: Apache-2.0 */

/*
 * connect: sockets of the host need a rule, however they are named; sockets
 * that were made inside do not. Every attempt on the host's has its positive
 * control: natively it works.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell.h"
#include "peers.h"
#include "unit.h"

static struct cell_outcome outcome;

static const struct peers_seen *seen(void)
{
    return cell_memory;
}

static void prepare(void)
{
    CELL_CHECK(mkdir("dir", 0755) == 0 && symlink("denied.sock", "to-denied") == 0);
    CELL_CHECK(symlink("allowed.sock", "to-allowed") == 0 && symlink("../workspace", "again") == 0);
}

/* ---- every name of the host's sockets ---- */

static const char *const denied_names[] = {"denied.sock",
                                           "/workspace/denied.sock",
                                           "./dir/..//denied.sock",
                                           "../workspace/denied.sock",
                                           "to-denied",
                                           "again/denied.sock",
                                           "again/to-denied",
                                           "/proc/self/cwd/denied.sock",
                                           "/proc/self/root/workspace/denied.sock",
                                           "/tmp/link",
                                           "/tmp/linkdir/denied.sock",
                                           "/plain/denied.sock",
                                           "/second/denied.sock",
                                           "/plain/allowed.sock",
                                           "/second/allowed.sock",
                                           "/second/hard"};
static const char *const allowed_names[] = {"allowed.sock", "/workspace/allowed.sock", "./dir/../allowed.sock",
                                            "to-allowed",   "again/allowed.sock",      "/proc/self/cwd/allowed.sock"};

static int call_by_descriptor(const char *path)
{
    int fd = open(path, O_PATH | O_CLOEXEC), r;
    char name[40];

    CELL_CHECK(fd >= 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    r = peers_call(name);
    close(fd);
    return r;
}

static int try_host(bool native)
{
    peers_wait();
    CELL_CHECK(symlink("/workspace/denied.sock", "/tmp/link") == 0 && symlink("/workspace", "/tmp/linkdir") == 0);
    CELL_CHECK(link("/plain/denied.sock", "/plain/hard") == 0);
    for (size_t i = 0; i < TC_COUNT(denied_names); i++) {
        int r = peers_call(denied_names[i]);
        if (native ? r <= 0 : r != -EACCES)
            cell_fail(denied_names[i], r, "as expected");
    }
    CELL_CHECK(call_by_descriptor("denied.sock") == (native ? 'd' : -EACCES));
    for (size_t i = 0; i < TC_COUNT(allowed_names); i++) {
        int r = peers_call(allowed_names[i]);
        if (r != 'a')
            cell_fail(allowed_names[i], r, "allowed");
    }
    CELL_CHECK(call_by_descriptor("to-allowed") == 'a');
    return 0;
}

static int host_inside(void *memory)
{
    (void)memory;
    return try_host(false);
}

static int host_natively(void *memory)
{
    (void)memory;
    return try_host(true);
}

START_TEST(test_host)
{
    struct cell_case what = {.policy = PEERS_POLICY,
                             .groups = TC_NOTIFY_CONNECT,
                             .prepare = prepare,
                             .outside = peers_serve,
                             .inside = host_inside,
                             .aliases = true};

    cell_run(&what, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(seen()->denied, 0);
    ck_assert_uint_eq(seen()->allowed, TC_COUNT(allowed_names) + 1);
    ck_assert(cell_denied(&outcome, TC_OP_CONNECT, "unix:/workspace/denied.sock"));
    ck_assert(cell_denied(&outcome, TC_OP_CONNECT, "unix:/second/denied.sock"));
    ck_assert(cell_denied(&outcome, TC_OP_CONNECT, "unix:/plain/allowed.sock"));
    /* To the host the peer is the cell's user, and no other process than the broker. */
    if (geteuid() != 0)
        ck_assert_uint_eq(seen()->uid, getuid());
    else
        ck_assert_uint_ne(seen()->uid, 0);
    ck_assert_int_eq(seen()->pid, cell_broker);

    what.native = true;
    what.inside = host_natively;
    cell_run(&what, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_gt(seen()->denied, 0);
}
END_TEST

/* ---- rules that ask ---- */

static enum tc_broker_answer yes_once(const struct tc_broker_message *message)
{
    static unsigned asks;

    ck_assert_uint_eq(message->operation, TC_OP_CONNECT);
    ck_assert_uint_eq(message->length, strlen("unix:/workspace/asked.sock"));
    ck_assert_int_eq(memcmp(message->target, "unix:/workspace/asked.sock", message->length), 0);
    return asks++ == 0 ? TC_BROKER_ALLOW : TC_BROKER_DENY;
}

static int ask_inside(void *memory)
{
    (void)memory;
    peers_wait();
    CELL_CHECK(peers_call("asked.sock") == 'q');
    CELL_CHECK(peers_call("dir/../asked.sock") == -EACCES);
    return 0;
}

START_TEST(test_ask)
{
    cell_run(&(struct cell_case){.policy = PEERS_POLICY,
                                 .groups = TC_NOTIFY_CONNECT,
                                 .prepare = prepare,
                                 .outside = peers_serve,
                                 .inside = ask_inside,
                                 .answer = yes_once},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(outcome.asks, 2);
    ck_assert_uint_eq(seen()->asked, 1);
    ck_assert_int_eq(outcome.messages, 1);
    ck_assert_uint_eq(outcome.denied[0].by, TC_DENIED_ASK);
}
END_TEST

/* A rule that speaks of a link's name makes its target no freer, but can forbid that way to it. */
#define LINK_POLICY                                                                                                    \
    "{\"version\": 1, \"rules\": ["                                                                                    \
    "{\"pattern\": \"unix:/workspace/to-allowed\", \"operations\": [\"connect\"], \"effect\": \"deny\"},"              \
    "{\"pattern\": \"unix:/workspace/to-denied\", \"operations\": [\"connect\"], \"effect\": \"allow\"}," PEERS_RULES  \
    "]}"

static int links_inside(void *memory)
{
    (void)memory;
    peers_wait();
    CELL_CHECK(peers_call("to-allowed") == -EACCES && peers_call("allowed.sock") == 'a');
    CELL_CHECK(peers_call("to-denied") == -EACCES);
    return 0;
}

START_TEST(test_links)
{
    cell_run(&(struct cell_case){.policy = LINK_POLICY,
                                 .groups = TC_NOTIFY_CONNECT,
                                 .prepare = prepare,
                                 .outside = peers_serve,
                                 .inside = links_inside},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(seen()->denied, 0);
}
END_TEST

/* ---- sockets that were made inside ---- */

static void talk(const char *path, int type, int listener)
{
    int one = peers_connect(path, type), other = accept(listener, NULL, NULL);
    struct ucred peer;
    socklen_t size = sizeof peer;
    char text[8] = "";

    if (one < 0)
        cell_fail(path, one, "connects");
    CELL_CHECK(other >= 0 && send(one, "hello", 5, 0) == 5 && recv(other, text, sizeof text, 0) == 5);
    CELL_CHECK(getsockopt(other, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
    CELL_CHECK(peer.uid == 1000 && peer.gid == 1000 && peer.pid == 0 && strcmp(text, "hello") == 0);
    CELL_CHECK(getsockopt(one, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == 1000);
    close(one);
    close(other);
}

static int inside(void *memory)
{
    static const char *const places[] = {"/tmp/s", "/plain/s"};
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
    char moved[32];

    (void)memory;
    peers_wait();
    for (size_t i = 0; i < 4; i++) {
        const char *path = places[i / 2];
        int listener = peers_listen(path, types[i % 2], 5);
        CELL_CHECK(listener >= 0);
        talk(path, types[i % 2], listener);
        CELL_CHECK(peers_connect(path, types[(i + 1) % 2]) == -EPROTOTYPE);
        snprintf(moved, sizeof moved, "%s.moved", path);
        CELL_CHECK(rename(path, moved) == 0 && peers_connect(path, types[i % 2]) == -ENOENT);
        talk(moved, types[i % 2], listener);
        if (i / 2 == 1) {
            talk("s.moved", types[i % 2], listener); /* in the mediated mount it is the same file */
            talk("/second/s.moved", types[i % 2], listener);
            /* The host's takes its place. */
            CELL_CHECK(link("/plain/denied.sock", "/plain/host") == 0 && rename("/plain/host", moved) == 0);
            CELL_CHECK(peers_connect(moved, types[i % 2]) == -EACCES);
        }
        CELL_CHECK(unlink(moved) == 0);
        close(listener);
    }
    return 0;
}

START_TEST(test_inside)
{
    cell_run(&(struct cell_case){.policy = PEERS_POLICY,
                                 .groups = TC_NOTIFY_CONNECT,
                                 .prepare = prepare,
                                 .outside = peers_serve,
                                 .inside = inside,
                                 .aliases = true},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_eq(seen()->denied, 0);
}
END_TEST

/* More sockets than one answer of the kernel holds. */
static int crowd(void *memory)
{
    char name[32];

    (void)memory;
    for (int i = 0; i < 900; i++) {
        snprintf(name, sizeof name, "/plain/many%d", i);
        CELL_CHECK(peers_listen(name, SOCK_STREAM, 1) >= 0);
    }
    for (int i = 0; i < 900; i += 50) {
        snprintf(name, sizeof name, "/plain/many%d", i);
        CELL_CHECK(peers_connect(name, SOCK_STREAM) >= 0);
    }
    return 0;
}

START_TEST(test_crowd)
{
    cell_run(&(struct cell_case){.policy = PEERS_POLICY, .groups = TC_NOTIFY_CONNECT, .inside = crowd, .aliases = true},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- those that wait ---- */

#define WAITERS 30

static void *wait_for_room(void *path)
{
    peers_connect(path, SOCK_STREAM);
    return NULL;
}

static int full(void *memory)
{
    int listener = peers_listen("/tmp/full", SOCK_STREAM, 0), other = peers_listen("/tmp/other", SOCK_STREAM, 5), one;
    struct timeval soon = {0, 50000};
    pthread_t threads[WAITERS];
    pid_t child;

    (void)memory;
    CELL_CHECK(peers_connect("/tmp/full", SOCK_STREAM) >= 0);
    CELL_CHECK(peers_connect("/tmp/full", SOCK_STREAM | SOCK_NONBLOCK) == -EAGAIN);
    one = socket(AF_UNIX, SOCK_STREAM, 0);
    CELL_CHECK(setsockopt(one, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon) == 0);
    CELL_CHECK(connect(one, (const struct sockaddr *)&(struct sockaddr_un){AF_UNIX, "/tmp/full"},
                       sizeof(struct sockaddr_un)) == -1 &&
               errno == EAGAIN);
    child = fork();
    if (child == 0) {
        for (size_t i = 0; i < WAITERS; i++)
            CELL_CHECK(pthread_create(&threads[i], NULL, wait_for_room, (void *)"/tmp/full") == 0);
        pause();
    }
    peers_pause(100);
    for (int i = 0; i < 5; i++) /* nobody else is held up */
        talk("/tmp/other", SOCK_STREAM, other);
    kill(child, SIGKILL);
    CELL_CHECK(waitpid(child, NULL, 0) == child);
    /* The first has its room; whoever waited for that is gone, and leaves none taken. */
    CELL_CHECK(accept(listener, NULL, NULL) >= 0);
    for (uint64_t end = tc_clock_ms() + 5000 * cell_slack();; peers_pause(10)) {
        int r = peers_connect("/tmp/full", SOCK_STREAM | SOCK_NONBLOCK);
        if (r >= 0)
            return 0;
        CELL_CHECK(r == -EAGAIN && tc_clock_ms() < end);
        fcntl(listener, F_SETFL, O_NONBLOCK);
        while (accept(listener, NULL, NULL) >= 0)
            ;
    }
}

START_TEST(test_full)
{
    cell_run(&(struct cell_case){.policy = PEERS_POLICY, .groups = TC_NOTIFY_CONNECT, .inside = full}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

int main(void)
{
    return unit_run(
        unit_suite("broker connect", test_host, test_ask, test_links, test_inside, test_crowd, test_full, NULL));
}
