/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/landlock.h"

#define ROX (TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_EXECUTE)
#define RW (TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_WRITE)

/* Everything is allowed but one number that no test needs, so that a loaded filter can be told from none. */
static const struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 9999, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOWNERDEAD),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/home/agent", NULL};

struct tc_step *fixture_step(struct fixture *fixture, enum tc_step_kind kind, const char *target)
{
    struct tc_step *step = &fixture->steps[fixture->plan.step_count++];

    *step = (struct tc_step){.kind = kind, .target = target, .mode = 0755, .origin = "test"};
    return step;
}

struct tc_step *fixture_bind(struct fixture *fixture, const char *source, const char *target, unsigned flags,
                             unsigned access)
{
    struct tc_step *step = fixture_step(fixture, TC_STEP_BIND, target);
    struct stat what = {0};

    stat(source, &what);
    step->source = source;
    step->flags = flags;
    step->access = access;
    step->device = what.st_dev;
    step->inode = what.st_ino;
    step->owner_uid = what.st_uid;
    step->owner_gid = what.st_gid;
    return step;
}

struct tc_step *fixture_find(struct fixture *fixture, const char *target)
{
    for (size_t i = 0; i < fixture->plan.step_count; i++)
        if (strcmp(fixture->steps[i].target, target) == 0)
            return &fixture->steps[i];
    return NULL;
}

static void add_link(struct fixture *fixture, const char *target, const char *text)
{
    fixture_step(fixture, TC_STEP_SYMLINK, target)->text = text;
}

static void add_scratch(struct fixture *fixture, const char *target, unsigned mode)
{
    struct tc_step *step = fixture_step(fixture, TC_STEP_SCRATCH, target);

    step->mode = mode;
    step->access = RW | TC_ACCESS_EXECUTE;
}

static void add_devices(struct fixture *fixture)
{
    static const char *const names[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                        "/dev/random", "/dev/urandom", "/dev/tty"};

    for (size_t i = 0; i < TC_COUNT(names); i++)
        fixture_bind(fixture, names[i], names[i], TC_STEP_DEVICE, TC_ACCESS_READ | TC_ACCESS_MODIFY | TC_ACCESS_IOCTL);
    fixture_step(fixture, TC_STEP_DEVPTS, "/dev/pts")->access = RW | TC_ACCESS_IOCTL;
    add_link(fixture, "/dev/ptmx", "pts/ptmx");
    add_link(fixture, "/dev/fd", "/proc/self/fd");
    add_link(fixture, "/dev/stdout", "/proc/self/fd/1");
    add_scratch(fixture, "/dev/shm", 01777);
}

static void add_tree(struct fixture *fixture)
{
    static const char passwd[] = "agent:x:1000:1000::/home/agent:/bin/sh\n";
    struct tc_step *step;

    fixture_bind(fixture, "/usr", "/usr", TC_STEP_READ_ONLY, ROX);
    add_link(fixture, "/bin", "usr/bin");
    add_link(fixture, "/sbin", "usr/sbin");
    add_link(fixture, "/lib", "usr/lib");
    add_link(fixture, "/lib64", "usr/lib64");
    fixture_step(fixture, TC_STEP_DIRECTORY, "/etc")->access = TC_ACCESS_READ | TC_ACCESS_LIST;
    step = fixture_step(fixture, TC_STEP_FILE, "/etc/passwd");
    step->text = passwd;
    step->text_length = sizeof passwd - 1;
    step->mode = 0644;
    fixture_bind(fixture, "/etc/ld.so.cache", "/etc/ld.so.cache", TC_STEP_READ_ONLY, TC_ACCESS_READ);
    step = fixture_step(fixture, TC_STEP_PROC, "/proc");
    step->access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_MODIFY;
    add_devices(fixture);
    add_scratch(fixture, "/tmp", 01777);
    add_scratch(fixture, "/home/agent", 0755);
    fixture_bind(fixture, fixture->workspace, "/workspace", geteuid() == 0 ? TC_STEP_IDMAP : 0, RW | TC_ACCESS_EXECUTE);
}

void fixture_begin(struct fixture *fixture)
{
    bool root = geteuid() == 0;
    int abi = tc_landlock_abi();

    memset(fixture, 0, sizeof *fixture);
    snprintf(fixture->workspace, sizeof fixture->workspace, "/tmp/cell-test-XXXXXX");
    if (mkdtemp(fixture->workspace) == NULL)
        abort();
    fixture->plan.steps = fixture->steps;
    fixture->plan.scratch_size = 64u << 20;
    fixture->plan.identity.kind = root ? TC_IDENTITY_LEASE : TC_IDENTITY_CALLER;
    fixture->plan.identity.host_uid = geteuid();
    fixture->plan.identity.host_gid = getegid();
    fixture->plan.hostname = "cell";
    fixture->plan.landlock_abi = abi > 0 ? (unsigned)abi : 0;
    fixture->plan.root_access = TC_ACCESS_LIST;
    fixture->plan.filter = (const uint8_t *)filter;
    fixture->plan.filter_size = sizeof filter;
    fixture->plan.argv = fixture->argv;
    fixture->plan.env = environment;
    fixture->plan.cwd = "/workspace";
    add_tree(fixture);
}

static int remove_entry(const char *path, const struct stat *what, int kind, struct FTW *place)
{
    (void)what;
    (void)kind;
    (void)place;
    return remove(path);
}

void fixture_end(struct fixture *fixture)
{
    if (nftw(fixture->workspace, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "leaves %s behind\n", fixture->workspace);
}

int fixture_receive(struct tc_cell *cell, struct tc_init_reply *ret)
{
    struct pollfd watched = {.fd = cell->control, .events = POLLIN};
    int r;

    do {
        poll(&watched, 1, 10000);
        r = tc_cell_receive(cell, ret);
    } while (r == 0);
    return r;
}

/* Reads until the command's end of the pipe is closed by everybody. */
static void collect(int fd, char *ret)
{
    size_t used = 0;
    ssize_t length;

    while (used < MAX_OUTPUT - 1 && (length = read(fd, ret + used, MAX_OUTPUT - 1 - used)) > 0)
        used += (size_t)length;
    ret[used] = '\0';
}

static void run_in(struct tc_cell *cell, struct fixture *fixture, struct outcome *ret)
{
    tc_auto_fd null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out[2];

    if (pipe2(out, O_CLOEXEC) < 0)
        abort();
    ret->launched = tc_cell_exec(cell, &fixture->plan, null, out[1], out[1], &ret->err);
    close(out[1]);
    if (ret->launched == 0)
        collect(out[0], ret->output);
    close(out[0]);
    while (fixture_receive(cell, &ret->last) == 1)
        if (ret->last.type != TC_INIT_STARTED)
            break;
}

void fixture_run_argv(struct fixture *fixture, struct outcome *ret)
{
    struct tc_cell cell;

    memset(ret, 0, sizeof *ret);
    ret->launched = tc_cell_launch(&fixture->plan, &cell, &ret->err);
    if (ret->launched == 0)
        run_in(&cell, fixture, ret);
    tc_cell_release(&cell);
}

void fixture_run(struct fixture *fixture, const char *script, struct outcome *ret)
{
    fixture->argv[0] = "/bin/sh";
    fixture->argv[1] = "-c";
    fixture->argv[2] = script;
    fixture->argv[3] = NULL;
    fixture_run_argv(fixture, ret);
}

size_t fixture_count_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}
