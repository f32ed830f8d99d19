/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "kernel/raw.h"

/* Own declarations: the system's header may be older than the running kernel. linux/landlock.h of 6.12. */
struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* ABI 4 */
    uint64_t scoped;             /* ABI 6 */
};

struct path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1
#define SCOPE_ABSTRACT_UNIX_SOCKET (1U << 0)
#define SCOPE_SIGNAL (1U << 1)

int tc_landlock_abi(void)
{
    return (int)tc_raw3(__NR_landlock_create_ruleset, 0, 0, CREATE_RULESET_VERSION);
}

uint64_t tc_landlock_rights(unsigned abi)
{
    uint64_t rights = (TC_LANDLOCK_MAKE_SYM << 1) - 1;

    if (abi >= 2)
        rights |= TC_LANDLOCK_REFER;
    if (abi >= 3)
        rights |= TC_LANDLOCK_TRUNCATE;
    if (abi >= 5)
        rights |= TC_LANDLOCK_IOCTL_DEV;
    return rights;
}

int tc_landlock_new(unsigned abi, bool scope)
{
    struct ruleset_attr attributes = {.handled_access_fs = tc_landlock_rights(abi)};
    size_t size = sizeof attributes.handled_access_fs;

    if (scope && abi < 6)
        return -EOPNOTSUPP;
    if (scope) {
        attributes.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        size = sizeof attributes;
    }
    return (int)tc_raw3(__NR_landlock_create_ruleset, &attributes, size, 0);
}

int tc_landlock_allow(int ruleset, int fd, uint64_t rights)
{
    struct path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};

    if (rights == 0) /* the kernel takes an empty rule for a mistake (ENOMSG) */
        return 0;
    return (int)tc_raw4(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

int tc_landlock_restrict(int ruleset)
{
    return (int)tc_raw2(__NR_landlock_restrict_self, ruleset, 0);
}
