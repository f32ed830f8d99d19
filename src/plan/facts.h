/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_FACTS_H
#define TC_PLAN_FACTS_H

/*
 * What is true of this host right now, as far as one request needs it:
 * who calls, what the sources are, what the kernel offers. Gathered once,
 * before compiling; printed with the plan and part of its hash. Everything
 * that needs a system call to know is known here, so that compile() is pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/groups.h"
#include "plan/request.h"
#include "policy/ruleset.h"

enum tc_file_kind { TC_FILE_NONE, TC_FILE_DIRECTORY, TC_FILE_REGULAR, TC_FILE_SYMLINK, TC_FILE_DEVICE, TC_FILE_OTHER };

/* One object of the host. */
struct tc_fact_path {
    const char *given;     /* as asked for */
    const char *canonical; /* all links resolved; NULL when it does not exist */
    enum tc_file_kind kind;
    uint64_t device, inode;
    uid_t uid;
    gid_t gid;
    unsigned mode;
    uint64_t size;                /* bytes, of a regular file */
    const char *filesystem;       /* type name, "ext4" */
    bool idmappable;              /* an id-mapped mount of it can be made (meaningful for root only) */
    bool folds_case;              /* names that differ in case may be one file; sources of mounts only */
    const char *position;         /* "MAJOR:MINOR PATH": where it lies in its file system, equal for every bind of it */
    const char *const *submounts; /* canonical paths of mounts below it, NULL-terminated */
    const char *const *submount_positions;   /* their positions, in the same order */
    const char *const *submount_filesystems; /* and their types */
};

/* One entry of the root file system that becomes part of the cell's tree. */
struct tc_fact_entry {
    const char *target; /* "/usr", "/bin", "/etc/ssl/certs" */
    const char *link;   /* text of a symbolic link, or NULL */
    struct tc_fact_path path;
};

/* A literal path below a data mount that some rule speaks about. */
struct tc_fact_subtree {
    size_t mount;             /* 0: the workspace, 1..: mounts in request order */
    const char *relative;     /* as in the rule */
    bool programs;            /* may be granted for execute; else for all that the rules say there */
    struct tc_fact_path path; /* kind NONE when it is missing or a link is on the way */
};

/* Files of procfs that tell of the whole machine; NULL-terminated. */
extern const char *const tc_proc_masks[];

struct tc_facts {
    struct tc_arena *arena; /* owns everything here */
    uid_t uid;              /* effective, of the caller */
    gid_t gid;
    bool root;
    const char *home;           /* the caller's home directory, canonical, or NULL */
    const char *directory;      /* current directory, canonical, or NULL when it is gone */
    const char *const *environ; /* the caller's environment block, NULL-terminated */
    const char *timezone;       /* value for TZ, or NULL */
    bool stdin_terminal;        /* the caller's stdin is a terminal */
    const char *resolv_conf;    /* --net host: content of the host's resolver configuration, or NULL */

    unsigned landlock_abi;         /* 0: none */
    bool process_limit;            /* RLIMIT_NPROC counts per user namespace (Linux 5.14) */
    bool mediation;                /* this version has a broker, and the kernel what it needs (Linux 5.19) */
    bool proc_visible;             /* a new procfs may be mounted in a user namespace */
    const char *const *proc_masks; /* what procfs has of tc_proc_masks; NULL-terminated */
    bool overlay;                  /* overlayfs is there */

    struct tc_fact_path workspace;
    const struct tc_fact_path *mounts; /* in request order */
    size_t mount_count;
    /* What lies at the target of the workspace, each mount and each tmpfs (in this order) inside the host tree that
       will contain it. TC_FILE_NONE: nothing, or a link is on the way. Targets outside of host trees count as what
       their mount needs, since the cell makes them. */
    const enum tc_file_kind *points;
    size_t point_count;
    const struct tc_fact_entry *rootfs; /* in tree order */
    size_t rootfs_count;
    const char *rootfs_etc; /* --rootfs DIR: canonical path of its etc for the overlay, or NULL */
    struct tc_fact_path rootfs_etc_path;
    const struct tc_fact_entry *devices; /* /dev/null, ... */
    size_t device_count;
    const struct tc_fact_subtree *subtrees;
    size_t subtree_count;

    struct tc_fact_groups groups; /* set by who gathers, where a limit needs one: it is known before the rest */

    const char *program_given; /* argv[0] looked up in the cell's PATH: absolute path in the cell, or NULL: not found */
    const char *program_real;  /* the same with links resolved in the cell's tree */
    const char *const *protect; /* canonical host paths that must not be writable in the cell: toolcell, policy files,
                                   caches, state, configuration; NULL-terminated. What does not exist yet is
                                   canonical up to its deepest directory that does */
    const char *const *protect_positions; /* their positions, in the same order */
    size_t protect_files;                 /* so many at the end of the list are files, not directories */
};

/**
 * Gather the facts for a request. Opens and stats; changes nothing.
 *
 * @param rules    tells which literal subtrees matter
 * @param protect  further host paths to protect (policy files in use), NULL-terminated
 * @return 0, -ENOENT and friends (a source is missing: names it), -ENOMEM
 */
int tc_facts_gather(const struct tc_ruleset *rules, const struct tc_request *request, const char *const *protect,
                    struct tc_facts **ret, struct tc_error *err);
void tc_facts_free(struct tc_facts *facts);
static inline void tc_cleanup_facts(struct tc_facts **facts)
{
    tc_facts_free(*facts);
    *facts = NULL;
}
#define tc_auto_facts __attribute__((cleanup(tc_cleanup_facts))) struct tc_facts *

#endif
