/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A text that was cut to fit may end inside a character: drop that, or the message would no longer be UTF-8. */
static void error_trim(char *text, size_t size)
{
    size_t length = strlen(text);

    if (length == size - 1)
        text[tc_utf8_complete(text, length)] = '\0';
}

__attribute__((format(printf, 3, 0))) static void error_vformat(struct tc_error *err, int code, const char *format,
                                                                va_list args)
{
    memset(err, 0, sizeof *err);
    err->code = code;
    vsnprintf(err->message, sizeof err->message, format, args);
    error_trim(err->message, sizeof err->message);
}

/* Not strerror(), which asks for a translation and keeps a state: processes that share memory run this at once. */
static void error_cause(int code, char *text, size_t size)
{
    const char *known = strerrordesc_np(-code);

    if (known != NULL)
        snprintf(text, size, ": %s", known);
    else
        snprintf(text, size, ": Unknown error %d", -code);
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
    error_cause(code, err->message + used, sizeof err->message - used);
    error_trim(err->message, sizeof err->message);
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
    error_trim(err->message, sizeof err->message);
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
    error_trim(err->hint, sizeof err->hint);
    return err->code;
}

int tc_error_hint_general(struct tc_error *err)
{
    if (err == NULL)
        return -1;
    if (err->code == -ENOSYS && err->hint[0] == '\0')
        return tc_error_hint(err, "the kernel is too old, or a seccomp filter around toolcell forbids a system call: "
                                  "'toolcell doctor' tries each");
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
