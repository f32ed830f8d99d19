/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Whether a host can do something is found out by doing it: a version number,
 * a setting or a file in /proc says what should be, and outer containers,
 * security modules and filters make it otherwise. So each row of the table
 * below is a function that tries one thing as whoever calls, by the calls that
 * a launch would use, in a process of its own: it may hang, be killed by a
 * filter, or confine itself for good. It gets what the probes before it found,
 * so that one cause is not told as ten. Settings are read afterwards, to
 * explain a refusal.
 *
 * Nothing stays: processes die with the one that waits for them, mounts are
 * made in namespaces that die with their process, a control group is removed
 * where it was made. What a run as root leaves, its runtime directory with the
 * file of leases, is left here too.
 *
 * The last row starts a whole cell. It alone decides whether toolcell works
 * here; the others say why not.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "doctor/probe.h"
#include "plan/built.h"
#include "plan/kernel_facts.h"

#define TIMEOUT_MS 5000
#define CELL_TIMEOUT_MS 20000

static const struct {
    const char *name;
    bool needed;    /* without it no cell starts, whatever is accepted as degraded */
    bool root_only; /* matters for cells that root starts */
    tc_probe *probe;
} checks[TC_CHECK_COUNT] = {
    [TC_CHECK_KERNEL] = {"kernel", false, false, tc_probe_kernel},
    [TC_CHECK_USER_NAMESPACES] = {"user-namespaces", true, false, tc_probe_user_namespaces},
    [TC_CHECK_ID_MAPS] = {"id-maps", true, false, tc_probe_id_maps},
    [TC_CHECK_MOUNT_NAMESPACE] = {"mount-namespace", true, false, tc_probe_mount_namespace},
    [TC_CHECK_PID_NAMESPACE] = {"pid-namespace", true, false, tc_probe_pid_namespace},
    [TC_CHECK_NETWORK_NAMESPACE] = {"network-namespace", true, false, tc_probe_network_namespace},
    [TC_CHECK_IPC_NAMESPACE] = {"ipc-namespace", true, false, tc_probe_ipc_namespace},
    [TC_CHECK_UTS_NAMESPACE] = {"uts-namespace", true, false, tc_probe_uts_namespace},
    [TC_CHECK_CGROUP_NAMESPACE] = {"cgroup-namespace", true, false, tc_probe_cgroup_namespace},
    [TC_CHECK_MOUNT_API] = {"mount-api", true, false, tc_probe_mount_api},
    [TC_CHECK_PROCFS] = {"procfs", false, false, tc_probe_procfs},
    [TC_CHECK_OVERLAY] = {"overlay", false, false, tc_probe_overlay},
    [TC_CHECK_IDMAPPED_HERE] = {"idmapped-here", false, true, tc_probe_idmapped_here},
    [TC_CHECK_IDMAPPED_TMP] = {"idmapped-tmp", false, true, tc_probe_idmapped_tmp},
    [TC_CHECK_HOST_IDS] = {"host-ids", true, true, tc_probe_host_ids},
    [TC_CHECK_CALLER_GROUPS] = {"caller-groups", false, false, tc_probe_caller_groups},
    [TC_CHECK_LANDLOCK] = {"landlock", false, false, tc_probe_landlock},
    [TC_CHECK_SECCOMP_FILTER] = {"seccomp-filter", true, false, tc_probe_seccomp_filter},
    [TC_CHECK_SECCOMP_NOTIFY] = {"seccomp-notify", false, false, tc_probe_seccomp_notify},
    [TC_CHECK_NO_NEW_PRIVS] = {"no-new-privs", true, false, tc_probe_no_new_privs},
    [TC_CHECK_PIDFD] = {"pidfd", true, false, tc_probe_pidfd},
    [TC_CHECK_OPENAT2] = {"openat2", true, false, tc_probe_openat2},
    [TC_CHECK_CLOSE_RANGE] = {"close-range", true, false, tc_probe_close_range},
    [TC_CHECK_MEMFD_EXEC] = {"memfd-exec", true, false, tc_probe_memfd_exec},
    [TC_CHECK_CGROUP] = {"cgroup", false, false, tc_probe_cgroup},
    [TC_CHECK_CGROUP_DELEGATION] = {"cgroup-delegation", false, false, tc_probe_cgroup_delegation},
    [TC_CHECK_CJSON] = {"cjson", false, false, tc_probe_cjson},
    [TC_CHECK_RUN] = {"run", true, false, tc_probe_whole_cell},
};

static const char *const promises[TC_PROMISE_COUNT] = {
    [TC_PROMISE_ISOLATION] = "isolation",           [TC_PROMISE_RULES_STATIC] = "rules-static",
    [TC_PROMISE_RULES_MEDIATED] = "rules-mediated", [TC_PROMISE_LIMITS_PROCESS] = "limits-process",
    [TC_PROMISE_LIMITS_GROUP] = "limits-group",     [TC_PROMISE_NETWORK_NONE] = "network-none",
    [TC_PROMISE_NETWORK_EGRESS] = "network-egress", [TC_PROMISE_NETWORK_HOST] = "network-host",
};

const char *tc_check_name(enum tc_check check)
{
    return checks[check].name;
}

bool tc_check_needed(enum tc_check check)
{
    return checks[check].needed;
}

const char *tc_promise_name(enum tc_promise promise)
{
    return promises[promise];
}

/* ---- what follows from the findings ---- */

static void set_promise(struct tc_examination *ret, enum tc_promise promise, bool holds, const char *detail)
{
    struct tc_enforced *enforced = &ret->enforces[promise];

    enforced->holds = holds;
    snprintf(enforced->detail, sizeof enforced->detail, "%s", detail);
}

/* A promise that waits for something to be built, and then for what the host has. */
static void set_unbuilt(struct tc_examination *ret, enum tc_promise promise, bool built, bool possible,
                        const char *detail, const char *lacking)
{
    bool works = tc_doctor_works(ret);

    if (!built)
        set_promise(ret, promise, false, "not built yet in this version, on any host");
    else if (!works)
        set_promise(ret, promise, false, "no cell can be started here");
    else
        set_promise(ret, promise, possible, possible ? detail : lacking);
}

/* By which version each is held, in the words of the finding. */
static void conclude_groups(struct tc_examination *ret)
{
    const struct tc_finding *finding = &ret->findings[TC_CHECK_CGROUP_DELEGATION];
    const char *list = strstr(finding->detail, finding->state == TC_STATE_OK ? ": " : "only for ");

    if (!tc_doctor_works(ret))
        set_promise(ret, TC_PROMISE_LIMITS_GROUP, false, "no cell can be started here");
    else if (finding->state == TC_STATE_MISSING || list == NULL)
        set_promise(ret, TC_PROMISE_LIMITS_GROUP, false, "needs cgroup-delegation");
    else
        set_promise(ret, TC_PROMISE_LIMITS_GROUP, finding->state == TC_STATE_OK,
                    finding->state == TC_STATE_OK ? list + 2 : list);
}

static void conclude(struct tc_examination *ret)
{
    static const char none[] = "no cell can be started here";
    const struct tc_finding *findings = ret->findings;
    bool works = tc_doctor_works(ret);
    bool scoped = findings[TC_CHECK_LANDLOCK].state == TC_STATE_OK;

    set_promise(ret, TC_PROMISE_ISOLATION, works,
                works ? "namespaces, a root of its own, no capabilities, a seccomp filter" : none);
    set_promise(ret, TC_PROMISE_RULES_STATIC, works,
                works ? "rules that hold for whole mounts and subtrees: mounts and Landlock" : none);
    set_unbuilt(ret, TC_PROMISE_RULES_MEDIATED, true, findings[TC_CHECK_SECCOMP_NOTIFY].state == TC_STATE_OK,
                "globs, ask, and denies below allows: a broker", "needs seccomp-notify");
    set_promise(ret, TC_PROMISE_LIMITS_PROCESS, works,
                !works ? none
                : tc_kernel_process_limit() || ret->uid == 0
                    ? "wall and CPU time, output, scratch, file size, open "
                      "files, number of processes"
                    : "wall and CPU time, output, scratch, file size, open files");
    conclude_groups(ret);
    set_promise(ret, TC_PROMISE_NETWORK_NONE, works, works ? "an empty network namespace" : none);
    set_unbuilt(ret, TC_PROMISE_NETWORK_EGRESS, TC_BUILT_EGRESS, true, "chosen addresses", "");
    if (works && !scoped)
        set_promise(ret, TC_PROMISE_NETWORK_HOST, false, "needs Landlock ABI 6 (Linux 6.12)");
    else
        set_promise(ret, TC_PROMISE_NETWORK_HOST, works,
                    works ? "the host's network, where the rules allow every connection" : none);
}

int tc_doctor_examine(struct tc_examination *ret, struct tc_error *err)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};

    *ret = (struct tc_examination){.uid = geteuid()};
    /* Ignored, as a caller may have left it, it would keep a probe's end from being seen. */
    sigaction(SIGCHLD, &standard, NULL);
    /* What a probe started and that outlives it for a moment is awaited here and not by somebody else. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return tc_error_set(err, -errno, "become the reaper of probes");
    for (enum tc_check check = 0; check < TC_CHECK_COUNT; check++) {
        int timeout_ms = check == TC_CHECK_RUN ? CELL_TIMEOUT_MS : TIMEOUT_MS;
        int r;

        if (checks[check].root_only && ret->uid != 0)
            continue;
        r = tc_probe_run(checks[check].probe, ret, timeout_ms, &ret->findings[check]);
        if (r < 0)
            return tc_error_set(err, r, "start a process to try %s", checks[check].name);
        ret->tried[check] = true;
    }
    conclude(ret);
    return 0;
}
