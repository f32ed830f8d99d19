/* SPDX-License-Identifier: Apache-2.0 */

/* Each system call of a launch made to fail, one at a time, by a filter of the test's own: the launch fails with a
 * stage, a message and nothing left behind, or does without the call where that is meant. */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "cases.h"
#include "kernel/seccomp.h"

static void fail_call(unsigned number, unsigned error)
{
    const struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(tc_seccomp_load(program, sizeof program), 0);
}

/* In a process of its own, since a filter stays. Returns 0 when all is as it should be. */
static int launch_without(unsigned number, unsigned error)
{
    size_t fds = fixture_count_fds();
    struct tc_error err = {0};
    struct tc_cell cell;
    int r;

    fail_call(number, error);
    r = tc_cell_launch(&fixture.plan, &cell, &err);
    if (r == 0 || cell.pid != -1 || cell.control >= 0 || err.stage[0] == '\0' || err.message[0] == '\0')
        return 1;
    if (fixture_count_fds() != fds)
        return 2;
    if (number != SYS_wait4 && (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD))
        return 3;
    return r == -(int)error ? 0 : 4;
}

START_TEST(test_every_call)
{
    static const unsigned calls[] = {SYS_clone,
                                     SYS_openat2,
                                     SYS_open_tree,
                                     SYS_mount_setattr,
                                     SYS_move_mount,
                                     SYS_fsopen,
                                     SYS_fsconfig,
                                     SYS_fsmount,
                                     SYS_mount,
                                     SYS_pivot_root,
                                     SYS_umount2,
                                     SYS_unshare,
                                     SYS_sethostname,
                                     SYS_setdomainname,
                                     SYS_socketpair,
                                     SYS_memfd_create,
                                     SYS_landlock_create_ruleset,
                                     SYS_landlock_add_rule,
                                     SYS_landlock_restrict_self,
                                     SYS_capset,
                                     SYS_seccomp,
                                     SYS_execveat,
                                     SYS_close_range,
                                     SYS_mkdirat,
                                     SYS_symlinkat,
                                     SYS_dup3,
                                     SYS_fchdir};

    fixture.plan.landlock_abi = 7;
    for (size_t i = 0; i < TC_COUNT(calls); i++) {
        static const unsigned errors[] = {ENOSYS, EPERM};

        for (size_t k = 0; k < TC_COUNT(errors); k++) {
            pid_t pid = fork();
            int status;

            if (pid == 0)
                _exit(launch_without(calls[i], errors[k]));
            ck_assert_int_eq(waitpid(pid, &status, 0), pid);
            ck_assert_msg(status == 0, "call %u with errno %u: status %x", calls[i], errors[k], status);
        }
    }
}
END_TEST

/* Where an outer container forbids namespaces, the text must say so. */
START_TEST(test_no_user_namespaces)
{
    const struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    for (size_t i = 0; i < fixture.plan.step_count; i++)
        fixture.steps[i].flags &= ~(unsigned)TC_STEP_IDMAP; /* or that would fail first */
    ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ck_assert_int_eq(tc_seccomp_load(program, sizeof program), 0);
    expect_failure("namespaces", "make the cell's namespaces: Operation not permitted");
    ck_assert_ptr_nonnull(strstr(outcome.err.hint, "max_user_namespaces"));
}
END_TEST

START_TEST(test_small_limits)
{
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096}; /* below the size of init */

    setrlimit(RLIMIT_FSIZE, &limit);
    expect_failure("init", "image of init: File too large");
    ck_assert_str_ne(outcome.err.hint, "");
}
END_TEST

START_TEST(test_no_id_maps_for_this_file_system)
{
    struct tc_step *step = fixture_find(&fixture, "/workspace");

    if (geteuid() != 0)
        return; /* only root maps ids */
    fixture.plan.step_count--;
    fixture_bind(&fixture, "/proc", step->target, TC_STEP_IDMAP, TC_ACCESS_READ);
    expect_failure("mounts", "restrict the mount of '/proc': Invalid argument");
    ck_assert_ptr_nonnull(strstr(outcome.err.hint, "cannot be id-mapped"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_every_call, test_no_user_namespaces, test_small_limits,
                                  test_no_id_maps_for_this_file_system};

    return run_cases("fault", tests, TC_COUNT(tests));
}
