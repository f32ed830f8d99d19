/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PLAN_REQUEST_H
#define TC_PLAN_REQUEST_H

/*
 * What a caller asked for: command-line options and the JSON request, merged.
 * Nothing is resolved yet; paths are as given. All of it lies in one arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/ruleset.h"

enum tc_mount_mode { TC_MODE_RW, TC_MODE_RO, TC_MODE_TOOLS, TC_MODE_TXN };
enum tc_net { TC_NET_NONE, TC_NET_EGRESS, TC_NET_HOST };
enum tc_stdin { TC_STDIN_DEFAULT, TC_STDIN_NONE, TC_STDIN_INHERIT, TC_STDIN_DATA };
enum tc_ask { TC_ASK_DENY, TC_ASK_TTY, TC_ASK_FD };

extern const char *const tc_mount_mode_names[4]; /* "rw", "ro", "tools", "txn" */
extern const char *const tc_net_names[3];

/* What --allow-degraded accepts. */
enum tc_degradable { TC_DEGRADE_MEDIATION, TC_DEGRADE_PROC, TC_DEGRADE_LANDLOCK, TC_DEGRADE_LIMITS, TC_DEGRADE_COUNT };
extern const char *const tc_degradable_names[TC_DEGRADE_COUNT]; /* "mediation", "proc", "landlock", "limits" */

struct tc_mount_request {
    const char *source; /* host path as given; NULL for the workspace: the current directory */
    const char *target; /* path in the cell; NULL for the workspace: /workspace; "@same": the source's own path */
    enum tc_mount_mode mode;
    const char *where; /* for messages: "--mount", "/mounts/1" */
};

struct tc_tmpfs_request {
    const char *target;
    uint64_t size; /* bytes; 0: part of the common scratch */
};

struct tc_request {
    struct tc_arena *arena;       /* owns everything here */
    const char *const *argv;      /* NULL-terminated, at least one item */
    const char *cwd;              /* in the cell, or NULL for the default */
    const struct tc_setting *env; /* --env, in order */
    size_t env_count;
    const char *const *pass_env; /* --pass-env */
    size_t pass_env_count;

    enum tc_stdin stdin_mode;
    const char *stdin_data; /* TC_STDIN_DATA: stdin_length bytes */
    size_t stdin_length;

    struct tc_mount_request workspace;
    bool workspace_named; /* -w was given */
    const struct tc_mount_request *mounts;
    size_t mount_count;
    const struct tc_tmpfs_request *tmpfs;
    size_t tmpfs_count;

    const char *rootfs; /* "host" (default), a NAME, or a DIR (contains a slash) */
    enum tc_net net;
    struct tc_limits limits; /* what was asked for; the policy's and the defaults come in at compile */
    bool output_stop;        /* --output-limit SIZE:stop */

    bool json; /* events are wanted: decides the default of output and stdin */
    bool tty;
    enum tc_ask ask;
    int ask_fd;
    unsigned allow_degraded; /* bit per enum tc_degradable */
    const struct tc_setting *labels;
    size_t label_count;

    bool user_given; /* --user, root only */
    uid_t user_uid;
    gid_t user_gid;
};

#endif
