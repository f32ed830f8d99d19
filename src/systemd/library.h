/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SYSTEMD_LIBRARY_H
#define TC_SYSTEMD_LIBRARY_H

/*
 * The functions of libsystemd that are used, and how they are reached: it is
 * opened when somebody asks for it, since each library that is linked costs
 * every start, and stays.
 */

#include <systemd/sd-bus.h>

#include "base/error.h"

/* A pointer with the type of the function. */
#define TC_SD_POINTER(name) __typeof__(sd_##name) *name

struct tc_sd {
    TC_SD_POINTER(bus_new);
    TC_SD_POINTER(bus_set_fd);
    TC_SD_POINTER(bus_set_bus_client);
    TC_SD_POINTER(bus_start);
    TC_SD_POINTER(bus_close_unref);
    TC_SD_POINTER(bus_process);
    TC_SD_POINTER(bus_get_fd);
    TC_SD_POINTER(bus_get_events);
    TC_SD_POINTER(bus_get_timeout);
    TC_SD_POINTER(bus_match_signal_async);
    TC_SD_POINTER(bus_call_async);
    TC_SD_POINTER(bus_message_new_method_call);
    TC_SD_POINTER(bus_message_append);
    TC_SD_POINTER(bus_message_append_strv);
    TC_SD_POINTER(bus_message_open_container);
    TC_SD_POINTER(bus_message_close_container);
    TC_SD_POINTER(bus_message_read);
    TC_SD_POINTER(bus_message_get_error);
    TC_SD_POINTER(bus_message_unref);
};

/** Open the library. Returns 0, or -ELIBACC with a hint; what came of it is the same for every call of a process. */
int tc_sd_open(const struct tc_sd **ret, struct tc_error *err);

#endif
