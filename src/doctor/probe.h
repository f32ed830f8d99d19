/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_DOCTOR_PROBE_H
#define TC_DOCTOR_PROBE_H

/*
 * Private to src/doctor: what a probe is, and the processes it runs in.
 */

#include "doctor/doctor.h"

/** Try one thing and say what came of it. Runs in a process of its own; so far holds the probes that ran before. */
typedef void tc_probe(const struct tc_examination *so_far, struct tc_finding *ret);

/**
 * Run a probe in a child process and end it when it does not answer in time.
 *
 * @param so_far   borrowed
 * @param ret      what it found; MISSING when it died or was ended
 * @return 0 or -errno (no process could be started)
 */
int tc_probe_run(tc_probe *probe, const struct tc_examination *so_far, int timeout_ms, struct tc_finding *ret);

/* How far a process in new namespaces came: 0, -errno, or TC_NOT_REACHED. */
#define TC_NOT_REACHED 1

struct tc_inside {
    int made;   /* the namespaces */
    int mapped; /* the ids; 1000 inside, as in a cell */
    int result; /* of the work */
};

/**
 * Do something as uid 1000 of a new user namespace, in a process that dies with the caller. As root the ids are those
 * of a cell that root starts, else the caller's own.
 *
 * @param flags  CLONE_NEWUSER and further CLONE_NEW*
 * @param work   returns 0 or -errno
 */
void tc_inside_run(unsigned long flags, int (*work)(void), struct tc_inside *ret);

/** Do something in a child process; returns its 0 or -errno, -EIO when it died. */
int tc_apart_run(int (*work)(void));

/** Fill in a finding. The text is one line without a period at its end. */
void tc_found(struct tc_finding *ret, enum tc_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tc_remedy(struct tc_finding *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Missing because of an error: "DETAIL: strerror". A remedy is added where a system call as such is not there. */
void tc_found_error(struct tc_finding *ret, int code, const char *detail);

/** True when what a probe stands on was found missing; ret then says so. */
bool tc_lacks(const struct tc_examination *so_far, enum tc_check check, struct tc_finding *ret);

/** Say why a process in new namespaces could not be had; true when it could, and the work was done well. */
bool tc_inside_judge(const struct tc_inside *inside, const char *what, struct tc_finding *ret);

/** The first character of a setting of the host, or 0 when it does not exist. */
char tc_setting(const char *path);

/** True when a seccomp filter already confines the caller. */
bool tc_is_filtered(void);

/** How AppArmor is told to let this very program have user namespaces. */
void tc_apparmor_remedy(struct tc_finding *ret);

tc_probe tc_probe_kernel, tc_probe_user_namespaces, tc_probe_id_maps, tc_probe_mount_namespace, tc_probe_pid_namespace,
    tc_probe_network_namespace, tc_probe_ipc_namespace, tc_probe_uts_namespace, tc_probe_cgroup_namespace,
    tc_probe_mount_api, tc_probe_procfs, tc_probe_overlay, tc_probe_idmapped_here, tc_probe_idmapped_tmp,
    tc_probe_host_ids, tc_probe_caller_groups, tc_probe_landlock, tc_probe_seccomp_filter, tc_probe_seccomp_notify,
    tc_probe_no_new_privs, tc_probe_pidfd, tc_probe_openat2, tc_probe_close_range, tc_probe_memfd_exec, tc_probe_cgroup,
    tc_probe_cgroup_delegation, tc_probe_cjson, tc_probe_whole_cell;

#endif
