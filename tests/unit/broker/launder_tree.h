/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_LAUNDER_TREE_H
#define TC_TEST_BROKER_LAUNDER_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

/* What no attempt may touch: the change time tells of everything. */
#define LAUNDER_UNTOUCHABLE 8

/** Make the tree in the current directory. Some of it is denied: see the rules in test_launder.c. */
void launder_tree_make(void);

void launder_tree_look(struct stat ret[LAUNDER_UNTOUCHABLE]);

/** True when everything is as it was, but this one name (or NULL); tells what is not. */
bool launder_tree_untouched(const struct stat before[LAUNDER_UNTOUCHABLE], const char *but);

#endif
