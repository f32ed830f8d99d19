/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof of the whole: a cell, made as `toolcell run` makes one, from the
 * default rules and with the current directory as its workspace, in which
 * /bin/true runs. Nothing is written. What this version has not built is not
 * asked for; everything else must be there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "cell/cell.h"
#include "doctor/probe.h"
#include "doctor/trial.h"
#include "plan/compile.h"
#include "policy/load.h"

#define RULES "workspace"
#define WAIT_MS 5000

/* Wait for one message of init. */
static int receive(struct tc_cell *cell, struct tc_init_reply *ret, struct tc_error *err)
{
    struct pollfd watched = {.fd = cell->control, .events = POLLIN};
    int r;

    do {
        r = poll(&watched, 1, WAIT_MS);
        if (r == 0)
            return tc_error_plain(err, -ETIMEDOUT, "the cell does not answer");
        r = tc_cell_receive(cell, ret);
    } while (r == 0);
    return r < 0 ? tc_error_set(err, r, "hear of the cell") : 0;
}

/* A broker for a plan that notifies calls: it gets the listener, and what it says is not heard. A question that it asks
 * stays without an answer, until the time for the program is over. */
static int start_broker(const struct tc_cell *cell, const struct tc_plan *plan, struct tc_broker *ret,
                        struct tc_error *err)
{
    const struct tc_broker_setup setup = {
        .plan = plan, .root = cell->root, .twin = cell->twin, .diag = cell->diag, .init_pidfd = cell->pidfd};

    return plan->notify == 0 ? 0 : tc_broker_start(&setup, ret, err);
}

static int serve_listener(struct tc_cell *cell, struct tc_broker *broker, struct tc_error *err)
{
    tc_auto_fd listener = tc_take_fd(&cell->listener);
    int r = tc_broker_listen(broker, listener);

    return r < 0 ? tc_error_set(err, r, "hand the broker the listener") : 0;
}

static int run_program(struct tc_cell *cell, const struct tc_plan *plan, struct tc_broker *broker, int *ret_status,
                       struct tc_error *err)
{
    struct tc_init_reply reply = {0};
    tc_auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int r = null < 0 ? tc_error_set(err, -errno, "open '/dev/null'") : tc_cell_exec(cell, plan, null, null, null, err);

    while (r == 0 && reply.type != TC_INIT_EXITED) {
        r = receive(cell, &reply, err);
        if (r == 0 && reply.type == TC_INIT_FAILED)
            r = tc_error_set(err, -reply.value, "execute '%s' in the cell", plan->argv[0]);
        if (r == 0 && reply.type == TC_INIT_LISTENER)
            r = serve_listener(cell, broker, err);
    }
    *ret_status = reply.value;
    return r;
}

static int start_cell(const struct tc_plan *plan, int *ret_status, struct tc_error *err)
{
    struct tc_cell cell = TC_CELL_EMPTY;
    struct tc_broker broker = TC_BROKER_NONE;
    int r = tc_cell_launch(plan, &cell, err);

    if (r == 0)
        r = start_broker(&cell, plan, &broker, err);
    if (r == 0)
        r = run_program(&cell, plan, &broker, ret_status, err);
    tc_cell_release(&cell);
    tc_broker_release(&broker);
    return r;
}

int tc_trial_run(const char *preset, const struct tc_request *request, int *ret_status, struct tc_error *err)
{
    static const char *const nothing[] = {NULL};
    tc_auto_ruleset rules = NULL;
    tc_auto_facts facts = NULL;
    tc_auto_plan plan = NULL;
    int r = tc_policy_preset(preset, &rules, err);

    if (r == 0)
        r = tc_facts_gather(rules, request, nothing, &facts, err);
    if (r == 0)
        r = tc_plan_compile(rules, request, facts, TC_COMPILE_RUN, &plan, err);
    return r == 0 ? start_cell(plan, ret_status, err) : r;
}

void tc_probe_whole_cell(const struct tc_examination *so_far, struct tc_finding *ret)
{
    static const char *const program[] = {"/bin/true", NULL};
    tc_auto_arena arena = tc_arena_new();
    struct tc_request request = {.arena = arena,
                                 .argv = program,
                                 .stdin_mode = TC_STDIN_NONE,
                                 .workspace = {.source = ".", .mode = TC_MODE_RW, .where = "--workspace"},
                                 .workspace_named = true,
                                 .rootfs = "host",
                                 .ask_fd = -1};
    struct tc_error err = {0};
    uint64_t started_us = tc_clock_us();
    int status = 0;

    (void)so_far;
    if (arena == NULL)
        tc_error_set(&err, -ENOMEM, "make a request");
    else if (tc_trial_run(RULES, &request, &status, &err) == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        tc_error_plain(&err, -EIO, "'/bin/true' failed in the cell");
    if (err.code == 0) {
        tc_found(ret, TC_STATE_OK, "a cell was started in the current directory and ran /bin/true, in %.1f ms",
                 (double)(tc_clock_us() - started_us) / 1000);
        return;
    }
    tc_found(ret, TC_STATE_MISSING, "no cell can be started in the current directory: %.400s", err.message);
    tc_remedy(ret, "%s", err.hint);
}
