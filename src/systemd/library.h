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

struct tc_sd {
    __typeof__(sd_bus_new) *bus_new;
    __typeof__(sd_bus_set_fd) *bus_set_fd;
    __typeof__(sd_bus_set_bus_client) *bus_set_bus_client;
    __typeof__(sd_bus_start) *bus_start;
    __typeof__(sd_bus_close_unref) *bus_close_unref;
    __typeof__(sd_bus_process) *bus_process;
    __typeof__(sd_bus_get_fd) *bus_get_fd;
    __typeof__(sd_bus_get_events) *bus_get_events;
    __typeof__(sd_bus_get_timeout) *bus_get_timeout;
    __typeof__(sd_bus_match_signal_async) *bus_match_signal_async;
    __typeof__(sd_bus_call_async) *bus_call_async;
    __typeof__(sd_bus_message_new_method_call) *bus_message_new_method_call;
    __typeof__(sd_bus_message_append) *bus_message_append;
    __typeof__(sd_bus_message_append_strv) *bus_message_append_strv;
    __typeof__(sd_bus_message_open_container) *bus_message_open_container;
    __typeof__(sd_bus_message_close_container) *bus_message_close_container;
    __typeof__(sd_bus_message_read) *bus_message_read;
    __typeof__(sd_bus_message_get_error) *bus_message_get_error;
    __typeof__(sd_bus_message_unref) *bus_message_unref;
};

/** Open the library. Returns 0, or -ELIBACC with a hint; what came of it is the same for every call of a process. */
int tc_sd_open(const struct tc_sd **ret, struct tc_error *err);

#endif
