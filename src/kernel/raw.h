/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_RAW_H
#define TC_KERNEL_RAW_H

/*
 * System calls that touch no memory but their arguments: no errno, no
 * cancellation, no C library. For two places: a parent that runs beside a
 * child in the same memory, and the cell's init, which has no C library.
 * Each returns what the kernel returned: -errno on failure.
 */

#include <asm/unistd.h>

#if defined(__x86_64__)

static inline long tc_raw6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

static inline long tc_raw6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

#else
#error "toolcell knows the system calls of x86-64 and aarch64 only"
#endif

#define tc_raw5(number, a, b, c, d, e) tc_raw6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define tc_raw4(number, a, b, c, d) tc_raw5(number, a, b, c, d, 0)
#define tc_raw3(number, a, b, c) tc_raw4(number, a, b, c, 0)
#define tc_raw2(number, a, b) tc_raw3(number, a, b, 0)
#define tc_raw1(number, a) tc_raw2(number, a, 0)
#define tc_raw0(number) tc_raw1(number, 0)

#endif
