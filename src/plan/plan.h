/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_PLAN_H
#define TC_PLAN_PLAN_H

/*
 * The plan: everything the kernel will be told about one cell, as plain data
 * in one arena. compile() makes it from (ruleset, request, facts) without any
 * side effect; the cell executes it without knowing rules.
 *
 * The cell's tree is built on one private tmpfs. Steps run in order. Whatever
 * is created is created in that private tree, never in a tree of the host.
 *
 * Every step makes the missing parents of its target (mode 0755), and a step
 * that attaches something makes its own mount point: an empty file where the
 * source is a file, else a directory. Both happen in the private tree or in
 * scratch that an earlier step attached there (owned by the cell's user then).
 * With TC_STEP_NESTED the target lies in a host tree that an earlier step
 * attached: the mount point is found there, without following links, and
 * nothing is made. A DIRECTORY that exists already is no error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/hash.h"
#include "plan/groups.h"
#include "plan/request.h"
#include "policy/decide.h"
#include "policy/ruleset.h"

enum tc_step_kind {
    TC_STEP_DIRECTORY, /* make a directory (mode) in the private tree */
    TC_STEP_SYMLINK,   /* make a symbolic link to text */
    TC_STEP_FILE,      /* make a file with text as its content (mode); also a mount point for files */
    TC_STEP_COPY,      /* make a file (mode) with the content that source has now: cheaper than attaching a small one */
    TC_STEP_BIND,      /* attach the tree (or file) at source */
    TC_STEP_OVERLAY,   /* attach a read-only overlay at target: the private directory there over source */
    TC_STEP_SCRATCH,   /* attach a fresh directory (mode) of the cell's one scratch tmpfs */
    TC_STEP_TMPFS,     /* attach a tmpfs of its own (size, mode) */
    TC_STEP_PROC,      /* attach a new procfs */
    TC_STEP_PROC_EMPTY, /* attach an empty read-only tmpfs where /proc would be (degraded) */
    TC_STEP_DEVPTS      /* attach a new devpts instance */
};

enum {
    TC_STEP_READ_ONLY = 1 << 0, /* for the whole tree, submounts included */
    TC_STEP_NOEXEC = 1 << 1,
    TC_STEP_DEVICE = 1 << 2, /* a device node: nodev is left off. nosuid is set everywhere, nodev elsewhere */
    TC_STEP_IDMAP = 1 << 3,  /* id-mapped: owner -> the cell's id, everyone else -> a reserved range */
    TC_STEP_NESTED = 1 << 4, /* target lies in an earlier mount: found there, never created */
    /* Part of a mediated mount: attached as its other flags say, so that it is writable in the twin, and turned
     * read-only with all its submounts when the twin has been taken. What lies in a mediated mount is mediated, too. */
    TC_STEP_MEDIATED = 1 << 5,
    TC_STEP_ITSELF = 1 << 6 /* NESTED: source is what stands at target already, mounted over itself with other flags */
};

/* Groups of calls that stop until the broker has answered. */
enum {
    TC_NOTIFY_OPEN = 1 << 0,    /* open, openat, creat; with O_PATH they go on */
    TC_NOTIFY_CHANGE = 1 << 1,  /* what makes, removes, renames or binds names, or changes metadata */
    TC_NOTIFY_ACCESS = 1 << 2,  /* access, faccessat, faccessat2; F_OK goes on */
    TC_NOTIFY_WATCH = 1 << 3,   /* inotify_add_watch */
    TC_NOTIFY_CONNECT = 1 << 4, /* connect */
    TC_NOTIFY_EXECUTE = 1 << 5  /* execve, execveat: looked at and continued */
};

/* What the kernel's path rules (Landlock) grant below a step's target. Rights are inherited downwards. */
enum {
    TC_ACCESS_READ = 1 << 0,
    TC_ACCESS_LIST = 1 << 1,
    TC_ACCESS_WRITE = 1 << 2, /* all of writing, creating, removing, renaming, truncating */
    TC_ACCESS_EXECUTE = 1 << 3,
    TC_ACCESS_MODIFY = 1 << 4, /* write and truncate existing files only (devices, /proc) */
    TC_ACCESS_IOCTL = 1 << 5   /* device ioctls (own terminals) */
};

struct tc_step {
    enum tc_step_kind kind;
    const char *target; /* absolute path in the cell */
    const char *source; /* COPY, BIND, OVERLAY: canonical host path */
    const char *text;   /* SYMLINK: link text; FILE: content */
    size_t text_length;
    unsigned mode;  /* permission bits for what is made */
    unsigned flags; /* TC_STEP_* */
    uint64_t size;  /* TMPFS: bytes */
    /* COPY, BIND, OVERLAY: the object the facts saw; another one is refused ("changed during start") */
    uint64_t device;
    uint64_t inode;
    uid_t owner_uid; /* IDMAP: on-disk owner */
    gid_t owner_gid;
    unsigned access;    /* TC_ACCESS_*; 0: no rule for this step */
    const char *origin; /* who asked: "rootfs", "workspace", "mount", "scratch", "base" */
};

enum tc_identity_kind {
    TC_IDENTITY_CALLER, /* rootless: the calling user appears as 1000 */
    TC_IDENTITY_LEASE,  /* root: an unprivileged host id of the cell's own, taken at launch */
    TC_IDENTITY_FIXED   /* root: this host id (the workspace's owner, or --user) */
};

struct tc_identity {
    enum tc_identity_kind kind;
    uid_t host_uid; /* CALLER, FIXED */
    gid_t host_gid;
};

#define TC_COPY_LIMIT (64u << 10) /* bytes of a file that a COPY step takes */

#define TC_CELL_UID 1000
#define TC_CELL_GID 1000

/* How a data mount is enforced. */
enum tc_way { TC_WAY_STATIC, TC_WAY_MEDIATED };

struct tc_data_mount {
    const char *target;
    const char *source;
    enum tc_mount_mode mode;
    enum tc_way way;
    unsigned access; /* what the floor grants: TC_ACCESS_* */
};

/* Something that only a broker can enforce. */
struct tc_mediation_need {
    const char *subject;        /* "/workspace", "connect", "rootfs" */
    const char *why;            /* one clause */
    const struct tc_rule *rule; /* the rule that needs it, or NULL */
    const char *lack;           /* why there is no broker for it (refused, or degraded), or NULL: there is */
};

/* For every rule: what enforces it and how strong that is. */
enum tc_strength { TC_STRENGTH_KERNEL, TC_STRENGTH_MEDIATED, TC_STRENGTH_ADVISORY, TC_STRENGTH_NONE };
struct tc_enforcement {
    const struct tc_rule *rule;
    const struct tc_command_rule *command; /* exactly one of the two is set */
    const char *mechanism; /* "read-only mount", "landlock", "empty network namespace", "argv at start", ... */
    enum tc_strength strength;
};

struct tc_degradation {
    const char *name;   /* "mediation", "pids", ... */
    const char *reason; /* one clause */
};

/* Why a plan that is only shown could not be run. */
struct tc_refusal {
    const char *message; /* one line */
    const char *hint;    /* a remedy, or NULL */
};

struct tc_plan {
    struct tc_arena *arena;          /* owns everything here */
    char hash[TC_SHA256_HEX];        /* of the plan as encoded, facts included; empty without tc_plan_hash() */
    char policy_hash[TC_SHA256_HEX]; /* of the ruleset */
    const char *policy_name;

    const struct tc_step *steps;
    size_t step_count;
    unsigned root_access;  /* TC_ACCESS_LIST when "/" may be listed, else 0 */
    uint64_t scratch_size; /* bytes, of the one scratch tmpfs */

    struct tc_identity identity;
    const char *hostname;
    enum tc_net net;
    unsigned landlock_abi; /* what the kernel has; 0 only with degraded landlock */
    bool scope_abstract;   /* --net host: Landlock scopes abstract sockets and signals */

    const uint8_t *filter; /* seccomp program: filter_size bytes of struct sock_filter */
    size_t filter_size;
    const char *filter_name;
    unsigned notify;              /* TC_NOTIFY_* groups that a broker serves; 0: there is none */
    const uint8_t *notify_filter; /* with notify: the command's second program, notify_filter_size bytes */
    size_t notify_filter_size;
    const struct tc_ruleset *rules; /* borrowed from who compiled: what the broker decides by. Not among the hash's
                                       fields, which policy_hash stands for */

    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated, NAME=VALUE */
    const char *cwd;
    const char *program; /* absolute path in the cell, or NULL: searched in PATH by init (not found then) */

    struct tc_limits limits; /* effective: a clear bit means none */
    unsigned group;          /* TC_CONTROLLER_BIT()s of the call's control group; 0: it has none */
    unsigned group_versions[TC_CONTROLLER_COUNT];
    unsigned group_scoped; /* those of them that it has in a transient scope, which is asked for before the launch */
    bool count_processes;  /* pids is held by RLIMIT_NPROC in the cell's user namespace, not by a group */
    bool output_stop;
    bool tty;                 /* the streams are a terminal of the cell's own; with stdin NONE output and errors only */
    enum tc_stdin stdin_mode; /* never DEFAULT */
    const char *stdin_data;
    size_t stdin_length;

    const struct tc_data_mount *data;
    size_t data_count;
    struct tc_view view; /* for deciding */
    const struct tc_mediation_need *needs;
    size_t need_count;
    const struct tc_enforcement *enforcement;
    size_t enforcement_count;
    const struct tc_degradation *degraded;
    size_t degraded_count;
    const struct tc_refusal *refusals; /* always empty in a plan made to be run */
    size_t refusal_count;
    const struct tc_setting *labels;
    size_t label_count;
};

/** True for a kind of step that attaches a mount, false for one that makes something in the tree. */
bool tc_step_attaches(enum tc_step_kind kind);

void tc_plan_free(struct tc_plan *plan);
static inline void tc_cleanup_plan(struct tc_plan **plan)
{
    tc_plan_free(*plan);
    *plan = NULL;
}
#define tc_auto_plan __attribute__((cleanup(tc_cleanup_plan))) struct tc_plan *

#endif
