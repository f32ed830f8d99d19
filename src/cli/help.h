/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CLI_HELP_H
#define TC_CLI_HELP_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/verb.h"

/** What `toolcell --help` prints: the verbs. */
void tc_help_overview(struct tc_buf *out);

/** The help of one verb: usage, options, exit statuses, all from its table. */
void tc_help_verb(const struct tc_verb *verb, struct tc_buf *out);

/** Print the help of one verb on stdout. Returns the exit status. */
int tc_help_print(const struct tc_verb *verb);

/** The help of all verbs whose name begins with the words of a group ("policy"); false when there is none. */
bool tc_help_group(const char *group, struct tc_buf *out);

#endif
