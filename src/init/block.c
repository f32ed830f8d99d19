/* SPDX-License-Identifier: Apache-2.0 */
#include "init/block.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

/* Strings are checked once for all: the last byte of the block is a NUL, so what begins inside it also ends there. */

static bool table_fits(const struct tc_exec_block *block, uint32_t size, uint32_t table, uint32_t count)
{
    uint64_t end = (uint64_t)table + (uint64_t)count * sizeof(uint32_t);

    if (table % sizeof(uint32_t) != 0 || end > size)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset = ((const uint32_t *)(const void *)tc_block_string(block, table))[i];

        if (offset >= size)
            return false;
    }
    return true;
}

static bool limits_fit(const struct tc_exec_block *block)
{
    if (block->limit_count > TC_EXEC_LIMITS)
        return false;
    for (uint32_t i = 0; i < block->limit_count; i++) {
        const struct tc_exec_limit *limit = &block->limits[i];

        if (limit->resource < 0 || limit->soft > limit->hard)
            return false;
    }
    return true;
}

static bool filter_fits(const struct tc_exec_block *block, uint32_t size)
{
    uint64_t end = (uint64_t)block->notify + (uint64_t)block->notify_count * sizeof(struct sock_filter);

    if (block->notify_count == 0)
        return true;
    return block->notify_count <= BPF_MAXINSNS && block->notify % _Alignof(struct sock_filter) == 0 && end <= size;
}

const struct tc_exec_block *tc_block_check(const void *bytes, uint32_t size)
{
    const struct tc_exec_block *block = bytes;

    if (size <= sizeof *block || ((const char *)bytes)[size - 1] != '\0')
        return NULL;
    if (block->magic != TC_INIT_MAGIC || block->argc == 0 || block->umask > 0777 || block->terminal > 1)
        return NULL;
    if (block->program >= size || block->cwd >= size || block->path_list >= size || !limits_fit(block))
        return NULL;
    if (!table_fits(block, size, block->argv, block->argc) || !table_fits(block, size, block->envv, block->envc))
        return NULL;
    return filter_fits(block, size) ? block : NULL;
}
