# SPDX-License-Identifier: Apache-2.0
#
# What the broker needs from its first worker on; it loads this for itself when nothing of its start is left to be done but
# threads. It reads what a cell gives it, so that a call from outside this list means that the broker is no longer the
# broker: it ends, and the call with it. There is no way from here to a new program, process, socket or namespace.

otherwise: kill

[calls]
why: taking, answering and asking about stopped calls; where who waits is woken
ioctl: kill if arg1 is not SECCOMP_IOCTL_NOTIF_RECV SECCOMP_IOCTL_NOTIF_SEND SECCOMP_IOCTL_NOTIF_ID_VALID SECCOMP_IOCTL_NOTIF_ADDFD SECCOMP_IOCTL_NOTIF_SET_FLAGS

[callers]
why: looking at who called: memory, descriptors, limits; a signal when a file would exceed the caller's own limit
allow: process_vm_readv pidfd_open pidfd_getfd kcmp capset
prlimit64: kill if arg2 set
tkill: kill if arg1 is not SIGXFSZ

[files]
why: what calls are about
allow: openat openat2 readlinkat newfstatat fstat statx fstatfs faccessat faccessat2 close read lseek umask
fcntl: kill if arg1 is not F_GETFL F_SETFL F_GETFD F_DUPFD_CLOEXEC

[changes]
why: what stopped calls change, in the twin
allow: mkdirat symlinkat linkat unlinkat renameat2 fchmod fchmodat fchmodat2 fchown fchownat utimensat truncate
allow: setxattr fsetxattr removexattr fremovexattr
mknodat: kill if arg2 & S_IFMT is S_IFCHR S_IFBLK

[sockets]
why: the caller's own sockets, connected and bound on its behalf, and the list of those of the cell's network
allow: connect bind fchdir getsockopt sendto recvfrom inotify_add_watch

[owner]
why: the channel to the supervisor
allow: sendmsg recvmsg poll ppoll

[threads]
why: workers, and waiting: a thread and nothing else is made, each with a umask of its own
clone: kill if arg0 & CLONE_THREAD is not CLONE_THREAD
unshare: kill if arg0 is not CLONE_FS
allow: futex set_robust_list rseq exit exit_group gettid getpid tgkill rt_sigprocmask rt_sigaction rt_sigreturn sigaltstack
allow: eventfd2 write clock_gettime clock_nanosleep restart_syscall sched_yield sched_getaffinity getrandom sysinfo

[memory]
why: of the heap and of stacks; none of it is executed
allow: brk munmap mremap madvise
mmap: kill if arg2 has PROT_EXEC
mprotect: kill if arg2 has PROT_EXEC

[probes]
why: a C library falls back, or names memory for those who look at maps
ENOSYS: clone3 futex_waitv
EPERM: prctl
