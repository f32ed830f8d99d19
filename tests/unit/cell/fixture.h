/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_CELL_FIXTURE_H
#define TC_TEST_CELL_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell/cell.h"

#define MAX_STEPS 64
#define MAX_OUTPUT 65536

/* A plan made by hand: the host's /usr, minimal /dev, a workspace. */
struct fixture {
    struct tc_plan plan;
    struct tc_step steps[MAX_STEPS];
    const char *argv[8];
    char workspace[64]; /* host directory, removed by fixture_end() */
};

/* How a command in a cell ended. */
struct outcome {
    int launched; /* result of tc_cell_launch() */
    struct tc_error err;
    struct tc_init_reply last; /* FAILED or EXITED */
    char output[MAX_OUTPUT];   /* stdout and stderr, NUL-terminated */
};

/** Fill in a plan for the caller (root: leased id and id-mapped workspace). */
void fixture_begin(struct fixture *fixture);
void fixture_end(struct fixture *fixture);

/** Append a step; returns it for changes. */
struct tc_step *fixture_step(struct fixture *fixture, enum tc_step_kind kind, const char *target);
struct tc_step *fixture_bind(struct fixture *fixture, const char *source, const char *target, unsigned flags,
                             unsigned access);
/** The step with this target, or NULL. */
struct tc_step *fixture_find(struct fixture *fixture, const char *target);

/** Launch, run `/bin/sh -c script`, collect its output, end the cell. */
void fixture_run(struct fixture *fixture, const char *script, struct outcome *ret);
/** The same for a command that is in plan.argv already. */
void fixture_run_argv(struct fixture *fixture, struct outcome *ret);

/** Wait for the next reply of init; -EPIPE and the like as tc_cell_receive(). */
int fixture_receive(struct tc_cell *cell, struct tc_init_reply *ret);

/** How many descriptors this process has, give or take a constant. */
size_t fixture_count_fds(void);

#endif
