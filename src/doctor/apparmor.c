/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor/probe.h"

/* The same profile as etc/apparmor/toolcell.in, for wherever this program lies. */

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-"

void tc_apparmor_remedy(struct tc_finding *ret)
{
    char program[256];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

    /* The text is meant for a root shell: a path that means something to a shell or to AppArmor stays out of it. */
    program[length < 0 ? 0 : length] = '\0';
    if (program[0] == '\0' || strspn(program, PLAIN) != strlen(program))
        snprintf(program, sizeof program, "/usr/bin/toolcell");
    tc_remedy(ret,
              "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns); as root: "
              "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile toolcell %s flags=(unconfined) {\\n  "
              "userns,\\n}\\n' >/etc/apparmor.d/toolcell && apparmor_parser -r /etc/apparmor.d/toolcell",
              program);
}
