/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/launch.h"

/* The first character of a setting of the host, or 0 when it does not exist. */
static char setting(const char *path)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    char value = '\0';

    if (fd < 0 || read(fd, &value, 1) != 1)
        return '\0';
    return value;
}

static const char *namespace_hint(int code)
{
    if (setting("/proc/sys/user/max_user_namespaces") == '0')
        return "user namespaces are switched off: sysctl user.max_user_namespaces=15000";
    if (setting("/proc/sys/kernel/unprivileged_userns_clone") == '0')
        return "user namespaces are switched off for users: sysctl kernel.unprivileged_userns_clone=1";
    if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == '1')
        return "AppArmor restricts user namespaces: install the profile for toolcell ('toolcell doctor' prints it)";
    if (code == -ENOSPC)
        return "no further namespace is allowed: see sysctl user.max_user_namespaces and its like for other kinds";
    if (code == -EINVAL)
        return "the kernel may lack a kind of namespace: user, mount, pid, net, ipc and uts are needed";
    return "user namespaces may be forbidden by an outer container's seccomp filter, AppArmor, a chroot, or sysctl "
           "user.max_user_namespaces";
}

static const char *limits_hint(int code)
{
    if (code == -EINVAL)
        return "a control group of version 1 for CPUs takes no real-time process: start toolcell without such a "
               "priority, "
               "or without a limit of cpus";
    return "leave out the limits of memory, CPU share and processes; 'toolcell doctor' tells what is possible here";
}

void tc_hint_add(const struct tc_launch *launch, struct tc_error *err)
{
    bool early = strcmp(err->stage, "namespaces") == 0 || strcmp(err->stage, "identity") == 0;
    bool refused = err->code == -EPERM || err->code == -EACCES;
    bool namespaces =
        strcmp(err->stage, "namespaces") == 0 && (refused || err->code == -ENOSPC || err->code == -EINVAL);
    bool apparmor =
        refused && !launch->privileged && setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == '1';

    if (err->hint[0] != '\0')
        return;
    if (strcmp(err->stage, "limits") == 0) {
        tc_error_hint(err, "%s", limits_hint(err->code));
        return;
    }
    if (refused && launch->privileged && (namespaces || strcmp(err->stage, "mounts") == 0))
        tc_error_hint(err, "root needs CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID, and user namespaces that no filter "
                           "forbids (see sysctl "
                           "user.max_user_namespaces): outer containers take these away");
    else if (namespaces || apparmor)
        tc_error_hint(err, "%s", namespace_hint(err->code));
    else if (early && refused && launch->privileged)
        tc_error_hint(err, "the host ids must exist in this user namespace: set a range of them in /etc/toolcell/uids");
    else if (early && refused)
        tc_error_hint(err, "an outer container or a security module may forbid to write id maps");
    else if (refused && launch->privileged && strcmp(err->stage, "mounts") == 0)
        tc_error_hint(err,
                      "root needs CAP_SYS_ADMIN here, which containers take away; run toolcell as an ordinary user");
    else if (err->code == -EACCES && setting("/proc/sys/vm/memfd_noexec") == '2')
        tc_error_hint(err, "executable memory files are forbidden: sysctl vm.memfd_noexec=1 or 0");
    else if (err->code == -EAGAIN)
        tc_error_hint(err, "a limit of processes is reached (ulimit -u, or pids.max of the group)");
    else if (err->code == -EFBIG)
        tc_error_hint(err, "raise the hard limit of file sizes (ulimit -Hf)");
    else if (err->code == -EMFILE)
        tc_error_hint(err, "raise the hard limit of open files (ulimit -Hn)");
}
