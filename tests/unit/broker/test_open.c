/* SPDX-License-Identifier: Apache-2.0 */

/* What an open gives, and what it does not, by the rules. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"
#include "unit.h"

static struct cell_outcome outcome;

static void prepare(void)
{
    cell_file("ok", "fine");
    cell_file(".env", "SECRET");
    cell_file("x (deleted)", "real");
    cell_file("new\nline", "lines");
    CELL_CHECK(mkdir("sub", 0755) == 0 && mkdir("secret", 0755) == 0);
    cell_file("sub/.env", "SECRET");
    cell_file("sub/ok", "fine");
    CELL_CHECK(symlink(".env", "link") == 0 && symlink("sub", "alias") == 0 && symlink("ok", "good") == 0);
    CELL_CHECK(symlink("/proc/self/status", "status") == 0 && symlink("made", "dangling") == 0);
    CELL_CHECK(symlink("loop", "loop") == 0);
}

static int open_errno(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int spellings(void *memory)
{
    static const char *const denied[] = {".env",
                                         "./.env",
                                         "sub/../.env",
                                         "/workspace/.env",
                                         "//workspace///.env",
                                         "/workspace/./sub/.env",
                                         "alias/.env",
                                         "alias/../.env",
                                         "link",
                                         "/proc/self/cwd/.env",
                                         "/proc/self/root/workspace/.env",
                                         "/proc/thread-self/cwd/link",
                                         "/usr/../workspace/.env",
                                         "/dev/../workspace/.env"};
    static const char *const allowed[] = {"ok",
                                          "./ok",
                                          "sub/../ok",
                                          "/workspace/ok",
                                          "alias/ok",
                                          "good",
                                          "/proc/self/cwd/ok",
                                          "/proc/self/root/workspace/ok",
                                          "new\nline",
                                          "x (deleted)",
                                          "/proc/self/status",
                                          "status",
                                          "/proc/thread-self/stat",
                                          "/proc/mounts",
                                          "/usr/bin/env",
                                          "/bin/env",
                                          "/dev/null",
                                          "/usr",
                                          ".",
                                          "sub",
                                          "/proc/self/fd",
                                          "/dev/fd",
                                          "/proc/sys/kernel/hostname"};
    char text[64];

    (void)memory;
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        if (cell_read(denied[i], text, sizeof text) != -EACCES)
            cell_fail(__FILE__, __LINE__, denied[i]);
    }
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (open_errno(allowed[i], O_RDONLY) != 0)
            cell_fail(__FILE__, __LINE__, allowed[i]);
    }
    CELL_CHECK(cell_read("ok", text, sizeof text) == 4 && strcmp(text, "fine") == 0);
    CELL_CHECK(open_errno(".env/", O_RDONLY) == ENOTDIR && open_errno("loop", O_RDONLY) == ELOOP);
    return 0;
}

START_TEST(test_spellings)
{
    cell_run(&(struct cell_case){.prepare = prepare, .inside = spellings}, &outcome);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert(cell_denied(&outcome, TC_OP_READ, "/workspace/.env"));
    ck_assert(cell_denied(&outcome, TC_OP_READ, "/workspace/sub/.env"));
    ck_assert_uint_eq(outcome.denials, 2);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("broker open", test_spellings, NULL));
}
