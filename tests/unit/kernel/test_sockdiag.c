/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sockdiag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static char directory[] = "/tmp/toolcell-unit-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static int open_diag(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static int make_bound(const char *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", directory, name);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* As statx() tells it, which for a tmpfs or ext4 is as the kernel has it. */
static int find(int diag, const char *path, unsigned more)
{
    struct stat what;

    ck_assert_int_eq(stat(path, &what), 0);
    return tc_sockdiag_bound(diag, major(what.st_dev) << 20 | minor(what.st_dev), (uint32_t)what.st_ino + more);
}

START_TEST(test_bound)
{
    int diag = open_diag(), fd;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    fd = make_bound("socket");
    ck_assert_int_eq(find(diag, address.sun_path, 0), 1);
    ck_assert_int_eq(find(diag, address.sun_path, 1000000), 0);
    ck_assert_int_eq(find(diag, directory, 0), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(find(diag, address.sun_path, 0), 1);
    close(fd);
    ck_assert_int_eq(find(diag, address.sun_path, 0), 0); /* nobody holds it any more */
    close(diag);
    unlink(address.sun_path);
    rmdir(directory);
}
END_TEST

/* What another network namespace has is not told; the control is the same question here. */
START_TEST(test_namespaces)
{
    int diag = open_diag(), fd, status;
    pid_t child;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    fd = make_bound("socket");
    child = fork();
    if (child == 0) {
        int other;
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
            _exit(2);
        other = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
        _exit(other >= 0 && find(other, address.sun_path, 0) == 0 && find(diag, address.sun_path, 0) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    close(fd);
    close(diag);
    unlink(address.sun_path);
    rmdir(directory);
}
END_TEST

START_TEST(test_refused)
{
    int plain = socket(AF_UNIX, SOCK_STREAM, 0);

    ck_assert_int_eq(tc_sockdiag_bound(-1, 1, 1), -EBADF);
    ck_assert_int_lt(tc_sockdiag_bound(plain, 1, 1), 0);
    close(plain);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("sockdiag", test_bound, test_namespaces, test_refused, NULL));
}
