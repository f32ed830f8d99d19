/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_IMAGE_H
#define TC_POLICY_IMAGE_H

/*
 * Private to src/policy: the constants of a ruleset's image, see encode.c.
 */

#include <stdint.h>

#define TC_IMAGE_MAGIC "TCRS"
#define TC_IMAGE_VERSION 2u /* changes with the layout and with the meaning of anything in it */
#define TC_IMAGE_DIGITS 64
#define TC_IMAGE_HASHES (4 * sizeof(uint32_t)) /* where the two hashes begin */
#define TC_IMAGE_HEADER (TC_IMAGE_HASHES + 2 * TC_IMAGE_DIGITS)
#define TC_IMAGE_LISTS 8 /* bit in the word of operations where the lists begin */
#define TC_IMAGE_SAME UINT32_MAX

enum { TC_IMAGE_MORE = 1 << 0, TC_IMAGE_ANY_ORDER = 1 << 1, TC_IMAGE_LINE = 1 << 2 };

#endif
