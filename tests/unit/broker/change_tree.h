/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_CHANGE_TREE_H
#define TC_TEST_BROKER_CHANGE_TREE_H

/** Make a tree of all sorts of files anew, in the directory d of base, and go there; by calls that the broker performs.
 */
void change_tree_make(const char *base);

/** A number for what the tree looks like: names, types, modes, owners, sizes, links, times that were set. */
unsigned change_tree_look(void);

#endif
