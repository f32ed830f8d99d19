/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"
#include "vectors.h"

START_TEST(test_presets)
{
    ck_assert_uint_gt(vectors_run("presets.jsonl"), 700);
}
END_TEST

START_TEST(test_seed_ruleset)
{
    ck_assert_uint_gt(vectors_run("seed-ruleset.jsonl"), 50);
}
END_TEST

#define FILE_TEST(name)                                                                                                \
    START_TEST(test_##name)                                                                                            \
    {                                                                                                                  \
        ck_assert_uint_gt(vectors_run(#name ".jsonl"), 5);                                                             \
    }                                                                                                                  \
    END_TEST

FILE_TEST(order)
FILE_TEST(operations)
FILE_TEST(areas)
FILE_TEST(bytes)
FILE_TEST(calls)
FILE_TEST(connect)
FILE_TEST(rename)
FILE_TEST(fixed)
FILE_TEST(symlink)
FILE_TEST(import)
FILE_TEST(project)
FILE_TEST(reference)

int main(void)
{
    return unit_run(unit_suite("vectors", test_presets, test_seed_ruleset, test_order, test_operations, test_areas,
                               test_bytes, test_calls, test_connect, test_rename, test_fixed, test_symlink, test_import,
                               test_project, test_reference, NULL));
}
