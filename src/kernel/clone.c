/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/clone.h"

#include <sched.h>

#include "kernel/raw.h"

/*
 * The C library's clone() would do, but for two things: it may run code of its
 * own in the child, and its vfork() forbids the parent to serve the child. The
 * child must not return from the frame that made it, hence assembly. Function
 * and argument travel in registers that the kernel preserves.
 */
#if defined(__x86_64__)

pid_t tc_clone_shared(unsigned long flags, void *stack, size_t size, int (*function)(void *), void *argument,
                      int *ret_pidfd)
{
    register void *call __asm__("r12") = (void *)function;
    register void *with __asm__("r13") = argument;
    register long tid __asm__("r10") = 0;
    register long tls __asm__("r8") = 0;
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
                     : "a"((long)__NR_clone), "D"(flags | CLONE_VM), "S"((char *)stack + size), "d"(ret_pidfd),
                       "r"(tid), "r"(tls), "r"(call), "r"(with), [leave] "i"(__NR_exit_group)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

#elif defined(__aarch64__)

pid_t tc_clone_shared(unsigned long flags, void *stack, size_t size, int (*function)(void *), void *argument,
                      int *ret_pidfd)
{
    char *top = (char *)stack + size;
    register long x8 __asm__("x8") = __NR_clone;
    register unsigned long x0 __asm__("x0") = flags | CLONE_VM;
    register void *x1 __asm__("x1") = top;
    register void *x2 __asm__("x2") = ret_pidfd;
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

pid_t tc_clone_copied(unsigned long flags, int *ret_pidfd)
{
    /* Argument order differs between architectures beyond the third, but all of those are zero here. */
    return (pid_t)tc_raw5(__NR_clone, flags, 0, ret_pidfd, 0, 0);
}
