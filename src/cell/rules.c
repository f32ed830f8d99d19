/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/landlock.h"
#include "kernel/raw.h"

/* Devices can be made nowhere, so no rule grants MAKE_CHAR or MAKE_BLOCK. REFER comes with writing: without it a
 * rename across directories fails with EXDEV. */
static const struct {
    unsigned access;
    uint64_t rights;
} meanings[] = {
    {TC_ACCESS_READ, TC_LANDLOCK_READ_FILE},
    {TC_ACCESS_LIST, TC_LANDLOCK_READ_DIR},
    {TC_ACCESS_WRITE, TC_LANDLOCK_WRITE_FILE | TC_LANDLOCK_TRUNCATE | TC_LANDLOCK_REMOVE_DIR | TC_LANDLOCK_REMOVE_FILE |
                          TC_LANDLOCK_MAKE_DIR | TC_LANDLOCK_MAKE_REG | TC_LANDLOCK_MAKE_SOCK | TC_LANDLOCK_MAKE_FIFO |
                          TC_LANDLOCK_MAKE_SYM | TC_LANDLOCK_REFER},
    {TC_ACCESS_EXECUTE, TC_LANDLOCK_EXECUTE},
    {TC_ACCESS_MODIFY, TC_LANDLOCK_WRITE_FILE | TC_LANDLOCK_TRUNCATE},
    {TC_ACCESS_IOCTL, TC_LANDLOCK_IOCTL_DEV},
};

int tc_rules_allow(const struct tc_child *child, int fd, bool directory, unsigned access)
{
    uint64_t rights = 0;

    if (child->ruleset < 0 || access == 0)
        return 0;
    for (size_t i = 0; i < TC_COUNT(meanings); i++)
        if (access & meanings[i].access)
            rights |= meanings[i].rights;
    if (!directory)
        rights &= TC_LANDLOCK_OF_FILES;
    return tc_landlock_allow(child->ruleset, fd, rights & tc_landlock_rights(child->plan->landlock_abi));
}

/*
 * Should: handle every right the kernel knows, so that what no step grants is refused.
 * Mustn't: stand for network rights: the network namespace is empty, and a rule would only be a second place to look.
 */
int tc_rules_begin(struct tc_child *child, struct tc_error *err)
{
    unsigned abi = child->plan->landlock_abi;

    if (abi == 0)
        return 0;
    if (abi < 2) /* there every rename into another directory is refused */
        return tc_error_plain(err, -EOPNOTSUPP, "the kernel's Landlock is too old (ABI 1, Linux 5.19 has 2)");
    child->ruleset = tc_landlock_new(abi, child->plan->scope_abstract);
    if (child->ruleset < 0)
        return tc_error_set(err, child->ruleset, "make a Landlock ruleset of ABI %u", abi);
    return 0;
}

/*
 * Should: come after the last mount, since a confined process cannot mount; set no_new_privs, which the filter needs
 * as well.
 * Mustn't: be skipped because entering failed.
 */
int tc_rules_enter(struct tc_child *child, struct tc_error *err)
{
    int r;

    r = (int)tc_raw5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (r < 0)
        return tc_error_set(err, r, "set no_new_privs");
    if (child->ruleset < 0)
        return 0;
    r = tc_landlock_restrict(child->ruleset);
    return r < 0 ? tc_error_set(err, r, "enter the Landlock domain") : 0;
}
