/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_CLONE_H
#define TC_KERNEL_CLONE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Start a process that shares the caller's memory (CLONE_VM) and runs
 * function(argument) on a stack of its own; the function's result becomes the
 * exit status. Descriptors are copied, not shared.
 *
 * The child shares even errno with the caller: the two must run in strict
 * lock-step, and whichever runs beside the other may use tc_raw*() only.
 *
 * @param flags      CLONE_* and the exit signal; CLONE_VM is added
 * @param stack      lowest address of the child's stack; must outlive the child's use of this memory
 * @param size       bytes of it, a multiple of 16
 * @param function   what the child runs
 * @param argument   passed to it
 * @param ret_pidfd  with CLONE_PIDFD: set to the descriptor; else NULL
 * @return the child's pid or -errno
 */
pid_t tc_clone_shared(unsigned long flags, void *stack, size_t size, int (*function)(void *), void *argument,
                      int *ret_pidfd);

/**
 * As tc_clone_shared(), right into a control group of version 2 (CLONE_INTO_CGROUP, Linux 5.7). A process that is moved
 * there later waits for a grace period of RCU (10 ms and more), and every fork and exit on the host with it.
 * @param group  descriptor of its directory, borrowed
 * @return the child's pid or -errno (-ENOSYS also where a filter hides clone3())
 */
pid_t tc_clone_shared_into(int group, unsigned long flags, void *stack, size_t size, int (*function)(void *),
                           void *argument, int *ret_pidfd);

/**
 * Start a process with a copy of the caller's memory, as fork() does, but with
 * clone flags. Returns 0 in the child.
 *
 * @param flags      CLONE_* and the exit signal
 * @param ret_pidfd  with CLONE_PIDFD: set to the descriptor; else NULL
 * @return the child's pid, 0 in the child, or -errno
 */
pid_t tc_clone_copied(unsigned long flags, int *ret_pidfd);

/** As tc_clone_copied(), right into a control group of version 2; see tc_clone_shared_into(). */
pid_t tc_clone_copied_into(int group, unsigned long flags, int *ret_pidfd);

#endif
