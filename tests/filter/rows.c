/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define TMPFILE_BIT 020000000 /* O_TMPFILE without O_DIRECTORY */

const struct row rows[] = {
    /* set-id bits, in every mode argument */
    {"chmod", {0, 0755}, ALLOWED},
    {"chmod", {0, 01777}, ALLOWED},
    {"chmod", {0, 04755}, EPERM},
    {"chmod", {0, 02755}, EPERM},
    {"chmod", {0, 06000}, EPERM},
    {"chmod", {04000, 0755}, ALLOWED},
    {"fchmod", {3, 0644}, ALLOWED},
    {"fchmod", {3, 04644}, EPERM},
    {"fchmod", {3, 02644}, EPERM},
    {"fchmodat", {3, 0, 0600}, ALLOWED},
    {"fchmodat", {3, 0, 04600}, EPERM},
    {"fchmodat", {3, 0, 02600}, EPERM},
    {"fchmodat", {3, 04000, 0600}, ALLOWED},
    {"mkdir", {0, 0777}, ALLOWED},
    {"mkdir", {0, 02777}, EPERM},
    {"mkdirat", {3, 0, 01777}, ALLOWED},
    {"mkdirat", {3, 0, 02777}, EPERM},
    {"creat", {0, 0666}, ALLOWED},
    {"creat", {0, 04666}, EPERM},
    {"open", {0, O_RDONLY, 04755}, ALLOWED}, /* the mode is not used */
    {"open", {0, O_WRONLY | O_CREAT, 0644}, ALLOWED},
    {"open", {0, O_WRONLY | O_CREAT, 04755}, EPERM},
    {"open", {0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 02755}, EPERM},
    {"open", {0, O_RDWR | TMPFILE_BIT | O_DIRECTORY, 0600}, ALLOWED},
    {"open", {0, O_RDWR | TMPFILE_BIT | O_DIRECTORY, 04700}, EPERM},
    {"openat", {3, 0, O_RDONLY | O_DIRECTORY, 06000}, ALLOWED},
    {"openat", {3, 0, O_RDWR | O_CREAT, 0600}, ALLOWED},
    {"openat", {3, 0, O_RDWR | O_CREAT, 04600}, EPERM},
    {"openat", {3, 0, O_RDWR | O_CREAT, 02600}, EPERM},
    {"openat", {3, 0, O_RDWR | TMPFILE_BIT, 04600}, EPERM},
    {"fchmodat2", {3, 0, 0600, 0x100}, ALLOWED},
    {"fchmodat2", {3, 0, 04600, 0}, EPERM},
    {"fchmodat2", {3, 0, 02600, 0x1000}, EPERM},
    {"openat2", {3, 0, 0, 24}, ENOSYS},

    /* devices, FIFOs, sockets */
    {"mknod", {0, S_IFREG | 0600}, ALLOWED},
    {"mknod", {0, S_IFIFO | 0600}, ALLOWED},
    {"mknod", {0, S_IFSOCK | 0600}, ALLOWED},
    {"mknod", {0, S_IFCHR | 0600, 0}, EPERM},
    {"mknod", {0, S_IFBLK | 0600, 0x800}, EPERM},
    {"mknod", {0, S_IFREG | 04600}, EPERM},
    {"mknodat", {3, 0, S_IFIFO | 0600}, ALLOWED},
    {"mknodat", {3, 0, S_IFCHR | 0600}, EPERM},
    {"mknodat", {3, 0, S_IFBLK | 0600}, EPERM},
    {"mknodat", {3, 0, S_IFREG | 02600}, EPERM},
    {"renameat2", {3, 0, 3, 0, 0}, ALLOWED},
    {"renameat2", {3, 0, 3, 0, RENAME_NOREPLACE}, ALLOWED},
    {"renameat2", {3, 0, 3, 0, RENAME_EXCHANGE}, ALLOWED},
    {"renameat2", {3, 0, 3, 0, RENAME_WHITEOUT}, EPERM},
    {"renameat2", {3, 0, 3, 0, RENAME_NOREPLACE | RENAME_WHITEOUT}, EPERM},

    /* sockets */
    {"socket", {AF_UNIX, SOCK_STREAM}, ALLOWED},
    {"socket", {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK}, ALLOWED},
    {"socket", {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}, ALLOWED},
    {"socket", {AF_UNIX, SOCK_DGRAM}, EPERM},
    {"socket", {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}, EPERM},
    {"socket", {AF_UNIX, SOCK_RAW}, EPERM},
    {"socketpair", {AF_UNIX, SOCK_STREAM}, ALLOWED},
    {"socketpair", {AF_UNIX, SOCK_DGRAM}, EPERM},
    {"socketpair", {AF_UNIX, SOCK_RAW | SOCK_NONBLOCK}, EPERM},
    {"socket", {AF_INET, SOCK_STREAM}, ALLOWED},
    {"socket", {AF_INET, SOCK_DGRAM}, ALLOWED},
    {"socket", {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC}, ALLOWED},
    {"socketpair", {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}, ALLOWED},
    {"socketpair", {AF_INET, SOCK_STREAM}, EPERM},
    {"socketpair", {AF_TIPC, SOCK_STREAM}, EPERM},
    {"socket", {AF_INET, SOCK_RAW, IPPROTO_ICMP}, EPERM},
    {"socket", {AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW}, EPERM},
    {"socket", {AF_INET6, SOCK_RAW, IPPROTO_ICMPV6}, EPERM},
    {"socket", {AF_INET, SOCK_PACKET, 0}, EPERM},
    {"socket", {AF_INET, SOCK_SEQPACKET, 0}, EPERM},
    {"socket", {AF_INET, SOCK_STREAM, IPPROTO_TCP}, ALLOWED},
    {"socket", {AF_INET, SOCK_DGRAM, IPPROTO_UDP}, ALLOWED},
    {"socket", {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, ALLOWED}, /* ping, where the host lets the group */
    {"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6}, ALLOWED},
    {"socket", {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, EPROTONOSUPPORT},
    {"socket", {AF_INET, SOCK_STREAM, IPPROTO_MPTCP}, EPROTONOSUPPORT},
    {"socket", {AF_INET6, SOCK_STREAM, IPPROTO_MPTCP}, EPROTONOSUPPORT},
    {"socket", {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE}, ALLOWED},
    {"socket", {AF_INET, SOCK_DGRAM, 33}, EPROTONOSUPPORT},  /* DCCP */
    {"socket", {AF_INET, SOCK_DGRAM, 115}, EPROTONOSUPPORT}, /* L2TP */
    {"socket", {AF_INET6, SOCK_DGRAM, IPPROTO_ICMP}, EPROTONOSUPPORT},
    {"socket", {AF_UNIX, SOCK_STREAM, 1}, ALLOWED}, /* the family's only protocol may be named */
    {"setsockopt", {3, SOL_SOCKET, SO_REUSEADDR}, ALLOWED},
    {"setsockopt", {3, IPPROTO_TCP, TCP_NODELAY}, ALLOWED},
    {"setsockopt", {3, SOL_SOCKET, TCP_ULP}, ALLOWED}, /* another level */
    {"setsockopt", {3, IPPROTO_TCP, TCP_ULP}, ENOENT},
    {"socket", {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, ALLOWED},
    {"socket", {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER}, EPERM},
    {"socket", {AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT}, EPERM},
    {"socket", {AF_VSOCK, SOCK_STREAM}, EPERM},
    {"socket", {AF_ALG, SOCK_SEQPACKET}, EPERM},
    {"socket", {AF_PACKET, SOCK_RAW}, EPERM},
    {"socket", {AF_BLUETOOTH, SOCK_RAW}, EPERM},

    /* leases, notifications */
    {"fcntl", {3, F_GETFL}, ALLOWED},
    {"fcntl", {3, F_SETFD, 1}, ALLOWED},
    {"fcntl", {3, F_OFD_SETLKW}, ALLOWED},
    {"fcntl", {3, F_GETLEASE}, ALLOWED},
    {"fcntl", {3, F_SETPIPE_SZ, 4096}, ALLOWED},
    {"fcntl", {3, F_ADD_SEALS, 1}, ALLOWED},
    {"fcntl", {3, F_SETLEASE, F_WRLCK}, EPERM},
    {"fcntl", {3, F_NOTIFY, 1}, EPERM},
    {"fcntl", {3, 1040}, EPERM},
    {"fcntl", {F_SETLEASE, F_GETFD}, ALLOWED},
    {"fanotify_init", {0}, EPERM},
    {"fanotify_mark", {0}, EPERM},
    {"inotify_init1", {0}, ALLOWED},

    /* other ways to files */
    {"io_uring_setup", {8}, EPERM},
    {"io_uring_enter", {3}, EPERM},
    {"io_uring_register", {3}, EPERM},
    {"name_to_handle_at", {3}, EPERM},
    {"open_by_handle_at", {3}, EPERM},
    {"uselib", {0}, EPERM},

    /* mounts */
    {"mount", {0}, EPERM},
    {"umount2", {0}, EPERM},
    {"pivot_root", {0}, EPERM},
    {"chroot", {0}, EPERM},
    {"fsopen", {0}, EPERM},
    {"fsconfig", {0}, EPERM},
    {"fsmount", {0}, EPERM},
    {"fspick", {0}, EPERM},
    {"move_mount", {0}, EPERM},
    {"open_tree", {0}, EPERM},
    {"mount_setattr", {0}, EPERM},
    {"quotactl", {0}, EPERM},
    {"swapon", {0}, EPERM},

    /* namespaces */
    {"clone", {CLONE_VM | CLONE_VFORK | 17}, ALLOWED},
    {"clone", {17}, ALLOWED},
    {"clone",
     {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID},
     ALLOWED},
    {"clone", {CLONE_PIDFD | 17}, ALLOWED},
    {"clone", {CLONE_NEWUSER | 17}, EPERM},
    {"clone", {CLONE_NEWNS | 17}, EPERM},
    {"clone", {CLONE_NEWPID | 17}, EPERM},
    {"clone", {CLONE_NEWNET | 17}, EPERM},
    {"clone", {CLONE_NEWIPC | 17}, EPERM},
    {"clone", {CLONE_NEWUTS | 17}, EPERM},
    {"clone", {CLONE_NEWCGROUP | 17}, EPERM},
    {"clone3", {0, 88}, ENOSYS},
    {"unshare", {CLONE_FS}, ALLOWED},
    {"unshare", {CLONE_FILES}, ALLOWED},
    {"unshare", {CLONE_NEWUSER}, EPERM},
    {"unshare", {CLONE_FILES | CLONE_NEWNS}, EPERM},
    {"unshare", {0x80}, EPERM}, /* CLONE_NEWTIME */
    {"setns", {3, 0}, EPERM},
    {"fork", {0}, ALLOWED},
    {"vfork", {0}, ALLOWED},

    /* the kernel itself */
    {"bpf", {0}, EPERM},
    {"perf_event_open", {0}, EPERM},
    {"userfaultfd", {0}, EPERM},
    {"keyctl", {0}, EPERM},
    {"add_key", {0}, EPERM},
    {"request_key", {0}, EPERM},
    {"kexec_load", {0}, EPERM},
    {"init_module", {0}, EPERM},
    {"finit_module", {0}, EPERM},
    {"reboot", {0}, EPERM},
    {"acct", {0}, EPERM},
    {"syslog", {0}, EPERM},
    {"iopl", {3}, EPERM},
    {"ioperm", {0}, EPERM},
    {"lookup_dcookie", {0}, EPERM},
    {"modify_ldt", {1}, EPERM},

    /* personality */
    {"personality", {0xffffffff}, ALLOWED},
    {"personality", {0}, ALLOWED},
    {"personality", {ADDR_NO_RANDOMIZE}, ALLOWED},
    {"personality", {READ_IMPLIES_EXEC}, EPERM},
    {"personality", {MMAP_PAGE_ZERO | ADDR_NO_RANDOMIZE}, EPERM},
    {"personality", {0x80000000 | READ_IMPLIES_EXEC}, EPERM}, /* sets it: only 0xffffffff asks */
    {"personality", {PER_BSD}, EPERM},
    {"personality", {PER_LINUX32}, ALLOWED},
    {"personality", {UNAME26}, ALLOWED},

    /* terminals */
    {"ioctl", {0, TCGETS}, ALLOWED},
    {"ioctl", {0, TIOCGWINSZ}, ALLOWED},
    {"ioctl", {0, FIONBIO}, ALLOWED},
    {"ioctl", {0, TIOCSCTTY}, ALLOWED},
    {"ioctl", {0, TIOCSTI}, EPERM},
    {"ioctl", {0, 0x541c}, EPERM}, /* TIOCLINUX */
    {"ioctl", {0, TIOCSETD}, EPERM},
    {"ioctl", {TIOCSTI, TCGETS}, ALLOWED},

    /* file systems by ioctl */
    {"ioctl", {3, FICLONE}, ALLOWED},
    {"ioctl", {3, FICLONERANGE}, ALLOWED},
    {"ioctl", {3, FIDEDUPERANGE}, ALLOWED},
    {"ioctl", {3, FS_IOC_GETFLAGS}, ALLOWED},
    {"ioctl", {3, FS_IOC_FIEMAP}, ALLOWED},
    {"ioctl", {3, 0x50009401}, ENOTTY}, /* BTRFS_IOC_SNAP_CREATE */
    {"ioctl", {3, 0x5000940e}, ENOTTY}, /* BTRFS_IOC_SUBVOL_CREATE */
    {"ioctl", {3, 0x50009417}, ENOTTY}, /* BTRFS_IOC_SNAP_CREATE_V2 */
    {"ioctl", {3, 0xd0009411}, ENOTTY}, /* BTRFS_IOC_TREE_SEARCH */
    {"ioctl", {3, FS_IOC_GET_ENCRYPTION_POLICY}, ALLOWED},
    {"ioctl", {3, FS_IOC_SET_ENCRYPTION_POLICY}, ENOTTY},
    {"ioctl", {3, FS_IOC_ADD_ENCRYPTION_KEY}, ENOTTY},
    {"ioctl", {3, FS_IOC_REMOVE_ENCRYPTION_KEY}, ENOTTY},
    {"ioctl", {3, FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS}, ENOTTY},

    /* process options */
    {"prctl", {PR_SET_NAME}, ALLOWED},
    {"prctl", {PR_SET_PDEATHSIG, 9}, ALLOWED},
    {"prctl", {PR_SET_DUMPABLE, 0}, ALLOWED},
    {"prctl", {PR_SET_NO_NEW_PRIVS, 1}, ALLOWED},
    {"prctl", {PR_SET_SECCOMP, 1}, ALLOWED},
    {"prctl", {PR_SET_CHILD_SUBREAPER, 1}, ALLOWED},
    {"prctl", {76}, ALLOWED},
    {"prctl", {0x53564d41}, ALLOWED}, /* PR_SET_VMA */
    {"prctl", {0x41555856}, ALLOWED}, /* PR_GET_AUXV */
    {"prctl", {0x59616d61}, ALLOWED}, /* PR_SET_PTRACER */
    {"prctl", {PR_SET_MM, 1}, EPERM},
    {"prctl", {PR_SCHED_CORE, 1}, EPERM},
    {"prctl", {77}, EINVAL},
    {"prctl", {0x53564d42}, EINVAL},
    {"prctl", {0xffffffff}, EINVAL},

    /* what programs live by */
    {"execve", {0}, ALLOWED},
    {"execveat", {0}, ALLOWED},
    {"ptrace", {PTRACE_TRACEME}, ALLOWED},
    {"ptrace", {PTRACE_ATTACH, 7, 0, 0}, ALLOWED},
    {"ptrace", {PTRACE_SEIZE, 7, 0, 0}, ALLOWED},
    {"ptrace", {PTRACE_SEIZE, 7, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE}, ALLOWED},
    {"ptrace", {PTRACE_SEIZE, 7, 0, PTRACE_O_TRACEEXIT}, EPERM},
    {"ptrace", {PTRACE_SEIZE, 7, 0, PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD}, EPERM},
    {"ptrace", {PTRACE_SETOPTIONS, 7, 0, PTRACE_O_TRACEEXEC}, ALLOWED},
    {"ptrace", {PTRACE_SETOPTIONS, 7, 0, PTRACE_O_TRACEEXIT}, EPERM},
    {"ptrace", {PTRACE_SETOPTIONS, 7, 0, 0x100000000 | PTRACE_O_TRACEEXIT}, EPERM},
    {"ptrace", {21, 7, 0, PTRACE_O_TRACEEXIT}, EPERM}, /* PTRACE_OLDSETOPTIONS */
    {"ptrace", {PTRACE_POKEDATA, 7, 0, PTRACE_O_TRACEEXIT}, ALLOWED},
    {"process_vm_readv", {0}, ALLOWED},
    {"pidfd_open", {0}, ALLOWED},
    {"pidfd_getfd", {0}, ALLOWED},
    {"close_range", {3, 0xffffffff}, ALLOWED},
    {"signalfd4", {0}, ALLOWED},
    {"ppoll", {0}, ALLOWED},
    {"prctl", {0}, ALLOWED},
    {"seccomp", {0}, ALLOWED},
    {"landlock_create_ruleset", {0}, ALLOWED},
    {"kill", {0}, ALLOWED},
    {"wait4", {0}, ALLOWED},
    {"recvmsg", {0}, ALLOWED},
    {"mmap", {0}, ALLOWED},
    {"memfd_create", {0}, ALLOWED},
    {"faccessat2", {0}, ALLOWED},
    {"statx", {0}, ALLOWED},
    {"rseq", {0}, ALLOWED},
    {"renameat2", {0}, ALLOWED},
    {"copy_file_range", {0}, ALLOWED},
    {"sched_setaffinity", {0}, ALLOWED},
    {"set_mempolicy", {0}, ALLOWED},
    {"exit_group", {0}, ALLOWED},
};
const size_t row_count = sizeof(rows) / sizeof(rows[0]);

const struct row pointer_rows[] = {
    {"prlimit64", {0, RLIMIT_CORE, 0, 0x7fff12345678}, ALLOWED},
    {"prlimit64", {0, RLIMIT_CORE, 0x7fff12345678, 0}, PRETENDED},
    {"prlimit64", {0, RLIMIT_CORE, 0x100000000, 0}, PRETENDED},
    {"prlimit64", {0, RLIMIT_CORE, 0x100000000, 0x100000000}, EPERM},
    {"prlimit64", {7, RLIMIT_CORE, 0x7fff12345678, 0x7fff12345680}, EPERM},
    {"prlimit64", {0, RLIMIT_NOFILE, 0x7fff12345678, 0}, ALLOWED},
    {"prlimit64", {1, RLIMIT_CPU, 0, 0x7fff12345678}, ALLOWED},
    {"prlimit64", {1, RLIMIT_CPU, 0x7fff12345678, 0}, EPERM},
    {"prlimit64", {1, RLIMIT_CPU, 0x100000000, 0x7fff12345678}, EPERM},
    {"prlimit64", {0x700000001, RLIMIT_CPU, 0x100000000, 0}, EPERM},
    {"prlimit64", {2, RLIMIT_CPU, 0x7fff12345678, 0}, ALLOWED},
    {"setrlimit", {RLIMIT_CORE, 0x7fff12345678}, PRETENDED},
    {"setrlimit", {RLIMIT_STACK, 0x7fff12345678}, ALLOWED},
};
const size_t pointer_row_count = sizeof(pointer_rows) / sizeof(pointer_rows[0]);
