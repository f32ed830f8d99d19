/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "base/cleanup.h"
#include "cli/values.h"

#define FIELD(member) ((int)offsetof(struct tc_invocation, member))

/* In the order of the help text. */
const struct tc_option tc_invocation_options[] = {
    {"policy", 'p', false, "NAME|FILE", "the rules: a preset, a policy by name, or a file (default workspace)",
     tc_value_text, FIELD(policy)},
    {"policy-fd", 0, false, "N", "read the policy from descriptor N", tc_value_descriptor, FIELD(policy_fd)},
    {"project-policy", 0, false, NULL, "let .toolcell.json at the workspace's root tighten the rules", tc_value_flag,
     FIELD(project_policy)},
    {"workspace", 'w', false, "DIR[@same][:ro|rw|txn]",
     "the tree to work on (default: the current directory, rw, as /workspace)", tc_value_workspace, 0},
    {"mount", 'm', false, "SRC:DST[:ro|rw|tools]", "one more tree of the host (default ro)", tc_value_mount, 0},
    {"tmpfs", 0, false, "DST[:SIZE]", "one more scratch directory", tc_value_tmpfs, 0},
    {"rootfs", 'r', false, "host|NAME|DIR", "where the system comes from (default host)", tc_value_rootfs, 0},
    {"cwd", 0, false, "PATH", "directory in the cell to start in (default: the caller's place in the workspace)",
     tc_value_text, FIELD(request.cwd)},
    {"env", 0, false, "NAME=VALUE", "set a variable", tc_value_env, 0},
    {"pass-env", 0, false, "NAME", "pass a variable of the caller", tc_value_pass_env, 0},
    {"net", 0, false, "none|egress|host", "the network (default none)", tc_value_net, 0},
    {"timeout", 0, false, "TIME", "end the call after this time", tc_value_limit, TC_LIMIT_WALL},
    {"cpu-time", 0, false, "TIME", "end the call after this much CPU time", tc_value_limit, TC_LIMIT_CPU_TIME},
    {"cpus", 0, false, "N", "how many CPUs it may keep busy", tc_value_limit, TC_LIMIT_CPUS},
    {"memory", 0, false, "SIZE", "memory of all its processes", tc_value_limit, TC_LIMIT_MEMORY},
    {"pids", 0, false, "N", "processes and threads (default 512)", tc_value_limit, TC_LIMIT_PIDS},
    {"output-limit", 0, false, "SIZE[:stop]", "output that is kept; with :stop the call ends there",
     tc_value_output_limit, 0},
    {"disk", 0, false, "SIZE", "all scratch together (default 1G)", tc_value_limit, TC_LIMIT_DISK},
    {"file-size", 0, false, "SIZE", "largest file (default: as --disk)", tc_value_limit, TC_LIMIT_FILE_SIZE},
    {"open-files", 0, false, "N", "open files of a process (default 1024)", tc_value_limit, TC_LIMIT_OPEN_FILES},
    {"grace", 0, false, "TIME", "between TERM and KILL when cancelled (default 2s)", tc_value_limit, TC_LIMIT_GRACE},
    {"stdin", 0, false, "none|inherit", "what the command reads (none with --json or on a terminal)", tc_value_stdin,
     0},
    {"tty", 0, false, NULL, "give the command a terminal", tc_value_flag, FIELD(request.tty)},
    {"json", 0, false, NULL, "events and the result as JSON lines on stdout", tc_value_flag, FIELD(json)},
    {"events-fd", 0, false, "N", "events and the result as JSON lines on descriptor N", tc_value_descriptor,
     FIELD(events_fd)},
    {"ask", 0, false, "deny|tty|fd:N", "who answers what the rules ask (default deny)", tc_value_ask, 0},
    {"keep-going", 0, false, NULL, "run on when the reader of the output is gone", tc_value_flag, FIELD(keep_going)},
    {"no-daemon", 0, false, NULL, "never use a running daemon", tc_value_flag, FIELD(no_daemon)},
    {"label", 0, false, "NAME=VALUE", "a label that comes back in the events", tc_value_label, 0},
    {"session", 0, false, "NAME", "run in a session", tc_value_unavailable, 0},
    {"request", 0, false, "FILE|-", "read the request as JSON; options beside it win", tc_value_text,
     FIELD(request_file)},
    {"allow-degraded", 0, true, "NAME,...", "run although a part cannot be enforced (without a name: any part)",
     tc_value_degraded, 0},
    {"user", 0, false, "UID[:GID]", "identity on the host (root only)", tc_value_user, 0},
    {"quiet", 'q', false, NULL, "tell nothing about denials", tc_value_flag, FIELD(quiet)},
    {"verbose", 'v', false, NULL, "tell more", tc_value_flag, FIELD(verbose)},
    {"help", 'h', false, NULL, "print this help", tc_value_flag, FIELD(help)},
};

const size_t tc_invocation_option_count = TC_COUNT(tc_invocation_options);
