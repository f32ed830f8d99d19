/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "harness.h"

#define SAMPLE (3u << 20)

static char sample[SAMPLE];

static void fill_bytes(unsigned seed)
{
    srandom(seed);
    for (size_t i = 0; i < SAMPLE; i++)
        sample[i] = (char)random();
}

/* Characters of one to four bytes, never NUL. */
static size_t fill_text(unsigned seed)
{
    static const char *const characters[] = {"a", "\n", "\"", "\\", "\x01", "\x7f", "é", "\xc2\x85", "€", "😀"};
    size_t length = 0;

    srandom(seed);
    while (length + 4 < SAMPLE) {
        const char *character = characters[(size_t)random() % TC_COUNT(characters)];

        memcpy(sample + length, character, strlen(character));
        length += strlen(character);
    }
    return length;
}

static void chatter(struct call *call, size_t length, const char *seed)
{
    call_program(call, getenv("CHATTER"), scratch_file(sample, length), seed, NULL);
}

START_TEST(test_passes_bytes_through)
{
    struct call call;

    fill_bytes(1);
    chatter(&call, SAMPLE, "2");
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    ck_assert_uint_eq(call.out_text.length, SAMPLE);
    ck_assert_int_eq(memcmp(call.out_text.data, sample, SAMPLE), 0);
    ck_assert_uint_eq(call.result.stdout_bytes, SAMPLE);
    ck_assert(!call.result.truncated);
    unlink(call.argv[1]);
    call_free(&call);
}
END_TEST

static void check_events(size_t length, const char *seed)
{
    tc_auto_buf decoded = {0};
    struct call call;

    chatter(&call, length, seed);
    call_json(&call);
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    call_decode(&call, "stdout", &decoded);
    ck_assert_uint_eq(decoded.length, length);
    ck_assert_int_eq(memcmp(decoded.data, sample, length), 0);
    ck_assert_uint_eq(call_count(&call, "start"), 1);
    ck_assert_uint_eq(call_count(&call, "result"), 1);
    if (tc_utf8_valid(sample, length))
        ck_assert_ptr_null(memmem(call.out_text.data, call.out_text.length, "\"base64\"", 8));
    unlink(call.argv[1]);
    call_free(&call);
}

START_TEST(test_bytes_in_events)
{
    fill_bytes(3);
    check_events(SAMPLE, "4");
}
END_TEST

START_TEST(test_text_in_events)
{
    check_events(fill_text(5), "6");
    check_events(fill_text(7), "8");
}
END_TEST

START_TEST(test_the_widest_text_keeps_to_the_line)
{
    memset(sample, 1, SAMPLE);
    check_events(SAMPLE, "9");
    for (size_t i = 0; i + 1 < SAMPLE; i += 2)
        memcpy(sample + i, "\xc2\x9b", 2);
    check_events(SAMPLE, "10");
}
END_TEST

START_TEST(test_a_character_that_never_ends)
{
    tc_auto_buf decoded = {0};
    struct call call;

    call_shell(&call, "printf 'a\\342\\202'; printf 'b\\360' >&2");
    call_json(&call);
    call_run(&call);
    call_decode(&call, "stdout", &decoded);
    ck_assert_str_eq(decoded.data, "a\xe2\x82");
    decoded.length = 0;
    call_decode(&call, "stderr", &decoded);
    ck_assert_str_eq(decoded.data, "b\xf0");
    call_free(&call);
}
END_TEST

START_TEST(test_a_slow_reader_holds_the_command_back)
{
    struct call call;
    struct stat status;
    char marker[] = "/tmp/test-supervise-XXXXXX";
    char script[128];

    for (int json = 0; json < 2; json++) {
        tc_auto_fd fd = mkstemp(marker);

        snprintf(script, sizeof script, "head -c 20000000 /dev/zero; echo done > %s", marker);
        call_shell(&call, script);
        if (json)
            call_json(&call);
        call_start(&call);
        usleep(500000);
        ck_assert_int_eq(fstat(fd, &status), 0);
        ck_assert_msg(status.st_size == 0, "the command was not held back");
        call_finish(&call);
        ck_assert_int_eq(call.status, 0);
        ck_assert_uint_eq(call.result.stdout_bytes, 20000000);
        ck_assert_int_eq(fstat(fd, &status), 0);
        ck_assert_int_ne(status.st_size, 0);
        if (!json)
            ck_assert_uint_eq(call.out_text.length, 20000000);
        if (MEMORY_IS_MEASURED) /* a sanitizer keeps what is freed */
            ck_assert_int_le(call.peak_kb, 2048);
        call_free(&call);
        unlink(marker);
        memcpy(marker + strlen(marker) - 6, "XXXXXX", 6);
    }
}
END_TEST

START_TEST(test_a_reader_that_goes_away)
{
    struct call call;

    call_shell(&call, "yes");
    call_start(&call);
    call_await(&call, "y\ny\n");
    tc_cleanup_fd(&call.out);
    call_finish(&call);
    ck_assert_int_eq(call.result.outcome, TC_OUTCOME_CANCELLED);
    ck_assert_int_eq(call.status, 129);
    ck_assert_int_eq(call.result.error.code, 0);
    call_free(&call);

    call_shell(&call, "echo up; sleep 30");
    call_json(&call);
    call_start(&call);
    call_await(&call, "up");
    tc_cleanup_fd(&call.out);
    call_finish(&call);
    ck_assert_int_eq(call.status, 129);
    ck_assert_uint_lt(call.took_ms, 8000);
    call_free(&call);
}
END_TEST

START_TEST(test_keep_going_without_a_reader)
{
    struct call call;

    call_shell(&call, "echo up; sleep 0.3; head -c 3000000 /dev/zero; exit 7");
    call.report.keep_going = true;
    call_start(&call);
    call_await(&call, "up");
    tc_cleanup_fd(&call.out);
    call_finish(&call);
    ck_assert_int_eq(call.result.outcome, TC_OUTCOME_EXITED);
    ck_assert_int_eq(call.status, 7);
    ck_assert_uint_eq(call.result.stdout_bytes, 3000003);
    call_free(&call);
}
END_TEST

START_TEST(test_a_full_disk)
{
    struct call call;

    call_shell(&call, "echo x; exit 0");
    call.stdout_fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    call_run(&call);
    close(call.stdout_fd);
    ck_assert_int_eq(call.status, 129);
    ck_assert_str_eq(call.err_text.data, "toolcell: stdout: No space left on device\n");
    call_free(&call);
}
END_TEST

START_TEST(test_closed_descriptors)
{
    struct call call;

    call_shell(&call, "echo out; echo err >&2; ls /proc/self/fd | wc -l >&2");
    call.stdout_fd = -2;
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    ck_assert_ptr_nonnull(strstr(call.err_text.data, "err\n"));
    call_free(&call);

    call_shell(&call, "echo out; echo err >&2");
    call.stdout_fd = call.stderr_fd = -2;
    call.stdin_fd = -2;
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    call_free(&call);
}
END_TEST

START_TEST(test_both_streams_on_one_pipe)
{
    struct call call;
    int fds[2];
    char text[8] = "";

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    call_shell(&call, "echo a; echo b >&2");
    call.stdout_fd = call.stderr_fd = fds[1];
    call_run(&call);
    close(fds[1]);
    ck_assert_int_eq(call.status, 0);
    ck_assert_int_eq(read(fds[0], text, sizeof text), 4);
    ck_assert_msg(strcmp(text, "a\nb\n") == 0 || strcmp(text, "b\na\n") == 0, "%s", text);
    close(fds[0]);
    call_free(&call);
}
END_TEST

START_TEST(test_flags_of_the_caller_stay)
{
    struct call call;
    int fds[2], pair[2];

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    call_shell(&call, "echo a; echo b >&2; cat");
    call.plan.stdin_mode = TC_STDIN_INHERIT;
    call.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    call.stdout_fd = fds[1];
    call.stderr_fd = pair[1];
    call_start(&call);
    for (int i = 0; i < 20; i++) {
        usleep(2000);
        ck_assert_int_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
        ck_assert_int_eq(fcntl(pair[1], F_GETFL) & O_NONBLOCK, 0);
    }
    call_finish(&call);
    ck_assert_int_eq(call.status, 0);
    close(call.stdin_fd);
    close(fds[0]);
    close(fds[1]);
    close(pair[0]);
    close(pair[1]);
    call_free(&call);
}
END_TEST

START_TEST(test_a_reader_that_never_reads_is_left_behind)
{
    struct call call;
    int fds[2];

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(fcntl(fds[1], F_SETPIPE_SZ, 4096), 4096);
    call_shell(&call, "head -c 40000 /dev/zero");
    call.stdout_fd = fds[1];
    call_run(&call);
    ck_assert_uint_ge(call.took_ms, 9500);
    ck_assert_uint_lt(call.took_ms, 13000);
    ck_assert(call.result.truncated);
    ck_assert_int_eq(call.status, 129);
    ck_assert_str_eq(call.err_text.data, "toolcell: stdout: the reader took too long\n");
    call_free(&call);

    /* The message has no reader either. */
    call_shell(&call, "head -c 40000 /dev/zero");
    call.stdout_fd = call.stderr_fd = fds[1];
    call_run(&call);
    ck_assert_uint_lt(call.took_ms, 14000);
    ck_assert_int_eq(call.status, 129);
    close(fds[0]);
    close(fds[1]);
    call_free(&call);
}
END_TEST

static int first_child(int pid)
{
    char path[64], text[64] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    return (int)strtol(text, NULL, 10);
}

START_TEST(test_a_write_end_that_left_the_cell)
{
    struct call call;
    char path[64];
    int fd;

    call_shell(&call, "echo up; sleep 0.3; echo end");
    call_start(&call);
    call_await(&call, "up");
    snprintf(path, sizeof path, "/proc/%d/fd/1", first_child(first_child(call.pid)));
    fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    call_finish(&call);
    close(fd);
    ck_assert_int_eq(call.status, 0);
    ck_assert_str_eq(call.out_text.data, "up\nend\n");
    ck_assert_uint_lt(call.took_ms, 8000);
    call_free(&call);
}
END_TEST

START_TEST(test_output_limit)
{
    tc_auto_buf decoded = {0};
    struct call call;

    call_shell(&call, "head -c 300000 /dev/zero; echo x >&2; exit 3");
    call_limit(&call, TC_LIMIT_OUTPUT, 100000);
    call_json(&call);
    call_run(&call);
    ck_assert_int_eq(call.status, 3);
    ck_assert(call.result.truncated);
    ck_assert_uint_eq(call.result.stdout_bytes, 300000);
    ck_assert_uint_eq(call.result.stderr_bytes, 2);
    call_decode(&call, "stdout", &decoded);
    call_decode(&call, "stderr", &decoded);
    ck_assert_uint_eq(decoded.length, 100000);
    call_free(&call);

    call_shell(&call, "printf 12345");
    call_limit(&call, TC_LIMIT_OUTPUT, 5);
    call.plan.output_stop = true;
    call_run(&call);
    ck_assert_int_eq(call.status, 0);
    ck_assert(!call.result.truncated);
    call_free(&call);

    call_shell(&call, "yes");
    call_limit(&call, TC_LIMIT_OUTPUT, 5);
    call.plan.output_stop = true;
    call_run(&call);
    ck_assert_int_eq(call.status, 141);
    ck_assert_int_eq(call.result.outcome, TC_OUTCOME_OUTPUT_LIMIT);
    ck_assert_str_eq(call.out_text.data, "y\ny\ny");
    ck_assert_str_eq(call.err_text.data, "toolcell: output_limit: the command wrote more than 5 bytes\n");
    call_free(&call);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite(
        "streams", test_passes_bytes_through, test_bytes_in_events, test_text_in_events,
        test_the_widest_text_keeps_to_the_line, test_a_character_that_never_ends,
        test_a_slow_reader_holds_the_command_back, test_a_reader_that_goes_away, test_keep_going_without_a_reader,
        test_a_full_disk, test_closed_descriptors, test_both_streams_on_one_pipe, test_flags_of_the_caller_stay,
        test_a_reader_that_never_reads_is_left_behind, test_a_write_end_that_left_the_cell, test_output_limit, NULL));
}
