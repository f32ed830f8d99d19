/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "doctor/probe.h"
#include "plan/host.h"

const char *const tc_state_names[TC_STATE_COUNT] = {"ok", "degraded", "missing"};

void tc_found(struct tc_finding *ret, enum tc_state state, const char *format, ...)
{
    va_list arguments;

    ret->state = state;
    va_start(arguments, format);
    vsnprintf(ret->detail, sizeof ret->detail, format, arguments);
    va_end(arguments);
}

void tc_remedy(struct tc_finding *ret, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(ret->remedy, sizeof ret->remedy, format, arguments);
    va_end(arguments);
}

void tc_found_error(struct tc_finding *ret, int code, const char *detail)
{
    struct tc_error err = {0};

    tc_error_set(&err, code, "%s", detail);
    tc_found(ret, TC_STATE_MISSING, "%s", err.message);
    if (code == -ENOSYS)
        tc_remedy(ret, "a newer kernel%s",
                  tc_is_filtered() ? ", or a looser seccomp filter of the outer container" : "");
    else if ((code == -EPERM || code == -EACCES) && tc_is_filtered())
        tc_remedy(ret, "loosen the seccomp filter of the outer container");
}

bool tc_lacks(const struct tc_examination *so_far, enum tc_check check, struct tc_finding *ret)
{
    if (so_far->findings[check].state != TC_STATE_MISSING)
        return false;
    tc_found(ret, TC_STATE_MISSING, "not tried: it needs %s", tc_check_name(check));
    return true;
}

char tc_setting(const char *path)
{
    tc_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
    char value = '\0';

    if (fd < 0 || read(fd, &value, 1) != 1)
        return '\0';
    return value;
}

bool tc_is_filtered(void)
{
    char text[8192];

    return tc_host_read("/proc/self/status", text, sizeof text) >= 0 && strstr(text, "\nSeccomp:\t2\n") != NULL;
}
