/* SPDX-License-Identifier: Apache-2.0 */

/* What the supervisor says, as init reads it: every offset of an accepted block must lead to a string inside it. */

#include <stdlib.h>
#include <string.h>

#include "init/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(const struct tc_exec_block *block, uint32_t table, uint32_t count)
{
    size_t total = 0;

    for (uint32_t i = 0; i < count; i++)
        total += strlen(tc_block_item(block, table, i));
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tc_exec_block *block;
    volatile size_t total;
    void *exact;

    if (size == 0 || size > UINT32_MAX)
        return 0;
    exact = malloc(size); /* of just this size, so that a sanitizer sees each byte too far */
    if (exact == NULL)
        return 0;
    memcpy(exact, data, size);
    block = tc_block_check(exact, (uint32_t)size);
    if (block != NULL) {
        total = walk(block, block->argv, block->argc) + walk(block, block->envv, block->envc);
        total += strlen(tc_block_string(block, block->program)) + strlen(tc_block_string(block, block->cwd)) +
                 strlen(tc_block_string(block, block->path_list));
        for (uint32_t i = 0; i < block->notify_count * 8; i++)
            total += (unsigned char)tc_block_string(block, block->notify)[i];
        (void)total;
    }
    free(exact);
    return 0;
}
