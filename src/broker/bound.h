/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BROKER_BOUND_H
#define TC_BROKER_BOUND_H

#include "broker/resolve.h"

/**
 * True when the cell's own side bound the socket that a socket file stands for, so that no rule has to allow it. Never
 * true of a socket of the host; false of one of the cell where that cannot be proved (the comment in bound.c says
 * where), or when nobody holds it any more.
 * @param object  a socket file; its descriptor keeps its inode number from being used again
 */
bool tc_bound_inside(struct tc_stopped *stopped, const struct tc_object *object);

#endif
