/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_UNIT_POLICY_VECTORS_H
#define TC_UNIT_POLICY_VECTORS_H

#include <stddef.h>

/** Run every line of a file in the directory of vectors (tests/vectors/README.md says what a line holds); fails the
 *  running test at the first line that does not come out. Returns how many there were. */
size_t vectors_run(const char *name);

/** Path of a file in the directory of vectors, in static memory. */
const char *vectors_path(const char *name);

#endif
