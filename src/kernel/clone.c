/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/clone.h"

#include <linux/sched.h>
#include <signal.h>

#include "kernel/raw.h"

#define CLONE_SIGNAL 0xffUL /* the low byte of clone()'s flags (CSIGNAL) */

/*
 * The C library's clone() would do, but for two things: it may run code of its
 * own in the child, and its vfork() forbids the parent to serve the child. The
 * child must not return from the frame that made it, hence assembly. Function
 * and argument travel in registers that the kernel preserves.
 */
#if defined(__x86_64__)

/* clone() and clone3(): with up to five arguments, of which the last two are never needed. */
static pid_t start(long number, unsigned long first, unsigned long second, void *third, int (*function)(void *),
                   void *argument)
{
    register void *call __asm__("r12") = (void *)function;
    register void *with __asm__("r13") = argument;
    register long fourth __asm__("r10") = 0;
    register long fifth __asm__("r8") = 0;
    long result;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov %[leave], %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth), "r"(fifth), "r"(call),
                       "r"(with), [leave] "i"(__NR_exit_group)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

#elif defined(__aarch64__)

static pid_t start(long number, unsigned long first, unsigned long second, void *third, int (*function)(void *),
                   void *argument)
{
    register long x8 __asm__("x8") = number;
    register unsigned long x0 __asm__("x0") = first;
    register unsigned long x1 __asm__("x1") = second;
    register void *x2 __asm__("x2") = third;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register void *call __asm__("x19") = (void *)function;
    register void *with __asm__("x20") = argument;

    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "mov x8, %[leave]\n\t"
                     "svc 0\n\t"
                     "brk 1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(call), "r"(with), [leave] "i"(__NR_exit_group)
                     : "x30", "memory");
    return (pid_t)x0;
}

#endif

pid_t tc_clone_shared(unsigned long flags, void *stack, size_t size, int (*function)(void *), void *argument,
                      int *ret_pidfd)
{
    return start(__NR_clone, flags | CLONE_VM, (unsigned long)stack + size, ret_pidfd, function, argument);
}

/* What clone() takes as flags, for clone3(). A stack of 0: the caller's own, copied. */
static struct clone_args describe(unsigned long flags, int group, void *stack, size_t size, int *ret_pidfd)
{
    return (struct clone_args){.flags = (flags & ~CLONE_SIGNAL) | CLONE_INTO_CGROUP,
                               .pidfd = (unsigned long)ret_pidfd,
                               .exit_signal = flags & CLONE_SIGNAL,
                               .stack = (unsigned long)stack,
                               .stack_size = size,
                               .cgroup = (unsigned long)group};
}

pid_t tc_clone_shared_into(int group, unsigned long flags, void *stack, size_t size, int (*function)(void *),
                           void *argument, int *ret_pidfd)
{
    struct clone_args args = describe(flags | CLONE_VM, group, stack, size, ret_pidfd);

    return start(__NR_clone3, (unsigned long)&args, sizeof args, NULL, function, argument);
}

pid_t tc_clone_copied_into(int group, unsigned long flags, int *ret_pidfd)
{
    struct clone_args args = describe(flags, group, NULL, 0, ret_pidfd);

    return (pid_t)tc_raw2(__NR_clone3, &args, sizeof args);
}

pid_t tc_clone_copied(unsigned long flags, int *ret_pidfd)
{
    /* Argument order differs between architectures beyond the third, but all of those are zero here. */
    return (pid_t)tc_raw5(__NR_clone, flags, 0, ret_pidfd, 0, 0);
}
