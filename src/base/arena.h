/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_ARENA_H
#define TC_BASE_ARENA_H

#include <stddef.h>

/*
 * Memory with one owner and one end. A ruleset, a request and a plan each own
 * an arena; everything they point to lies in it and goes with it, so the data
 * structures need no ownership rules of their own.
 */
struct tc_arena;

/** Returns a new, empty arena, or NULL when out of memory. The caller owns it. */
struct tc_arena *tc_arena_new(void);

/** Free the arena and all that was allocated from it; NULL is ignored. */
void tc_arena_free(struct tc_arena *arena);

static inline void tc_cleanup_arena(struct tc_arena **arena)
{
    tc_arena_free(*arena);
    *arena = NULL;
}
#define tc_auto_arena __attribute__((cleanup(tc_cleanup_arena))) struct tc_arena *

/** Returns size zeroed bytes aligned for any type, or NULL (out of memory; size 0 is not). */
void *tc_arena_alloc(struct tc_arena *arena, size_t size);

/** As tc_arena_alloc() for count elements; NULL on overflow too. */
void *tc_arena_array(struct tc_arena *arena, size_t count, size_t size);

/** Copy length bytes and append a NUL (bytes may contain NULs). NULL when out of memory. */
char *tc_arena_copy(struct tc_arena *arena, const void *bytes, size_t length);

/** Copy a string; NULL when out of memory or when text is NULL. */
char *tc_arena_string(struct tc_arena *arena, const char *text);

/** Format into the arena; NULL when out of memory. */
char *tc_arena_printf(struct tc_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
