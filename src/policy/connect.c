/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connect patterns: "host:port" where host is a name glob, an address or a
 * block of addresses; "unix:" and a path; or "**".
 *
 * An IPv4 address that is written as an IPv6 one (::ffff:a.b.c.d) is the IPv4
 * address, in patterns and in connections: the kernel makes an IPv4 connection
 * of it, and a rule for the one must not be passed by writing the other.
 */

#include "policy/connect.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/glob.h"
#include "base/text.h"

static int refuse(const char **why, const char *text)
{
    *why = text;
    return -EINVAL;
}

static bool read_number(const char *text, size_t length, uint64_t max, uint64_t *ret)
{
    char digits[8];

    if (length == 0 || length >= sizeof(digits))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return tc_parse_unsigned(digits, max, ret) == 0;
}

static int parse_port(const char *text, size_t length, struct tc_connect_match *ret, const char **why)
{
    const char *dash = memchr(text, '-', length);
    uint64_t low, high;

    ret->low = 0;
    ret->high = UINT16_MAX;
    if (length == 1 && text[0] == '*')
        return 0;

    size_t first = dash == NULL ? length : (size_t)(dash - text);
    if (!read_number(text, first, UINT16_MAX, &low))
        return refuse(why, "the port must be a number up to 65535, a range such as 8000-8999, or '*'");
    high = low;
    if (dash != NULL && !read_number(dash + 1, length - first - 1, UINT16_MAX, &high))
        return refuse(why, "the port must be a number up to 65535, a range such as 8000-8999, or '*'");
    if (high < low)
        return refuse(why, "the range of ports ends before it begins");
    ret->low = (uint16_t)low;
    ret->high = (uint16_t)high;
    return 0;
}

static bool is_mapped(const struct in6_addr *address)
{
    return IN6_IS_ADDR_V4MAPPED(address);
}

static void unmap(struct in6_addr *address)
{
    struct in6_addr plain = {0};

    memcpy(plain.s6_addr, address->s6_addr + 12, 4);
    *address = plain;
}

/* Clear the bits beyond the prefix; true when any was set. */
static bool mask_address(struct in6_addr *address, unsigned prefix, unsigned bytes)
{
    bool loose = false;

    for (unsigned i = 0; i < bytes; i++) {
        unsigned kept = prefix >= (i + 1) * 8 ? 8 : prefix <= i * 8 ? 0 : prefix - i * 8;
        uint8_t mask = (uint8_t)(0xff00u >> kept);
        loose |= (address->s6_addr[i] & ~mask & 0xff) != 0;
        address->s6_addr[i] &= mask;
    }
    return loose;
}

/* An address with an optional "/prefix". */
static int parse_block(const char *text, size_t length, int family, struct tc_connect_match *ret, const char **why)
{
    const char *slash = memchr(text, '/', length);
    size_t size = slash == NULL ? length : (size_t)(slash - text);
    uint64_t prefix = family == AF_INET ? 32 : 128;
    char address[INET6_ADDRSTRLEN];

    if (size >= sizeof(address))
        return refuse(why, "not an address");
    memcpy(address, text, size);
    address[size] = '\0';
    if (inet_pton(family, address, &ret->address) != 1)
        return refuse(why, family == AF_INET ? "not an IPv4 address" : "not an IPv6 address");
    if (slash != NULL && !read_number(slash + 1, length - size - 1, prefix, &prefix))
        return refuse(why, "the prefix length of the block is wrong");
    ret->kind = family == AF_INET ? TC_CONNECT_IPV4 : TC_CONNECT_IPV6;
    ret->prefix = (unsigned)prefix;
    if (family == AF_INET6 && prefix >= 96 && is_mapped(&ret->address)) {
        unmap(&ret->address);
        ret->kind = TC_CONNECT_IPV4;
        ret->prefix -= 96;
    }
    ret->loose = mask_address(&ret->address, ret->prefix, ret->kind == TC_CONNECT_IPV4 ? 4 : 16);
    return 0;
}

/* Digits, dots and a prefix length make an address; anything else is a name. */
static bool looks_like_ipv4(const char *host, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)host[i]) && host[i] != '.' && host[i] != '/')
            return false;
    }
    return true;
}

static int parse_host(const char *host, size_t length, struct tc_connect_match *ret, const char **why)
{
    if (length == 0)
        return refuse(why, "the host is missing");
    if (strspn(host, "*") >= length) {
        ret->kind = TC_CONNECT_ANY;
        return 0;
    }
    if (looks_like_ipv4(host, length))
        return parse_block(host, length, AF_INET, ret, why);
    if (memchr(host, ':', length) != NULL)
        return refuse(why, "an IPv6 address stands in brackets, as in [2001:db8::1]:443");
    if (memchr(host, '/', length) != NULL)
        return refuse(why, "a host name has no '/'");
    if (length > 1 && host[length - 1] == '.')
        length--;
    ret->kind = TC_CONNECT_NAME;
    ret->glob = host;
    ret->glob_length = length;
    return 0;
}

int tc_connect_parse(const char *pattern, size_t length, struct tc_connect_match *ret, const char **why)
{
    const char *colon = memrchr(pattern, ':', length);
    int r;

    *ret = (struct tc_connect_match){0};
    if (length == 2 && memcmp(pattern, "**", 2) == 0) {
        ret->kind = TC_CONNECT_ALL;
        return 0;
    }
    if (length >= 5 && memcmp(pattern, "unix:", 5) == 0) {
        ret->kind = TC_CONNECT_UNIX;
        ret->glob = pattern + 5;
        ret->glob_length = length - 5;
        return length > 5 && (pattern[5] == '/' || pattern[5] == '*')
                   ? 0
                   : refuse(why, "the path after 'unix:' must be absolute");
    }
    if (colon == NULL)
        return refuse(why, "expected host:port, such as \"*.example.org:443\"");

    size_t host = (size_t)(colon - pattern);
    if (pattern[0] == '[' && host >= 2 && pattern[host - 1] == ']' && memchr(pattern, ':', host) != NULL)
        r = parse_block(pattern + 1, host - 2, AF_INET6, ret, why);
    else
        r = parse_host(pattern, host, ret, why);
    return r < 0 ? r : parse_port(colon + 1, length - host - 1, ret, why);
}

static bool parse_address(const char *text, struct tc_endpoint *ret)
{
    char address[INET6_ADDRSTRLEN + 1];
    size_t size = strcspn(text, "%"); /* a zone is the interface, not part of the address */

    if (size >= sizeof(address))
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    if (text[size] == '\0' && inet_pton(AF_INET, address, &ret->address) == 1) {
        ret->family = AF_INET;
        return true;
    }
    if (inet_pton(AF_INET6, address, &ret->address) != 1)
        return false;
    ret->family = AF_INET6;
    if (is_mapped(&ret->address)) {
        unmap(&ret->address);
        ret->family = AF_INET;
    }
    return true;
}

/* Letters, digits, '-', '_' and bytes of other scripts, in labels that are not empty. */
static bool parse_name(const char *text, struct tc_endpoint *ret)
{
    size_t length = strlen(text);

    if (length > 1 && text[length - 1] == '.')
        length--;
    if (length == 0 || length >= sizeof(ret->name))
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool dot = byte == '.' && i > 0 && text[i - 1] != '.' && i + 1 < length;
        if (!dot && byte < 0x80 && !isalnum(byte) && byte != '-' && byte != '_')
            return false;
        ret->name[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
    }
    ret->name[length] = '\0';
    ret->name_length = length;
    return true;
}

void tc_endpoint_parse(const char *name, const char *address, unsigned port, struct tc_endpoint *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->family = AF_UNSPEC;
    ret->port = port;
    ret->bad = port > UINT16_MAX;
    if (address != NULL && strncmp(address, "unix:", 5) == 0) {
        ret->family = AF_UNIX;
        ret->path = address + 5;
        ret->port = 0;
        ret->bad = name != NULL || ret->path[0] != '/' || strlen(ret->path) > TC_GLOB_MAX;
        return;
    }
    if (address != NULL && !parse_address(address, ret))
        ret->bad = true;
    if (name == NULL)
        return;

    /* A name that is an address is one: it must not escape the rules for addresses. */
    struct tc_endpoint literal;
    memset(&literal, 0, sizeof(literal));
    if (parse_address(name, &literal)) {
        ret->bad |= address != NULL && (literal.family != ret->family ||
                                        memcmp(&literal.address, &ret->address, sizeof(literal.address)) != 0);
        ret->family = literal.family;
        ret->address = literal.address;
        return;
    }
    if (!parse_name(name, ret))
        ret->bad = true;
}

static bool port_matches(const struct tc_connect_match *match, const struct tc_endpoint *to)
{
    return to->port >= match->low && to->port <= match->high;
}

static bool block_matches(const struct tc_connect_match *match, const struct tc_endpoint *to, int family)
{
    struct in6_addr address = to->address;

    if (to->family != family)
        return false;
    mask_address(&address, match->prefix, family == AF_INET ? 4 : 16);
    return memcmp(&address, &match->address, family == AF_INET ? 4 : 16) == 0;
}

bool tc_connect_matches_address(const struct tc_connect_match *match, const struct tc_endpoint *to)
{
    switch (match->kind) {
    case TC_CONNECT_IPV4:
        return port_matches(match, to) && block_matches(match, to, AF_INET);
    case TC_CONNECT_IPV6:
        return port_matches(match, to) && block_matches(match, to, AF_INET6);
    case TC_CONNECT_ALL:
    case TC_CONNECT_ANY:
    case TC_CONNECT_NAME:
    case TC_CONNECT_UNIX:
        break;
    }
    return false;
}

bool tc_connect_matches(const struct tc_connect_match *match, const struct tc_endpoint *to)
{
    switch (match->kind) {
    case TC_CONNECT_ALL:
        return true;
    case TC_CONNECT_ANY:
        return to->family != AF_UNIX && port_matches(match, to);
    case TC_CONNECT_NAME:
        return to->name_length > 0 && port_matches(match, to) &&
               tc_glob_match(match->glob, match->glob_length, to->name, to->name_length);
    case TC_CONNECT_UNIX:
        return to->family == AF_UNIX && tc_glob_match(match->glob, match->glob_length, to->path, strlen(to->path));
    case TC_CONNECT_IPV4:
    case TC_CONNECT_IPV6:
        break;
    }
    return to->name_length == 0 && tc_connect_matches_address(match, to);
}
