/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_RULESET_H
#define TC_POLICY_RULESET_H

/*
 * A ruleset: what a policy file says, merged with what it extends, in the
 * order in which it decides. Plain data in one arena. The policy layer reads
 * files and decides; it knows no kernel.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"

enum tc_operation { TC_OP_READ, TC_OP_LIST, TC_OP_WRITE, TC_OP_EDIT, TC_OP_EXECUTE, TC_OP_CONNECT, TC_OP_COUNT };

/* In order of strictness: the stricter of two effects is the larger. */
enum tc_effect { TC_ALLOW, TC_ASK, TC_DENY };

#define TC_OP_BIT(operation) (1u << (operation))

const char *tc_operation_name(enum tc_operation operation); /* "read", ... */
int tc_operation_parse(const char *name);                   /* the operation, or -EINVAL */
const char *tc_effect_name(enum tc_effect effect);          /* "allow", "ask", "deny" */
int tc_effect_parse(const char *name);                      /* the effect, or -EINVAL */

struct tc_rule {
    const char *pattern;
    size_t pattern_length;
    unsigned operations; /* TC_OP_BIT mask, read already widened to list, write to edit */
    enum tc_effect effect;
    int priority;
    const char *reason;  /* or NULL */
    const char *source;  /* preset name or file the rule stands in */
    const char *section; /* imported rulesets: "read", "grep", ...; NULL for "rules" */
    unsigned index;      /* position there, for "/rules/3"; TC_INDEX_DEFAULT for an imported "default" */
    unsigned lists;      /* 0, or TC_LIST_* bits, see below */
    bool absolute;       /* the pattern begins with "/" */
};

#define TC_INDEX_DEFAULT UINT_MAX

/*
 * An imported ruleset may answer ls, glob and grep by different lists; `list`
 * is then the strictest of the three. The rules of such lists carry the bits of
 * the lists they stand in. In the array they are ordered by strictness, so
 * whoever reads the array as if the bits were not there is never freer than
 * tc_decide(), which knows the lists' own order.
 */
enum { TC_LIST_LS = 1 << 0, TC_LIST_GLOB = 1 << 1, TC_LIST_GREP = 1 << 2, TC_LIST_ALL = 7 };

/* One argv rule. Judged in order; the first match decides. */
struct tc_command_rule {
    const char *const *argv; /* count patterns; a final "..." is not among them but sets more */
    size_t count;
    bool more; /* any further arguments may follow */
    bool any_order;
    bool line; /* imported rulesets: argv[0] is one pattern for the whole command line */
    enum tc_effect effect;
    const char *reason;  /* or NULL */
    const char *source;  /* as in struct tc_rule */
    const char *section; /* NULL for "commands" */
    unsigned index;
};

/** Write a rule's place in its file ("/rules/3", "/read/rules/0", "/read/default", "/commands/2") and return text. */
const char *tc_rule_place(const struct tc_rule *rule, char *text, size_t size);
const char *tc_command_place(const struct tc_command_rule *command, char *text, size_t size);

struct tc_emit;
/** Write the patterns of a command rule as they stand in a policy file: the member "argv", "..." at its end. */
void tc_command_emit(struct tc_emit *emit, const struct tc_command_rule *command);

enum tc_limit {
    TC_LIMIT_WALL,       /* ms */
    TC_LIMIT_CPU_TIME,   /* ms */
    TC_LIMIT_CPUS,       /* thousandths of a CPU */
    TC_LIMIT_MEMORY,     /* bytes */
    TC_LIMIT_PIDS,       /* count */
    TC_LIMIT_OUTPUT,     /* bytes */
    TC_LIMIT_DISK,       /* bytes */
    TC_LIMIT_FILE_SIZE,  /* bytes */
    TC_LIMIT_OPEN_FILES, /* count */
    TC_LIMIT_GRACE,      /* ms */
    TC_LIMIT_COUNT
};

struct tc_limits {
    uint64_t value[TC_LIMIT_COUNT];
    unsigned set; /* bit per limit; value means nothing where the bit is clear */
};

const char *tc_limit_name(enum tc_limit limit); /* as in policy files: "wall", "cpu_time", ... */
int tc_limit_find(const char *name);            /* the limit, or -EINVAL */
/** Parse the text of one limit ("30s", "512M", "1.5"); 0, -EINVAL or -ERANGE. */
int tc_limit_parse(enum tc_limit limit, const char *text, uint64_t *ret);

struct tc_setting {
    const char *name;
    const char *value;
};

struct tc_ruleset {
    struct tc_arena *arena;   /* owns everything here; NULL when the ruleset lies in static memory */
    const char *name;         /* preset name or file, for messages */
    char hash[TC_SHA256_HEX]; /* of the canonical encoding */

    const struct tc_rule *rules; /* sorted: priority descending, then file order, then what is extended */
    size_t rule_count;
    const struct tc_command_rule *commands;
    size_t command_count;

    struct tc_limits limits;
    const struct tc_setting *environment; /* "set" */
    size_t environment_count;
    const char *const *pass;
    size_t pass_count;
    const char *const
        *files; /* what it extends, as named in messages: relative to the caller's directory, or absolute */
    size_t file_count;
    bool pass_given;      /* "pass" was there, be it empty; of use in a project's policy only */
    uint64_t approval_ms; /* 0: not given, the default of 60 s holds */

    const struct tc_rule_index *index; /* made for deciding when the ruleset is loaded; private to src/policy */

    const struct tc_ruleset
        *project; /* a project's policy that can only tighten, or NULL; owned by the arena's owner */
};

#endif
