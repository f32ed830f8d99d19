/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_TEST_BROKER_TREE_H
#define TC_TEST_BROKER_TREE_H

#include "cell.h"

/**
 * The first process of a test's cell, once its ids are mapped: builds the tree and runs the command in it.
 *
 * @param channel    where the trees and the listener are sent
 * @param go         readable when the ids are mapped
 * @param workspace  of the host
 * @param tree       an empty directory to mount on
 * @return the command's status
 */
int tree_run_init(const struct cell_case *what, int channel, int go, const char *workspace, const char *tree);

#endif
