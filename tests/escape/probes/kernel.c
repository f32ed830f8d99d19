/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces of the kernel that must be shut, by group, with arguments that work where nothing refuses them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "probe.h"

static int in_child(int (*attempt)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(attempt() < 0 ? errno : 0);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return -1;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return errno == 0 ? 0 : -1;
}

static int by_unshare(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static int by_clone(void)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);

    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : 0;
}

static int by_clone3(void)
{
    struct {
        unsigned long flags, words[10];
    } arguments = {.flags = CLONE_NEWUSER};
    long child;

    arguments.words[3] = SIGCHLD;
    child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : 0;
}

static int by_setns(void)
{
    return setns(open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC), CLONE_NEWUSER);
}

static void try_namespaces(void)
{
    tell("unshare", in_child(by_unshare));
    tell("clone", in_child(by_clone));
    tell("clone3", in_child(by_clone3));
    tell("setns", in_child(by_setns));
}

/* As real root outside of any namespace this would mount over the machine's own /tmp. */
static bool has_the_machine(void)
{
    char map[64] = "";
    FILE *file = fopen("/proc/self/uid_map", "r");
    unsigned inside = 1, outside = 1;

    if (file == NULL || fgets(map, sizeof map, file) == NULL)
        return true;
    fclose(file);
    return sscanf(map, "%u %u", &inside, &outside) != 2 || (inside == 0 && outside == 0 && strstr(map, "4294967295"));
}

static void try_mounts(void)
{
    struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
    int context, tree;

    tell("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
    tell("bind", mount("/etc", "/tmp", NULL, MS_BIND, NULL));
    tell("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    tell("propagation", mount(NULL, "/", NULL, MS_SHARED, NULL));
    tell("umount", umount2("/tmp", MNT_DETACH));
    tell("fsopen", context = (int)syscall(SYS_fsopen, "tmpfs", 0));
    tell("fsconfig", syscall(SYS_fsconfig, context, 6, NULL, NULL, 0));
    tell("fsmount", syscall(SYS_fsmount, context, 0, 0));
    tell("open_tree", tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | AT_RECURSIVE));
    tell("move_mount", syscall(SYS_move_mount, tree, "", AT_FDCWD, "/tmp", MOVE_MOUNT_F_EMPTY_PATH));
    tell("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attributes, sizeof attributes));
    tell("chroot", chroot("/tmp"));
}

static void try_keyrings(void)
{
    long key;

    tell("add_key", key = syscall(SYS_add_key, "user", "toolcell-escape", "x", 1, KEY_SPEC_USER_KEYRING));
    tell("request_key", syscall(SYS_request_key, "user", "toolcell-escape", NULL, KEY_SPEC_PROCESS_KEYRING));
    tell("search", syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "toolcell-escape", 0));
    tell("join", syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "toolcell-escape"));
    tell("clean", syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING));
}

static void try_reach(void)
{
    static _Alignas(8) char handle[128] = {128 - 8};
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .exclude_kernel = 1};
    char ring[128] = {0};
    int mount_id = 0;

    tell("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, ".", handle, &mount_id, 0));
    tell("io_uring_setup", syscall(SYS_io_uring_setup, 8, ring));
    tell("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    tell("userfaultfd", syscall(SYS_userfaultfd, 1)); /* UFFD_USER_MODE_ONLY */
    tell("lease", fcntl(open("/tmp", O_RDONLY | O_DIRECTORY), F_NOTIFY, 0));
    tell("fanotify_init", syscall(SYS_fanotify_init, 0x200, O_RDONLY)); /* FAN_REPORT_FID */
    tell("personality", syscall(SYS_personality, 0x80400000));          /* READ_IMPLIES_EXEC */
}

int main(int argc, char **argv)
{
    const char *group = argc > 1 ? argv[1] : "";

    if (strcmp(group, "namespaces") == 0)
        try_namespaces();
    else if (strcmp(group, "mounts") == 0 && !has_the_machine())
        try_mounts();
    else if (strcmp(group, "keyrings") == 0)
        try_keyrings();
    else if (strcmp(group, "reach") == 0)
        try_reach();
    else
        return 2;
    return tell_end();
}
