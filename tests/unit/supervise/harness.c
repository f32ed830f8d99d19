/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#define PATIENCE_MS 40000 /* for everything, sanitizers and valgrind included */

static void call_init(struct call *call)
{
    memset(call, 0, sizeof *call);
    call->plan.argv = call->argv;
    call->plan.cwd = "/";
    call->plan.filter_name = "none";
    call->plan.program = "/bin/true";
    call->report.events = -1;
    call->stdin_fd = call->stdout_fd = call->stderr_fd = -1;
}

void call_program(struct call *call, const char *program, const char *first, const char *second, const char *third)
{
    call_init(call);
    call->argv[0] = program;
    call->argv[1] = first;
    call->argv[2] = second;
    call->argv[3] = third;
}

void call_shell(struct call *call, const char *script)
{
    call_program(call, "sh", "-c", script, NULL);
}

void call_limit(struct call *call, enum tc_limit limit, uint64_t value)
{
    call->plan.limits.set |= 1u << limit;
    call->plan.limits.value[limit] = value;
}

void call_json(struct call *call)
{
    call->report.events = STDOUT_FILENO;
    call->report.events_are_stdout = true;
}

/* What the process that stands for toolcell tells the test when it is through. */
struct told {
    struct tc_result result;
    long peak_kb;
};

static void take_stream(int given, int collecting, int number)
{
    if (given == -2)
        close(number);
    else
        dup2(given >= 0 ? given : collecting, number);
}

static void inherit_strange_signals(void)
{
    sigset_t all;

    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static void supervise(struct call *call, int out, int err, int report)
{
    struct rusage before, after;
    struct rlimit files;
    struct told told;
    int null = open("/dev/null", O_RDONLY);

    memset(&told, 0, sizeof told);
    take_stream(call->stdin_fd, null, 0);
    take_stream(call->stdout_fd, out, 1);
    take_stream(call->stderr_fd, err, 2);
    if (call->report.ask == TC_ASK_FD) /* above the report */
        call->report.ask_fd = fcntl(call->report.ask_fd, F_DUPFD, report + 1);
    close_range(3, (unsigned)report - 1, 0);
    if (call->report.ask == TC_ASK_FD)
        close_range((unsigned)call->report.ask_fd + 1, ~0U, 0);
    else
        close_range((unsigned)report + 1, ~0U, 0);
    getrlimit(RLIMIT_NOFILE, &files);
    if (call->open_files > 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){call->open_files, files.rlim_max});
    if (call->ignore)
        inherit_strange_signals();
    call->report.started_ms = tc_clock_ms();
    tc_uuid7(call->report.id);
    getrusage(RUSAGE_SELF, &before);
    if (call->no_command) {
        told.result = call->result;
        tc_supervise_report(&call->plan, &call->report, &told.result);
    } else {
        tc_supervise_run(&call->plan, tc_cell_begin(call->plan.net, NULL), NULL, &call->report, &told.result);
    }
    getrusage(RUSAGE_SELF, &after);
    setrlimit(RLIMIT_NOFILE, &files);
    told.peak_kb = after.ru_maxrss - before.ru_maxrss;
    if (write(report, &told, sizeof told) < 0)
        _exit(99);
    exit(told.result.status); /* not _exit(): leaks are looked for */
}

static void make_pipe(int fds[2])
{
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    ck_assert_int_eq(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
}

void call_start(struct call *call)
{
    int out[2], err[2], report[2];

    make_pipe(out);
    make_pipe(err);
    ck_assert_int_eq(pipe2(report, O_CLOEXEC), 0);
    fflush(NULL);
    call->started_ms = tc_clock_ms();
    call->pid = fork();
    ck_assert_int_ge(call->pid, 0);
    if (call->pid == 0) {
        close(out[0]);
        close(err[0]);
        close(report[0]);
        supervise(call, out[1], err[1], report[1]);
    }
    close(out[1]);
    close(err[1]);
    close(report[1]);
    call->out = out[0];
    call->err = err[0];
    call->report_fd = report[0];
}

static void collect_one(int *fd, struct tc_buf *text)
{
    char bytes[65536];
    ssize_t length = read(*fd, bytes, sizeof bytes);

    if (length > 0)
        tc_buf_append(text, bytes, (size_t)length);
    else if (length == 0 || errno != EAGAIN)
        tc_cleanup_fd(fd);
}

/* One round of collecting; false when both streams have ended. */
static bool collect(struct call *call)
{
    struct pollfd fds[2] = {{.fd = call->out, .events = POLLIN}, {.fd = call->err, .events = POLLIN}};

    if (call->out < 0 && call->err < 0)
        return false;
    ck_assert_msg(tc_clock_ms() - call->started_ms < PATIENCE_MS, "the call does not end");
    if (poll(fds, 2, 100) <= 0)
        return true;
    if (fds[0].revents != 0)
        collect_one(&call->out, &call->out_text);
    if (fds[1].revents != 0)
        collect_one(&call->err, &call->err_text);
    return true;
}

static bool contains(const struct tc_buf *buf, const char *text)
{
    return buf->length > 0 && memmem(buf->data, buf->length, text, strlen(text)) != NULL;
}

void call_await(struct call *call, const char *text)
{
    while (!contains(&call->out_text, text) && !contains(&call->err_text, text))
        ck_assert_msg(collect(call), "ended without %s", text);
}

void call_finish(struct call *call)
{
    struct told told;
    int status;

    memset(&told, 0, sizeof told);
    while (collect(call))
        ;
    while (waitpid(call->pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    call->took_ms = tc_clock_ms() - call->started_ms;
    call->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (read(call->report_fd, &told, sizeof told) == (ssize_t)sizeof told) {
        call->result = told.result;
        call->peak_kb = told.peak_kb;
    }
    close(call->report_fd);
    fake_fault = FAKE_NONE;
}

void call_run(struct call *call)
{
    call_start(call);
    call_finish(call);
}

void call_free(struct call *call)
{
    tc_buf_free(&call->out_text);
    tc_buf_free(&call->err_text);
    tc_cleanup_fd(&call->out);
    tc_cleanup_fd(&call->err);
}

/* ---- events ---- */

static void get_string(const struct tc_json *object, const char *key, struct tc_arena *arena, const char **ret,
                       size_t *length)
{
    struct tc_json member;
    struct tc_error err;

    ck_assert_msg(tc_json_member(object, key, &member), "no %s", key);
    ck_assert_int_eq(tc_json_string(&member, arena, ret, length, &err), 0);
}

static void decode_line(const char *line, size_t length, const char *stream, struct tc_buf *ret, unsigned *count)
{
    tc_auto_arena arena = tc_arena_new();
    tc_auto_json document = NULL;
    const char *event, *data, *encoding;
    size_t size;
    struct tc_json root;
    struct tc_error err = {0};

    ck_assert_uint_le(length + 1, 65536);
    ck_assert_msg(tc_json_parse(line, length, "event", &document, &root, &err) == 0, "%s", err.message);
    get_string(&root, "event", arena, &event, &size);
    if (strcmp(event, stream) != 0)
        return;
    ++*count;
    if (ret == NULL)
        return;
    get_string(&root, "data", arena, &data, &size);
    get_string(&root, "encoding", arena, &encoding, NULL);
    if (strcmp(encoding, "base64") == 0)
        ck_assert_int_eq(tc_base64_decode(ret, data, size), 0);
    else
        tc_buf_append(ret, data, size);
}

static unsigned each_line(const struct call *call, const char *stream, struct tc_buf *ret)
{
    const char *at = call->out_text.data, *end = at + call->out_text.length;
    unsigned count = 0;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        ck_assert_msg(newline != NULL, "the last line is not ended");
        decode_line(at, (size_t)(newline - at), stream, ret, &count);
        at = newline + 1;
    }
    return count;
}

void call_decode(const struct call *call, const char *stream, struct tc_buf *ret)
{
    each_line(call, stream, ret);
}

unsigned call_count(const struct call *call, const char *event)
{
    return each_line(call, event, NULL);
}

const char *scratch_file(const void *bytes, size_t length)
{
    static char name[64];
    FILE *file;

    snprintf(name, sizeof name, "/tmp/test-supervise-XXXXXX");
    file = fdopen(mkstemp(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    fclose(file);
    return name;
}
