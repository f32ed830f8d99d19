/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of a broker, and of the call itself: who is asked, what an answer holds for, and how each one ends. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fake_broker.h"
#include "harness.h"
#include "supervise/approval.h"

static const struct tc_rule rules[] = {
    {.pattern = "a*", .operations = TC_OP_BIT(TC_OP_READ), .effect = TC_ASK, .source = "test"},
    {.pattern = "b*", .operations = TC_OP_BIT(TC_OP_READ), .effect = TC_ASK, .source = "test"},
    {.pattern = "**", .operations = TC_OP_BIT(TC_OP_EXECUTE), .effect = TC_ASK, .source = "test"}};
static struct tc_ruleset ruleset = {.name = "test", .rules = rules, .rule_count = 3};

static struct tc_broker_message says[64];
static int answers; /* where the test writes to */

static void question(const char *target, unsigned rule)
{
    says[fake_broker_count] = fake_message(TC_BROKER_ASK, 100 + fake_broker_count, TC_OP_READ, target, strlen(target));
    says[fake_broker_count++].rule.index = rule;
}

/* A call whose broker asks what question() is then called with. */
static void call_asked(struct call *call, enum tc_ask ask)
{
    int pair[2];

    call_shell(call, "sleep 300");
    call_json(call);
    call->plan.notify = TC_NOTIFY_OPEN;
    call->plan.rules = &ruleset;
    ruleset.approval_ms = 0;
    call->report.ask = ask;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    call->report.ask_fd = pair[0];
    answers = pair[1];
    fake_broker_fault = FAKE_BROKER_NONE;
    fake_broker_says = says;
    fake_broker_count = 0;
}

static void begin(struct call *call)
{
    call_start(call);
    if (call->report.ask == TC_ASK_FD)
        close(call->report.ask_fd);
}

static void answer(const char *line)
{
    ck_assert_int_eq(write(answers, line, strlen(line)), (ssize_t)strlen(line));
}

/* What the broker was told: "answered 100 allow", "answered 100 deny NOTE". */
static void await_denied(struct call *call, unsigned number, enum tc_ask_why why)
{
    char text[64];

    snprintf(text, sizeof text, "answered %u deny %d", number, why);
    call_await(call, text);
}

static void await_allowed(struct call *call, unsigned number)
{
    char text[64];

    snprintf(text, sizeof text, "answered %u allow", number);
    call_await(call, text);
}

static void end(struct call *call)
{
    kill(call->pid, SIGTERM);
    call_finish(call);
    ck_assert_int_eq(call->result.outcome, TC_OUTCOME_CANCELLED);
    close(answers);
    call_free(call);
}

START_TEST(test_once)
{
    struct call call;

    call_asked(&call, TC_ASK_FD);
    question("a1", 0);
    question("a1", 0); /* waits for the first, and does so once the next is asked */
    question("a2", 0);
    begin(&call);
    call_await(&call, "\"ask\":2");
    answer("{\"ask\": 2, \"answer\": \"deny\"}\n{\"ask\": 1, \"answer\": \"allow\"}\n");
    await_allowed(&call, 100);
    await_allowed(&call, 101);
    await_denied(&call, 102, TC_WHY_ANSWER);
    ck_assert_uint_eq(call_count(&call, "ask"), 2);
    ck_assert_ptr_nonnull(strstr(call.out_text.data, "\"why\":\"deny\""));
    end(&call);
}
END_TEST

/* What comes later is answered by what was said before; the same target under another operation or rule is not. */
START_TEST(test_kept)
{
    static const struct {
        const char *answer;
        bool same_target, same_rule, allow;
    } cases[] = {
        {"{\"ask\":1,\"answer\":\"allow\",\"for\":\"call\"}\n", true, false, true},
        {"{\"ask\":1,\"answer\":\"deny\",\"for\":\"session\",\"match\":\"target\"}\n", true, false, false},
        {"{\"ask\":1,\"answer\":\"allow\",\"for\":\"session\",\"match\":\"rule\"}\n", true, true, true},
        {"{\"ask\":1,\"answer\":\"deny\",\"match\":\"rule\",\"for\":\"call\"}\n", true, true, false},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        call_asked(&call, TC_ASK_FD);
        question("a1", 0);
        question("a2", 0);
        question("b1", 1);
        begin(&call);
        call_await(&call, "\"ask\":3");
        answer(cases[i].answer);
        if (cases[i].allow)
            await_allowed(&call, 100);
        else
            await_denied(&call, 100, TC_WHY_ANSWER);
        /* What is open and covered needs no second answer. */
        if (cases[i].same_rule && cases[i].allow)
            await_allowed(&call, 101);
        else if (cases[i].same_rule)
            await_denied(&call, 101, TC_WHY_ANSWER);
        answer("{\"ask\": 3, \"answer\": \"allow\"}\n");
        await_allowed(&call, 102);
        if (!cases[i].same_rule)
            ck_assert_ptr_null(strstr(call.out_text.data, "answered 101"));
        end(&call);
    }
}
END_TEST

START_TEST(test_malformed)
{
    static const char *const lines[] = {
        "{\"ask\": 1, \"answer\": \"yes\"}\n",
        "{\"ask\": 1}\n",
        "{\"ask\": 1, \"answer\": \"allow\", \"for\": \"ever\"}\n",
        "{\"ask\": 1, \"answer\": \"allow\", \"fro\": \"once\"}\n",
        "{\"ask\": 1, \"answer\": \"allow\", \"answer\": \"deny\"}\n",
        "{\"ask\": \"1\", \"answer\": \"allow\"}\n",
        "{\"ask\": 1, \"answer\": \"allow\"\n",
        "[1, \"allow\"]\n",
        "allow\n",
        "\xff\xfe\n",
    };

    for (size_t i = 0; i < TC_COUNT(lines); i++) {
        struct call call;

        call_asked(&call, TC_ASK_FD);
        question("a1", 0);
        begin(&call);
        call_await(&call, "\"ask\":1");
        answer(lines[i]);
        await_denied(&call, 100, TC_WHY_MALFORMED);
        ck_assert_ptr_nonnull(strstr(call.out_text.data, "\"why\":\"malformed\""));
        end(&call);
    }
}
END_TEST

/* A line that names its question denies that one; one without end denies all, and what follows it is read again. */
START_TEST(test_malformed_among_others)
{
    char endless[8000];
    struct call call;

    call_asked(&call, TC_ASK_FD);
    question("a1", 0);
    question("a2", 0);
    begin(&call);
    call_await(&call, "\"ask\":2");
    answer("{\"ask\": 2, \"answer\": \"maybe\"}\n{\"ask\": 1, \"answer\": \"allow\"}\n");
    await_denied(&call, 101, TC_WHY_MALFORMED);
    await_allowed(&call, 100);
    end(&call);

    call_asked(&call, TC_ASK_FD);
    question("a1", 0);
    question("a2", 0);
    begin(&call);
    call_await(&call, "\"ask\":2");
    memset(endless, ' ', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    answer(endless);
    await_denied(&call, 100, TC_WHY_MALFORMED);
    await_denied(&call, 101, TC_WHY_MALFORMED);
    end(&call);
}
END_TEST

START_TEST(test_late_and_unknown)
{
    struct call call;

    call_asked(&call, TC_ASK_FD);
    ruleset.approval_ms = 200;
    question("a1", 0);
    begin(&call);
    await_denied(&call, 100, TC_WHY_DEADLINE);
    ck_assert_ptr_nonnull(strstr(call.out_text.data, "\"deadline_ms\":200"));
    answer("{\"ask\": 1, \"answer\": \"allow\"}\n{\"ask\": 77, \"answer\": \"allow\"}\n\n");
    usleep(100000);
    end(&call); /* nothing came of it: the fake reports each answer */
}
END_TEST

START_TEST(test_wall_limit_is_a_deadline)
{
    struct call call;

    call_asked(&call, TC_ASK_FD);
    call_limit(&call, TC_LIMIT_WALL, 700);
    question("a1", 0);
    begin(&call);
    call_finish(&call);
    ck_assert_int_eq(call.result.outcome, TC_OUTCOME_TIMEOUT);
    ck_assert_ptr_null(strstr(call.out_text.data, "\"deadline_ms\":60000"));
    close(answers);
    call_free(&call);
}
END_TEST

START_TEST(test_nobody)
{
    struct call call;

    call_asked(&call, TC_ASK_DENY);
    question("a1", 0);
    begin(&call);
    await_denied(&call, 100, TC_WHY_NOBODY);
    ck_assert_uint_eq(call_count(&call, "ask"), 0);
    ck_assert_ptr_nonnull(strstr(call.out_text.data, "\"by\":\"ask\""));
    end(&call);
}
END_TEST

START_TEST(test_gone)
{
    struct call call;

    call_asked(&call, TC_ASK_FD);
    question("a1", 0);
    question("a2", 0);
    begin(&call);
    call_await(&call, "\"ask\":2");
    shutdown(answers, SHUT_WR);
    await_denied(&call, 100, TC_WHY_GONE);
    await_denied(&call, 101, TC_WHY_GONE);
    end(&call);

    call_asked(&call, TC_ASK_FD); /* from the start */
    question("a1", 0);
    shutdown(answers, SHUT_WR);
    begin(&call);
    await_denied(&call, 100, TC_WHY_GONE);
    end(&call);
}
END_TEST

START_TEST(test_too_many)
{
    struct call call;

    call_asked(&call, TC_ASK_FD);
    for (int i = 0; i < 40; i++) {
        char target[8];

        snprintf(target, sizeof target, "a%d", i);
        question(target, 0);
    }
    begin(&call);
    for (unsigned i = TC_ASKS_MOST; i < 40; i++)
        await_denied(&call, 100 + i, TC_WHY_MANY);
    ck_assert_uint_eq(call_count(&call, "ask"), TC_ASKS_MOST);
    answer("{\"ask\":1,\"answer\":\"allow\",\"for\":\"call\",\"match\":\"rule\"}\n");
    for (unsigned i = 0; i < TC_ASKS_MOST; i++)
        await_allowed(&call, 100 + i);
    end(&call);
}
END_TEST

/* ---- whether the command may start ---- */

static void call_own(struct call *call, const char *script, enum tc_ask ask)
{
    static const struct tc_decision decision = {
        .effect = TC_ASK, .because = TC_BECAUSE_RULE, .operation = TC_OP_EXECUTE, .rule = &rules[2]};

    call_asked(call, ask);
    call->argv[2] = script;
    call->report.question = &decision;
    call->report.program = "/usr/bin/dash";
}

START_TEST(test_start_allowed)
{
    struct call call;

    call_own(&call, "exit 5", TC_ASK_FD);
    begin(&call);
    call_await(&call, "\"ask\":1");
    ck_assert_ptr_nonnull(strstr(call.out_text.data, "\"operation\":\"execute\",\"target\":\"/usr/bin/dash\""));
    answer("{\"ask\":1,\"answer\":\"allow\"}\n");
    call_finish(&call);
    ck_assert_int_eq(call.status, 5);
    close(answers);
    call_free(&call);
}
END_TEST

/* The broker asks about the execve of what was approved: no new question, but only once. */
START_TEST(test_start_is_asked_once)
{
    struct call call;

    call_own(&call, "sleep 300", TC_ASK_FD);
    for (int i = 0; i < 2; i++) {
        question("/usr/bin/dash", 2);
        says[i].operation = TC_OP_EXECUTE;
    }
    question("a1", 0); /* another, which is asked when both wait for the own question */
    begin(&call);
    call_await(&call, "\"ask\":2");
    answer("{\"ask\":1,\"answer\":\"allow\"}\n");
    await_allowed(&call, 100);
    await_allowed(&call, 101);
    ck_assert_uint_eq(call_count(&call, "ask"), 2);
    end(&call);
}
END_TEST

START_TEST(test_start_denied)
{
    static const struct {
        const char *answer;
        const char *why;
        uint64_t approval_ms;
    } cases[] = {
        {"{\"ask\":1,\"answer\":\"deny\"}\n", "the answer was no", 0},
        {"what?\n", "the answer was malformed", 0},
        {"", "nobody answered in time", 200},
        {NULL, "who would have answered is gone", 0},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct call call;

        call_own(&call, "touch /tmp/never", TC_ASK_FD);
        ruleset.approval_ms = cases[i].approval_ms;
        begin(&call);
        call_await(&call, "\"ask\":1");
        if (cases[i].answer != NULL)
            answer(cases[i].answer);
        else
            close(answers);
        call_finish(&call);
        ck_assert_int_eq(call.result.outcome, TC_OUTCOME_REFUSED);
        ck_assert_str_eq(call.result.error.stage, "rules");
        ck_assert_msg(strstr(call.result.error.message, cases[i].why) != NULL, "%s", call.result.error.message);
        ck_assert_int_eq(call.status, 126);
        ck_assert_uint_eq(call.result.denials, 1);
        ck_assert_uint_eq(call_count(&call, "denied"), 1);
        if (cases[i].answer != NULL)
            close(answers);
        call_free(&call);
    }
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("approval", test_once, test_kept, test_malformed, test_malformed_among_others,
                               test_late_and_unknown, test_wall_limit_is_a_deadline, test_nobody, test_gone,
                               test_too_many, test_start_allowed, test_start_is_asked_once, test_start_denied, NULL));
}
