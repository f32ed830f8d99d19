/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SYSTEMD_SCOPE_H
#define TC_SYSTEMD_SCOPE_H

#include "base/error.h"
#include "systemd/manager.h"

/* What is asked for, the whole exchange: connecting, answering, moving. */
#define TC_SCOPE_TIMEOUT_MS 2000u

#define TC_SCOPE_NAME_SIZE 64 /* "toolcell-PID-RANDOM.scope" and a NUL */

struct tc_scope_wish {
    const char *const *controllers; /* that it must be able to hand on, NULL-terminated */
    const char *slice;              /* name of the unit that it shall lie in; NULL: the manager's choice */
};

/**
 * Ask a manager for a transient scope for the calling process, wait for it, and look whether the process is in it. The
 * scope is delegated: the caller may make groups in the scope's. It ends, and its groups with it, when nothing lives in
 * them.
 *
 * The calling process is moved, with all its threads; its children stay where they are. Blocks, for
 * TC_SCOPE_TIMEOUT_MS at most, but for loading the library. Not for signal handlers. Needs systemd 238, and libsystemd,
 * which is loaded here.
 *
 * @param manager   its connection is used up, whatever comes of it
 * @param wish      borrowed
 * @param ret_unit  the scope's name
 * @return 0; -ELIBACC: no library; -ETIMEDOUT; -ECONNREFUSED: the manager said no; -ECANCELED: the job failed, or
 *         the process is not where it was said to be; -errno. With a message, where err is given. After a failure the
 *         process may be in another group than before
 */
int tc_scope_enter(struct tc_manager *manager, const struct tc_scope_wish *wish, char ret_unit[TC_SCOPE_NAME_SIZE],
                   struct tc_error *err);

#endif
