/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "init/protocol.h"
#include "kernel/caps.h"
#include "kernel/mount.h"
#include "kernel/proc.h"
#include "kernel/raw.h"
#include "kernel/seccomp.h"

/*
 * The child's side of a launch: two tables of stages, run top to bottom, before
 * and after the plan is there. Each stage says what it should and mustn't do.
 * The child shares the parent's memory while the parent runs: no allocation, no
 * stream, no errno, nothing written to the shared structure, and every way out
 * is an error report or the execution of init.
 */

/* Above init's control descriptor, which is in use then and does not get in
 * the way of what comes later. */
static int move_up(int fd)
{
    return (int)tc_raw3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, TC_INIT_CONTROL_FD + 1);
}

/*
 * Should: die with the supervisor; not depend on its umask.
 * Mustn't: rely on the signal alone, since the supervisor may be gone before this call: the socket's end tells.
 */
static int begin(struct tc_child *child)
{
    (void)child;
    tc_raw1(__NR_umask, 0);
    return (int)tc_raw5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/*
 * Should: hold its own copies of the two descriptors it works with, and keep the number of init's.
 * Mustn't: hold the parent's ends, with which this process could not see the parent go; depend on which descriptors the
 * caller of toolcell had.
 */
static int hold_descriptors(struct tc_child *child)
{
    const struct tc_launch_ends *inherited = &child->launch->inherited;
    int report, control;

    tc_raw1(__NR_close, inherited->control[0]);
    tc_raw1(__NR_close, inherited->report[0]);
    report = move_up(inherited->report[1]);
    control = move_up(inherited->control[1]);
    if (report < 0 || control < 0)
        return report < 0 ? report : control;
    child->report = report;
    child->control = control;
    return (int)tc_raw3(__NR_dup3, control, TC_INIT_CONTROL_FD, O_CLOEXEC);
}

/*
 * Should: join the cell's groups of version 1 itself, thread by thread, which is one: the kernel then need not keep
 * every fork of the host waiting for a grace period of RCU, as it does for a process that is moved by another one
 * (cgroup_procs_write_start() in kernel/cgroup/cgroup.c).
 * Mustn't: come after anything that counts for a limit.
 */
static int join_groups(struct tc_child *child)
{
    const struct tc_cell_groups *groups = &child->launch->groups;

    for (size_t i = 0; i < groups->join_count; i++) {
        long r = tc_raw3(__NR_write, groups->joins[i], "0", 1);

        if (r < 0)
            return (int)r;
    }
    return 0;
}

/*
 * Should: stop every propagation of mounts in the new mount namespace.
 * Mustn't: let a mount made from here on appear outside, or one made outside appear here.
 */
static int isolate_mounts(struct tc_child *child)
{
    (void)child;
    return tc_mount_make_private();
}

/*
 * Should: be alone in a network namespace, unless the plan will want the host's.
 * Mustn't: be cloned into it: that would keep the parent waiting.
 */
static int enter_network(struct tc_child *child)
{
    return child->launch->net == TC_NET_HOST ? 0 : (int)tc_raw1(__NR_unshare, CLONE_NEWNET);
}

/*
 * Should: turn the loopback interface of the new network namespace on.
 * Mustn't: touch the host's network.
 */
static int start_network(struct tc_child *child)
{
    return child->launch->net == TC_NET_HOST ? 0 : tc_netif_apply(&child->launch->loopback);
}

/*
 * Should: forbid user namespaces inside; each of the other kinds needs privilege, which only a user namespace gives.
 * Mustn't: write into a file that is not procfs.
 */
static int forbid_namespaces(struct tc_child *child, struct tc_error *err)
{
    tc_auto_fd outer = child->proc < 0 ? tc_proc_open("/proc") : TC_NO_FD;
    int r = tc_proc_write(child->proc < 0 ? outer : child->proc, "sys/user/max_user_namespaces", "0");

    /* Without a procfs of its own (degraded) the outer one may be read-only; the filter refuses namespaces as well. */
    if (child->proc < 0 && r < 0)
        return 0;
    return r < 0 ? tc_error_set(err, r, "forbid user namespaces in the cell") : 0;
}

/*
 * Should: give the cell its name.
 * Mustn't: show the host's, or its domain.
 */
static int set_names(struct tc_child *child, struct tc_error *err)
{
    int r = (int)tc_raw2(__NR_sethostname, child->plan->hostname, strlen(child->plan->hostname));

    if (r < 0)
        return tc_error_set(err, r, "set the host name");
    r = (int)tc_raw2(__NR_setdomainname, "(none)", strlen("(none)"));
    return r < 0 ? tc_error_set(err, r, "set the domain name") : 0;
}

/*
 * Should: hide the host's groups, after the cell has joined its own.
 * Mustn't: go on where that fails, or /proc/self/cgroup would name the host's. A kernel without groups succeeds and
 * does nothing (copy_cgroup_ns() in include/linux/cgroup.h), and has no such file.
 */
static int isolate_groups(struct tc_child *child, struct tc_error *err)
{
    int r = (int)tc_raw1(__NR_unshare, CLONE_NEWCGROUP);

    (void)child;
    return r < 0 ? tc_error_set(err, r, "enter a cgroup namespace") : 0;
}

/*
 * Should: leave all five capability sets empty and locked so.
 * Mustn't: come before anything that needs a capability.
 */
static int drop_capabilities(struct tc_child *child, struct tc_error *err)
{
    int r = tc_caps_drop_all();

    (void)child;
    if (r == -EPERM) {
        tc_error_set(err, r, "drop capabilities");
        return tc_error_hint(err, "a seccomp filter around toolcell may forbid capset or prctl");
    }
    return r < 0 ? tc_error_set(err, r, "drop capabilities") : 0;
}

/*
 * Should: have the image of init outlive the closing of descriptors.
 * Mustn't: depend on which numbers were free.
 */
static int keep_image(struct tc_child *child, struct tc_error *err)
{
    int moved;

    /* To the last packet, which may carry nothing: what is left unread init would take for a request. */
    while (!child->all_received) {
        int r = tc_handover_receive(child);

        if (r < 0)
            return tc_error_set(err, r, "receive the image of init");
    }
    if (child->image < 0)
        return tc_error_set(err, -EPROTO, "receive the image of init");
    moved = move_up(child->image);
    child->image = moved;
    return moved < 0 ? tc_error_set(err, moved, "hold the image of init") : 0;
}

/*
 * Should: leave init exactly one descriptor, the control socket.
 * Mustn't: let any descriptor of the caller through; what this process still needs closes by itself at execve.
 */
static int close_descriptors(struct tc_child *child, struct tc_error *err)
{
    int r = (int)tc_raw3(__NR_dup3, child->control, TC_INIT_CONTROL_FD, 0);

    if (r < 0)
        return tc_error_set(err, r, "place the control socket");
    r = (int)tc_raw3(__NR_close_range, 0, TC_INIT_CONTROL_FD - 1, 0);
    if (r == 0)
        r = (int)tc_raw3(__NR_close_range, TC_INIT_CONTROL_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    return r < 0 ? tc_error_set(err, r, "close descriptors") : 0;
}

/*
 * Should: keep crashes in the cell from starting the host's core handler: at 1, unlike at 0, the kernel starts no
 * "|program" of core_pattern (fs/coredump.c).
 * Mustn't: come after the filter, which leaves this limit alone from then on, for init too.
 */
static int forbid_cores(struct tc_child *child, struct tc_error *err)
{
    struct rlimit limit = {0};
    int r = (int)tc_raw4(__NR_prlimit64, 0, RLIMIT_CORE, 0, &limit);

    (void)child;
    if (r < 0)
        return tc_error_set(err, r, "read the limit of core files");
    if (limit.rlim_max > 1) /* a caller's hard limit of 0 cannot be raised */
        limit.rlim_max = 1;
    limit.rlim_cur = limit.rlim_max;
    r = (int)tc_raw4(__NR_prlimit64, 0, RLIMIT_CORE, &limit, 0);
    return r < 0 ? tc_error_set(err, r, "forbid core files") : 0;
}

/*
 * Should: load the plan's filter last of all.
 * Mustn't: go on without one.
 */
static int load_filter(struct tc_child *child, struct tc_error *err)
{
    int r = tc_seccomp_load(child->plan->filter, child->plan->filter_size);

    return r < 0 ? tc_error_set(err, r, "load the seccomp filter") : 0;
}

/*
 * Should: leave the shared memory for good.
 * Mustn't: give init an environment or a name that tells of the host.
 */
static int execute_init(struct tc_child *child, struct tc_error *err)
{
    char name[] = "init";
    char *argv[] = {name, NULL};
    char *envp[] = {NULL};

    return tc_error_set(err, (int)tc_raw5(__NR_execveat, child->image, "", argv, envp, AT_EMPTY_PATH), "execute init");
}

/* Beside the parent, before the plan is there. */
static const struct {
    const char *name; /* for err->stage */
    const char *what;
    int (*run)(struct tc_child *child); /* 0 or -errno */
} early_stages[] = {
    {"namespaces", "set the death signal", begin},
    {"limits", "join the cell's control groups", join_groups},
    {"namespaces", "hold descriptors for the launch", hold_descriptors},
    {"namespaces", TC_LAUNCH_NAMESPACES, enter_network},
    {"namespaces", "make all mounts private", isolate_mounts},
    {"network", "turn the loopback interface on", start_network},
};

static const struct {
    const char *name; /* for err->stage */
    int (*run)(struct tc_child *child, struct tc_error *err);
} stages[] = {
    // clang-format off
    {"identity", tc_identity_enter},
    {"landlock", tc_rules_begin},
    {"mounts", tc_tree_begin},
    {"mounts", tc_tree_build},
    {"namespaces", forbid_namespaces},
    {"namespaces", set_names},
    {"mounts", tc_tree_enter},
    {"mounts", tc_tree_close},
    {"mediation", tc_twin_send},
    {"terminal", tc_pty_send},
    {"namespaces", isolate_groups},
    {"landlock", tc_rules_enter},
    {"identity", drop_capabilities},
    {"init", keep_image},
    {"init", close_descriptors},
    {"init", forbid_cores},
    {"seccomp", load_filter},
    {"init", execute_init},
    // clang-format on
};

/* Returns 0 or -errno, and how far it came. */
static int run_early(struct tc_child *child, size_t *ret_stage)
{
    int r = 0;

    for (*ret_stage = 0; *ret_stage < TC_COUNT(early_stages); ++*ret_stage) {
        r = early_stages[*ret_stage].run(child);
        if (r < 0)
            break;
    }
    return r;
}

static int run_stages(struct tc_child *child, struct tc_error *err)
{
    for (size_t i = 0; i < TC_COUNT(stages); i++)
        if (stages[i].run(child, err) < 0)
            return tc_error_stage(err, stages[i].name);
    return 0;
}

int tc_child_main(void *argument)
{
    const struct tc_launch *launch = argument;
    struct tc_child child = {.launch = launch,
                             .control = launch->inherited.control[1],
                             .report = launch->inherited.report[1],
                             .image = TC_NO_FD,
                             .ruleset = TC_NO_FD,
                             .root = TC_NO_FD,
                             .scratch = TC_NO_FD,
                             .parent = TC_NO_FD,
                             .proc = TC_NO_FD};
    struct tc_error err = {0};
    size_t stage;
    int early = run_early(&child, &stage);
    int r = tc_handover_receive(&child);

    if (r == -ECANCELED)
        return 1;
    child.plan = launch->plan;
    if (early < 0) {
        tc_error_set(&err, early, "%s", early_stages[stage].what);
        tc_error_stage(&err, early_stages[stage].name);
    } else if (r < 0) {
        tc_error_set(&err, r, "hold descriptors for the launch");
        tc_error_stage(&err, "namespaces");
    } else {
        run_stages(&child, &err);
    }
    /* One write, smaller than PIPE_BUF, so it arrives whole. */
    tc_raw3(__NR_write, child.report, &err, sizeof err);
    return 1;
}
