/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_CENSUS_H
#define TC_SUPERVISE_CENSUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** What the kernel counts for a process; times in clock ticks. */
struct tc_cpu_sums {
    uint64_t user, system;
    uint64_t faults; /* minor page faults: unlike the times they are never rounded */
};

#define TC_BUSY 1000u

struct tc_process {
    pid_t pid, parent;
    uint64_t start;            /* with pid, tells a process from a later one of the same number */
    unsigned busy;             /* per mille of its time that it spends on a CPU now, as far as that shows */
    struct tc_cpu_sums own;    /* of all its threads, those that ended included */
    struct tc_cpu_sums waited; /* of the children it has waited for, and of theirs */
};

/** The living processes of a cell at one look, by pid. */
struct tc_census {
    struct tc_process *list; /* owned */
    size_t count, capacity;
};

/**
 * Read one process from /proc/PID/stat (proc_pid_stat(5)); parent is left alone.
 * @return 0, or -errno (-ENOENT, -ESRCH: it is gone)
 */
int tc_process_read(pid_t pid, struct tc_process *ret);

/**
 * Read init and everything below it, a parent before its children. One pass: what changes meanwhile is seen or not.
 * A cell of more than 32768 processes, or one for which there is no memory, is read in part.
 *
 * @param init  the first process, in the caller's pid namespace
 * @param ret   an earlier census, whose memory is used again, or all zero
 * @return 0, or -errno when init cannot be read
 */
int tc_census_take(pid_t init, struct tc_census *ret);

/** Add what an earlier census has and this one has missed although it is still there: a process whose parent ended
 *  during the walk can be in nobody's list while it moves. Its parent is taken to be init. */
void tc_census_complete(struct tc_census *census, const struct tc_census *earlier, pid_t init);

/** The process of this pid, or NULL. Borrowed from the census. */
const struct tc_process *tc_census_find(const struct tc_census *census, pid_t pid);

void tc_census_free(struct tc_census *census);

#endif
