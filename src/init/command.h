/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_INIT_COMMAND_H
#define TC_INIT_COMMAND_H

#include <stdint.h>
#include <sys/types.h>

#include "init/protocol.h"

/* What went wrong before the command was there. */
struct tc_command_failure {
    int error; /* errno, or 0 */
    enum tc_init_step step;
};

/**
 * Start the command of a block. Blocks until it has been executed or has
 * failed; signals must be blocked.
 *
 * @param block_fd  the block's memfd, borrowed
 * @param size      of the block
 * @param streams   stdin, stdout, stderr of the command, borrowed
 * @param failure   set on failure
 * @param ret_deadline_ms  the block's deadline
 * @return its pid, or -1
 */
pid_t tc_command_start(int block_fd, uint32_t size, const int streams[3], struct tc_command_failure *failure,
                       uint64_t *ret_deadline_ms);

/**
 * Execute a program as execvp() does: a name without a slash is searched in
 * path_list, a file that is no binary is given to /bin/sh.
 *
 * @param program    path or name
 * @param path_list  directories separated by colons
 * @param argv       NULL-terminated; the two pointers before it are free to be used
 * @param envp       NULL-terminated
 * @return errno; never returns on success
 */
int tc_command_execute(const char *program, const char *path_list, char **argv, char **envp);

#endif
