/* SPDX-License-Identifier: Apache-2.0 */
/* ask OWN [BUS]: ask the manager at a socket for a scope. Prints code, milliseconds, unit, message and hint, by tabs.
 */
#include <stdio.h>

#include "base/clock.h"
#include "systemd/scope.h"

int main(int argc, char *argv[])
{
    static const char *const controllers[] = {"memory", "pids", NULL};
    static const struct tc_scope_wish wish = {.controllers = controllers, .slice = "app-test.slice"};
    struct tc_manager_places places = {argv[1], argc > 2 ? argv[2] : NULL};
    uint64_t started_ms = tc_clock_ms();
    char unit[TC_SCOPE_NAME_SIZE] = "";
    struct tc_manager manager;
    struct tc_error err = {0};
    int r;

    if (argc < 2)
        return 2;
    r = tc_manager_connect_at(&places, &manager, &err);
    if (r == 0)
        r = tc_scope_enter(&manager, &wish, unit, &err);
    printf("%d\t%u\t%s\t%s\t%s\n", r, (unsigned)(tc_clock_ms() - started_ms), unit, err.message, err.hint);
    return manager.fd >= 0;
}
