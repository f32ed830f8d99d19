/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_CPU_H
#define TC_SUPERVISE_CPU_H

#include <stdint.h>
#include <sys/types.h>

#include "supervise/census.h"

/** The CPU time of one cell, kept up from look to look. All zero before the first. */
struct tc_cpu {
    uint64_t user_ms, system_ms; /* spent so far, as of the last look */
    struct tc_census census;     /* of the last look */
    uint64_t looked_us;          /* when that was */
    struct tc_cpu_sums lost;     /* of processes that ended and that nobody waited for */
    uint64_t guessed_ms;         /* what those spent between being looked at and their end */
};

/**
 * Look at a cell: at its living processes, at what those have waited for, and at those of the last look that are gone
 * and that nobody waited for. Such a process counts with what was seen of it, and as going on like
 * that until this look.
 *
 * @param cpu   takes the new state; after a failure it holds what the last look gave
 * @param init  the cell's first process, in the caller's pid namespace
 * @return 0, or -errno when /proc does not show the process (ENOENT: it is gone)
 */
int tc_cpu_look(struct tc_cpu *cpu, pid_t init);

/**
 * When to look again: before the rest of the limit can be used up on all CPUs, within 10 to 100 ms, give or take half
 * of it at random, so that a cell cannot arrange to be idle whenever it is looked at.
 */
uint64_t tc_cpu_interval(uint64_t limit_ms, uint64_t spent_ms);

void tc_cpu_free(struct tc_cpu *cpu);

#endif
