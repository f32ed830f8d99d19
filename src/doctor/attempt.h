/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_DOCTOR_ATTEMPT_H
#define TC_DOCTOR_ATTEMPT_H

/*
 * Private to src/doctor: the program that tries to reach out of a cell.
 */

#include <stddef.h>

#define TC_ATTEMPT_VARIABLE "TOOLCELL_SELFTEST" /* what the attempt "environment" looks for */
#define TC_ATTEMPT_UNKNOWN 255                  /* exit status: it was not asked for anything it knows */

/** The executable. */
extern const unsigned char tc_attempt_image[];
extern const size_t tc_attempt_image_size;

#endif
