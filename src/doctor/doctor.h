/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_DOCTOR_DOCTOR_H
#define TC_DOCTOR_DOCTOR_H

/*
 * What this host can enforce, found out by trying it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

enum tc_state {
    TC_STATE_OK,
    TC_STATE_DEGRADED, /* there, but not all of it; the detail says what is missing */
    TC_STATE_MISSING,
    TC_STATE_COUNT
};

extern const char *const tc_state_names[TC_STATE_COUNT]; /* "ok", "degraded", "missing" */

/** What one probe found. Fixed size and free of pointers: a child process sends it through a pipe in one write. */
struct tc_finding {
    enum tc_state state;
    char detail[512];
    char remedy[768]; /* what to do about it, or empty */
};

/* The probes, in the order in which they run and are printed. */
enum tc_check {
    TC_CHECK_KERNEL,
    TC_CHECK_USER_NAMESPACES,
    TC_CHECK_ID_MAPS,
    TC_CHECK_MOUNT_NAMESPACE,
    TC_CHECK_PID_NAMESPACE,
    TC_CHECK_NETWORK_NAMESPACE,
    TC_CHECK_IPC_NAMESPACE,
    TC_CHECK_UTS_NAMESPACE,
    TC_CHECK_CGROUP_NAMESPACE,
    TC_CHECK_MOUNT_API,
    TC_CHECK_PROCFS,
    TC_CHECK_OVERLAY,
    TC_CHECK_IDMAPPED_HERE,
    TC_CHECK_IDMAPPED_TMP,
    TC_CHECK_HOST_IDS,
    TC_CHECK_CALLER_GROUPS,
    TC_CHECK_LANDLOCK,
    TC_CHECK_SECCOMP_FILTER,
    TC_CHECK_SECCOMP_NOTIFY,
    TC_CHECK_NO_NEW_PRIVS,
    TC_CHECK_PIDFD,
    TC_CHECK_OPENAT2,
    TC_CHECK_CLOSE_RANGE,
    TC_CHECK_MEMFD_EXEC,
    TC_CHECK_CGROUP,
    TC_CHECK_CGROUP_DELEGATION,
    TC_CHECK_CJSON,
    TC_CHECK_RUN, /* a whole cell */
    TC_CHECK_COUNT
};

/* One promise of `toolcell run`, kept here or not. */
enum tc_promise {
    TC_PROMISE_ISOLATION,
    TC_PROMISE_RULES_STATIC,
    TC_PROMISE_RULES_MEDIATED,
    TC_PROMISE_LIMITS_PROCESS,
    TC_PROMISE_LIMITS_GROUP,
    TC_PROMISE_NETWORK_NONE,
    TC_PROMISE_NETWORK_EGRESS,
    TC_PROMISE_NETWORK_HOST,
    TC_PROMISE_COUNT
};

struct tc_enforced {
    bool holds;
    char detail[160];
};

struct tc_examination {
    uid_t uid; /* effective, of the caller */
    bool tried[TC_CHECK_COUNT];
    struct tc_finding findings[TC_CHECK_COUNT]; /* where tried */
    struct tc_enforced enforces[TC_PROMISE_COUNT];
};

const char *tc_check_name(enum tc_check check);       /* "user-namespaces" */
bool tc_check_needed(enum tc_check check);            /* no cell can start without it */
const char *tc_promise_name(enum tc_promise promise); /* "rules-static" */

/**
 * Try everything, each in a process of its own that is ended when it does not answer in time. Blocks for as long; a
 * fraction of a second where nothing hangs. Must be called from a single-threaded process, which is made a child
 * subreaper and gets the default handling of SIGCHLD.
 *
 * @param ret  filled in
 * @return 0 or -errno (no process could be started)
 */
int tc_doctor_examine(struct tc_examination *ret, struct tc_error *err);

/** True when `toolcell run` works here: a cell was started and ran a program. */
static inline bool tc_doctor_works(const struct tc_examination *examination)
{
    return examination->findings[TC_CHECK_RUN].state == TC_STATE_OK;
}

/** Print for people, or as JSON (policy/schema/doctor.json). */
void tc_doctor_print_text(const struct tc_examination *examination, struct tc_buf *out);
void tc_doctor_print_json(const struct tc_examination *examination, struct tc_buf *out);

#endif
