/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_INIT_BLOCK_H
#define TC_INIT_BLOCK_H

#include <stdint.h>

#include "init/protocol.h"

/**
 * Check a block that describes a command. After that every offset in it is
 * safe to follow.
 *
 * @param bytes  the block, aligned for uint64_t
 * @param size   its length
 * @return the block, or NULL when anything in it does not fit
 */
const struct tc_exec_block *tc_block_check(const void *bytes, uint32_t size);

/** The string at an offset of a checked block. */
static inline const char *tc_block_string(const struct tc_exec_block *block, uint32_t offset)
{
    return (const char *)block + offset;
}

/** The index-th string of a checked table of offsets. */
static inline const char *tc_block_item(const struct tc_exec_block *block, uint32_t table, uint32_t index)
{
    return tc_block_string(block, ((const uint32_t *)(const void *)tc_block_string(block, table))[index]);
}

#endif
