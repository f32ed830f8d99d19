/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_INODE_H
#define TC_KERNEL_INODE_H

#include <stdbool.h>

/**
 * Does a directory fold case (FS_CASEFOLD_FL; ext4 since Linux 5.2, f2fs 5.4, tmpfs 6.13)? New directories in one do as
 * well. A file system without such flags does not.
 * @param directory  open for reading, borrowed
 */
bool tc_inode_folds_case(int directory);

#endif
