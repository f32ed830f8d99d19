/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "fixture.h"
#include "kernel/socket.h"
#include "plan/notify.h"
#include "unit.h"

/*
 * What the cell layer does for a broker: the tree and its twin, mounts that
 * turn read-only, and the listener of the command's calls. The broker of these
 * tests is a loop that answers every call with one error.
 */

static struct tc_arena *arena;

static void begin(struct fixture *fixture, unsigned groups)
{
    arena = tc_arena_new();
    fixture_begin(fixture);
    fixture->plan.notify = groups;
    ck_assert_int_eq(tc_notify_make(arena, groups, tc_notify_native(), &fixture->plan.notify_filter,
                                    &fixture->plan.notify_filter_size),
                     0);
}

static void end(struct fixture *fixture)
{
    fixture_end(fixture);
    tc_arena_free(arena);
}

/* The number of calls that were stopped. */
struct served {
    unsigned calls;
    int last; /* call number */
};

static void answer(int listener, int error, struct served *ret)
{
    struct seccomp_notif stopped = {0};
    struct seccomp_notif_resp response = {0};

    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &stopped) < 0)
        return;
    ret->calls++;
    ret->last = stopped.data.nr;
    response.id = stopped.id;
    response.error = -error;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Run `sh -c script`; each stopped call fails with that error, or the listener is closed with error 0. */
static void run(struct fixture *fixture, struct tc_cell *cell, const char *script, int error, struct outcome *ret,
                struct served *served)
{
    tc_auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
    tc_auto_fd listener = TC_NO_FD;
    struct tc_error err;

    *served = (struct served){0};
    fixture->argv[0] = "/bin/sh";
    fixture->argv[1] = "-c";
    fixture->argv[2] = script;
    fixture->argv[3] = NULL;
    memset(ret, 0, sizeof *ret);
    ck_assert_int_eq(tc_cell_exec(cell, &fixture->plan, null, null, null, &err), 0);
    for (;;) {
        struct pollfd watched[] = {{.fd = cell->control, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
        int got;

        ck_assert_int_gt(poll(watched, 2, 20000), 0);
        if (watched[1].revents & POLLIN)
            answer(listener, error, served);
        got = tc_cell_receive(cell, &ret->last);
        ck_assert_int_ge(got, 0);
        if (got == 1 && ret->last.type == TC_INIT_LISTENER) {
            ck_assert_int_eq(listener, TC_NO_FD);
            if (error != 0)
                listener = tc_take_fd(&cell->listener);
            else
                tc_cleanup_fd(&cell->listener);
        }
        if (got == 1 && (ret->last.type == TC_INIT_EXITED || ret->last.type == TC_INIT_FAILED))
            return;
    }
}

static bool is_read_only(int root, const char *path)
{
    tc_auto_fd fd = openat(root, path, O_PATH | O_CLOEXEC);
    struct statvfs what;

    ck_assert_msg(fd >= 0 && fstatvfs(fd, &what) == 0, "%s: %s", path, strerror(errno));
    return (what.f_flag & ST_RDONLY) != 0;
}

START_TEST(test_twin)
{
    static const struct {
        const char *path;
        bool in_cell, in_twin;
    } expected[] = {
        {".", true, true},          {"usr", true, true},          {"etc", true, true},
        {"workspace", true, false}, {"workspace/n", true, false}, {"tmp", true, false},
        {"dev/shm", false, false},  {"home/agent", false, false},
    };
    struct fixture fixture;
    struct tc_cell cell;
    struct tc_error err;
    char path[128];

    begin(&fixture, TC_NOTIFY_CONNECT);
    snprintf(path, sizeof path, "%s/n", fixture.workspace);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    fixture_find(&fixture, "/workspace")->flags |= TC_STEP_MEDIATED;
    fixture_find(&fixture, "/tmp")->flags |= TC_STEP_MEDIATED;
    fixture_step(&fixture, TC_STEP_TMPFS, "/workspace/n")->flags = TC_STEP_NESTED | TC_STEP_MEDIATED;
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    for (size_t i = 0; i < TC_COUNT(expected); i++) {
        ck_assert_msg(is_read_only(cell.root, expected[i].path) == expected[i].in_cell, "%s", expected[i].path);
        ck_assert_msg(is_read_only(cell.twin, expected[i].path) == expected[i].in_twin, "twin: %s", expected[i].path);
    }
    ck_assert_int_ge(cell.diag, 0);
    tc_cell_release(&cell);
    ck_assert_int_eq(cell.twin, TC_NO_FD);
    end(&fixture);
}
END_TEST

START_TEST(test_no_twin)
{
    struct fixture fixture;
    struct tc_cell cell;
    struct tc_error err;

    begin(&fixture, TC_NOTIFY_CONNECT);
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    ck_assert(cell.root >= 0 && cell.diag >= 0 && cell.twin == TC_NO_FD);
    tc_cell_release(&cell);
    fixture.plan.notify = 0;
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    ck_assert(cell.root == TC_NO_FD && cell.diag == TC_NO_FD && cell.twin == TC_NO_FD && !cell.notified);
    tc_cell_release(&cell);
    end(&fixture);
}
END_TEST

/* Inside, a mediated mount is read-only to every kind of change, and nothing of the broker's is there. */
START_TEST(test_inside)
{
    static const char script[] = "touch /workspace/x && exit 1; chmod 777 /workspace && exit 2; touch /tmp/x && exit 3;"
                                 "touch /dev/shm/x || exit 4; set -- /proc/self/fd/*; [ $# -le 4 ] || exit 5; exit 7";
    struct fixture fixture;
    struct tc_cell cell;
    struct tc_error err;
    struct outcome outcome;
    struct served served;

    for (int mediated = 0; mediated < 2; mediated++) {
        begin(&fixture, TC_NOTIFY_CONNECT);
        fixture_find(&fixture, "/workspace")->flags |= mediated ? TC_STEP_MEDIATED : 0;
        fixture_find(&fixture, "/tmp")->flags |= mediated ? TC_STEP_MEDIATED : 0;
        ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
        run(&fixture, &cell, script, EXDEV, &outcome, &served);
        ck_assert_int_eq(WEXITSTATUS(outcome.last.value), mediated ? 7 : 1);
        ck_assert_uint_eq(served.calls, 0);
        tc_cell_release(&cell);
        end(&fixture);
    }
}
END_TEST

/* The command's calls are stopped, init's own are not: it would wait for us while we wait for it. */
START_TEST(test_listener)
{
    struct fixture fixture;
    struct tc_cell cell;
    struct tc_error err;
    struct outcome outcome;
    struct served served;

    begin(&fixture, TC_NOTIFY_CHANGE | TC_NOTIFY_EXECUTE);
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    run(&fixture, &cell, "true", EUCLEAN, &outcome, &served);
    ck_assert_uint_eq(outcome.last.type, TC_INIT_FAILED); /* of the execve by which the command begins */
    ck_assert_int_eq(outcome.last.value, EUCLEAN);
    ck_assert_uint_eq(served.calls, 1);
    ck_assert_int_eq(served.last, SYS_execve);
    tc_cell_release(&cell);
    end(&fixture);

    begin(&fixture, TC_NOTIFY_CHANGE);
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    run(&fixture, &cell, "mkdir /tmp/a 2>/dev/null; ls /tmp/a && exit 1; (rmdir /usr) && exit 2; exit 9", EUCLEAN,
        &outcome, &served);
    ck_assert_int_eq(WEXITSTATUS(outcome.last.value), 9);
    ck_assert_uint_ge(served.calls, 2);
    tc_cell_release(&cell);
    end(&fixture);
}
END_TEST

/* Without a broker the calls fail; they are not performed. */
START_TEST(test_nobody_listens)
{
    struct fixture fixture;
    struct tc_cell cell;
    struct tc_error err;
    struct outcome outcome;
    struct served served;

    begin(&fixture, TC_NOTIFY_CHANGE);
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    run(&fixture, &cell, "mkdir /tmp/a; [ -d /tmp/a ] && exit 1; exit 9", 0, &outcome, &served);
    ck_assert_int_eq(WEXITSTATUS(outcome.last.value), 9);
    tc_cell_release(&cell);
    end(&fixture);
}
END_TEST

/* A filter that the kernel does not take: the command does not start. */
START_TEST(test_bad_filter)
{
    static const struct sock_filter endless[] = {{.code = 0xffff}};
    struct fixture fixture;
    struct tc_cell cell;
    struct tc_error err;
    struct outcome outcome;
    struct served served;

    begin(&fixture, TC_NOTIFY_CHANGE);
    fixture.plan.notify_filter = (const uint8_t *)endless;
    fixture.plan.notify_filter_size = sizeof endless;
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    run(&fixture, &cell, "true", EUCLEAN, &outcome, &served);
    ck_assert_uint_eq(outcome.last.type, TC_INIT_FAILED);
    ck_assert_uint_eq(outcome.last.step, TC_INIT_STEP_MEDIATION);
    ck_assert_int_eq(outcome.last.value, EINVAL);
    tc_cell_release(&cell);
    end(&fixture);
}
END_TEST

/* A listener, made by a child that then ends: in this process it would stop the test. */
static int make_listener(void)
{
    int ends[2];
    int fd = TC_NO_FD;
    size_t count = 0;
    char byte;

    ck_assert_int_eq(tc_socket_pair(ends), 0);
    if (fork() == 0) {
        struct sock_filter allow[] = {{.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW}};
        struct sock_fprog program = {.len = 1, .filter = allow};

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
        _exit(fd < 0 || tc_socket_send(ends[1], "x", 1, &fd, 1) < 0);
    }
    ck_assert_int_gt(wait(NULL), 0);
    ck_assert_int_eq(tc_socket_receive_fds(ends[0], &byte, 1, NULL, &fd, 1, &count), 1);
    ck_assert_uint_eq(count, 1);
    close(ends[0]);
    close(ends[1]);
    return fd;
}

/* What may come from an init that was taken over. */
START_TEST(test_untrusted)
{
    tc_auto_fd listener = make_listener();
    tc_auto_fd null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const struct {
        bool notified;
        unsigned last, type;
        int fds[2];
        size_t count;
        int expected;
    } cases[] = {
        {true, TC_INIT_READY, TC_INIT_LISTENER, {listener}, 1, 1},
        {true, TC_INIT_READY, TC_INIT_LISTENER, {listener}, 0, -EPROTO},
        {true, TC_INIT_READY, TC_INIT_LISTENER, {listener, listener}, 2, -EPROTO},
        {true, TC_INIT_READY, TC_INIT_LISTENER, {null}, 1, -EPROTO},
        {true, TC_INIT_LISTENER, TC_INIT_LISTENER, {listener}, 1, -EPROTO},
        {true, TC_INIT_READY, TC_INIT_STARTED, {0}, 0, -EPROTO}, /* without its listener */
        {true, TC_INIT_LISTENER, TC_INIT_STARTED, {0}, 0, 1},
        {true, TC_INIT_LISTENER, TC_INIT_STARTED, {null}, 1, -EPROTO},
        {false, TC_INIT_READY, TC_INIT_LISTENER, {listener}, 1, -EPROTO},
        {false, TC_INIT_READY, TC_INIT_STARTED, {0}, 0, 1},
        {false, TC_INIT_READY, TC_INIT_STARTED, {listener}, 1, -EPROTO},
    };

    ck_assert_int_ge(listener, 0);
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_init_reply reply = {.magic = TC_INIT_MAGIC, .type = cases[i].type, .pid = 2};
        struct tc_cell cell = TC_CELL_EMPTY;
        int before = open("/dev/null", O_PATH | O_CLOEXEC), after, ends[2];

        ck_assert_int_eq(tc_socket_pair(ends), 0);
        cell.control = ends[0];
        cell.notified = cases[i].notified;
        cell.last_reply = cases[i].last;
        ck_assert_int_eq(tc_socket_send(ends[1], &reply, sizeof reply, cases[i].fds, cases[i].count), 0);
        ck_assert_msg(tc_cell_receive(&cell, &reply) == cases[i].expected, "case %zu", i);
        ck_assert((cell.listener >= 0) == (cases[i].expected == 1 && cases[i].type == TC_INIT_LISTENER));
        tc_cell_release(&cell);
        close(ends[1]);
        close(before);
        after = open("/dev/null", O_PATH | O_CLOEXEC); /* nothing stayed open */
        ck_assert_int_eq(before, after);
        close(after);
    }
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("mediation", test_twin, test_no_twin, test_inside, test_listener, test_nobody_listens,
                               test_bad_filter, test_untrusted, NULL));
}
