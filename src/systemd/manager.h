/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SYSTEMD_MANAGER_H
#define TC_SYSTEMD_MANAGER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* A connection to a service manager: the system's for root, the user's own for everybody else. */
struct tc_manager {
    int fd;      /* connected and non-blocking, or TC_NO_FD */
    bool system; /* the system's, else the user's */
    bool bus;    /* behind a message bus, else at a socket of its own */
    pid_t pid;   /* who listens there; 0: somebody in another pid namespace */
};

/* Where one listens; NULL: nowhere. */
struct tc_manager_places {
    const char *own; /* socket of the manager alone */
    const char *bus; /* socket of a message bus that it is on */
};

/**
 * Connect to the manager that the caller may ask: for root /run/systemd/private or else the system bus, for a user
 * systemd/private or else bus in $XDG_RUNTIME_DIR. Only connects: nothing is sent. Does not block.
 *
 * @param ret  filled in; on failure it has no connection
 * @return 0, or -errno with what was tried, and with a hint where a remedy is known
 */
int tc_manager_connect(struct tc_manager *ret, struct tc_error *err);

/**
 * Connect to whoever listens at the first of two places that answers. A socket that is a link or belongs to somebody
 * else, and one at which somebody else listens, is not used: only root and the caller are nobody else.
 * @return as tc_manager_connect()
 */
int tc_manager_connect_at(const struct tc_manager_places *places, struct tc_manager *ret, struct tc_error *err);

/** Close the connection, if there is one. */
void tc_manager_close(struct tc_manager *manager);
#define tc_auto_manager __attribute__((cleanup(tc_manager_close))) struct tc_manager

/** For people: "the user's systemd". */
const char *tc_manager_name(bool system);

#endif
