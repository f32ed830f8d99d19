/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_COMPILER_H
#define TC_PLAN_COMPILER_H

/*
 * The parts of the compiler, each filling in its part of one plan. Private to
 * src/plan; the way in is tc_plan_compile().
 */

#include "base/arena.h"
#include "base/error.h"
#include "plan/analyse.h"
#include "plan/compile.h"
#include "plan/data.h"
#include "plan/facts.h"
#include "plan/layout.h"
#include "plan/plan.h"

/* A growing array in the arena. */
struct tc_list {
    void *items;
    size_t count, capacity;
};

/* What of the needs concerns one rule, of which there may be thousands. */
struct tc_needed {
    const char *subject; /* the last that it needs a broker for, or NULL: it needs none */
    const char *lack;    /* why nobody serves one of its needs, or NULL */
    bool outside_data;   /* one of them is for the root file system or scratch */
    bool by_name;        /* it keeps a data mount from being executable as a whole */
};

struct tc_compiler {
    struct tc_arena *arena; /* the plan's */
    const struct tc_ruleset *rules;
    const struct tc_request *request;
    const struct tc_facts *facts;
    enum tc_compile_mode mode;
    struct tc_plan *plan;

    struct tc_layout layout;
    struct tc_analysis *analysis;
    struct tc_needed *needed;         /* per rule (tc_analysis_index()) */
    bool root_listed;                 /* nothing speaks against listing the cell's own directories */
    struct tc_data_verdict *verdicts; /* per place of the layout; sources only */
    unsigned notify;                  /* TC_NOTIFY_* so far */

    struct tc_list steps, data, needs, enforcement, degraded, refusals;
};

/** Append one zeroed item of size bytes; NULL when out of memory. */
void *tc_list_add(struct tc_arena *arena, struct tc_list *list, size_t size);

/** Append a step. NULL when out of memory. target and origin are borrowed. */
struct tc_step *tc_compiler_step(struct tc_compiler *compiler, enum tc_step_kind kind, const char *target,
                                 const char *origin);

/** Note something the plan does without. */
int tc_compiler_degrade(struct tc_compiler *compiler, const char *name, const char *reason, struct tc_error *err);

/**
 * Note that a broker is needed.
 * @param rule  may be NULL
 * @param lack  why there is none, as tc_data_lacking() says it, or NULL
 */
int tc_compiler_need(struct tc_compiler *compiler, const char *subject, const char *why, const struct tc_rule *rule,
                     const char *lack, struct tc_error *err);

/** True when that need of a rule was the last one noted for it; any need when subject is NULL. */
bool tc_compiler_needs(const struct tc_compiler *compiler, const char *subject, const struct tc_rule *rule);

/**
 * A refusal: an error when the plan is to be run, a line of the plan when it is only shown.
 * @param hint  or NULL
 */
int tc_compiler_refuse(struct tc_compiler *compiler, int code, const char *hint, struct tc_error *err,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The parts, in the order in which they run. */
int tc_compile_refusals(struct tc_compiler *compiler, struct tc_error *err); /* what the request may not ask for */
int tc_compile_sources(struct tc_compiler *compiler, struct tc_error *err);  /* aliases, windows into the kernel */
int tc_compile_identity(struct tc_compiler *compiler, struct tc_error *err);
int tc_compile_limits(struct tc_compiler *compiler, struct tc_error *err);
int tc_compile_base(struct tc_compiler *compiler, struct tc_error *err);  /* rootfs, etc, dev, scratch */
int tc_compile_data(struct tc_compiler *compiler, struct tc_error *err);  /* workspace, mounts, tmpfs */
int tc_compile_areas(struct tc_compiler *compiler, struct tc_error *err); /* rules about rootfs and scratch */
int tc_compile_network(struct tc_compiler *compiler, struct tc_error *err);
int tc_compile_mediation(struct tc_compiler *compiler, struct tc_error *err); /* what a broker serves; after those */
int tc_compile_reach(struct tc_compiler *compiler, struct tc_error *err);     /* what must not be writable */
int tc_compile_enforcement(struct tc_compiler *compiler, struct tc_error *err);

/** All that is notified where names of files decide. */
#define TC_NOTIFY_FILES (TC_NOTIFY_OPEN | TC_NOTIFY_CHANGE | TC_NOTIFY_ACCESS | TC_NOTIFY_WATCH)

#endif
