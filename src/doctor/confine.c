/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "doctor/probe.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "plan/filter.h"

/* Each of these cannot be undone, which is as well: the process was made for it. */

static int give_up_privileges(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

void tc_probe_no_new_privs(const struct tc_examination *so_far, struct tc_finding *ret)
{
    int r = give_up_privileges();

    (void)so_far;
    if (r == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        r = -EIO;
    if (r == 0)
        tc_found(ret, TC_STATE_OK, "it was set");
    else
        tc_found_error(ret, r, "it cannot be set");
}

/* ---- Landlock ---- */

#define NEEDED_ABI 2

/* What a cell does without below an ABI. ABI 4 (TCP ports) and 7 (audit) are not used. */
static const struct {
    unsigned abi;
    const char *kernel;
    const char *lost;
} lost_below[] = {
    {3, "6.2", "truncating a file that may not be written is refused by read-only mounts alone"},
    {5, "6.10", "ioctl on a device that may be opened is not limited"},
    {6, "6.12", "--net host is refused, since abstract sockets cannot be closed off"},
};

static int enter_domain(unsigned abi)
{
    tc_auto_fd ruleset = tc_landlock_new(abi, abi >= 6);
    tc_auto_fd opened = TC_NO_FD;
    int r = ruleset < 0 ? ruleset : give_up_privileges();

    if (r == 0)
        r = tc_landlock_restrict(ruleset);
    if (r < 0)
        return r;
    opened = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return opened < 0 && errno == EACCES ? 0 : -ENOTRECOVERABLE;
}

static void tell_landlock(unsigned abi, struct tc_finding *ret)
{
    char lost[384] = "";
    size_t used = 0;

    for (size_t i = 0; i < TC_COUNT(lost_below); i++)
        if (abi < lost_below[i].abi)
            used += (size_t)snprintf(lost + used, sizeof lost - used, "; without ABI %u (Linux %s) %s",
                                     lost_below[i].abi, lost_below[i].kernel, lost_below[i].lost);
    tc_found(ret, used > 0 ? TC_STATE_DEGRADED : TC_STATE_OK, "ABI %u, a domain was entered%s", abi, lost);
    if (used > 0)
        tc_remedy(ret, "a newer kernel");
}

void tc_probe_landlock(const struct tc_examination *so_far, struct tc_finding *ret)
{
    int abi = tc_landlock_abi();
    int r;

    (void)so_far;
    if (abi < 0) {
        tc_found_error(ret, abi, "it cannot be used");
        if (abi == -EOPNOTSUPP || (abi == -ENOSYS && !tc_is_filtered()))
            tc_remedy(ret,
                      "Linux 5.19 or newer with Landlock, booted with lsm=landlock,...; or run without rules about "
                      "paths: --allow-degraded=landlock");
        return;
    }
    if (abi < NEEDED_ABI) {
        tc_found(ret, TC_STATE_MISSING, "ABI %d: every rename into another directory would be refused", abi);
        tc_remedy(ret, "Linux 5.19 or newer");
        return;
    }
    r = enter_domain((unsigned)abi);
    if (r < 0)
        tc_found_error(ret, r,
                       r == -ENOTRECOVERABLE ? "a domain without rules refuses nothing" : "no domain can be entered");
    else
        tell_landlock((unsigned)abi, ret);
}

/* ---- seccomp ---- */

void tc_probe_seccomp_filter(const struct tc_examination *so_far, struct tc_finding *ret)
{
    const struct tc_filter *filter = tc_filter_native();
    int r = filter == NULL ? -ENOENT : give_up_privileges();

    (void)so_far;
    if (r == 0)
        r = tc_seccomp_load(filter->program, filter->size);
    /* Something around toolcell may have answered the call and loaded nothing. */
    if (r == 0 && (socket(AF_UNIX, SOCK_DGRAM, 0) >= 0 || errno != EPERM))
        tc_found(ret, TC_STATE_MISSING, "the cells' filter was loaded and does not hold");
    else if (r == 0)
        tc_found(ret, TC_STATE_OK, "the cells' filter was loaded and holds");
    else
        tc_found_error(ret, r, "the cells' filter cannot be loaded");
}

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

static int listen_for_nothing(unsigned long flags)
{
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = 1, .filter = allow};
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);

    return fd < 0 ? -errno : (int)fd;
}

void tc_probe_seccomp_notify(const struct tc_examination *so_far, struct tc_finding *ret)
{
    int r = give_up_privileges();
    tc_auto_fd listener = r < 0 ? r : listen_for_nothing(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    tc_auto_fd weaker = TC_NO_FD;

    (void)so_far;
    if (listener >= 0) {
        tc_found(ret, TC_STATE_OK, "a listener was made, with WAIT_KILLABLE_RECV");
        return;
    }
    weaker = listener == -EINVAL ? listen_for_nothing(0) : TC_NO_FD;
    if (weaker >= 0) {
        tc_found(ret, TC_STATE_DEGRADED,
                 "a listener was made, but without WAIT_KILLABLE_RECV a signal repeats what was "
                 "already done, so rules that need mediation are refused");
        tc_remedy(ret, "Linux 5.19 or newer");
        return;
    }
    tc_found_error(ret, listener, "no listener can be made");
    if (listener == -EBUSY) {
        tc_found(ret, TC_STATE_MISSING,
                 "a listener is there already, of an outer container or sandbox, and there can be only one");
        tc_remedy(ret, "run toolcell outside of it");
    }
}
