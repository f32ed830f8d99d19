/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "kernel/caps.h"
#include "kernel/mount.h"
#include "kernel/netif.h"
#include "kernel/socket.h"
#include "plan/notify.h"

/* ---- inside: building the tree. These run in the child and leave on failure ---- */

#define MUST(condition) CELL_CHECK(condition)

static void attach(const char *source, const char *target, unsigned long attributes)
{
    int from = open(source, O_PATH | O_CLOEXEC), to = open(target, O_PATH | O_CLOEXEC), copy;

    MUST(from >= 0 && to >= 0);
    copy = tc_mount_copy(from);
    MUST(copy >= 0);
    MUST(tc_mount_change(copy, MOUNT_ATTR_NOSUID | attributes, true, -1) == 0);
    MUST(tc_mount_attach(copy, to) == 0);
    close(from);
    close(to);
    close(copy);
}

static void attach_device(const char *name)
{
    char source[32], target[32];

    snprintf(source, sizeof source, "/dev/%s", name);
    snprintf(target, sizeof target, "dev/%s", name);
    cell_file(target, "");
    attach(source, target, 0);
}

static void attach_aliases(const char *workspace)
{
    MUST(mkdir("plain", 0755) == 0 && mkdir("second", 0755) == 0);
    attach(workspace, "plain", MOUNT_ATTR_NODEV);
    attach(workspace, "second", MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY);
}

static void build_tree(const char *workspace, const char *tree, bool aliases)
{
    static const char *const directories[] = {"workspace", "usr", "tmp", "proc", "dev", "dev/pts"};
    int root;

    MUST(tc_mount_make_private() == 0);
    MUST(mount("tmpfs", tree, "tmpfs", MS_NOSUID, "mode=755") == 0);
    MUST(chdir(tree) == 0);
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        MUST(mkdir(directories[i], 0755) == 0);
    attach(workspace, "workspace", MOUNT_ATTR_NODEV);
    if (aliases)
        attach_aliases(workspace);
    attach("/usr", "usr", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
    MUST(mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0);
    MUST(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0);
    attach_device("null");
    attach_device("zero");
    attach_device("tty");
    MUST(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620") == 0);
    MUST(symlink("/proc/self/fd", "dev/fd") == 0 && symlink("/proc/self/fd/1", "dev/stdout") == 0);
    MUST(symlink("pts/ptmx", "dev/ptmx") == 0);
    MUST(symlink("usr/bin", "bin") == 0 && symlink("usr/lib", "lib") == 0 && symlink("usr/lib64", "lib64") == 0);
    root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    MUST(root >= 0 && tc_mount_pivot(root) == 0);
    close(root);
}

static void send_fds(int channel, const int *fds, size_t count)
{
    MUST(tc_socket_send(channel, "x", 1, fds, count) == 0);
}

static void hand_out_trees(int channel)
{
    int fds[3] = {open("/", O_PATH | O_CLOEXEC), -1, -1}, mount;

    fds[1] = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    fds[2] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    MUST(fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0);
    mount = open("/workspace", O_PATH | O_CLOEXEC);
    MUST(mount >= 0 && tc_mount_change(mount, MOUNT_ATTR_RDONLY, true, -1) == 0);
    close(mount);
    send_fds(channel, fds, 3);
    for (size_t i = 0; i < 3; i++)
        close(fds[i]);
}

static void load_filter(int channel, unsigned groups)
{
    struct tc_arena *arena = tc_arena_new();
    const uint8_t *program;
    size_t size;
    int listener;

    MUST(tc_notify_make(arena, groups, tc_notify_native(), &program, &size) == 0);
    struct {
        unsigned short length;
        const void *filter;
    } what = {(unsigned short)(size / 8), program};
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &what);
    MUST(listener >= 0);
    send_fds(channel, &listener, 1);
    close(listener);
    close(channel);
    tc_arena_free(arena);
}

static void become_command(const struct cell_case *what, int channel)
{
    MUST(tc_caps_drop_all() == 0);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0); /* as after an exec */
    MUST(chdir("/workspace") == 0);
    MUST(close(0) == 0 && open("/dev/null", O_RDWR) == 0); /* nothing of the host, as in a real cell */
    umask(022);
    if (!what->native)
        load_filter(channel, what->groups == 0 ? TC_NOTIFY_OPEN : what->groups);
}

int tree_run_init(const struct cell_case *what, int channel, int go, const char *workspace, const char *tree)
{
    struct tc_netif_request loopback;
    char byte;
    int status;
    pid_t command;

    MUST(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
    MUST(read(go, &byte, 1) == 1);
    MUST(tc_caps_keep() == 0);
    MUST(setresgid(1000, 1000, 1000) == 0 && setresuid(1000, 1000, 1000) == 0);
    MUST(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
    MUST(tc_netif_loopback(&loopback) == 0 && tc_netif_apply(&loopback) == 0);
    build_tree(workspace, tree, what->aliases);
    if (!what->native)
        hand_out_trees(channel);
    /* The C library's fork, so that threads work in there. */
    command = fork();
    if (command == 0) {
        become_command(what, channel);
        _exit(what->inside(cell_memory));
    }
    close(channel);
    MUST(command > 0 && waitpid(command, &status, 0) == command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
