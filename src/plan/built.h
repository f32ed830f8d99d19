/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_BUILT_H
#define TC_PLAN_BUILT_H

/*
 * What this version knows by name but cannot do, on any host. Each changes
 * here when it is built, and `toolcell doctor` then says so.
 */
enum {
    TC_BUILT_EGRESS = 0 /* --net egress */
};

#endif
