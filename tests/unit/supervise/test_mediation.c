/* SPDX-License-Identifier: Apache-2.0 */
/* A broker beside the cell: what it says, and what becomes of a call when it is gone. */
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "fake_broker.h"
#include "harness.h"

static const struct tc_rule rules[] = {{.pattern = "**/.env",
                                        .pattern_length = 7,
                                        .operations = TC_OP_BIT(TC_OP_READ),
                                        .effect = TC_DENY,
                                        .priority = 100,
                                        .reason = "secrets",
                                        .source = "workspace"}};
static const struct tc_ruleset ruleset = {.name = "test", .rules = rules, .rule_count = 1};

static void call_mediated(struct call *call, const char *script)
{
    call_shell(call, script);
    call->plan.notify = TC_NOTIFY_OPEN;
    call->plan.rules = &ruleset;
    fake_broker_fault = FAKE_BROKER_NONE;
    fake_broker_says = NULL;
    fake_broker_count = 0;
}

START_TEST(test_nothing_to_say)
{
    struct call call;

    call_mediated(&call, "exit 3");
    call_run(&call);
    ck_assert_int_eq(call.result.outcome, TC_OUTCOME_EXITED);
    ck_assert_int_eq(call.status, 3);
    ck_assert_uint_eq(call.result.denials, 0);
    ck_assert_uint_ge(call.result.cpu_user_ms, 3000); /* what the broker has spent is the call's */
    ck_assert_uint_ge(call.result.cpu_system_ms, 2000);
    ck_assert_uint_eq(call.err_text.length, 0);
    call_free(&call);
}
END_TEST

/* The broker is lost at some moment: the command does not go on. */
START_TEST(test_lost)
{
    static const struct {
        enum fake_broker_fault fault;
        const char *why;
    } cases[] = {
        {FAKE_BROKER_NOT_STARTED, "start the broker: "},
        {FAKE_BROKER_FAILS, "toolcell: broker: no chroot\n"},
        {FAKE_BROKER_KILLED, "toolcell: the broker was killed by SIGKILL\n"},
        {FAKE_BROKER_ENDS, "toolcell: the broker ended by itself (status 7)\n"},
        {FAKE_BROKER_NONSENSE, "toolcell: the broker sent an impossible message\n"},
        {FAKE_BROKER_NO_SUCH, "toolcell: the broker sent an impossible message\n"},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        call_mediated(&call, "sleep 300");
        fake_broker_fault = cases[i].fault;
        call_run(&call);
        ck_assert_int_eq(call.result.outcome, TC_OUTCOME_SETUP_FAILED);
        ck_assert_str_eq(call.result.error.stage, "mediation");
        ck_assert_int_eq(call.status, 125);
        ck_assert_msg(strstr(call.err_text.data, cases[i].why) != NULL, "%s", call.err_text.data);
        call_free(&call);
    }
}
END_TEST

/* A broker that has nobody left to serve ends before the command's end is told; one that does not end is killed. */
START_TEST(test_ends)
{
    static const enum fake_broker_fault faults[] = {FAKE_BROKER_FINISHES, FAKE_BROKER_UNKILLABLE};

    for (size_t i = 0; i < TC_COUNT(faults); i++) {
        struct call call;

        call_mediated(&call, "sleep 0.2; exit 4");
        fake_broker_fault = faults[i];
        call_run(&call);
        ck_assert_int_eq(call.result.outcome, TC_OUTCOME_EXITED);
        ck_assert_int_eq(call.status, 4);
        call_free(&call);
    }
}
END_TEST

START_TEST(test_denials_as_lines)
{
    struct tc_broker_message says[7];
    struct call call;

    call_mediated(&call, "sleep 300");
    says[0] = fake_message(TC_BROKER_DENIED, 0, TC_OP_READ, "/workspace/.env", 15);
    says[1] = fake_message(TC_BROKER_DENIED, 0, TC_OP_WRITE, "/workspace/a\0/workspace/b\n\033[2J", 30);
    for (int i = 2; i < 7; i++) {
        says[i] = fake_message(TC_BROKER_DENIED, 0, TC_OP_READ, "/workspace/0", 12);
        says[i].target[11] = (char)('0' + i);
    }
    fake_broker_fault = FAKE_BROKER_CANCELS;
    fake_broker_says = says;
    fake_broker_count = 2;
    call_run(&call);
    ck_assert_uint_eq(call.result.denials, 2);
    ck_assert_str_eq(call.err_text.data,
                     "toolcell: denied read /workspace/.env: rule **/.env (workspace): secrets\n"
                     "toolcell: denied write /workspace/a -> /workspace/b\\n\\x1b[2J: rule **/.env (workspace): "
                     "secrets\n");
    call_free(&call);

    call_mediated(&call, "sleep 300");
    fake_broker_fault = FAKE_BROKER_CANCELS;
    fake_broker_says = says;
    fake_broker_count = 7;
    call_run(&call);
    ck_assert_uint_eq(call.result.denials, 7);
    ck_assert_ptr_nonnull(strstr(call.err_text.data, "/workspace/3: "));
    ck_assert_ptr_null(strstr(call.err_text.data, "/workspace/4: "));
    ck_assert_ptr_nonnull(strstr(call.err_text.data, "\ntoolcell: denied: 3 more\n"));
    call_free(&call);

    call_mediated(&call, "sleep 300");
    call.report.quiet = true;
    fake_broker_fault = FAKE_BROKER_CANCELS;
    fake_broker_says = says;
    fake_broker_count = 7;
    call_run(&call);
    ck_assert_uint_eq(call.err_text.length, 0);
    call_free(&call);
}
END_TEST

#define MANY 150

/* Names as long as they get, all of whose characters are escaped: each event still fits into its line. */
START_TEST(test_denials_as_events)
{
    static struct tc_broker_message says[MANY];
    char target[TC_BROKER_TARGET_SIZE];
    struct call call;

    call_mediated(&call, "sleep 300");
    call_json(&call);
    memset(target, '\x01', sizeof target);
    for (int i = 0; i < MANY; i++) {
        target[7] = (char)(1 + i % 30);
        says[i] = fake_message(TC_BROKER_DENIED, 0, TC_OP_READ, target, sizeof target);
        if (i % 2 == 0)
            says[i].rule.kind = TC_RULE_REF_NONE;
    }
    fake_broker_fault = FAKE_BROKER_CANCELS;
    fake_broker_says = says;
    fake_broker_count = MANY;
    call_run(&call);
    ck_assert_int_eq(call.status, 128 + SIGTERM);
    ck_assert_uint_eq(call.result.denials, MANY);
    ck_assert_uint_eq(call_count(&call, "denied"), 100);
    ck_assert_uint_eq(call_count(&call, "result"), 1);
    call_free(&call);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("mediation", test_nothing_to_say, test_lost, test_ends, test_denials_as_lines,
                               test_denials_as_events, NULL));
}
