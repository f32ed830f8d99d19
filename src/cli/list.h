/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_LIST_H
#define TC_CLI_LIST_H

#include <stddef.h>

#include "base/arena.h"

/**
 * Make room for one more element in an array that only ever grows by this function: its capacity is the next power of
 * two above its count, so it needs no field of its own.
 *
 * @return the array, moved when it was full (the old one stays in the arena), or NULL when out of memory
 */
void *tc_list_grow(struct tc_arena *arena, const void *items, size_t count, size_t size);

#endif
