/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include "base/cleanup.h"
#include "unit.h"

START_TEST(test_clean)
{
    static const struct {
        const char *base, *path, *clean;
    } cases[] = {
        {"/", "", "/"},
        {"/", "a", "/a"},
        {"/a/b", "c", "/a/b/c"},
        {"/a/b", "../c", "/a/c"},
        {"/a/b", "..", "/a"},
        {"/a/b", "../..", "/"},
        {"/a/b", "../../../x", "/x"},
        {"/a", ".", "/a"},
        {"/a", "./b/./c/.", "/a/b/c"},
        {"/a", "b//c///", "/a/b/c"},
        {"/a", "/x//y/", "/x/y"},
        {"/a", "/", "/"},
        {"/a", "/..", "/"},
        {"/a", "//", "/"},
        {"/a", "...", "/a/..."},
        {"/a", "..b", "/a/..b"},
        {"/a", "b/..", "/a"},
        {"/a", ".b", "/a/.b"},
        {"/a/", "b", "/a/b"},
        {"/a", "\n", "/a/\n"},
        {"/", "../a/../../b/", "/b"},
    };
    tc_auto_arena arena = tc_arena_new();

    for (size_t i = 0; i < TC_COUNT(cases); i++)
        ck_assert_str_eq(tc_path_clean(arena, cases[i].base, cases[i].path), cases[i].clean);
}
END_TEST

START_TEST(test_relative)
{
    static const struct {
        const char *path, *tree, *relative;
    } cases[] = {
        {"/a", "/a", ""}, {"/a/b", "/a", "b"},  {"/a/b/c", "/a/b", "c"}, {"/ab", "/a", NULL}, {"/a", "/a/b", NULL},
        {"/a", "/", "a"}, {"/a/b", "/", "a/b"}, {"/", "/", ""},          {"/", "/a", NULL},   {"/b/a", "/a", NULL},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        const char *relative = tc_path_relative(cases[i].path, cases[i].tree);

        ck_assert_pstr_eq(relative, cases[i].relative);
        ck_assert(tc_path_below(cases[i].path, cases[i].tree) == (cases[i].relative != NULL));
    }
}
END_TEST

START_TEST(test_name)
{
    ck_assert_str_eq(tc_path_name("/a/b"), "b");
    ck_assert_str_eq(tc_path_name("b"), "b");
    ck_assert_str_eq(tc_path_name("/"), "");
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("path", test_clean, test_relative, test_name, NULL));
}
