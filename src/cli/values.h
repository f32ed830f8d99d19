/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_VALUES_H
#define TC_CLI_VALUES_H

#include "cli/invocation.h"

/*
 * What the words of an option or of a request's key mean. All have the type
 * tc_option_apply with a struct tc_invocation as target; an error is only the reason,
 * the caller puts the place before it. Values are borrowed: they must live as
 * long as the call.
 */
tc_option_apply tc_value_flag;         /* parameter: offset of a bool in struct tc_invocation */
tc_option_apply tc_value_text;         /* parameter: offset of a string in struct tc_invocation; not empty */
tc_option_apply tc_value_limit;        /* parameter: enum tc_limit */
tc_option_apply tc_value_output_limit; /* SIZE[:stop] */
tc_option_apply tc_value_descriptor;   /* parameter: offset of an int in struct tc_invocation */
tc_option_apply tc_value_workspace;    /* DIR[@same][:ro|rw|txn] */
tc_option_apply tc_value_mount;        /* SRC:DST[:ro|rw|tools] */
tc_option_apply tc_value_tmpfs;        /* DST[:SIZE] */
tc_option_apply tc_value_rootfs;
tc_option_apply tc_value_env; /* NAME=VALUE */
tc_option_apply tc_value_pass_env;
tc_option_apply tc_value_label; /* K=V */
tc_option_apply tc_value_net;
tc_option_apply tc_value_stdin;
tc_option_apply tc_value_ask;
tc_option_apply tc_value_unavailable; /* refuses: the machinery is not part of this version */
tc_option_apply tc_value_degraded;    /* NAME,…; NULL: all */
tc_option_apply tc_value_user;        /* UID[:GID] */

/* The same for values that come in parts; where names the place in later messages and must outlive the call. */
int tc_value_add_env(struct tc_invocation *call, const char *name, const char *value, struct tc_error *err);
int tc_value_add_label(struct tc_invocation *call, const char *name, const char *value, struct tc_error *err);
int tc_value_add_mount(struct tc_invocation *call, const struct tc_mount_request *mount, struct tc_error *err);
int tc_value_add_tmpfs(struct tc_invocation *call, const char *target, uint64_t size, struct tc_error *err);

#endif
