/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void error_vformat(struct tc_error *err, int code, const char *format,
                                                                va_list args)
{
    memset(err, 0, sizeof *err);
    err->code = code;
    vsnprintf(err->message, sizeof err->message, format, args);
}

int tc_error_set(struct tc_error *err, int code, const char *format, ...)
{
    va_list args;
    size_t used;

    if (err == NULL)
        return code;
    va_start(args, format);
    error_vformat(err, code, format, args);
    va_end(args);
    used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(-code));
    return code;
}

int tc_error_plain(struct tc_error *err, int code, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, format);
    error_vformat(err, code, format, args);
    va_end(args);
    return code;
}

int tc_error_wrap(struct tc_error *err, const char *format, ...)
{
    char inner[sizeof err->message];
    va_list args;
    size_t used;

    if (err == NULL)
        return -1;
    memcpy(inner, err->message, sizeof inner);
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", inner);
    return err->code;
}

int tc_error_hint(struct tc_error *err, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return -1;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return err->code;
}

int tc_error_stage(struct tc_error *err, const char *stage)
{
    if (err == NULL)
        return -1;
    if (err->stage[0] == '\0')
        snprintf(err->stage, sizeof err->stage, "%s", stage);
    return err->code;
}
