/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_EXPLAIN_H
#define TC_POLICY_EXPLAIN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "policy/decide.h"

/* One question to a ruleset, as `toolcell policy explain OPERATION TARGET` asks it. All pointers are borrowed. */
struct tc_question {
    enum tc_operation operation;
    const char *path;  /* resolved, absolute, clean; NULL for connect */
    const char *given; /* the name as given, absolute and clean; NULL: equal to path */
    bool directory;    /* the path is a directory */

    bool call;               /* execute: judge the start of a call (else what the kernel judges) */
    const char *const *argv; /* with call: NULL-terminated; NULL: the program alone */

    const char *host;    /* connect: a name, or NULL */
    const char *address; /* connect: an address, "unix:/path", or NULL */
    unsigned port;
    bool no_network; /* connect: the network is none, rules are not consulted for addresses */

    /* What enforces the rule that decides, and how strong that is, for the answer in words: policy knows no kernel.
       NULL: not said. */
    const char *mechanism, *strength;
};

/**
 * Fill in host, address and port of a question from "host:port", "address:port", "[address]:port" or "unix:/path".
 *
 * @param arena  what the question then points to lies there
 * @return 0, -EINVAL (says why), -ENOMEM
 */
int tc_question_target(const char *target, struct tc_arena *arena, struct tc_question *question, struct tc_error *err);

/** Answer it; view may be NULL for connect. */
struct tc_decision tc_question_decide(const struct tc_ruleset *rules, const struct tc_view *view,
                                      const struct tc_question *question);

/**
 * Say what is decided and why: the effect, the rule that decides and where it stands, rules that match too but come
 * later, the project's rule, and what stands above the rules (a read-only mount, no network).
 * Text ends in a newline; JSON is one object without one. Running out of memory sticks in out.
 */
void tc_explain_text(const struct tc_ruleset *rules, const struct tc_view *view, const struct tc_question *question,
                     struct tc_buf *out);
void tc_explain_json(const struct tc_ruleset *rules, const struct tc_view *view, const struct tc_question *question,
                     struct tc_buf *out);

/** One line for a decision: "rule *.pem (workspace): secrets", "no rule matches: the default of a data mount". */
void tc_decision_reason(const struct tc_decision *decision, struct tc_buf *out);

/** The whole ruleset as `policy show` prints it: a policy file with everything it extends merged in, rules in the
 *  order in which they decide. One JSON object. Imported command-line patterns have the key "line". */
void tc_ruleset_show(const struct tc_ruleset *rules, struct tc_buf *out);

#endif
