/* SPDX-License-Identifier: Apache-2.0 */

/* execve: rules on arguments, for what the command starts in turn. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell.h"
#include "unit.h"

#define POLICY                                                                                                         \
    "{\"version\":1,\"rules\":[{\"pattern\":\"**\",\"operations\":\"all\",\"effect\":\"allow\"}],"                     \
    "\"commands\":[{\"argv\":[\"echo\",\"secret\",\"...\"],\"effect\":\"deny\"},"                                      \
    "{\"argv\":[\"echo\",\"ask\"],\"effect\":\"ask\"}]}"

static struct cell_outcome outcome;

/* 0, the exit status of the program, or what execve() said. */
static int run(const char *path, const char *first, const char *second)
{
    char *const argv[] = {(char *)"echo", (char *)first, (char *)second, NULL}, *const env[] = {NULL};
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execve(path, argv, env);
        _exit(errno);
    }
    CELL_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int execute(void *memory)
{
    (void)memory;
    CELL_CHECK(close(1) == 0 && open("/dev/null", O_WRONLY) == 1);
    CELL_CHECK(run("/bin/echo", "fine", NULL) == 0); /* the positive control: it starts, libraries and all */
    CELL_CHECK(run("/bin/echo", "secret", "x") == EACCES && run("/usr/bin/echo", "secret", NULL) == EACCES);
    CELL_CHECK(run("/usr/bin/env", "echo", "ask") ==
               126); /* env may start, but what it starts in turn is asked about */
    CELL_CHECK(run("/bin/echo", "ask", NULL) == EACCES);
    CELL_CHECK(run("/bin/none", "fine", NULL) == ENOENT);
    /* What cannot be looked at is the kernel's to refuse. */
    CELL_CHECK(syscall(SYS_execve, "/bin/echo", (void *)8, NULL) == -1 && errno == EFAULT);
    return 0;
}

START_TEST(test_execute)
{
    cell_run(&(struct cell_case){.policy = POLICY, .groups = TC_NOTIFY_OPEN | TC_NOTIFY_EXECUTE, .inside = execute},
             &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_uint_ge(outcome.asks, 2);
    ck_assert(cell_denied(&outcome, TC_OP_EXECUTE, "/usr/bin/echo"));
    ck_assert_uint_eq(outcome.denied[0].by, TC_DENIED_COMMAND);
    ck_assert_uint_eq(outcome.denied[0].rule.kind, TC_RULE_REF_COMMAND);
    ck_assert_uint_eq(outcome.denied[0].rule.index, 0);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker execute", test_execute, NULL));
}
