/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "doctor/probe.h"
#include "kernel/mount.h"
#include "kernel/netif.h"

static int do_nothing(void)
{
    return 0;
}

/* ---- user namespaces and ids ---- */

#define APPARMOR_SETTING "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

static bool apparmor_restricts(void)
{
    return geteuid() != 0 && tc_setting(APPARMOR_SETTING) == '1';
}

/* The order is from the sure to the likely: a setting that is zero explains the refusal, a filter only may. */
static void explain_refusal(int code, struct tc_finding *ret)
{
    tc_found_error(ret, code, "none can be made");
    if (tc_setting("/proc/sys/user/max_user_namespaces") == '0')
        tc_remedy(ret, "they are switched off: sysctl user.max_user_namespaces=15000");
    else if (geteuid() != 0 && tc_setting("/proc/sys/kernel/unprivileged_userns_clone") == '0')
        tc_remedy(ret, "they are switched off for users: sysctl kernel.unprivileged_userns_clone=1");
    else if ((code == -EPERM || code == -EACCES) && apparmor_restricts())
        tc_apparmor_remedy(ret);
    else if (code == -ENOSPC || code == -EUSERS)
        tc_remedy(ret, "too many are in use, or they are nested too deep: sysctl user.max_user_namespaces");
    else if (tc_is_filtered())
        tc_remedy(ret, "an outer container's seccomp filter forbids clone(CLONE_NEWUSER): loosen it "
                       "(Docker: --security-opt seccomp=unconfined)");
    else if (code == -EINVAL || code == -ENOSYS)
        tc_remedy(ret, "a kernel with CONFIG_USER_NS");
    else
        tc_remedy(ret, "a chroot or a security module may forbid them: run toolcell outside of it");
}

/* Needs CAP_SYS_ADMIN over the new user namespace, which its creator has unless a security module takes it away. */
static int use_capability(void)
{
    return unshare(CLONE_NEWUTS) < 0 && (errno == EPERM || errno == EACCES) ? -errno : 0;
}

void tc_probe_user_namespaces(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    (void)so_far;
    tc_inside_run(CLONE_NEWUSER, use_capability, &inside);
    if (inside.made < 0) {
        explain_refusal(inside.made, ret);
        return;
    }
    if (inside.result >= 0) { /* ids that cannot be mapped are another finding */
        tc_found(ret, TC_STATE_OK, "one was made%s",
                 inside.result == 0 ? ", and its creator has capabilities inside" : "");
        return;
    }
    tc_found_error(ret, inside.result, "capabilities are lost inside");
    if (apparmor_restricts())
        tc_apparmor_remedy(ret);
    else
        tc_remedy(ret, "a security module or a seccomp filter takes them away: run toolcell outside of it");
}

void tc_probe_id_maps(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret))
        return;
    tc_inside_run(CLONE_NEWUSER, do_nothing, &inside);
    if (inside.mapped == 0) {
        tc_found(ret, TC_STATE_OK, "%s appears as 1000 inside", so_far->uid == 0 ? "an id of the range" : "the caller");
        return;
    }
    tc_found_error(ret, inside.mapped < 0 ? inside.mapped : inside.made, "they cannot be written");
    if (inside.mapped == -ENODEV || inside.mapped == -ENOENT)
        tc_remedy(ret, "mount a procfs at /proc");
    else if (so_far->uid == 0)
        tc_remedy(ret,
                  "root needs CAP_SETUID, CAP_SETGID and CAP_SETFCAP, and ids that exist in this user namespace: set "
                  "a range of them in /etc/toolcell/uids");
    else if (apparmor_restricts())
        tc_apparmor_remedy(ret);
    else
        tc_remedy(ret, "an outer container or a security module forbids it: run toolcell outside of it");
}

/* ---- the other kinds ---- */

bool tc_inside_judge(const struct tc_inside *inside, const char *what, struct tc_finding *ret)
{
    if (inside->made == -ENOSPC)
        tc_found_error(ret, inside->made, "none can be made");
    else if (inside->made < 0)
        tc_found_error(ret, inside->made, "it cannot be made");
    else if (inside->mapped != 0)
        tc_found_error(ret, inside->mapped < 0 ? inside->mapped : -EIO, "ids cannot be mapped");
    else if (inside->result < 0)
        tc_found_error(ret, inside->result, what);
    return inside->made == 0 && inside->mapped == 0 && inside->result == 0;
}

static void try_kind(const struct tc_examination *so_far, unsigned long kind, const char *setting, int (*work)(void),
                     const char *what, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret) || tc_lacks(so_far, TC_CHECK_ID_MAPS, ret))
        return;
    tc_inside_run(CLONE_NEWUSER | kind, work, &inside);
    if (tc_inside_judge(&inside, what, ret)) {
        tc_found(ret, TC_STATE_OK, "one was made and used");
        return;
    }
    if (inside.made == -ENOSPC)
        tc_remedy(ret, "sysctl user.%s=15000", setting);
    else if (inside.made == -EINVAL)
        tc_remedy(ret, "a kernel that has this kind of namespace built in");
}

void tc_probe_mount_namespace(const struct tc_examination *so_far, struct tc_finding *ret)
{
    try_kind(so_far, CLONE_NEWNS, "max_mnt_namespaces", tc_mount_make_private, "its mounts cannot be made private",
             ret);
}

static int be_first(void)
{
    return getpid() == 1 ? 0 : -ESRCH;
}

void tc_probe_pid_namespace(const struct tc_examination *so_far, struct tc_finding *ret)
{
    try_kind(so_far, CLONE_NEWPID, "max_pid_namespaces", be_first, "its first process is not number 1", ret);
}

/* As the launch does it: entered, not cloned into. */
static int enter_network(void)
{
    struct tc_netif_request request;
    int r = tc_netif_loopback(&request);

    if (r == 0 && unshare(CLONE_NEWNET) < 0)
        r = -errno;
    return r < 0 ? r : tc_netif_apply(&request);
}

void tc_probe_network_namespace(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret) || tc_lacks(so_far, TC_CHECK_ID_MAPS, ret))
        return;
    tc_inside_run(CLONE_NEWUSER, enter_network, &inside);
    if (inside.result == -ENOSPC)
        inside.made = -ENOSPC;
    if (tc_inside_judge(&inside, "it cannot be entered, or its loopback interface not be turned on", ret))
        tc_found(ret, TC_STATE_OK, "one was made and used");
    else if (inside.made == -ENOSPC)
        tc_remedy(ret, "sysctl user.max_net_namespaces=15000");
    else if (inside.result == -EINVAL)
        tc_remedy(ret, "a kernel that has this kind of namespace built in");
}

void tc_probe_ipc_namespace(const struct tc_examination *so_far, struct tc_finding *ret)
{
    try_kind(so_far, CLONE_NEWIPC, "max_ipc_namespaces", do_nothing, "it cannot be used", ret);
}

static int set_name(void)
{
    return sethostname("cell", strlen("cell")) < 0 ? -errno : 0;
}

void tc_probe_uts_namespace(const struct tc_examination *so_far, struct tc_finding *ret)
{
    try_kind(so_far, CLONE_NEWUTS, "max_uts_namespaces", set_name, "its host name cannot be set", ret);
}

static int hide_groups(void)
{
    return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

void tc_probe_cgroup_namespace(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_inside inside;

    if (tc_lacks(so_far, TC_CHECK_USER_NAMESPACES, ret) || tc_lacks(so_far, TC_CHECK_ID_MAPS, ret))
        return;
    tc_inside_run(CLONE_NEWUSER, hide_groups, &inside);
    if (tc_inside_judge(&inside, "it cannot be made", ret))
        tc_found(ret, TC_STATE_OK, "one was made and used");
    else if (inside.result == -EINVAL)
        tc_found(ret, TC_STATE_OK, "control groups are not built into this kernel, so there is nothing to hide");
    else if (inside.result == -ENOSPC)
        tc_remedy(ret, "sysctl user.max_cgroup_namespaces=15000");
}
