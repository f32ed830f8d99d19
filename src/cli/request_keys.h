/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_REQUEST_KEYS_H
#define TC_CLI_REQUEST_KEYS_H

/* What the files of the request reader share. Inside it only. */

#include "base/json.h"
#include "cli/values.h"

/* Read the value at json into call. */
struct tc_request_key;
typedef int tc_request_reader(struct tc_invocation *call, const struct tc_json *json, const struct tc_request_key *key,
                              struct tc_error *err);

struct tc_request_key {
    const char *name;
    tc_request_reader *read;
    tc_option_apply *setter; /* of words, or NULL */
    int parameter;
};

/** Read a string without NULs into the call's arena. */
int tc_request_text(struct tc_invocation *call, const struct tc_json *json, const char **ret, struct tc_error *err);

/** Read a quantity's text: a string as it is, a number in its shortest form. */
int tc_request_quantity(struct tc_invocation *call, const struct tc_json *json, const char **ret, struct tc_error *err);

/** Put the place of a value before the reason that a setter left in err. Returns its code. */
int tc_request_bad(const struct tc_json *json, struct tc_error *err);

tc_request_reader tc_request_workspace;
tc_request_reader tc_request_mounts;
tc_request_reader tc_request_tmpfs;

#endif
