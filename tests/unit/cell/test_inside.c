/* SPDX-License-Identifier: Apache-2.0 */

/* What a cell is like from the inside. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cases.h"

START_TEST(test_identity)
{
    expect("id -u; id -g; id -un; grep -E '^(Uid|Gid)' /proc/self/status",
           "1000\n1000\nagent\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n");
}
END_TEST

START_TEST(test_no_privilege)
{
    expect("grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status",
           "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
           "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
    run("unshare -U true || unshare -m true || mount -t tmpfs x /tmp || chroot / true || echo refused");
    ck_assert_ptr_nonnull(strstr(outcome.output, "refused\n"));
}
END_TEST

START_TEST(test_names)
{
    expect("uname -n; cat /proc/sys/kernel/domainname", "cell\n(none)\n");
}
END_TEST

START_TEST(test_network)
{
    /* lo alone, up (flag 1) and with nothing that leads out. */
    expect("ls /sys 2>/dev/null; tail -n +3 /proc/net/dev | tr -d ' ' | cut -d: -f1; "
           "cut -d' ' -f1 /proc/net/if_inet6",
           "lo\n00000000000000000000000000000001\n");
}
END_TEST

START_TEST(test_descriptors)
{
    int extra[20];

    /* Descriptors that anybody left open, even not close-on-exec ones, do not get in. */
    for (size_t i = 0; i < TC_COUNT(extra); i++)
        extra[i] = open("/", O_RDONLY | O_DIRECTORY);
    expect("cd /proc/self/fd; echo *; ls -l /proc/1/fd 2>&1 | tail -n 1",
           "0 1 2 3\nls: cannot open directory '/proc/1/fd': Permission denied\n");
    for (size_t i = 0; i < TC_COUNT(extra); i++)
        close(extra[i]);
}
END_TEST

START_TEST(test_root_is_the_top)
{
    expect("stat -c %i / /.. /tmp/.. /workspace/../..; ls -d /old_root /root /var /boot 2>/dev/null", "1\n1\n1\n1\n");
}
END_TEST

START_TEST(test_mounts_tell_nothing)
{
    char *rest = NULL;

    run("cat /proc/self/mountinfo");
    ck_assert_ptr_null(strstr(outcome.output, "shared:"));
    ck_assert_ptr_null(strstr(outcome.output, "master:"));
    for (char *line = strtok_r(outcome.output, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char target[256], options[256];

        ck_assert_int_eq(sscanf(line, "%*s %*s %*s %*s %255s %255s", target, options), 2);
        ck_assert_msg(strcmp(target, "/") == 0 || fixture_find(&fixture, target) != NULL, "undeclared %s", target);
        ck_assert_msg(strstr(options, "nosuid") != NULL, "%s: %s", target, options);
        ck_assert_msg(strstr(options, "nodev") != NULL || strncmp(target, "/dev/", 5) == 0, "%s: %s", target, options);
    }
}
END_TEST

START_TEST(test_read_only)
{
    run("for f in /x /usr/x /etc/x /dev/x /proc/x; do (: > $f) 2>/dev/null && echo wrote $f; done; "
        "touch /tmp/a /dev/shm/a /home/agent/a /workspace/a && echo scratch; echo ignored > /dev/null");
    ck_assert_str_eq(outcome.output, "scratch\n");
    ck_assert_int_eq(outcome.last.value, 0);
}
END_TEST

START_TEST(test_owner_outside)
{
    char path[96];
    struct stat made;

    run("echo x > made");
    snprintf(path, sizeof path, "%s/made", fixture.workspace);
    ck_assert_int_eq(stat(path, &made), 0);
    ck_assert_uint_eq(made.st_uid, geteuid());
    ck_assert_uint_eq(made.st_gid, getegid());
}
END_TEST

/* With the owner's id alone mapped, files of others could not even be renamed or removed. */
START_TEST(test_files_of_others)
{
    char path[96];
    struct stat after;
    int fd;

    if (geteuid() != 0)
        return; /* needs somebody else */
    snprintf(path, sizeof path, "%s/other", fixture.workspace);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    ck_assert_int_eq(fchown(fd, 1234, 4321), 0);
    ck_assert_int_eq(fchmod(fd, 0666), 0);
    close(fd);
    expect("echo x >> other && chmod 600 other 2>/dev/null || echo kept; mv other moved && stat -c %u:%g moved",
           "kept\n65534:65534\n");
    snprintf(path, sizeof path, "%s/moved", fixture.workspace);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(after.st_uid, 1234);
    ck_assert_uint_eq(after.st_gid, 4321);
    ck_assert_int_eq(after.st_size, 2);
}
END_TEST

START_TEST(test_rename_across_directories)
{
    expect("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat a/h", "x\n");
}
END_TEST

START_TEST(test_landlock_grants)
{
    fixture_find(&fixture, "/workspace")->access = TC_ACCESS_LIST;
    run("ls / /workspace && (: > /workspace/x) 2>/dev/null && echo wrote; cat /etc/passwd > /dev/null && echo read");
    ck_assert_ptr_null(strstr(outcome.output, "wrote"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "read\n"));
}
END_TEST

START_TEST(test_old_landlock)
{
    for (unsigned abi = 2; abi <= 7; abi++) {
        fixture.plan.landlock_abi = abi;
        expect("mkdir -p a b; : > a/f; mv a/f b/f; truncate -s 0 b/f && echo works", "works\n");
    }
}
END_TEST

START_TEST(test_terminals)
{
    expect(
        "python3 -c 'import pty, os; m, s = pty.openpty(); os.write(s, b\"x\"); print(os.ttyname(s), os.read(m, 1))'",
        "/dev/pts/0 b'x'\n");
}
END_TEST

/* Both ends come to the parent, in a form in which neither gets further or keeps anyone waiting. */
START_TEST(test_terminal)
{
    struct tc_error err = {0};
    struct stat status;
    struct tc_cell cell;

    fixture.plan.tty = true;
    ck_assert_msg(tc_cell_launch(&fixture.plan, &cell, &err) == 0, "%s", err.message);
    ck_assert_int_ge(cell.master, 0);
    ck_assert_int_eq(fcntl(cell.master, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
    ck_assert_int_eq(fcntl(cell.slave, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR);
    ck_assert_int_eq(fcntl(cell.master, F_GETFD) & fcntl(cell.slave, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fstat(cell.slave, &status), 0);
    ck_assert_uint_eq(status.st_uid, cell.host_uid);
    ck_assert_int_eq(isatty(cell.slave), 1);
    tc_cell_release(&cell);
    ck_assert_int_eq(cell.master, TC_NO_FD);
}
END_TEST

START_TEST(test_nested)
{
    char path[96];
    struct tc_step *step = fixture_step(&fixture, TC_STEP_TMPFS, "/workspace/inner");

    snprintf(path, sizeof path, "%s/inner", fixture.workspace);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    step->flags = TC_STEP_NESTED | TC_STEP_READ_ONLY;
    step->size = 1 << 20;
    expect("stat -f -c %T inner; (: > inner/x) 2>/dev/null || echo read-only", "tmpfs\nread-only\n");
}
END_TEST

START_TEST(test_overlay)
{
    static const char hosts[] = "127.0.0.1 cell\n";
    char path[96];
    struct tc_step *step;
    int fd;

    snprintf(path, sizeof path, "%s/etc", fixture.workspace);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/etc/lower", fixture.workspace);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_eq(write(fd, "lower\n", 6), 6);
    close(fd);
    step = fixture_step(&fixture, TC_STEP_FILE, "/both/hosts");
    step->text = hosts;
    step->text_length = sizeof hosts - 1;
    snprintf(path, sizeof path, "%s/etc", fixture.workspace);
    step = fixture_bind(&fixture, path, "/both", TC_STEP_READ_ONLY, TC_ACCESS_READ | TC_ACCESS_LIST);
    step->kind = TC_STEP_OVERLAY;
    expect("cat /both/hosts /both/lower; (: > /both/x) 2>/dev/null || echo read-only",
           "127.0.0.1 cell\nlower\nread-only\n");
}
END_TEST

START_TEST(test_empty_proc)
{
    fixture_find(&fixture, "/proc")->kind = TC_STEP_PROC_EMPTY;
    expect("echo /proc/*; unshare -U true 2>/dev/null || echo refused", "/proc/*\nrefused\n");
}
END_TEST

START_TEST(test_fixed_identity)
{
    char path[96];
    struct stat made;

    if (geteuid() != 0)
        return; /* root's choice only */
    fixture.plan.identity = (struct tc_identity){.kind = TC_IDENTITY_FIXED, .host_uid = 4242, .host_gid = 4243};
    fixture_find(&fixture, "/workspace")->flags = 0;
    ck_assert_int_eq(chown(fixture.workspace, 4242, 4243), 0);
    run("id -u; : > made");
    snprintf(path, sizeof path, "%s/made", fixture.workspace);
    ck_assert_int_eq(stat(path, &made), 0);
    ck_assert_uint_eq(made.st_uid, 4242);
    ck_assert_uint_eq(made.st_gid, 4243);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_identity,
                                  test_no_privilege,
                                  test_names,
                                  test_network,
                                  test_descriptors,
                                  test_root_is_the_top,
                                  test_mounts_tell_nothing,
                                  test_read_only,
                                  test_owner_outside,
                                  test_files_of_others,
                                  test_rename_across_directories,
                                  test_landlock_grants,
                                  test_old_landlock,
                                  test_terminals,
                                  test_terminal,
                                  test_nested,
                                  test_overlay,
                                  test_empty_proc,
                                  test_fixed_identity};

    return run_cases("inside", tests, TC_COUNT(tests));
}
