/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * A manager is asked by one method call, StartTransientUnit, for a unit whose
 * name nobody else has. It answers with a job, moves the process, and says by a
 * signal, JobRemoved, what came of the job (org.freedesktop.systemd1(5)). The
 * call and the signal are awaited together, in any order; the unit's name in
 * the signal is enough to know it.
 *
 * The process is named as 0, which is whoever sent the message, as the
 * manager's kernel sees him. A number of our own would be another process where
 * the manager is outside of a pid namespace that we are in.
 *
 * Nothing the manager says is believed but a refusal. Where the process is, the
 * kernel tells. All is done by one loop with one deadline over a socket that
 * never blocks: silence, a flood or nonsense are refusals too. sd-bus checks
 * what it reads; none of its calls that wait by themselves are used.
 */
#include "systemd/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "kernel/cgroup.h"
#include "systemd/library.h"

#define SERVICE "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define MANAGER SERVICE ".Manager"

#define TEXT_MOST 160 /* bytes of a foreign text in a message */

struct asking {
    const struct tc_sd *sd;
    sd_bus *bus;
    const char *unit;
    const char *whom; /* for people */
    uint64_t until_ms;
    bool done;
    struct tc_error *err; /* set once something went wrong */
    int code;             /* of that, or 0 */
};

static int fail(struct asking *asking, int code, const char *what)
{
    asking->code = code;
    return tc_error_set(asking->err, code, "%s: %s", asking->whom, what);
}

/* What a manager says about itself is shown, but cannot break the line or flood it. */
static void refuse(struct asking *asking, int code, const char *what, const char *said)
{
    tc_auto_buf text = {0};

    tc_text_escape(&text, said, strnlen(said, TEXT_MOST));
    asking->code = code;
    tc_error_plain(asking->err, code, "%s %s: %s", asking->whom, what, text.data != NULL ? text.data : "(no text)");
}

/* ---- what comes back ---- */

static int on_answer(sd_bus_message *message, void *data, sd_bus_error *ret_error)
{
    struct asking *asking = data;
    const sd_bus_error *error = asking->sd->bus_message_get_error(message);

    (void)ret_error;
    if (error != NULL && asking->code == 0)
        refuse(asking, -ECONNREFUSED, "gives no scope", error->message != NULL ? error->message : error->name);
    return 0;
}

/* Signals of other jobs pass by. */
static int on_removed(sd_bus_message *message, void *data, sd_bus_error *ret_error)
{
    struct asking *asking = data;
    const char *job, *unit, *result;
    uint32_t id;
    int r = asking->sd->bus_message_read(message, "uoss", &id, &job, &unit, &result);

    (void)ret_error;
    if (asking->code != 0)
        return 0;
    if (r < 0)
        fail(asking, r, "read its signal");
    else if (strcmp(unit, asking->unit) != 0)
        return 0;
    else if (strcmp(result, "done") == 0)
        asking->done = true;
    else
        refuse(asking, -ECANCELED, "did not make a scope", result);
    return 0;
}

/* ---- what is sent ---- */

static int append_properties(const struct tc_sd *sd, sd_bus_message *message, const struct tc_scope_wish *wish)
{
    int r = sd->bus_message_append(message, "(sv)(sv)(sv)", "Description", "s", "toolcell: one call", "CollectMode",
                                   "s", "inactive-or-failed", "PIDs", "au", 1, 0u);

    if (r >= 0 && wish->slice != NULL)
        r = sd->bus_message_append(message, "(sv)", "Slice", "s", wish->slice);
    /* This delegates, and makes the groups above hand on these and no others. */
    if (r >= 0)
        r = sd->bus_message_open_container(message, SD_BUS_TYPE_STRUCT, "sv");
    if (r >= 0)
        r = sd->bus_message_append(message, "s", "DelegateControllers");
    if (r >= 0)
        r = sd->bus_message_open_container(message, SD_BUS_TYPE_VARIANT, "as");
    if (r >= 0) /* it copies them */
        r = sd->bus_message_append_strv(message, (char **)wish->controllers);
    if (r >= 0)
        r = sd->bus_message_close_container(message);
    return r < 0 ? r : sd->bus_message_close_container(message);
}

static int send_call(struct asking *asking, const struct tc_scope_wish *wish)
{
    const struct tc_sd *sd = asking->sd;
    sd_bus_message *message = NULL;
    int r = sd->bus_message_new_method_call(asking->bus, &message, SERVICE, OBJECT, MANAGER, "StartTransientUnit");

    if (r >= 0)
        r = sd->bus_message_append(message, "ss", asking->unit, "fail");
    if (r >= 0)
        r = sd->bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "(sv)");
    if (r >= 0)
        r = append_properties(sd, message, wish);
    if (r >= 0)
        r = sd->bus_message_close_container(message);
    if (r >= 0)
        r = sd->bus_message_append(message, "a(sa(sv))", 0); /* no auxiliary units */
    if (r >= 0)
        r = sd->bus_call_async(asking->bus, NULL, message, on_answer, asking, UINT64_MAX);
    sd->bus_message_unref(message);
    return r;
}

/* Set everything up; nothing of it waits. */
static int begin(struct asking *asking, struct tc_manager *manager, const struct tc_scope_wish *wish)
{
    const struct tc_sd *sd = asking->sd;
    int r = sd->bus_new(&asking->bus);

    if (r >= 0)
        r = sd->bus_set_fd(asking->bus, manager->fd, manager->fd);
    if (r < 0)
        return r;
    tc_take_fd(&manager->fd);
    r = sd->bus_set_bus_client(asking->bus, manager->bus);
    if (r >= 0)
        r = sd->bus_start(asking->bus);
    /* A manager at a socket of its own sends its signals to all who are connected, and names no sender. */
    if (r >= 0)
        r = sd->bus_match_signal_async(asking->bus, NULL, manager->bus ? SERVICE : NULL, OBJECT, MANAGER, "JobRemoved",
                                       on_removed, NULL, asking);
    return r < 0 ? r : send_call(asking, wish);
}

/* ---- waiting ---- */

/* sd-bus has times of its own: it wants to go on at once where the other side has hung up. */
static int wait_for_more(struct asking *asking, uint64_t now_ms)
{
    struct pollfd watched = {.fd = asking->sd->bus_get_fd(asking->bus)};
    int events = asking->sd->bus_get_events(asking->bus);
    uint64_t at_ms = UINT64_MAX;

    if (watched.fd < 0 || events < 0)
        return watched.fd < 0 ? watched.fd : events;
    if (asking->sd->bus_get_timeout(asking->bus, &at_ms) > 0)
        at_ms /= 1000; /* microseconds of CLOCK_MONOTONIC */
    if (at_ms > asking->until_ms)
        at_ms = asking->until_ms;
    watched.events = (short)events;
    return poll(&watched, 1, at_ms > now_ms ? (int)(at_ms - now_ms) : 0) < 0 && errno != EINTR ? -errno : 0;
}

static int converse(struct asking *asking)
{
    while (asking->code == 0 && !asking->done) {
        uint64_t now_ms = tc_clock_ms();
        int r;

        if (now_ms >= asking->until_ms) {
            asking->code = -ETIMEDOUT;
            return tc_error_plain(asking->err, -ETIMEDOUT, "%s made no scope within %u ms", asking->whom,
                                  TC_SCOPE_TIMEOUT_MS);
        }
        r = asking->sd->bus_process(asking->bus, NULL);
        if (r == 0)
            r = wait_for_more(asking, now_ms);
        if (r < 0 && asking->code == 0)
            return fail(asking, r, "the connection ended");
    }
    return asking->code;
}

/* ---- where we are ---- */

/* The kernel's word for it: the last part of the group's path, in version 2. */
static int check_place(const struct asking *asking)
{
    char path[4096];
    const char *last;
    int r = tc_cgroup_own_path(path, sizeof path);

    if (r < 0)
        return tc_error_set(asking->err, r, "look for the group of the scope");
    last = strrchr(path, '/');
    if (last == NULL || strcmp(last + 1, asking->unit) != 0)
        return tc_error_plain(asking->err, -ECANCELED, "%s told of a scope, but toolcell is not in it", asking->whom);
    return 0;
}

static int name_unit(char ret[TC_SCOPE_NAME_SIZE], struct tc_error *err)
{
    uint64_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return tc_error_set(err, -errno, "name a scope");
    snprintf(ret, TC_SCOPE_NAME_SIZE, "toolcell-%d-%016" PRIx64 ".scope", (int)getpid(), random);
    return 0;
}

int tc_scope_enter(struct tc_manager *manager, const struct tc_scope_wish *wish, char ret_unit[TC_SCOPE_NAME_SIZE],
                   struct tc_error *err)
{
    struct asking asking = {.unit = ret_unit,
                            .whom = tc_manager_name(manager->system),
                            .until_ms = tc_clock_ms() + TC_SCOPE_TIMEOUT_MS,
                            .err = err};
    int r = tc_sd_open(&asking.sd, err);

    if (r == 0)
        r = name_unit(ret_unit, err);
    if (r == 0) {
        r = begin(&asking, manager, wish);
        r = r < 0 ? fail(&asking, r, "ask for a scope") : converse(&asking);
        asking.sd->bus_close_unref(asking.bus);
    }
    tc_manager_close(manager);
    return r < 0 ? r : check_place(&asking);
}
