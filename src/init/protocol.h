/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_INIT_PROTOCOL_H
#define TC_INIT_PROTOCOL_H

/*
 * The words between the supervisor and the cell's init, over a SOCK_SEQPACKET
 * pair, one fixed-size message per packet, host byte order. Freestanding: init
 * has no C library.
 *
 *   supervisor -> init   EXEC (once, with four descriptors), SIGNAL
 *   init -> supervisor   READY, then STARTED or FAILED, then EXITED; where calls of the command are notified, LISTENER
 *                        (with one descriptor) before STARTED
 *
 * The supervisor trusts nothing init says: sizes, types, order and values are
 * checked, and a message that does not fit ends the cell. The end of the
 * socket means death for init.
 */

#include <stdint.h>

#define TC_INIT_MAGIC 0x74636c31u /* "tcl1" */
#define TC_INIT_CONTROL_FD 3

enum tc_init_request_type {
    TC_INIT_EXEC = 1,  /* descriptors: stdin, stdout, stderr, block (a sealed memfd, struct tc_exec_block) */
    TC_INIT_SIGNAL = 2 /* send value to every process of the cell but init; SIGKILL ends the call */
};

struct tc_init_request {
    uint32_t magic;
    uint32_t type;
    int32_t value;       /* SIGNAL: signal number */
    uint32_t block_size; /* EXEC: bytes in the block */
};

enum tc_init_reply_type {
    TC_INIT_READY = 1,   /* init runs, sealed, waiting */
    TC_INIT_STARTED = 2, /* the command was started (execve succeeded); pid is its pid in the cell */
    TC_INIT_FAILED = 3,  /* it was not: value is the errno, step says where */
    TC_INIT_EXITED = 4,  /* the command ended and every other process was killed: value is its wait status */
    TC_INIT_LISTENER = 5 /* the command's calls are notified; descriptor: the listener. It is about to be executed */
};

enum tc_init_step {
    TC_INIT_STEP_NONE,
    TC_INIT_STEP_BLOCK,
    TC_INIT_STEP_SESSION, /* its session, and the terminal of that */
    TC_INIT_STEP_LIMITS,
    TC_INIT_STEP_CWD,
    TC_INIT_STEP_EXEC,
    TC_INIT_STEP_MEDIATION /* the command's own filter, and its listener */
};

/* Exit statuses of init before READY: what it could not do to itself. Later it is 1, or 0 when the supervisor has gone.
 */
enum tc_init_left { TC_INIT_LEFT = 1, TC_INIT_LEFT_VISIBLE, TC_INIT_LEFT_UNBOUND, TC_INIT_LEFT_SIGNALS };

struct tc_init_reply {
    uint32_t magic;
    uint32_t type;
    int32_t value;
    uint32_t step;
    uint32_t pid;
    uint32_t leftover; /* EXITED: processes that were still there and were killed */
    uint64_t user_us;  /* EXITED: CPU time of all reaped processes, microseconds */
    uint64_t system_us;
    uint32_t full; /* EXITED: 1 when no space or no inode of scratch was left as the command ended, else 0 */
    uint32_t reserved;
};

/* What to run. Offsets count from the start of the block; every string ends in a NUL inside it. */
struct tc_exec_limit {
    int32_t resource; /* RLIMIT_* */
    uint32_t reserved;
    uint64_t soft, hard;
};

#define TC_EXEC_LIMITS 8

struct tc_exec_block {
    uint32_t magic;
    uint32_t argc, envc;
    uint32_t program;   /* offset of the path to execute; names without a slash are searched in path_list */
    uint32_t cwd;       /* offset */
    uint32_t path_list; /* offset of the PATH to search */
    uint32_t argv;      /* offset of argc uint32_t offsets */
    uint32_t envv;      /* offset of envc uint32_t offsets */
    uint32_t limit_count;
    uint32_t umask;
    uint32_t notify;       /* offset of notify_count instructions (struct sock_filter), with notify_count > 0 */
    uint32_t notify_count; /* of the filter that only the command gets, right before it is executed */
    uint32_t terminal;     /* 1: the command's output is a terminal, which becomes its controlling terminal; else 0 */
    uint32_t reserved;
    uint64_t deadline_ms; /* 0, or: if init still runs this long after EXEC it ends the cell by itself, so that a
                             stopped supervisor cannot keep it alive */
    struct tc_exec_limit limits[TC_EXEC_LIMITS];
};

#endif
