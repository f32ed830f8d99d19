# SPDX-License-Identifier: Apache-2.0
#
# The system calls of a cell: an allow-list. README.md tells the form of this file and how it becomes a program.
# The build fails when a call that the tables know is named nowhere here.

otherwise: ENOSYS

# Calls that Debian 12's libseccomp has no name for; their numbers are equal on every architecture.
number: statmount 457
number: listmount 458
number: lsm_get_self_attr 459
number: lsm_set_self_attr 460
number: lsm_list_modules 461
number: mseal 462
number: setxattrat 463
number: getxattrat 464
number: listxattrat 465
number: removexattrat 466
number: open_tree_attr 467
number: file_getattr 468
number: file_setattr 469
number: listns 470

# ---------------------------------------------------------------------------- what programs live by

[descriptors]
why: what is open was judged when it was opened
allow: read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 lseek close close_range
allow: dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait
allow: epoll_pwait epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
allow: sendfile splice tee vmsplice copy_file_range fsync fdatasync sync_file_range fadvise64 readahead fallocate
allow: ftruncate flock fstat fstatfs getdents getdents64 sync syncfs cachestat

[paths]
why: judged by the cell's mounts and Landlock
allow: stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir statfs
allow: truncate rename renameat link linkat symlink symlinkat unlink unlinkat rmdir umask
allow: chown fchown lchown fchownat utime utimes futimesat utimensat inotify_init inotify_init1 inotify_add_watch
allow: inotify_rm_watch setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
allow: removexattr lremovexattr fremovexattr statmount listmount

[memory]
why: of the process itself, or of one that it could trace
allow: mmap munmap mremap mprotect brk msync mincore madvise process_madvise mlock mlock2 mlockall munlock munlockall
allow: remap_file_pages pkey_mprotect pkey_alloc pkey_free memfd_create mseal map_shadow_stack membarrier
allow: mbind set_mempolicy get_mempolicy set_mempolicy_home_node move_pages

[processes]
why: the pid namespace ends at the cell; execute is judged by Landlock
allow: fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgrp getpgid setpgid getsid
allow: setsid set_tid_address set_robust_list get_robust_list rseq getcpu pidfd_open pidfd_getfd pidfd_send_signal
allow: arch_prctl restart_syscall times getrusage getrlimit

[tracing]
why: debuggers work on what the cell itself runs. A traced process keeps its filter, which has judged after the
why: tracer's changes since Linux 4.8; ptrace is below; init is not dumpable and everything else is in other namespaces
allow: process_vm_readv process_vm_writev kcmp

[identity]
why: no capability, one id mapped: there is nothing to change to
allow: getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid
allow: setfsuid setfsgid setgroups capget capset

[signals]
why: reach the cell's processes only
allow: kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo
allow: rt_tgsigqueueinfo rt_sigsuspend sigaltstack pause alarm

[threads]
why: waiting and waking, by address
allow: futex futex_waitv futex_wake futex_wait futex_requeue

[time]
why: reading clocks, sleeping and timers; setting them is below
allow: time gettimeofday clock_gettime clock_getres nanosleep clock_nanosleep getitimer setitimer
allow: timer_create timer_settime timer_gettime timer_getoverrun timer_delete

[scheduling]
why: the limits of the cell's group hold, whatever it asks of the scheduler
allow: sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max
allow: sched_get_priority_min sched_rr_get_interval sched_setaffinity sched_getaffinity sched_setattr sched_getattr
allow: getpriority setpriority ioprio_set ioprio_get

[communication]
why: the ipc and network namespaces end at the cell; which sockets can be made is below
allow: connect bind listen accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname
allow: getpeername getsockopt shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
allow: mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr

[narrowing]
why: a program may confine itself further; filters and rules only add up
allow: seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self lsm_get_self_attr lsm_list_modules

[system]
why: tells of the machine what programs size themselves by
allow: uname sysinfo getrandom

# ---------------------------------------------------------------------------- allowed by argument

[set-id modes]
why: a set-id file is one on the host too, nosuid inside does not change that; the mode of openat2 lies in memory
chmod: EPERM if arg1 has S_ISUID S_ISGID
fchmod: EPERM if arg1 has S_ISUID S_ISGID
fchmodat: EPERM if arg2 has S_ISUID S_ISGID
fchmodat2: EPERM if arg2 has S_ISUID S_ISGID
mkdir: EPERM if arg1 has S_ISUID S_ISGID
mkdirat: EPERM if arg2 has S_ISUID S_ISGID
mknod: EPERM if arg1 has S_ISUID S_ISGID
mknodat: EPERM if arg2 has S_ISUID S_ISGID
creat: EPERM if arg1 has S_ISUID S_ISGID
open: EPERM if arg1 has O_CREAT TMPFILE_BIT, arg2 has S_ISUID S_ISGID
openat: EPERM if arg2 has O_CREAT TMPFILE_BIT, arg3 has S_ISUID S_ISGID
ENOSYS: openat2

[devices]
why: device nodes, the whiteouts that need no capability included, would appear on the host
mknod: EPERM if arg1 & S_IFMT is S_IFCHR S_IFBLK
mknodat: EPERM if arg2 & S_IFMT is S_IFCHR S_IFBLK
renameat2: EPERM if arg4 has RENAME_WHITEOUT

[unix sockets]
why: datagrams carry addresses in memory, which reach host sockets through read-only mounts; a raw one becomes a
why: datagram socket
socket: EPERM if arg0 is AF_UNIX, arg1 & SOCK_TYPE_MASK is not SOCK_STREAM SOCK_SEQPACKET
socketpair: EPERM if arg1 & SOCK_TYPE_MASK is not SOCK_STREAM SOCK_SEQPACKET

[socket families]
why: vsock reaches the hypervisor, the others large parts of the kernel that tool calls do not need; raw sockets need
why: a capability
socket: EPERM if arg0 is not AF_UNIX AF_INET AF_INET6 AF_NETLINK
socket: EPERM if arg0 is AF_INET AF_INET6, arg1 & SOCK_TYPE_MASK is not SOCK_STREAM SOCK_DGRAM
socket: EPERM if arg0 is AF_NETLINK, arg2 is not NETLINK_ROUTE
socketpair: EPERM if arg0 is not AF_UNIX

[transports]
why: asking for another transport loads its module into the host's kernel (SCTP, DCCP, MPTCP, L2TP); the answer is that
why: of a kernel without it, on which Go falls back from MPTCP to TCP. UDP-Lite is a part of UDP. Kernel TLS and other
why: layers on top of TCP are loaded in the same way
socket: EPROTONOSUPPORT if arg0 is AF_INET, arg2 is not 0 IPPROTO_TCP IPPROTO_UDP IPPROTO_UDPLITE IPPROTO_ICMP
socket: EPROTONOSUPPORT if arg0 is AF_INET6, arg2 is not 0 IPPROTO_TCP IPPROTO_UDP IPPROTO_UDPLITE IPPROTO_ICMPV6
setsockopt: ENOENT if arg1 is IPPROTO_TCP, arg2 is TCP_ULP

[leases]
why: leases and notifications make host programs wait, or tell names that may not be listed
fcntl: EPERM if arg1 is F_SETLEASE F_NOTIFY F_SETDELEG
EPERM: fanotify_init fanotify_mark

[namespaces]
why: a new user namespace would give back capabilities over it; the flags of clone3 lie in memory, and C libraries fall
why: back to clone on ENOSYS only
clone: EPERM if arg0 has CLONE_NEWNS CLONE_NEWCGROUP CLONE_NEWUTS CLONE_NEWIPC CLONE_NEWUSER CLONE_NEWPID CLONE_NEWNET
unshare: EPERM if arg0 has CLONE_NEWNS CLONE_NEWCGROUP CLONE_NEWUTS CLONE_NEWIPC CLONE_NEWUSER CLONE_NEWPID CLONE_NEWNET CLONE_NEWTIME
EPERM: setns
ENOSYS: clone3 listns

[terminals]
why: pushes input into a terminal, or changes its line discipline
ioctl: EPERM if arg1 is TIOCSTI TIOCLINUX TIOCSETD

[file systems by ioctl]
why: btrfs makes subvolumes and snapshots by ioctl, past every rule about paths (before Linux 6.8 a snapshot of the
why: whole file system around any file of one's own); only the three requests for shared extents that carry its letter
why: are general. Keys and policies of fscrypt would stay with the host's file system after the cell
ioctl: ENOTTY if arg1 & 0xff00 is 0x9400, arg1 & 0xff is not 9 13 54
ioctl: ENOTTY if arg1 is FS_IOC_SET_ENCRYPTION_POLICY FS_IOC_ADD_ENCRYPTION_KEY FS_IOC_REMOVE_ENCRYPTION_KEY FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS

[stops at the end]
why: a traced process that stops at its own end is past every signal (Linux 6.1 drops them). Two that trace each other
why: wait for each other then, for ever, and no kill, not even the end of their pid namespace, ends them
ptrace: EPERM if arg0 is PTRACE_SEIZE PTRACE_SETOPTIONS PTRACE_OLDSETOPTIONS, arg3 has PTRACE_O_TRACEEXIT

[process options]
why: PR_SET_MM rewrites what /proc tells of a process; core scheduling keeps other programs of the host off a core.
why: Options after Linux 6.12 are unknown, but for the three with letters for a number
prctl: EPERM if arg0 is PR_SET_MM PR_SCHED_CORE
prctl: EINVAL if arg0 above 76, arg0 is not PR_SET_VMA PR_GET_AUXV PR_SET_PTRACER

[personality]
why: others make every mapping executable, map page zero, or turn on what other systems did. Left are Linux and 32-bit
why: Linux, without randomization, under an old version's name; 0xffffffff only asks
personality: EPERM if arg0 is not 0 PER_LINUX32 ADDR_NO_RANDOMIZE PER_LINUX32|ADDR_NO_RANDOMIZE UNAME26 PER_LINUX32|UNAME26 0xffffffff

[limits]
why: a core limit of 0 lets a crash start the host's core handler, which the limit 1 of the cell does not; a limit of
why: init is the end of the cell. C libraries make both calls of prlimit64. `ulimit -c 0` asks for what is so
why: already, and an error would end the shell: it is answered with success
setrlimit: success if arg0 is RLIMIT_CORE
prlimit64: success if arg1 is RLIMIT_CORE, arg2 set, arg3 null
prlimit64: EPERM if arg1 is RLIMIT_CORE, arg2 set
prlimit64: EPERM if arg0 is 1, arg2 set

# ---------------------------------------------------------------------------- refused

[ways around]
why: ways to files that do not pass the calls which are judged
EPERM: io_uring_setup io_uring_enter io_uring_register name_to_handle_at open_by_handle_at uselib

[mounts]
why: the tree is built before the command starts and stays as it is
EPERM: mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree mount_setattr
EPERM: swapon swapoff quotactl quotactl_fd
ENOSYS: open_tree_attr

[kernel]
why: parts of the kernel with a history of escapes, and administration
EPERM: bpf perf_event_open userfaultfd keyctl add_key request_key kexec_load kexec_file_load init_module finit_module
EPERM: delete_module reboot acct syslog iopl ioperm modify_ldt vhangup lookup_dcookie _sysctl sethostname
EPERM: setdomainname settimeofday clock_settime adjtimex clock_adjtime migrate_pages

[not needed]
why: the answer is that of a kernel built or booted without them. POSIX programs use none of these: old asynchronous
why: input and output has one quota for the whole host (databases fall back to threads); secret memory takes pages out
why: of the kernel's own map; the rest serves container managers and debuggers of the file system
ENOSYS: io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents memfd_secret process_mrelease
ENOSYS: lsm_set_self_attr sysfs ustat

[newer twins]
why: newer than the rules about paths; C libraries and tools fall back to the older calls
ENOSYS: setxattrat getxattrat listxattrat removexattrat file_getattr file_setattr

[no such call]
why: numbers that Linux keeps, and nothing behind them on these architectures
ENOSYS: create_module get_kernel_syms query_module nfsservctl getpmsg putpmsg afs_syscall tuxcall security vserver
ENOSYS: epoll_ctl_old epoll_wait_old set_thread_area get_thread_area
