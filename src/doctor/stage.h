/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_DOCTOR_STAGE_H
#define TC_DOCTOR_STAGE_H

/*
 * Private to src/doctor: what the attempts of the self-test aim at.
 */

#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct tc_stage {
    char directory[256]; /* of everything below */
    char work[280];      /* the workspace */
    char program[300];   /* in it: the attempt's executable */
    char secret[280];    /* a file that everyone may read */
    char open[280];      /* a directory where everyone may make files */
    char created[300];   /* a name in it */
    char port[16];       /* of a listener on the loopback interface */
    char name[64];       /* of a listener on an abstract socket */
    char process[16];    /* pid of a process that only waits */
    char descriptor[16]; /* an open one that programs inherit */
    int listeners[2];
    int inherited;
    pid_t pid;
};

#define TC_STAGE_EMPTY ((struct tc_stage){.listeners = {TC_NO_FD, TC_NO_FD}, .inherited = TC_NO_FD, .pid = -1})

/** Set everything up. 0 or -errno; to be taken down either way. */
int tc_stage_set(struct tc_stage *ret, struct tc_error *err);

/** Remove the files, end the process, close the descriptors. */
void tc_stage_strike(struct tc_stage *stage);

#endif
