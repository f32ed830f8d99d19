/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/uidlease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static char top[] = "/tmp/lease-test-XXXXXX";
static char directory[64], file[80];
static const struct tc_uid_range three = {100000, 3};

static void begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(directory, sizeof directory, "%s/run", top);
    snprintf(file, sizeof file, "%s/uids", directory);
}

static void end(void)
{
    unlink(file);
    rmdir(directory);
    rmdir(top);
}

static int range_of(const char *text, struct tc_uid_range *ret)
{
    char path[64];
    FILE *config;
    int r;

    snprintf(path, sizeof path, "%s/config", top);
    config = fopen(path, "we");
    fputs(text, config);
    fclose(config);
    r = tc_uidlease_range(path, ret);
    unlink(path);
    return r;
}

START_TEST(test_range)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "# only\n",
                                      "100000\n",
                                      "1 2 3\n",
                                      "100000 0\n",
                                      "65535 10\n",
                                      "4294900000 65536\n",
                                      "a b\n",
                                      "100000 -1\n",
                                      "0x20000 10\n",
                                      "100000 10 trailing\n",
                                      "-1 65536\n",
                                      "100000 18446744073709551615\n"};
    struct tc_uid_range range;

    ck_assert_int_eq(tc_uidlease_range("/nonexistent", &range), 0);
    ck_assert_uint_eq(range.first, 2000000000u);
    ck_assert_uint_eq(range.count, 65536);
    ck_assert_int_eq(range_of("# comment\n\n100000 1000\n", &range), 0);
    ck_assert_uint_eq(range.first, 100000);
    ck_assert_uint_eq(range.count, 1000);
    for (size_t i = 0; i < TC_COUNT(bad); i++)
        ck_assert_msg(range_of(bad[i], &range) == -EINVAL, "'%s'", bad[i]);
}
END_TEST

START_TEST(test_each_id_once)
{
    struct tc_uidlease leases[4];
    unsigned seen = 0;
    uint32_t freed;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(tc_uidlease_take(directory, &three, &leases[i]), 0);
        ck_assert_uint_ge(leases[i].id, 100000);
        ck_assert_uint_le(leases[i].id, 100002);
        ck_assert_uint_eq(leases[i].foreign, 100003);
        seen |= 1u << (leases[i].id - 100000);
    }
    ck_assert_uint_eq(seen, 7);
    ck_assert_int_eq(tc_uidlease_take(directory, &three, &leases[3]), -EUSERS);
    freed = leases[1].id;
    close(leases[1].fd);
    ck_assert_int_eq(tc_uidlease_take(directory, &three, &leases[1]), 0);
    ck_assert_uint_eq(leases[1].id, freed);
    for (int i = 0; i < 3; i++)
        close(leases[i].fd);
}
END_TEST

START_TEST(test_death_gives_it_back)
{
    static const struct tc_uid_range one = {100000, 1};
    struct tc_uidlease lease;
    int told[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        byte = tc_uidlease_take(directory, &one, &lease) == 0 ? 'y' : 'n';
        if (write(told[1], &byte, 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(told[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'y');
    ck_assert_int_eq(tc_uidlease_take(directory, &one, &lease), -EUSERS);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(tc_uidlease_take(directory, &one, &lease), 0);
    close(lease.fd);
    close(told[0]);
    close(told[1]);
}
END_TEST

START_TEST(test_directory_must_be_ours)
{
    struct tc_uidlease lease;

    ck_assert_int_eq(mkdir(directory, 0700), 0);
    ck_assert_int_eq(chmod(directory, 0770), 0);
    ck_assert_int_eq(tc_uidlease_take(directory, &three, &lease), -EPERM);
    ck_assert_int_eq(rmdir(directory), 0);
    ck_assert_int_eq(symlink("/tmp", directory), 0);
    ck_assert_int_lt(tc_uidlease_take(directory, &three, &lease), 0);
    ck_assert_int_eq(unlink(directory), 0);
    if (geteuid() != 0)
        return; /* the rest needs another owner */
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    ck_assert_int_eq(chown(directory, 1234, 0), 0);
    ck_assert_int_eq(tc_uidlease_take(directory, &three, &lease), -EPERM);
    ck_assert_int_eq(chown(directory, 0, 0), 0);
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    ck_assert_int_eq(tc_uidlease_take(directory, &three, &lease), -EPERM);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {test_range, test_each_id_once, test_death_gives_it_back, test_directory_must_be_ours};
    Suite *suite = suite_create("uidlease");
    TCase *cases = tcase_create("uidlease");

    tcase_add_checked_fixture(cases, begin, end);
    for (size_t i = 0; i < TC_COUNT(tests); i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
