/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_PEERS_H
#define TC_TEST_BROKER_PEERS_H

/*
 * Sockets for tests: those of a host that listens in the workspace while the
 * cell runs, and calls as a program of the cell makes them.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* What the host's sockets saw; at the start of cell_memory. */
struct peers_seen {
    atomic_bool ready;
    atomic_uint denied, allowed, asked; /* connections to *.sock of these names */
    _Atomic uid_t uid;                  /* of the last peer, as the host sees it */
    _Atomic pid_t pid;
};

#define PEERS_RULES                                                                                                    \
    "{\"pattern\": \"unix:/workspace/allowed.sock\", \"operations\": [\"connect\"], \"effect\": \"allow\"},"           \
    "{\"pattern\": \"unix:/workspace/asked.sock\", \"operations\": [\"connect\"], \"effect\": \"ask\"},"               \
    "{\"pattern\": \"**/.env*\", \"operations\": [\"read\", \"write\"], \"effect\": \"deny\", \"priority\": 100},"     \
    "{\"pattern\": \"**\", \"operations\": [\"read\", \"write\", \"execute\"], \"effect\": \"allow\"}"
#define PEERS_POLICY "{\"version\": 1, \"rules\": [" PEERS_RULES "]}"

/** outside(): listen on denied.sock, allowed.sock and asked.sock; each who connects is counted and sent one byte:
 *  'd', 'a' or 'q'. Does not return. */
void peers_serve(void);

/* ---- in the cell ---- */

/** Wait until the host listens. */
void peers_wait(void);

/** A socket that listens under a path; -errno. */
int peers_listen(const char *path, int type, int backlog);

/** Connect a new socket; -errno. type may hold SOCK_NONBLOCK. */
int peers_connect(const char *path, int type);

/** Connect, and return the byte that the other side sends; -errno. */
int peers_call(const char *path);

void peers_pause(long ms);

#endif
