/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_KERNEL_NETIF_H
#define TC_KERNEL_NETIF_H

#include <stddef.h>

/** A netlink request, ready to be sent. */
struct tc_netif_request {
    size_t length;
    char bytes[64] __attribute__((aligned(4)));
};

/**
 * Compose the request that turns the loopback interface on. Allocates, so it is
 * done before a process exists that shares memory.
 * @return 0 or -errno
 */
int tc_netif_loopback(struct tc_netif_request *ret);

/**
 * Send a request to the caller's network namespace and wait for the kernel's
 * answer. Makes raw calls only, so it may run in a process that shares memory
 * beside its parent. Needs CAP_NET_ADMIN.
 * @return 0 or -errno, of the kernel's answer too
 */
int tc_netif_apply(const struct tc_netif_request *request);

#endif
