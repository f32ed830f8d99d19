/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN 16
#define ARENA_BLOCK 8192

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    _Alignas(ARENA_ALIGN) unsigned char data[];
};

struct tc_arena {
    struct arena_block *blocks; /* the newest first; only that one is allocated from */
};

struct tc_arena *tc_arena_new(void)
{
    return calloc(1, sizeof(struct tc_arena));
}

void tc_arena_free(struct tc_arena *arena)
{
    if (arena == NULL)
        return;
    while (arena->blocks != NULL) {
        struct arena_block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}

void *tc_arena_alloc(struct tc_arena *arena, size_t size)
{
    struct arena_block *block = arena->blocks;
    size_t rounded;
    void *result;

    if (size > SIZE_MAX / 2)
        return NULL;
    rounded = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (block == NULL || block->size - block->used < rounded) {
        size_t capacity = rounded > ARENA_BLOCK ? rounded : ARENA_BLOCK;

        block = malloc(sizeof *block + capacity);
        if (block == NULL)
            return NULL;
        block->next = arena->blocks;
        block->used = 0;
        block->size = capacity;
        arena->blocks = block;
    }
    result = block->data + block->used;
    block->used += rounded;
    memset(result, 0, rounded);
    return result;
}

void *tc_arena_array(struct tc_arena *arena, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        return NULL;
    return tc_arena_alloc(arena, total);
}

char *tc_arena_copy(struct tc_arena *arena, const void *bytes, size_t length)
{
    char *copy = length < SIZE_MAX ? tc_arena_alloc(arena, length + 1) : NULL;

    if (copy != NULL && length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

char *tc_arena_string(struct tc_arena *arena, const char *text)
{
    return text == NULL ? NULL : tc_arena_copy(arena, text, strlen(text));
}

char *tc_arena_printf(struct tc_arena *arena, const char *format, ...)
{
    va_list args;
    char *text;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return NULL;
    text = tc_arena_alloc(arena, (size_t)length + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}
