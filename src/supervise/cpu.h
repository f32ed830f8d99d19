/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_CPU_H
#define TC_SUPERVISE_CPU_H

#include <stdint.h>
#include <sys/types.h>

struct tc_cpu_time {
    uint64_t user_ms, system_ms;
};

/**
 * CPU time spent so far by a cell: of its living processes and of the children that those have waited for.
 * Children of a process that ignores SIGCHLD are never counted by the kernel once they are gone.
 *
 * @param init  its first process, in the caller's pid namespace
 * @return 0, or -errno when /proc does not show the process (ENOENT: it is gone)
 */
int tc_cpu_sample(pid_t init, struct tc_cpu_time *ret);

/** When to look again: before the rest of the limit can be used up on all CPUs, within 10 to 100 ms. */
uint64_t tc_cpu_interval(uint64_t limit_ms, uint64_t spent_ms);

#endif
