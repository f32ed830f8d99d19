/* SPDX-License-Identifier: Apache-2.0 */
#include "init/block.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit.h"

/* A block that is right: argv "a" "b", one environment string, and a spare word for one damage at a time. */
struct sample {
    struct tc_exec_block head;
    uint32_t argv[2];
    uint32_t envv[1];
    char text[20]; /* no padding behind it */
};

static struct sample make(void)
{
    struct sample sample = {.head = {.magic = TC_INIT_MAGIC, .argc = 2, .envc = 1, .umask = 022},
                            .text = "a\0b\0X=1\0/\0/bin"};
    uint32_t text = offsetof(struct sample, text);

    sample.head.argv = offsetof(struct sample, argv);
    sample.head.envv = offsetof(struct sample, envv);
    sample.argv[0] = text;
    sample.argv[1] = text + 2;
    sample.envv[0] = text + 4;
    sample.head.program = text;
    sample.head.cwd = text + 8;
    sample.head.path_list = text + 10;
    return sample;
}

START_TEST(test_good)
{
    struct sample sample = make();
    const struct tc_exec_block *block = tc_block_check(&sample, sizeof sample);

    ck_assert_ptr_nonnull(block);
    ck_assert_str_eq(tc_block_item(block, block->argv, 1), "b");
    ck_assert_str_eq(tc_block_item(block, block->envv, 0), "X=1");
    ck_assert_str_eq(tc_block_string(block, block->cwd), "/");
    ck_assert_str_eq(tc_block_string(block, block->path_list), "/bin");
}
END_TEST

START_TEST(test_sizes)
{
    struct sample sample = make();

    for (uint32_t size = 0; size < sizeof sample - 1; size++)
        ck_assert_msg(tc_block_check(&sample, size) == NULL || ((char *)&sample)[size - 1] == '\0', "size %u", size);
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample.head));
    sample.text[sizeof sample.text - 1] = 'x';
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
}
END_TEST

START_TEST(test_damage)
{
    static const struct {
        size_t at;
        uint32_t value;
    } damages[] = {
        {offsetof(struct sample, head.magic), 0},
        {offsetof(struct sample, head.argc), 0},
        {offsetof(struct sample, head.argc), 1000},
        {offsetof(struct sample, head.argc), UINT32_MAX},
        {offsetof(struct sample, head.argc), 0x40000000},
        {offsetof(struct sample, head.envc), UINT32_MAX},
        {offsetof(struct sample, head.program), sizeof(struct sample)},
        {offsetof(struct sample, head.program), UINT32_MAX},
        {offsetof(struct sample, head.cwd), sizeof(struct sample)},
        {offsetof(struct sample, head.path_list), sizeof(struct sample)},
        {offsetof(struct sample, head.argv), UINT32_MAX - 3},
        {offsetof(struct sample, head.argv), offsetof(struct sample, argv) + 1},
        {offsetof(struct sample, head.envv), sizeof(struct sample)},
        {offsetof(struct sample, argv), sizeof(struct sample)},
        {offsetof(struct sample, argv) + 4, UINT32_MAX},
        {offsetof(struct sample, envv), sizeof(struct sample)},
        {offsetof(struct sample, head.limit_count), TC_EXEC_LIMITS + 1},
        {offsetof(struct sample, head.umask), 01000},
        {offsetof(struct sample, head.terminal), 2},
    };

    for (size_t i = 0; i < TC_COUNT(damages); i++) {
        struct sample sample = make();

        memcpy((char *)&sample + damages[i].at, &damages[i].value, sizeof damages[i].value);
        ck_assert_msg(tc_block_check(&sample, sizeof sample) == NULL, "damage %zu", i);
    }
}
END_TEST

START_TEST(test_filter)
{
    struct sample sample = make();

    sample.head.notify = offsetof(struct sample, argv);
    sample.head.notify_count = 1;
    ck_assert_ptr_nonnull(tc_block_check(&sample, sizeof sample));
    sample.head.notify++; /* not aligned */
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
    sample.head.notify = sizeof sample - 4;
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
    sample.head.notify_count = 0; /* then there is none */
    ck_assert_ptr_nonnull(tc_block_check(&sample, sizeof sample));
    sample.head.notify = UINT32_MAX - 3;
    sample.head.notify_count = UINT32_MAX;
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
    sample.head.notify = 0;
    sample.head.notify_count = 4097;
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
}
END_TEST

START_TEST(test_limits)
{
    struct sample sample = make();

    sample.head.limit_count = 1;
    sample.head.limits[0] = (struct tc_exec_limit){.resource = 7, .soft = 1, .hard = 1};
    ck_assert_ptr_nonnull(tc_block_check(&sample, sizeof sample));
    sample.head.limits[0].soft = 2;
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
    sample.head.limits[0] = (struct tc_exec_limit){.resource = -1};
    ck_assert_ptr_null(tc_block_check(&sample, sizeof sample));
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("block", test_good, test_sizes, test_damage, test_filter, test_limits, NULL));
}
