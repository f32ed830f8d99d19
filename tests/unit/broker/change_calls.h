/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_CHANGE_CALLS_H
#define TC_TEST_BROKER_CHANGE_CALLS_H

#include <stddef.h>

/*
 * Calls that change a tree, or ask about it, with arguments right and wrong:
 * on one name and on two. Each returns -1 and sets errno, or any other value.
 */

struct change_one {
    const char *name;
    int (*run)(const char *a);
};
struct change_two {
    const char *name;
    int (*run)(const char *a, const char *b);
};

extern const struct change_one change_ones[];
extern const struct change_two change_twos[];
extern const size_t change_one_count, change_two_count;

/** An inotify descriptor, which some of them use. */
extern int change_inotify;

#endif
