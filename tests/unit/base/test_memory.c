/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena and buffer, and everything above them when memory runs out: malloc(),
 * calloc(), realloc() and strdup() are wrapped by the linker, and each
 * scenario is repeated with the first, the second, ... allocation failing,
 * until one passes without having met a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/emit.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "unit.h"

static long fail_after = -1; /* allocations that still succeed; negative: all */

/* Sizes that no machine has never reach the allocator: sanitizers and valgrind take them for mistakes. */
#define MOST ((size_t)1 << 40)

static bool allocation_fails(size_t size)
{
    if (size > MOST)
        return true;
    return fail_after >= 0 && fail_after-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return allocation_fails(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails(size) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails(size) ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return allocation_fails(0) ? NULL : __real_strdup(text);
}

/* Run a scenario with every single allocation failing; it returns 0 or -ENOMEM. Returns how many there were. */
static int exhaust(int (*scenario)(void))
{
    for (int n = 0; n < 10000; n++) {
        bool met;
        int r;

        fail_after = n;
        r = scenario();
        met = fail_after < 0;
        fail_after = -1;
        if (!met) {
            ck_assert_int_eq(r, 0);
            return n;
        }
        ck_assert_msg(r == -ENOMEM, "allocation %d: %d", n, r);
    }
    ck_abort_msg("never came to an end");
}

START_TEST(test_arena)
{
    tc_auto_arena arena = tc_arena_new();
    char *first = tc_arena_alloc(arena, 3), *big;

    ck_assert_mem_eq(first, "\0\0\0", 3);
    for (size_t size = 0; size < 300; size++) {
        unsigned char *bytes = tc_arena_alloc(arena, size);

        ck_assert_uint_eq((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_int_eq(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    big = tc_arena_alloc(arena, 1000000);
    ck_assert_int_eq(big[999999], 0);
    big[999999] = 1;
    ck_assert_ptr_nonnull(tc_arena_alloc(arena, 0));
    ck_assert_mem_eq(first, "\0\0\0", 3);
}
END_TEST

START_TEST(test_arena_sizes)
{
    tc_auto_arena arena = tc_arena_new();

    ck_assert_ptr_null(tc_arena_alloc(arena, SIZE_MAX));
    ck_assert_ptr_null(tc_arena_alloc(arena, SIZE_MAX / 2));
    ck_assert_ptr_null(tc_arena_array(arena, SIZE_MAX / 4 + 2, 4));
    ck_assert_ptr_null(tc_arena_copy(arena, "x", SIZE_MAX));
    ck_assert_ptr_null(tc_arena_string(arena, NULL));
    ck_assert_ptr_nonnull(tc_arena_array(arena, 0, 4));
    tc_arena_free(NULL);
}
END_TEST

START_TEST(test_arena_copies)
{
    tc_auto_arena arena = tc_arena_new();

    ck_assert_mem_eq(tc_arena_copy(arena, "a\0b", 3), "a\0b", 4);
    ck_assert_str_eq(tc_arena_copy(arena, NULL, 0), "");
    ck_assert_str_eq(tc_arena_string(arena, "text"), "text");
    ck_assert_str_eq(tc_arena_printf(arena, "%s-%d", "x", 7), "x-7");
    ck_assert_uint_eq(strlen(tc_arena_printf(arena, "%20000d", 7)), 20000);
}
END_TEST

START_TEST(test_buf)
{
    tc_auto_buf buf = {0};

    ck_assert_ptr_null(buf.data);
    tc_buf_append(&buf, NULL, 0);
    ck_assert_str_eq(buf.data, "");
    tc_buf_string(&buf, "one");
    tc_buf_char(&buf, ' ');
    tc_buf_printf(&buf, "%d%s", 2, "");
    ck_assert_str_eq(buf.data, "one 2");
    ck_assert_uint_eq(buf.length, 5);
    for (int i = 0; i < 10000; i++)
        tc_buf_printf(&buf, "%s", "0123456789");
    ck_assert_uint_eq(buf.length, 100005);
    ck_assert_uint_eq(strlen(buf.data), 100005);
    ck_assert(!tc_buf_failed(&buf));
}
END_TEST

START_TEST(test_buf_consume)
{
    tc_auto_buf buf = {0};

    tc_buf_consume(&buf, 5);
    tc_buf_string(&buf, "abcdef");
    tc_buf_consume(&buf, 0);
    ck_assert_str_eq(buf.data, "abcdef");
    tc_buf_consume(&buf, 2);
    ck_assert_str_eq(buf.data, "cdef");
    tc_buf_consume(&buf, 100);
    ck_assert_str_eq(buf.data, "");
    tc_buf_string(&buf, "x");
    ck_assert_str_eq(buf.data, "x");
}
END_TEST

/* A failure sticks, what was there before stays whole, and the buffer is usable again once freed. */
START_TEST(test_buf_failure)
{
    tc_auto_buf buf = {0};

    tc_buf_string(&buf, "kept");
    fail_after = 0;
    tc_buf_printf(&buf, "%5000d", 1);
    fail_after = -1;
    ck_assert(tc_buf_failed(&buf));
    tc_buf_string(&buf, "more");
    tc_buf_char(&buf, 'c');
    ck_assert_str_eq(buf.data, "kept");
    tc_buf_free(&buf);
    ck_assert(!tc_buf_failed(&buf));
    tc_buf_append(&buf, "x", SIZE_MAX - 1);
    ck_assert(tc_buf_failed(&buf));
    tc_buf_free(&buf);
    tc_buf_string(&buf, "again");
    ck_assert_str_eq(buf.data, "again");
}
END_TEST

static int scenario_arena(void)
{
    tc_auto_arena arena = tc_arena_new();

    if (arena == NULL || tc_arena_alloc(arena, 10) == NULL || tc_arena_string(arena, "x") == NULL ||
        tc_arena_alloc(arena, 9000) == NULL || tc_arena_printf(arena, "%9000d", 1) == NULL ||
        tc_path_clean(arena, "/a", "b") == NULL)
        return -ENOMEM;
    return 0;
}

static int scenario_emit(void)
{
    tc_auto_buf out = {0};
    struct tc_emit emit = {.out = &out};

    tc_emit_object(&emit, NULL);
    for (int i = 0; i < 100; i++) {
        tc_emit_bytes(&emit, "k\xff", "\xff\n", 2);
        tc_emit_string(&emit, "text", "\n\x01 something of a length");
    }
    tc_emit_object_end(&emit);
    tc_text_escape(&out, "\n\xff", 2);
    return tc_buf_failed(&out) ? -ENOMEM : 0;
}

/* cJSON allocates in a library that is not wrapped; its failures are the parser's -ENOMEM all the same. */
static int scenario_json(void)
{
    static const char text[] =
        "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,\"k\":11,"
        "\"l\":12,\"m\":\"text\",\"n\":{\"base64\":\"/w==\"}}";
    tc_auto_arena arena = tc_arena_new();
    tc_auto_json document = NULL;
    struct tc_json root, member;
    struct tc_error err;
    const char *value;
    size_t length;
    int r;

    if (arena == NULL)
        return -ENOMEM;
    r = tc_json_parse(text, sizeof text - 1, "text", &document, &root, &err);
    if (r < 0)
        return r;
    if (!tc_json_member(&root, "m", &member)) /* no assertions here: they allocate */
        return -ENOENT;
    r = tc_json_string(&member, arena, &value, NULL, &err);
    if (r < 0)
        return r;
    if (!tc_json_member(&root, "n", &member))
        return -ENOENT;
    return tc_json_string(&member, arena, &value, &length, &err);
}

START_TEST(test_exhaustion)
{
    ck_assert_int_eq(scenario_json(), 0); /* loads the library, whose loader does not expect failures */
    ck_assert_int_ge(exhaust(scenario_arena), 4);
    ck_assert_int_ge(exhaust(scenario_emit), 100);
    ck_assert_int_ge(exhaust(scenario_json), 5);
}
END_TEST

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int open_descriptor(void)
{
    tc_auto_fd empty = TC_NO_FD;
    tc_auto_fd fd = dup(STDERR_FILENO);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_lt(empty, 0);
    return tc_take_fd(&fd);
}

START_TEST(test_cleanup)
{
    tc_auto_free char *text = NULL;
    char *taken;
    int fd = open_descriptor(), again;

    ck_assert(is_open(fd));
    {
        tc_auto_fd owned = fd;

        again = owned;
    }
    ck_assert(!is_open(again));
    text = strdup("x");
    taken = tc_take_ptr(text);
    ck_assert_ptr_null(text);
    free(taken);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("memory", test_arena, test_arena_sizes, test_arena_copies, test_buf, test_buf_consume,
                               test_buf_failure, test_exhaustion, test_cleanup, NULL));
}
