/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_POLICY_CONNECT_H
#define TC_POLICY_CONNECT_H

/*
 * Private to src/policy: connect patterns, taken apart once.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_connect_kind {
    TC_CONNECT_ALL,  /* "**": everything, socket files too */
    TC_CONNECT_ANY,  /* host "*": every name and every address */
    TC_CONNECT_NAME, /* a name glob */
    TC_CONNECT_IPV4, /* an address or block */
    TC_CONNECT_IPV6,
    TC_CONNECT_UNIX /* "unix:" and a glob for the path */
};

struct tc_connect_match {
    enum tc_connect_kind kind;
    uint16_t low, high;      /* ports */
    unsigned prefix;         /* bits of the address that count */
    bool loose;              /* bits beyond the prefix were set */
    struct in6_addr address; /* IPv4 in the first four bytes */
    const char *glob; /* NAME, UNIX: points into the pattern; a NAME is to be lowered by whoever keeps the match */
    size_t glob_length;
};

/** Take a pattern apart, which must outlive the match. 0, or -EINVAL and why, one clause in static memory. */
int tc_connect_parse(const char *pattern, size_t length, struct tc_connect_match *ret, const char **why);

/* What a connection is made to. */
struct tc_endpoint {
    char name[256];          /* lower case without a trailing dot, or empty */
    size_t name_length;      /* 0: no name */
    bool bad;                /* a name that no host has: nothing but a deny can be right */
    int family;              /* AF_INET, AF_INET6, AF_UNIX, or AF_UNSPEC: no address known */
    struct in6_addr address; /* as in the match */
    const char *path;        /* AF_UNIX */
    unsigned port;
};

void tc_endpoint_parse(const char *name, const char *address, unsigned port, struct tc_endpoint *ret);

/* By name, or by address when there is no name: every pattern counts. */
bool tc_connect_matches(const struct tc_connect_match *match, const struct tc_endpoint *to);

/* By address, after the name has been judged: patterns that name addresses count. */
bool tc_connect_matches_address(const struct tc_connect_match *match, const struct tc_endpoint *to);

#endif
