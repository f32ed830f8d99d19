/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a profile: constants as the kernel's headers name them, and actions. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "plan/filter/profile.h"

/* Not in every header; the numbers are equal on x86-64 and aarch64, as all of those below are. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef PTRACE_OLDSETOPTIONS /* x86 only; on aarch64 no request has this number */
#define PTRACE_OLDSETOPTIONS 21
#endif
#ifndef TIOCLINUX
#define TIOCLINUX 0x541c
#endif
#ifndef F_SETDELEG
#define F_SETDELEG 1040 /* Linux 6.19 */
#endif
#ifndef PR_GET_AUXV
#define PR_GET_AUXV 0x41555856
#endif
#define TMPFILE_BIT 020000000 /* O_TMPFILE without O_DIRECTORY, which differs */
#define SOCK_TYPE_MASK 0xf

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* newer than Debian 12's headers */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define WORD(constant)                                                                                                 \
    {                                                                                                                  \
        .name = #constant, .value = (uint32_t)(constant)                                                               \
    }

static const struct {
    const char *name;
    uint32_t value;
} constants[] = {
    WORD(S_ISUID),
    WORD(S_ISGID),
    WORD(S_IFMT),
    WORD(S_IFCHR),
    WORD(S_IFBLK),
    WORD(O_CREAT),
    WORD(TMPFILE_BIT),
    WORD(RENAME_WHITEOUT),
    WORD(AF_UNIX),
    WORD(AF_INET),
    WORD(AF_INET6),
    WORD(AF_NETLINK),
    WORD(NETLINK_ROUTE),
    WORD(SOCK_TYPE_MASK),
    WORD(SOCK_STREAM),
    WORD(SOCK_DGRAM),
    WORD(SOCK_SEQPACKET),
    WORD(IPPROTO_TCP),
    WORD(IPPROTO_UDP),
    WORD(IPPROTO_UDPLITE),
    WORD(IPPROTO_ICMP),
    WORD(IPPROTO_ICMPV6),
    WORD(TCP_ULP),
    WORD(F_GETFD),
    WORD(F_GETFL),
    WORD(F_SETFL),
    WORD(F_DUPFD_CLOEXEC),
    WORD(F_SETLEASE),
    WORD(F_NOTIFY),
    WORD(F_SETDELEG),
    WORD(CLONE_NEWNS),
    WORD(CLONE_NEWCGROUP),
    WORD(CLONE_NEWUTS),
    WORD(CLONE_NEWIPC),
    WORD(CLONE_NEWUSER),
    WORD(CLONE_NEWPID),
    WORD(CLONE_NEWNET),
    WORD(CLONE_NEWTIME),
    WORD(TIOCSTI),
    WORD(TIOCLINUX),
    WORD(TIOCSETD),
    WORD(FS_IOC_SET_ENCRYPTION_POLICY),
    WORD(FS_IOC_ADD_ENCRYPTION_KEY),
    WORD(FS_IOC_REMOVE_ENCRYPTION_KEY),
    WORD(FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS),
    WORD(PR_SET_MM),
    WORD(PR_SCHED_CORE),
    WORD(PR_SET_VMA),
    WORD(PR_GET_AUXV),
    WORD(PR_SET_PTRACER),
    WORD(PTRACE_SEIZE),
    WORD(PTRACE_SETOPTIONS),
    WORD(PTRACE_OLDSETOPTIONS),
    WORD(PTRACE_O_TRACEEXIT),
    WORD(PER_LINUX32),
    WORD(ADDR_NO_RANDOMIZE),
    WORD(UNAME26),
    WORD(RLIMIT_CORE),
    WORD(SIGXFSZ),
    WORD(CLONE_THREAD),
    WORD(CLONE_FS),
    WORD(PROT_EXEC),
    WORD(SECCOMP_IOCTL_NOTIF_RECV),
    WORD(SECCOMP_IOCTL_NOTIF_SEND),
    WORD(SECCOMP_IOCTL_NOTIF_ID_VALID),
    WORD(SECCOMP_IOCTL_NOTIF_ADDFD),
    WORD(SECCOMP_IOCTL_NOTIF_SET_FLAGS),
};

static const struct {
    const char *name;
    uint32_t value;
} actions[] = {
    {"allow", SECCOMP_RET_ALLOW},
    {"success", SECCOMP_RET_ERRNO},
    {"kill", SECCOMP_RET_KILL_PROCESS},
    {"EPERM", SECCOMP_RET_ERRNO | EPERM},
    {"ENOSYS", SECCOMP_RET_ERRNO | ENOSYS},
    {"EINVAL", SECCOMP_RET_ERRNO | EINVAL},
    {"ENOENT", SECCOMP_RET_ERRNO | ENOENT},
    {"ENOTTY", SECCOMP_RET_ERRNO | ENOTTY},
    {"EPROTONOSUPPORT", SECCOMP_RET_ERRNO | EPROTONOSUPPORT},
};

bool filter_value(const char *word, uint32_t *ret)
{
    size_t length = strcspn(word, "|");
    uint32_t rest = 0;
    char *end;

    if (word[length] == '|' && !filter_value(word + length + 1, &rest))
        return false;
    *ret = (uint32_t)strtoul(word, &end, 0) | rest;
    if (length > 0 && end == word + length)
        return true;
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        if (strlen(constants[i].name) == length && strncmp(constants[i].name, word, length) == 0) {
            *ret = constants[i].value | rest;
            return true;
        }
    return false;
}

bool filter_action(const char *word, uint32_t *ret)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(actions[i].name, word) == 0) {
            *ret = actions[i].value;
            return true;
        }
    return false;
}

const char *filter_action_name(uint32_t action)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (actions[i].value == action)
            return actions[i].name;
    return "?";
}
