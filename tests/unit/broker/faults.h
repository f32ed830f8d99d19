/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_FAULTS_H
#define TC_TEST_BROKER_FAULTS_H

/*
 * System calls of the broker that fail: by functions of the test program,
 * which take the place of the C library's. One call of those that the broker
 * makes fails, with an error that the kernel can give there; in the cell none.
 */

#include <stdatomic.h>
#include <stdbool.h>

/** At the beginning of cell_memory. */
struct fault {
    atomic_bool armed;
    atomic_uint at, seen; /* the call that fails, and how many there were */
    atomic_int error;
    atomic_bool vanish, vanished; /* the caller is to be killed; it was (faults_arm_end()) */
    atomic_bool count;            /* the broker is to tell how many descriptors it has open when it waits again */
    atomic_int descriptors;
    unsigned injected; /* by the cell: how many did fail */
};

/** Called in the cell: its own calls do not fail. */
void faults_never(void);

/** From now on, until faults_disarm(): the call of this number fails with the error. */
void faults_arm(unsigned at, int error);

/**
 * From now on: just before the ioctl(2) of that number the caller ends. The broker waits for that with vanish set until
 * somebody killed the caller and set vanished. Other calls do not fail.
 */
void faults_arm_end(unsigned at);

/** True when it came to that call. */
bool faults_disarm(unsigned at);

#endif
