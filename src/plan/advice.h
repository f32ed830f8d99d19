/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_ADVICE_H
#define TC_PLAN_ADVICE_H

/*
 * What a policy may not mean on this host: tc_policy_check() with the host
 * looked at.
 */

#include "base/arena.h"
#include "base/error.h"
#include "plan/facts.h"
#include "plan/request.h"
#include "policy/check.h"
#include "policy/ruleset.h"

/* A symbolic link that some pattern leads through. */
struct tc_seen_link {
    const char *target; /* its path in the cell */
    const char *text;   /* where it leads */
};

/* Distinct links. */
struct tc_seen_links {
    const struct tc_seen_link *items;
    size_t count;
};

/**
 * Look on the host for links on the way of literal patterns, in the sources of the request. Opens nothing.
 * @param arena  what ret points to lies there, or in facts
 * @return 0, -ENOMEM, what tc_layout_make() returns
 */
int tc_links_find(struct tc_arena *arena, const struct tc_ruleset *rules, const struct tc_request *request,
                  const struct tc_facts *facts, struct tc_seen_links *ret, struct tc_error *err);

/**
 * Warn of rules that lead through a link, so that they do not match what is judged, and of sources that are, or hold,
 * the same file. Pure. A project's policy that is attached is looked at too.
 * @param warnings  those so far; replaced by them and the new ones
 * @return as tc_links_find()
 */
int tc_advise(struct tc_arena *arena, const struct tc_ruleset *rules, const struct tc_request *request,
              const struct tc_facts *facts, const struct tc_seen_links *links, struct tc_warnings *warnings,
              struct tc_error *err);

#endif
