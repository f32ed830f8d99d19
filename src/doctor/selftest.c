/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One small program (attempt.c) tries one thing and exits with the errno. It
 * runs twice with the same arguments: outside of any cell as the caller, which
 * is the control and must get through, and in a cell of its own, made as
 * `toolcell run` makes one. Refused inside and through outside, the attempt is
 * held; refused in both it proves nothing here and is told to be so. The
 * targets are this process's own (stage.c), so that nothing of the host is
 * touched.
 *
 * This is no substitute for the escape suite of the source tree. It shows that
 * the program that is installed holds on the host where it is installed.
 */
#include "doctor/selftest.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "doctor/attempt.h"
#include "doctor/stage.h"
#include "doctor/trial.h"

#define RULES "permissive"

const char *const tc_verdict_names[TC_VERDICT_COUNT] = {"held", "open", "unproven"};

static const struct {
    const char *name;
    const char *what;
    size_t target; /* the attempt's argument: where in the stage it stands, or 0 for the text */
    const char *text;
} table[] = {
    {"host-file", "read a file of the host that everyone may read", offsetof(struct tc_stage, secret), NULL},
    {"host-write", "make a file on the host where everyone may", offsetof(struct tc_stage, created), NULL},
    {"loopback", "connect to a listener on the host's loopback interface", offsetof(struct tc_stage, port), NULL},
    {"abstract-socket", "connect to an abstract socket of the host", offsetof(struct tc_stage, name), NULL},
    {"host-process", "see a process of the host", offsetof(struct tc_stage, process), NULL},
    {"descriptor", "use a descriptor that the caller left open", offsetof(struct tc_stage, descriptor), NULL},
    {"environment", "find a variable of the caller", 0, ""},
    {"user-namespace", "make a user namespace", 0, ""},
    {"set-id", "make a set-user-ID file in the workspace", 0, "set-id"},
    {"lease", "take a lease on a file, which makes others wait", 0, "lease"},
    {"datagram", "make a datagram socket, which reaches socket files of the host", 0, ""},
    {"io-uring", "set up an io_uring, which passes by the filter", 0, ""},
    {"file-handle", "name a file by handle", 0, "."},
};
_Static_assert(TC_COUNT(table) == TC_ATTEMPT_COUNT, "the header says how many there are");

/* The control: the same program, arguments and directory, as the caller. */
static int try_outside(const struct tc_stage *stage, const char *const *argv, int *ret_status, struct tc_error *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return tc_error_set(err, -errno, "start a process");
    if (pid == 0) {
        if (chdir(stage->work) == 0)
            execve(stage->program, (char *const *)argv, environ);
        _exit(TC_ATTEMPT_UNKNOWN);
    }
    while (waitpid(pid, ret_status, 0) < 0)
        if (errno != EINTR)
            return tc_error_set(err, -errno, "wait for a process");
    return 0;
}

static int try_inside(const struct tc_stage *stage, const char *const *argv, int *ret_status, struct tc_error *err)
{
    tc_auto_arena arena = tc_arena_new();
    struct tc_request request = {.arena = arena,
                                 .argv = argv,
                                 .cwd = "/workspace",
                                 .stdin_mode = TC_STDIN_NONE,
                                 .workspace = {.source = stage->work, .mode = TC_MODE_RW, .where = "--workspace"},
                                 .workspace_named = true,
                                 .rootfs = "host",
                                 .ask_fd = -1,
                                 .allow_degraded = 1u << TC_DEGRADE_MEDIATION};

    if (arena == NULL)
        return tc_error_set(err, -ENOMEM, "make a request");
    return tc_trial_run(RULES, &request, ret_status, err);
}

/* The errno, 0 when it got through. */
static int judge_status(int status, const char *name, int *ret, struct tc_error *err)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) == TC_ATTEMPT_UNKNOWN)
        return tc_error_plain(err, -EIO, "the attempt '%s' could not be made", name);
    *ret = WEXITSTATUS(status);
    return 0;
}

static int make_attempt(const struct tc_stage *stage, size_t index, struct tc_attempt *ret, struct tc_error *err)
{
    const char *argument = table[index].text != NULL ? table[index].text : (const char *)stage + table[index].target;
    const char *const argv[] = {"/workspace/attempt", table[index].name, argument, NULL};
    int status = 0;
    int r;

    *ret = (struct tc_attempt){.name = table[index].name, .what = table[index].what};
    r = try_inside(stage, argv, &status, err);
    if (r == 0)
        r = judge_status(status, ret->name, &ret->inside, err);
    if (r == 0)
        r = try_outside(stage, argv, &status, err);
    if (r == 0)
        r = judge_status(status, ret->name, &ret->outside, err);
    if (ret->inside == 0)
        ret->verdict = TC_VERDICT_OPEN;
    else
        ret->verdict = ret->outside == 0 ? TC_VERDICT_HELD : TC_VERDICT_UNPROVEN;
    return r;
}

int tc_selftest_run(struct tc_attempt *ret, struct tc_error *err)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    struct tc_stage stage = TC_STAGE_EMPTY;
    sigset_t ending, before;
    int r;

    sigaction(SIGCHLD, &standard, NULL);
    /* An end by one of these comes when the files are gone. */
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, &before);
    r = tc_stage_set(&stage, err);
    for (size_t i = 0; i < TC_ATTEMPT_COUNT && r == 0; i++)
        r = make_attempt(&stage, i, &ret[i], err);
    tc_stage_strike(&stage);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        return 0;
    if (err->hint[0] == '\0')
        tc_error_hint(err, "set TMPDIR to a directory where programs may be executed");
    return tc_error_wrap(err, "self-test");
}

bool tc_selftest_holds(const struct tc_attempt *attempts)
{
    for (size_t i = 0; i < TC_ATTEMPT_COUNT; i++)
        if (attempts[i].verdict == TC_VERDICT_OPEN)
            return false;
    return true;
}
