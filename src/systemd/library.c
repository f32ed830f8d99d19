/* SPDX-License-Identifier: Apache-2.0 */
#include "systemd/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/cleanup.h"

#define LIBRARY "libsystemd.so.0"

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ENTRY(function)                                                                                                \
    {                                                                                                                  \
        "sd_" #function, offsetof(struct tc_sd, function)                                                              \
    }
    ENTRY(bus_new),
    ENTRY(bus_set_fd),
    ENTRY(bus_set_bus_client),
    ENTRY(bus_start),
    ENTRY(bus_close_unref),
    ENTRY(bus_process),
    ENTRY(bus_get_fd),
    ENTRY(bus_get_events),
    ENTRY(bus_get_timeout),
    ENTRY(bus_match_signal_async),
    ENTRY(bus_call_async),
    ENTRY(bus_message_new_method_call),
    ENTRY(bus_message_append),
    ENTRY(bus_message_append_strv),
    ENTRY(bus_message_open_container),
    ENTRY(bus_message_close_container),
    ENTRY(bus_message_read),
    ENTRY(bus_message_get_error),
    ENTRY(bus_message_unref),
#undef ENTRY
};

_Static_assert(TC_COUNT(functions) * sizeof(void *) == sizeof(struct tc_sd), "every function is looked up");

static struct tc_sd loaded;

/* POSIX lets a pointer from dlsym() be used as a function's, C does not let it be converted. */
static bool load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; library != NULL && i < TC_COUNT(functions); i++) {
        void **place = (void **)((char *)&loaded + functions[i].offset);

        *place = dlsym(library, functions[i].name);
        if (*place == NULL)
            return false;
    }
    return library != NULL;
}

int tc_sd_open(const struct tc_sd **ret, struct tc_error *err)
{
    static char failure[160];
    static enum { UNTRIED, OPEN, FAILED } state;

    if (state == UNTRIED) {
        state = load() ? OPEN : FAILED;
        if (state == FAILED) {
            const char *why = dlerror();

            snprintf(failure, sizeof failure, "%s", why != NULL ? why : "unknown reason");
        }
    }
    if (state == OPEN) {
        *ret = &loaded;
        return 0;
    }
    tc_error_plain(err, -ELIBACC, "load the systemd library: %s", failure);
    return tc_error_hint(err, "install libsystemd0");
}
