/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_CELL_H
#define TC_TEST_BROKER_CELL_H

/*
 * A small cell for tests of the broker: namespaces, a tree with a mediated
 * workspace and its twin, the command's notify filter, and a real broker that
 * serves it. No Landlock and no base filter: what is tested here is the broker.
 * Works as root (the cell has a host id of its own) and as an ordinary user.
 *
 *   /workspace  a fresh directory of the host, mediated (natively: writable)
 *   /tmp        a tmpfs of the cell, where everything is allowed
 *   /usr        the host's, read-only; /bin, /lib, /lib64 link into it
 *   /proc /dev  of the cell's own; /dev/null, zero, tty, fd, std*, pts
 *
 * and where a case asks for aliases, the workspace's directory twice more:
 *
 *   /plain      writable, not mediated
 *   /second     read-only, not mediated
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "broker/broker.h"

#define CELL_MESSAGES 256

/* What happened, as seen from outside. */
struct cell_outcome {
    int status;   /* what inside() returned; 128 and more: it was killed by that signal less 128 */
    int messages; /* how many of denied[] are set */
    struct tc_broker_message denied[CELL_MESSAGES];
    unsigned asks; /* how many were asked */
    uint64_t denials, calls;
};

struct cell_case {
    const char *policy;          /* JSON; NULL: reading, writing and so on allowed, `.env` denied */
    unsigned groups;             /* TC_NOTIFY_*; 0: OPEN */
    void (*prepare)(void);       /* in the workspace, as the cell's user, before the cell starts */
    int (*inside)(void *memory); /* the command, in /workspace; 0 is success */
    void (*outside)(void);       /* the host meanwhile: a process in the workspace, killed at the end */
    enum tc_broker_answer (*answer)(const struct tc_broker_message *ask); /* NULL: denied */
    bool aliases;                                                         /* see above */
    bool native;            /* the same without filter and broker, the workspace writable */
    bool keep_first_answer; /* leave asks unanswered */
    unsigned seconds;       /* that the command may take; 0: 40, and more with cell_long(). Multiplied by the slack */
};

/** Memory that inside(), outside() and the test share: 1 MiB, zeroed by cell_run(). */
extern void *cell_memory;
#define CELL_MEMORY (1u << 20)

/** The broker's pid while cell_run() serves: for answer(). */
extern pid_t cell_broker;

/** The directories that cell_run() made on the host, and removes: for whoever is killed in it. */
struct cell_directories {
    char workspace[64], tree[64];
};
extern struct cell_directories cell_directories;
void cell_remove(const struct cell_directories *directories);

/** Run a case; *ret is filled. Fails the test when the cell could not be made. */
void cell_run(const struct cell_case *what, struct cell_outcome *ret);

/** True when a denial of this operation was told for the target. */
bool cell_denied(const struct cell_outcome *outcome, enum tc_operation operation, const char *target);

/** Write a file in the current directory, or fail. */
void cell_file(const char *name, const char *content);

/* ---- for inside() ---- */

/** Read a file as a command would: bytes into text, -errno. */
int cell_read(const char *path, char *text, size_t size);

/**
 * Execute this test's own program again, whose main() gets word as its one argument. A forked process's memory belongs
 * to the user namespace of who started the test; only an executed one is the cell's in every respect.
 */
int cell_execute(const char *word);

/** Leave with a message unless the condition holds. */
#define CELL_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            cell_fail(__FILE__, __LINE__, #condition);                                                                 \
    } while (0)
void cell_fail(const char *file, int line, const char *what) __attribute__((noreturn));

/** True when TOOLCELL_LONG is 1: races of 100,000 rounds instead of 1,000. */
bool cell_long(void);

/** TOOLCELL_TEST_SLACK, at least 1: what deadlines are multiplied by. */
unsigned cell_slack(void);

/** Open by the call itself, whatever the address of path, and close again. 0 or -errno. */
int cell_try_open(const char *path, int flags);

#endif
