/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/timezone.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plan/environment.h"

/* A name ("Europe/Berlin") or a POSIX rule ("CET-1CEST,M3.5.0"), but no path of the host. */
static bool is_plain(const char *text)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/,.:<>";

    return text[0] != '\0' && text[0] != '/' && text[0] != ':' && text[0] != '.' && strstr(text, "..") == NULL &&
           strspn(text, allowed) == strlen(text) && strlen(text) < 256;
}

int tc_timezone_gather(struct tc_facts *facts, struct tc_error *err)
{
    const char *name = tc_environment_get(facts->environ, "TZ");
    char link[1024];
    ssize_t length;

    if (name == NULL) {
        length = readlink("/etc/localtime", link, sizeof(link) - 1);
        link[length < 0 ? 0 : length] = '\0';
        name = strstr(link, "/zoneinfo/");
        name = name == NULL ? "" : name + strlen("/zoneinfo/");
    }
    if (!is_plain(name))
        return 0;
    facts->timezone = tc_arena_string(facts->arena, name);
    return facts->timezone == NULL ? tc_error_set(err, -ENOMEM, "find the time zone") : 0;
}
