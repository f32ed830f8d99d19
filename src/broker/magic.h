/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_MAGIC_H
#define TC_BROKER_MAGIC_H

#include "broker/request.h"

/*
 * Links of procfs. "self" means whoever looks, which would be the broker; and
 * the links in a process's directory lead to open files, not to a text.
 */

#define TC_MAGIC_TEXT 48

/* What a link is, besides -errno and a descriptor. */
enum { TC_MAGIC_ORDINARY = 1 << 30, /* its text may be followed as in any other file system */ TC_MAGIC_TEXT_IS };

/**
 * Follow a link of the cell's procfs on behalf of the caller.
 *
 * @param directory  where it stands, borrowed
 * @param name       of the link
 * @param text       TC_MAGIC_TEXT_IS: what to go on with, from directory
 * @return a new descriptor of what it leads to, TC_MAGIC_ORDINARY, TC_MAGIC_TEXT_IS, or -errno
 */
int tc_magic_follow(struct tc_stopped *stopped, int directory, const char *name, char text[TC_MAGIC_TEXT]);

/** True when the object lies in the directory of the caller's own process in the cell's procfs. */
bool tc_magic_own(struct tc_stopped *stopped, int fd);

#endif
