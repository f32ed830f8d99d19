/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_UNIT_H
#define TC_UNIT_H

#include <check.h>
#include <stdarg.h>
#include <stdlib.h>

/** Run a suite and report in TAP on standard output; returns the exit status for main(). */
static inline int unit_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/** A suite of one test case with the given tests: `unit_suite("glob", test_vectors, test_sets, NULL)`. */
static inline Suite *unit_suite(const char *name, const TTest *first, ...)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    va_list more;

    tcase_set_timeout(tests, 60); /* enough for valgrind */
    va_start(more, first);
    for (const TTest *test = first; test != NULL; test = va_arg(more, const TTest *))
        tcase_add_test(tests, test);
    va_end(more);
    suite_add_tcase(suite, tests);
    return suite;
}

#endif
