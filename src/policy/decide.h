/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_DECIDE_H
#define TC_POLICY_DECIDE_H

#include "policy/ruleset.h"

/* What the paths of a cell are, as far as deciding needs to know. */
enum tc_area {
    TC_AREA_DATA,    /* workspace or declared volume: relative patterns apply, no match denies */
    TC_AREA_ROOTFS,  /* system tree, and mounts in mode "tools": read, list, execute allowed */
    TC_AREA_SCRATCH, /* /tmp, /dev/shm, $HOME, --tmpfs: everything allowed */
    TC_AREA_SYSTEM   /* /proc and /dev: as built; rules are not consulted */
};

struct tc_view_mount {
    const char *target; /* absolute, clean */
    enum tc_area area;
    bool read_only; /* writes are denied whatever the rules say (":ro", --rootfs host) */
};

struct tc_view {
    const struct tc_view_mount *mounts; /* any order; the longest target that contains a path is its mount */
    size_t count;
    bool rootfs_writable;     /* an absolute rule may allow writes in the rootfs (not with --rootfs host) */
    const char *const *fixed; /* directories that the kernel knows by more than their names: none is moved, nor what it
                                 lies in. Absolute, clean, NULL-terminated; or NULL */
};

/** The mount that contains a path: the longest target, or NULL (the rootfs). */
const struct tc_view_mount *tc_view_find(const struct tc_view *view, const char *path, size_t length);

/* Why a decision came out as it did. */
enum tc_because {
    TC_BECAUSE_RULE,      /* rule (or command) decided */
    TC_BECAUSE_DEFAULT,   /* no rule matched: the area's default */
    TC_BECAUSE_READ_ONLY, /* a mount that is read-only whatever the rules say */
    TC_BECAUSE_NETWORK,   /* --net none: connect rules are not consulted */
    TC_BECAUSE_LENGTH,    /* cannot be judged: the path is not absolute or longer than TC_PATH_LIMIT, or lies in more
                             data mounts inside one another than are supported, or memory ran out; denied */
    TC_BECAUSE_FREER,     /* rename, link: an operation would be decided more freely at the new name */
    TC_BECAUSE_STRICTER   /* a directory gets a name below which its contents could not be written */
};

/* Longest path that is judged, in bytes; the kernel reports no longer one either (PATH_MAX less its NUL). */
#define TC_PATH_LIMIT 4095

struct tc_decision {
    enum tc_effect effect;
    enum tc_because because;
    enum tc_area area;
    enum tc_operation operation;           /* the one that was judged; TC_BECAUSE_FREER: the one that would be freer */
    const struct tc_rule *rule;            /* or NULL */
    const struct tc_command_rule *command; /* or NULL; set when a command rule had the last word */
    const struct tc_rule *project_rule;    /* the project's matching rule, or NULL; effect is the stricter */
    const struct tc_command_rule *project_command; /* the project's matching command rule, or NULL */
    bool by_project;                               /* the project's answer is the one that counts */
};

/**
 * Decide one operation on one resolved, absolute, clean path of the cell.
 * Pure; takes no memory; thread-safe. connect is decided by tc_decide_connect().
 *
 * @param directory  the path is a directory (a listing matches with or without a trailing slash)
 */
struct tc_decision tc_decide(const struct tc_ruleset *rules, const struct tc_view *view, enum tc_operation operation,
                             const char *path, size_t length, bool directory);

/** The stricter of the decisions for the resolved path and for the name as given (made absolute and clean; may equal).
 */
struct tc_decision tc_decide_names(const struct tc_ruleset *rules, const struct tc_view *view,
                                   enum tc_operation operation, const char *resolved, const char *given,
                                   bool directory);

/**
 * Decide whether a call may start: execute on the program's given and real absolute path (relative patterns apply as
 * if "/" were a data mount), then the command rules on its argv, in both forms (wrappers such as env skipped).
 *
 * @param given  absolute clean path as asked for
 * @param real   absolute clean path with links resolved; may equal given
 * @param argv         NULL-terminated
 */
struct tc_decision tc_decide_call(const struct tc_ruleset *rules, const struct tc_view *view, const char *given,
                                  const char *real, const char *const *argv);

/**
 * Let the command rules answer after execute has been decided for a program: as at the start of a call, but without its
 * rules on execute. For programs that the command starts in turn.
 *
 * @param given    as for tc_decide_call()
 * @param real     as for tc_decide_call()
 * @param argv     NULL-terminated
 * @param execute  what the rules on execute say; a deny stays one
 * @return execute, unless a command rule had the last word (command or project_command is set then)
 */
struct tc_decision tc_decide_command(const struct tc_ruleset *rules, const struct tc_view *view, const char *given,
                                     const char *real, const char *const *argv, struct tc_decision execute);

/** Decide a rename or link of a pair of names: write on both, and nothing freer at the new name than at the old. What a
 *  directory could hold counts as written at its new names: there write may not be stricter than at the old ones
 * either. An exchange is decided in both directions by the caller.
 *  @param directory  the object is, or may be, a directory, or leads to one (a symbolic link): then for every name it
 *                    could hold */
struct tc_decision tc_decide_rename(const struct tc_ruleset *rules, const struct tc_view *view, const char *from,
                                    const char *to, bool directory);

/**
 * Decide making a symbolic link: write on its name. Whoever follows it later need not be judged (the host is not), so
 * where it leads into a data mount, nothing below may be written more freely there than below the link's own name.
 * @param name    of the link
 * @param target  where it leads: absolute, clean; NULL when that is not known from its text: then it is judged as a
 * link to the root of each data mount, below which any pattern may match that is not bound to a place
 */
struct tc_decision tc_decide_symlink(const struct tc_ruleset *rules, const struct tc_view *view, const char *name,
                                     const char *target);

/**
 * Decide a connection. The name is judged by all rules; where one is given, the address is judged by the rules that
 * name addresses or blocks only, since `*` and `**` have had their say. The stricter counts. No match: deny.
 *
 * @param name     host name as asked for, or NULL when made by address
 * @param address  textual IPv4 or IPv6 address without brackets, or NULL when only the name is known,
 *                 or "unix:/path" for a socket file (name NULL, port ignored)
 */
struct tc_decision tc_decide_connect(const struct tc_ruleset *rules, const char *name, const char *address,
                                     unsigned port);

/** True when no rule can deny or ask a connection: `**` decides connect outright with allow. */
bool tc_rules_allow_all_connect(const struct tc_ruleset *rules);

#endif
