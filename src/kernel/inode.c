/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/inode.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

bool tc_inode_folds_case(int directory)
{
    int flags = 0; /* the kernel copies an int, whatever the number of the request says */

    return ioctl(directory, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL) != 0;
}
