/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness.h"

static void inherit(struct call *call, const char *script, int fd)
{
    call_shell(call, script);
    call->plan.stdin_mode = TC_STDIN_INHERIT;
    call->stdin_fd = fd;
}

static void check_output(struct call *call, const char *text)
{
    call_run(call);
    ck_assert_int_eq(call->status, 0);
    ck_assert_str_eq(call->out_text.data, text);
    call_free(call);
}

START_TEST(test_none)
{
    struct call call;

    call_shell(&call, "wc -c; readlink /proc/self/fd/0");
    check_output(&call, "0\n/dev/null\n");
}
END_TEST

START_TEST(test_data)
{
    static char bytes[1 << 20];
    struct call call;

    memset(bytes, 'x', sizeof bytes);
    call_shell(&call, "sleep 0.1; wc -c");
    call.plan.stdin_mode = TC_STDIN_DATA;
    call.plan.stdin_data = bytes;
    call.plan.stdin_length = sizeof bytes;
    check_output(&call, "1048576\n");

    /* Left unread: that is the command's business. */
    call_shell(&call, "head -c 3; exec <&-; sleep 0.1");
    call.plan.stdin_mode = TC_STDIN_DATA;
    call.plan.stdin_data = bytes;
    call.plan.stdin_length = sizeof bytes;
    check_output(&call, "xxx");
}
END_TEST

START_TEST(test_a_file_from_where_it_stands)
{
    const char *name = scratch_file("skipped rest", 12);
    tc_auto_fd file = open(name, O_RDONLY | O_CLOEXEC);
    struct call call;

    unlink(name);
    ck_assert_int_eq(lseek(file, 8, SEEK_SET), 8);
    inherit(&call, "cat", file);
    check_output(&call, "rest");
}
END_TEST

START_TEST(test_an_endless_file_does_not_hold_up_the_limits)
{
    tc_auto_fd zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct call call;

    inherit(&call, "cat > /dev/null", zero);
    call_limit(&call, TC_LIMIT_WALL, 300);
    call_run(&call);
    ck_assert_int_eq(call.status, 124);
    ck_assert_uint_lt(call.took_ms, 2000);
    call_free(&call);
}
END_TEST

START_TEST(test_a_pipe_that_says_nothing)
{
    struct call call;
    int fds[2];

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    inherit(&call, "echo done", fds[0]);
    check_output(&call, "done\n");
    inherit(&call, "exec <&-; sleep 0.2; echo done", fds[0]);
    check_output(&call, "done\n");

    ck_assert_int_eq(write(fds[1], "first\n", 6), 6);
    inherit(&call, "cat", fds[0]);
    call_start(&call);
    call_await(&call, "first");
    ck_assert_int_eq(write(fds[1], "second\n", 7), 7);
    call_await(&call, "second");
    close(fds[1]);
    call_finish(&call);
    ck_assert_int_eq(call.status, 0);
    call_free(&call);
    close(fds[0]);
}
END_TEST

START_TEST(test_a_socket)
{
    struct call call;
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    inherit(&call, "cat", pair[0]);
    call_start(&call);
    usleep(50000);
    ck_assert_int_eq(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
    ck_assert_int_eq(write(pair[1], "first\n", 6), 6);
    call_await(&call, "first");
    ck_assert_int_eq(write(pair[1], "second\n", 7), 7);
    close(pair[1]);
    call_finish(&call);
    ck_assert_str_eq(call.out_text.data, "first\nsecond\n");
    call_free(&call);
    close(pair[0]);
}
END_TEST

START_TEST(test_not_for_reading)
{
    tc_auto_fd null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct call call;

    inherit(&call, "wc -c", null);
    check_output(&call, "0\n");
    inherit(&call, "wc -c", -2);
    check_output(&call, "0\n");
}
END_TEST

static void check_refused(int fd, const char *kind)
{
    struct call call;

    inherit(&call, "echo ran", fd);
    call_run(&call);
    ck_assert_int_eq(call.status, 125);
    ck_assert_int_eq(call.result.outcome, TC_OUTCOME_SETUP_FAILED);
    ck_assert_uint_eq(call.out_text.length, 0);
    ck_assert_msg(strstr(call.err_text.data, kind) != NULL, "%s", call.err_text.data);
    call_free(&call);
    close(fd);
}

START_TEST(test_refused_kinds)
{
    check_refused(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "a directory");
    check_refused(open("/etc/passwd", O_PATH | O_CLOEXEC), "O_PATH");
    check_refused(eventfd(0, EFD_CLOEXEC), "neither a file nor a pipe nor a terminal nor a socket");
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("input", test_none, test_data, test_a_file_from_where_it_stands,
                               test_an_endless_file_does_not_hold_up_the_limits, test_a_pipe_that_says_nothing,
                               test_a_socket, test_not_for_reading, test_refused_kinds, NULL));
}
