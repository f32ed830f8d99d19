/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bind by path: a write, judged by the name of the file it makes; and
 * sockets that are made in a mediated mount, which need no rule to be reached.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell.h"
#include "peers.h"
#include "unit.h"

#define GROUPS (TC_NOTIFY_CONNECT | TC_NOTIFY_CHANGE)

static struct cell_outcome outcome;

static void prepare(void)
{
    CELL_CHECK(mkdir("dir", 0755) == 0 && mkdir("shut", 0555) == 0);
    CELL_CHECK(symlink("dir", "dirlink") == 0 && symlink("none", "dangling") == 0);
    CELL_CHECK(symlink(".env.sock", "to-env") == 0 && symlink("../workspace", "again") == 0);
    cell_file("file", "x");
}

/* ---- names ---- */

static const char *const denied_names[] = {".env.sock",           "/workspace/.env.sock", "dir/../.env.sock",
                                           "dir/.env.sock",       "dirlink/.env.sock",    "./dir/.env",
                                           "/proc/self/cwd/.env", "again/.env.sock2",     "/tmp/none/../.env"};

static int denied_inside(void *memory)
{
    (void)memory;
    for (size_t i = 0; i < TC_COUNT(denied_names) - 1; i++) {
        int r = peers_listen(denied_names[i], SOCK_STREAM, 1);
        if (r != -EACCES)
            cell_fail(denied_names[i], r, "denied");
    }
    CELL_CHECK(peers_listen(denied_names[TC_COUNT(denied_names) - 1], SOCK_STREAM, 1) == -ENOENT);
    /* A link in the last component is never followed. */
    CELL_CHECK(peers_listen("to-env", SOCK_STREAM, 1) == -EADDRINUSE);
    return 0;
}

static int denied_natively(void *memory)
{
    (void)memory;
    for (size_t i = 0; i < TC_COUNT(denied_names) - 1; i++) {
        CELL_CHECK(peers_listen(denied_names[i], SOCK_STREAM, 1) >= 0);
        CELL_CHECK(unlink(denied_names[i]) == 0);
    }
    return 0;
}

START_TEST(test_denied)
{
    struct cell_case what = {.policy = PEERS_POLICY, .groups = GROUPS, .prepare = prepare, .inside = denied_inside};

    cell_run(&what, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert(cell_denied(&outcome, TC_OP_WRITE, "/workspace/.env.sock"));
    ck_assert(cell_denied(&outcome, TC_OP_WRITE, "/workspace/dir/.env.sock"));
    what.native = true;
    what.inside = denied_natively;
    cell_run(&what, &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

/* ---- what it makes, and who sees it ---- */

struct found {
    atomic_bool made, looked;
    mode_t mode;
    uid_t uid;
    bool answers;
};

static void look_outside(void)
{
    struct found *found = cell_memory;
    struct stat what;
    int fd;

    while (!atomic_load(&found->made))
        peers_pause(1);
    CELL_CHECK(lstat("dir/made.sock", &what) == 0);
    found->mode = what.st_mode;
    found->uid = what.st_uid;
    fd = peers_connect("dir/made.sock", SOCK_STREAM);
    found->answers = fd >= 0;
    atomic_store(&found->looked, true);
    pause();
}

static int make(void *memory)
{
    struct found *found = memory;
    struct sockaddr_un name = {0};
    socklen_t size = sizeof name;
    int listener, one, other;

    umask(027);
    listener = peers_listen("dirlink/made.sock", SOCK_STREAM, 5);
    CELL_CHECK(listener >= 0);
    atomic_store(&found->made, true);
    while (!atomic_load(&found->looked))
        peers_pause(1);
    CELL_CHECK(accept(listener, NULL, NULL) >= 0);
    /* No rule allows it, and none is needed. */
    one = peers_connect("/workspace/dir/made.sock", SOCK_STREAM);
    other = accept(listener, NULL, NULL);
    CELL_CHECK(one >= 0 && other >= 0);
    CELL_CHECK(getpeername(one, (struct sockaddr *)&name, &size) == 0 && strcmp(name.sun_path, "made.sock") == 0);
    CELL_CHECK(peers_listen("dir/made.sock", SOCK_STREAM, 5) == -EADDRINUSE);
    close(listener);
    return 0;
}

START_TEST(test_made)
{
    const struct found *found;

    cell_run(
        &(struct cell_case){
            .policy = PEERS_POLICY, .groups = GROUPS, .prepare = prepare, .outside = look_outside, .inside = make},
        &outcome);
    ck_assert_int_eq(outcome.status, 0);
    found = cell_memory;
    ck_assert_uint_eq(found->mode, S_IFSOCK | 0750);
    ck_assert(found->answers);
    if (geteuid() != 0)
        ck_assert_uint_eq(found->uid, getuid());
    else
        ck_assert_uint_ne(found->uid, 0);
    ck_assert_int_eq(outcome.messages, 0);
}
END_TEST

/* ---- against the kernel's answers ---- */

/* Every bind and connect with these, natively and performed; errors must be equal, and what getsockname says. */
static const char *const paths[] = {
    "a",          "dir/b",      "dirlink/c", "/workspace/d", "dir/../e", "file",
    "file/x",     "none/x",     "dir",       "dir/",         "new/",     ".",
    "..",         "/",          "",          "dangling",     "shut/x",   "//workspace//f",
    "/tmp/g",     "/tmp/g/",    "/usr/x",    "/dev/x",       "/proc/x",  "/proc/self/cwd/h",
    "dangling/x", "/tmp/none/x"};

enum { SOCKETS = 8 };

/* A descriptor of each kind; some are none. */
static int make_kind(int kind)
{
    switch (kind) {
    case 0:
        return socket(AF_UNIX, SOCK_STREAM, 0);
    case 1:
        return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    case 2:
        return socket(AF_INET, SOCK_STREAM, 0);
    case 3:
        return socket(AF_INET6, SOCK_DGRAM, 0);
    case 4:
        return open("file", O_RDONLY);
    case 5:
        return open("file", O_PATH);
    case 6:
        return socket(AF_NETLINK, SOCK_RAW, 0);
    default:
        return 99;
    }
}

static int native_errors[4096], errors_count;

static void note(int *errors, int value)
{
    errors[errors_count++] = value;
    CELL_CHECK(errors_count < 4096);
}

typedef int call(int, const struct sockaddr *, socklen_t);

static void try_one(call *function, int kind, const void *address, socklen_t length, int *errors)
{
    int fd = make_kind(kind);

    note(errors, function(fd, address, length) < 0 ? errno : 0);
    close(fd);
}

static void try_addresses(call *function, int kind, int *errors)
{
    static const socklen_t lengths[] = {0, 1, 2, 3, 8, 16, 28, 109, 110, 111, 128, 129, 4096, (socklen_t)-1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    char big[4096] = "";

    for (size_t i = 0; i < TC_COUNT(paths); i++) {
        snprintf(address.sun_path, sizeof address.sun_path, "%s", paths[i]);
        try_one(function, kind, &address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(paths[i])),
                errors);
    }
    memset(big, 'l', sizeof big);
    memcpy(big, &(sa_family_t){AF_UNIX}, sizeof(sa_family_t));
    for (size_t i = 0; i < TC_COUNT(lengths); i++) {
        try_one(function, kind, big, lengths[i], errors);
        try_one(function, kind, &four, lengths[i], errors);
        try_one(function, kind, &six, lengths[i], errors);
        try_one(function, kind, &none, lengths[i], errors);
        try_one(function, kind, NULL, lengths[i], errors);
        try_one(function, kind, (const void *)8, lengths[i], errors);
    }
}

static int differ(void *memory)
{
    int *errors = memory;

    errors_count = 0;
    for (int kind = 0; kind < SOCKETS; kind++) {
        try_addresses(bind, kind, errors);
        try_addresses(connect, kind, errors);
    }
    note(errors, -1);
    return 0;
}

START_TEST(test_differ)
{
    static const char open_policy[] = "{\"version\": 1, \"rules\": [{\"pattern\": \"**\", \"operations\": \"all\", "
                                      "\"effect\": \"allow\"}]}";
    struct cell_case what = {.policy = open_policy, .groups = GROUPS, .prepare = prepare, .inside = differ};
    const int *performed;

    what.native = true;
    cell_run(&what, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    memcpy(native_errors, cell_memory, sizeof native_errors);
    what.native = false;
    cell_run(&what, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    performed = cell_memory;
    ck_assert_int_eq(native_errors[0], 0);
    for (int i = 0;; i++) {
        if (native_errors[i] != performed[i]) {
            int each = (int)(TC_COUNT(paths) + 14 * 6);
            ck_abort_msg("kind %d, %s, call %d: natively %d, performed %d", i / (2 * each),
                         i / each % 2 ? "connect" : "bind", i % each, native_errors[i], performed[i]);
        }
        if (performed[i] == -1)
            break;
    }
}
END_TEST

/* ---- an address that fills its room ---- */

static int longest(void *memory)
{
    char directory[128] = "/workspace/", path[200];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), one = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)memory;
    memset(directory + 11, 'd', 60);
    CELL_CHECK(snprintf(path, sizeof path, "%s/", directory) < 108);
    memset(path + 72, 's', 36);
    memcpy(address.sun_path, path, 108);
    CELL_CHECK(bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    CELL_CHECK(connect(one, (const struct sockaddr *)&address, sizeof address) == 0);
    path[108] = '\0';
    CELL_CHECK(access(path, F_OK) == 0);
    return 0;
}

static void prepare_long(void)
{
    char name[61] = "";

    memset(name, 'd', 60);
    CELL_CHECK(mkdir(name, 0755) == 0);
}

START_TEST(test_longest)
{
    cell_run(&(struct cell_case){.policy = PEERS_POLICY, .groups = GROUPS, .prepare = prepare_long, .inside = longest},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker bind", test_denied, test_made, test_differ, test_longest, NULL));
}
