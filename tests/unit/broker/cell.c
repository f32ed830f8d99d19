/* SPDX-License-Identifier: Apache-2.0 */
#include "cell.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/clone.h"
#include "kernel/socket.h"
#include "kernel/userns.h"
#include "policy/load.h"
#include "tree.h"

#define HOST_ID 2000000777u
#define DEADLINE_MS 40000
#define LONG_FACTOR 20u /* with TOOLCELL_LONG there are a hundred times as many rounds */

void *cell_memory;
pid_t cell_broker;

static const char usual_policy[] = "{\"version\": 1, \"rules\": ["
                                   "{\"pattern\": \"**/.env\", \"operations\": [\"read\", \"write\"],"
                                   " \"effect\": \"deny\", \"priority\": 100, \"reason\": \"secrets\"},"
                                   "{\"pattern\": \"**\", \"operations\": \"all\", \"effect\": \"allow\"}]}";

struct cell_directories cell_directories;
static char *const workspace = cell_directories.workspace, *const tree = cell_directories.tree;
static int program = -1; /* this one; the cell has no path to it */

unsigned cell_slack(void)
{
    const char *text = getenv("TOOLCELL_TEST_SLACK");
    unsigned long value = text == NULL ? 1 : strtoul(text, NULL, 10);

    return value < 1 ? 1 : (unsigned)value;
}

bool cell_long(void)
{
    const char *text = getenv("TOOLCELL_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

void cell_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: in the cell: %s (errno %d)\n", file, line, what, errno);
    _exit(99);
}

void cell_file(const char *name, const char *content)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, content, strlen(content)) != (ssize_t)strlen(content))
        cell_fail(__FILE__, __LINE__, name);
    close(fd);
}

int cell_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = -errno;
    ssize_t length;

    if (fd < 0)
        return r;
    length = read(fd, text, size - 1);
    r = length < 0 ? -errno : (int)length;
    text[length < 0 ? 0 : length] = '\0';
    close(fd);
    return r;
}

int cell_execute(const char *word)
{
    char name[] = "inside";
    char *const argv[] = {name, (char *)word, NULL}, *const env[] = {NULL};

    execveat(program, "", argv, env, AT_EMPTY_PATH);
    cell_fail(__FILE__, __LINE__, "execveat");
}

bool cell_denied(const struct cell_outcome *outcome, enum tc_operation operation, const char *target)
{
    for (int i = 0; i < outcome->messages; i++) {
        const struct tc_broker_message *message = &outcome->denied[i];
        if (message->operation == operation && message->length == strlen(target) &&
            memcmp(message->target, target, message->length) == 0)
            return true;
    }
    return false;
}

/* ---- the plan that belongs to the tree below ---- */

static const struct tc_step steps[] = {
    /* only with aliases */
    {.kind = TC_STEP_BIND, .target = "/plain", .access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_WRITE},
    {.kind = TC_STEP_BIND, .target = "/second", .flags = TC_STEP_READ_ONLY, .access = TC_ACCESS_READ | TC_ACCESS_LIST},
    /* always */
    {.kind = TC_STEP_BIND, .target = "/workspace", .flags = TC_STEP_MEDIATED},
    {.kind = TC_STEP_BIND, .target = "/usr", .flags = TC_STEP_READ_ONLY, .access = TC_ACCESS_READ | TC_ACCESS_LIST},
    {.kind = TC_STEP_SCRATCH, .target = "/tmp", .access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_WRITE},
    {.kind = TC_STEP_DIRECTORY, .target = "/dev", .access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_MODIFY},
    {.kind = TC_STEP_BIND, .target = "/dev/null"},
    {.kind = TC_STEP_BIND, .target = "/dev/zero"},
    {.kind = TC_STEP_BIND, .target = "/dev/tty"},
    {.kind = TC_STEP_DEVPTS, .target = "/dev/pts"},
    {.kind = TC_STEP_PROC, .target = "/proc", .access = TC_ACCESS_READ | TC_ACCESS_LIST | TC_ACCESS_MODIFY},
};
#define ALIASES 2u

static const struct tc_view_mount view[] = {
    {"/plain", TC_AREA_DATA, false},  {"/second", TC_AREA_DATA, false}, {"/workspace", TC_AREA_DATA, false},
    {"/tmp", TC_AREA_SCRATCH, false}, {"/proc", TC_AREA_SYSTEM, false}, {"/dev", TC_AREA_SYSTEM, false},
};

/* ---- outside ---- */

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *where)
{
    (void)what;
    (void)type;
    (void)where;
    chmod(path, 0700);
    return remove(path);
}

void cell_remove(const struct cell_directories *directories)
{
    nftw(directories->workspace, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    rmdir(directories->tree);
}

static void make_directories(void)
{
    uid_t owner = geteuid() == 0 ? HOST_ID : getuid();

    snprintf(workspace, sizeof cell_directories.workspace, "/tmp/toolcell-test-broker-XXXXXX");
    snprintf(tree, sizeof cell_directories.tree, "/tmp/toolcell-test-tree-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(workspace));
    ck_assert_ptr_nonnull(mkdtemp(tree));
    ck_assert_int_eq(chmod(tree, 0755), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(chown(workspace, owner, owner), 0);
}

/* A process of the host in the workspace, with the ids of its owner. */
static pid_t fork_host(void (*function)(void))
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (geteuid() == 0 && (setresgid(HOST_ID, HOST_ID, HOST_ID) < 0 || setresuid(HOST_ID, HOST_ID, HOST_ID) < 0))
        _exit(98);
    if (chdir(workspace) < 0)
        _exit(97);
    umask(022);
    function();
    _exit(0);
}

static void write_maps(pid_t pid)
{
    uid_t uid = geteuid() == 0 ? HOST_ID : getuid();
    gid_t gid = geteuid() == 0 ? HOST_ID : getgid();
    struct tc_id_range uids = {1000, uid, 1}, gids = {1000, gid, 1};
    char path[48];
    int fd;

    if (geteuid() != 0) {
        snprintf(path, sizeof path, "/proc/%d/setgroups", (int)pid);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, "deny", 4), 4);
        close(fd);
    }
    ck_assert_int_eq(tc_userns_map(pid, &uids, 1, &gids, 1), 0);
}

static void take_fds(int channel, int *fds, size_t count)
{
    struct pollfd ready = {.fd = channel, .events = POLLIN};
    size_t got = 0;
    char byte;

    ck_assert_int_eq(poll(&ready, 1, DEADLINE_MS), 1);
    ck_assert_int_eq(tc_socket_receive_fds(channel, &byte, 1, NULL, fds, count, &got), 1);
    ck_assert_uint_eq(got, count);
}

static void take_message(const struct cell_case *what, struct tc_broker *broker,
                         const struct tc_broker_message *message, struct cell_outcome *ret)
{
    if (message->type == TC_BROKER_FAILED)
        ck_abort_msg("the broker failed: %.*s", (int)message->length, message->target);
    if (message->type == TC_BROKER_DENIED && ret->messages < CELL_MESSAGES)
        ret->denied[ret->messages++] = *message;
    if (message->type == TC_BROKER_ASK) {
        ret->asks++;
        if (!what->keep_first_answer)
            tc_broker_answer(broker, message->ask, what->answer == NULL ? TC_BROKER_DENY : what->answer(message), 1);
    }
}

static void serve(const struct cell_case *what, struct tc_broker *broker, int init, struct cell_outcome *ret)
{
    static struct tc_broker_message message;
    uint64_t patience = what->seconds == 0 ? DEADLINE_MS * (cell_long() ? LONG_FACTOR : 1) : what->seconds * 1000u;
    uint64_t end = tc_clock_ms() + patience * cell_slack();
    bool open = broker->channel >= 0;

    for (;;) {
        struct pollfd ready[] = {{.fd = init, .events = POLLIN}, {.fd = open ? broker->channel : -1, .events = POLLIN}};
        int r;

        ck_assert_msg(tc_clock_ms() < end, "the command did not end");
        if (poll(ready, 2, 1000) < 0)
            continue;
        while (open && (r = tc_broker_receive(broker, &message)) != 0) {
            ck_assert_int_ne(r, -EPROTO);
            open = r > 0;
            if (r > 0)
                take_message(what, broker, &message, ret);
        }
        if (ready[0].revents != 0)
            return;
    }
}

static void start_broker(const struct tc_plan *plan, int channel, int init, struct tc_broker *broker)
{
    struct tc_broker_setup setup = {.plan = plan, .root = -1, .twin = -1, .diag = TC_NO_FD, .init_pidfd = init};
    struct tc_error err = {0};
    int fds[3], listener;

    take_fds(channel, fds, 3);
    setup.root = fds[0];
    setup.twin = fds[1];
    setup.diag = fds[2];
    ck_assert_msg(tc_broker_start(&setup, broker, &err) == 0, "%s", err.message);
    for (size_t i = 0; i < 3; i++)
        close(fds[i]);
    take_fds(channel, &listener, 1);
    ck_assert_int_eq(tc_broker_listen(broker, listener), 0);
    close(listener);
}

static void make_plan(const struct cell_case *what, struct tc_plan *plan, struct tc_ruleset **rules)
{
    size_t first = what->aliases ? 0 : ALIASES;
    const char *policy = what->policy == NULL ? usual_policy : what->policy;
    struct tc_error err = {0};

    ck_assert_msg(tc_policy_parse(policy, strlen(policy), "test", TC_NO_FD, rules, &err) == 0, "%s", err.message);
    *plan = (struct tc_plan){.steps = steps + first,
                             .step_count = TC_COUNT(steps) - first,
                             .root_access = TC_ACCESS_LIST,
                             .landlock_abi = 1,
                             .view = {.mounts = view + first, .count = TC_COUNT(view) - first},
                             .rules = *rules,
                             .notify = what->groups == 0 ? TC_NOTIFY_OPEN : what->groups};
}

static pid_t start_cell(const struct cell_case *what, int *ret_channel, int *ret_pidfd)
{
    int channel[2], go[2];
    pid_t pid;

    ck_assert_int_eq(tc_socket_pair(channel), 0);
    ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
    pid = tc_clone_copied(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET |
                              CLONE_PIDFD | SIGCHLD,
                          ret_pidfd);
    if (pid == 0) {
        close(channel[0]);
        _exit(tree_run_init(what, channel[1], go[0], workspace, tree));
    }
    ck_assert_int_gt(pid, 0);
    close(channel[1]);
    close(go[0]);
    write_maps(pid);
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    close(go[1]);
    *ret_channel = channel[0];
    return pid;
}

static void stop(pid_t pid)
{
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

void cell_run(const struct cell_case *what, struct cell_outcome *ret)
{
    struct tc_broker broker = TC_BROKER_NONE;
    struct tc_ruleset *rules = NULL;
    struct tc_plan plan;
    int channel, init, status;
    pid_t cell, host = -1;

    memset(ret, 0, sizeof *ret);
    if (program < 0)
        program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    cell_memory = mmap(NULL, CELL_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(cell_memory, MAP_FAILED);
    make_directories();
    if (what->prepare != NULL)
        ck_assert_int_eq(waitpid(fork_host(what->prepare), &status, 0) > 0 && status == 0, 1);
    make_plan(what, &plan, &rules);
    cell = start_cell(what, &channel, &init);
    if (!what->native)
        start_broker(&plan, channel, init, &broker);
    cell_broker = broker.pid;
    if (what->outside != NULL)
        host = fork_host(what->outside);
    serve(what, &broker, init, ret);
    ck_assert_int_eq(waitpid(cell, &status, 0), cell);
    ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    stop(host);
    if (!what->native) {
        struct pollfd ended = {.fd = broker.pidfd, .events = POLLIN};
        ck_assert_msg(poll(&ended, 1, (int)(10000 * cell_slack())) == 1, "the broker outlived what it serves");
        ret->denials = broker.counts->denials;
        ret->calls = broker.counts->calls;
    }
    tc_broker_release(&broker);
    close(channel);
    close(init);
    tc_ruleset_free(rules);
    cell_remove(&cell_directories);
}

int cell_try_open(const char *path, int flags)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0644);

    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}
