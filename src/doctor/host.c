/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "doctor/probe.h"
#include "kernel/uidlease.h"

#define NEEDED_MAJOR 5
#define NEEDED_MINOR 19

void tc_probe_kernel(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct utsname name;
    unsigned major = 0, minor = 0;

    (void)so_far;
    // NOLINTNEXTLINE(cert-err34-c) the kernel's own text
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
        tc_found(ret, TC_STATE_DEGRADED, "its version cannot be read");
        return;
    }
    tc_found(ret, TC_STATE_OK, "Linux %.64s (%.32s)", name.release, name.machine);
    if (major > NEEDED_MAJOR || (major == NEEDED_MAJOR && minor >= NEEDED_MINOR))
        return;
    ret->state = TC_STATE_DEGRADED;
    tc_remedy(ret, "Linux %d.%d or newer, for rules about paths", NEEDED_MAJOR, NEEDED_MINOR);
}

void tc_probe_host_ids(const struct tc_examination *so_far, struct tc_finding *ret)
{
    struct tc_uid_range range;
    struct tc_uidlease lease = {.fd = TC_NO_FD};
    int r = tc_uidlease_range(TC_UIDLEASE_CONFIG, &range);

    (void)so_far;
    if (r < 0) {
        tc_found_error(ret, r, TC_UIDLEASE_CONFIG);
        tc_remedy(ret, "one line 'FIRST COUNT' with ids above 65535 that nobody else uses");
        return;
    }
    r = tc_uidlease_take(TC_UIDLEASE_DIRECTORY, &range, &lease);
    tc_cleanup_fd(&lease.fd);
    if (r == 0) {
        tc_found(ret, TC_STATE_OK, "%u to %u; one was leased in %s", range.first, range.first + range.count - 1,
                 TC_UIDLEASE_DIRECTORY);
        return;
    }
    tc_found_error(ret, r, "none can be leased in " TC_UIDLEASE_DIRECTORY);
    if (r == -EPERM)
        tc_remedy(ret, "the directory and its file must be root's alone: chown root, chmod 0700");
    else if (r == -EUSERS)
        tc_remedy(ret, "all are taken: a larger range in " TC_UIDLEASE_CONFIG);
    else
        tc_remedy(ret, "make /run writable for root");
}

/* setgroups(2) is denied before an ordinary user's gid can be mapped (user_namespaces(7)). */
void tc_probe_caller_groups(const struct tc_examination *so_far, struct tc_finding *ret)
{
    int count = getgroups(0, NULL), others = 0;
    tc_auto_free gid_t *list = count > 0 ? calloc((size_t)count, sizeof *list) : NULL;

    (void)so_far;
    if (count > 0)
        count = list == NULL ? -1 : getgroups(count, list);
    for (int i = 0; i < count; i++)
        others += list[i] != getegid();
    if (count < 0) {
        tc_found_error(ret, -errno, "the caller's groups cannot be read");
    } else if (geteuid() == 0) {
        tc_found(ret, TC_STATE_OK, "a cell that root starts has none of them");
    } else if (others == 0) {
        tc_found(ret, TC_STATE_OK, "the caller has no supplementary group that a cell would keep");
    } else {
        tc_found(ret, TC_STATE_DEGRADED,
                 "%d supplementary %s with a cell, which nobody can drop without privilege: what %s in its "
                 "mounts is open to it",
                 others, others == 1 ? "group of the caller stays" : "groups of the caller stay",
                 others == 1 ? "it may reach" : "they may reach");
        tc_remedy(ret,
                  "start toolcell without them, as a service of its own user or by setpriv --clear-groups as root");
    }
}

void tc_probe_cjson(const struct tc_examination *so_far, struct tc_finding *ret)
{
    static const char text[] = "{}";
    struct tc_json_document *document = NULL;
    struct tc_json root;
    struct tc_error err = {0};
    int r = tc_json_parse(text, strlen(text), "test", &document, &root, &err);

    (void)so_far;
    tc_json_free(document);
    if (r == 0) {
        tc_found(ret, TC_STATE_OK, "it was loaded");
        return;
    }
    tc_found(ret, TC_STATE_MISSING, "no policy file and no request can be read, presets only: %.256s", err.message);
    tc_remedy(ret, "install the library (Debian: libcjson1)");
}
