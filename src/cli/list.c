/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/list.h"

#include <string.h>

void *tc_list_grow(struct tc_arena *arena, const void *items, size_t count, size_t size)
{
    void *grown;

    if (count != 0 && (count & (count - 1)) != 0)
        return (void *)items;
    grown = tc_arena_array(arena, count == 0 ? 1 : count * 2, size);
    if (grown != NULL && count != 0)
        memcpy(grown, items, count * size);
    return grown;
}
