/* SPDX-License-Identifier: Apache-2.0 */
#include "cell/reply.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "unit.h"

static struct tc_init_reply make(unsigned type)
{
    return (struct tc_init_reply){.magic = TC_INIT_MAGIC, .type = type, .pid = 2};
}

START_TEST(test_order)
{
    static const bool accepted[6][7] = {
        /* 0, READY, STARTED, FAILED, EXITED, LISTENER, 6 */
        {false, true, false, false, false, false, false},  /* after none */
        {false, false, true, true, false, true, false},    /* READY */
        {false, false, false, false, true, false, false},  /* STARTED */
        {false, false, false, false, false, false, false}, /* FAILED */
        {false, false, false, false, false, false, false}, /* EXITED */
        {false, false, true, true, false, false, false},   /* LISTENER */
    };

    for (unsigned last = 0; last < 6; last++) {
        for (unsigned type = 0; type < 7; type++) {
            struct tc_init_reply reply = make(type);
            struct tc_init_reply got;

            reply.value = type == TC_INIT_FAILED ? ENOENT : 0;
            reply.step = type == TC_INIT_FAILED ? TC_INIT_STEP_EXEC : 0;
            ck_assert_msg((tc_reply_check(&reply, sizeof reply, last, &got) == 0) == accepted[last][type],
                          "%u after %u", type, last);
        }
    }
}
END_TEST

START_TEST(test_sizes)
{
    struct tc_init_reply reply = make(TC_INIT_READY);
    char packet[sizeof reply + 1];
    struct tc_init_reply got;

    memcpy(packet, &reply, sizeof reply);
    for (size_t size = 0; size <= sizeof packet; size++)
        ck_assert_int_eq(tc_reply_check(packet, size, 0, &got), size == sizeof reply ? 0 : -EPROTO);
    packet[0] ^= 1;
    ck_assert_int_eq(tc_reply_check(packet, sizeof reply, 0, &got), -EPROTO);
}
END_TEST

START_TEST(test_values)
{
    static const struct {
        unsigned type;
        int value;
        unsigned step, pid;
        int result;
    } cases[] = {
        {TC_INIT_STARTED, 0, 0, 2, 0},
        {TC_INIT_STARTED, 0, 0, 1, -EPROTO},
        {TC_INIT_STARTED, 0, 0, 0x80000000u, -EPROTO},
        {TC_INIT_FAILED, 0, TC_INIT_STEP_EXEC, 0, -EPROTO},
        {TC_INIT_FAILED, -2, TC_INIT_STEP_EXEC, 0, -EPROTO},
        {TC_INIT_FAILED, 4096, TC_INIT_STEP_EXEC, 0, -EPROTO},
        {TC_INIT_FAILED, 2, TC_INIT_STEP_NONE, 0, -EPROTO},
        {TC_INIT_FAILED, 2, TC_INIT_STEP_MEDIATION + 1, 0, -EPROTO},
        {TC_INIT_FAILED, 2, TC_INIT_STEP_CWD, 0, 0},
        {TC_INIT_EXITED, 0xff00, 0, 2, 0},
        {TC_INIT_EXITED, 9, 0, 2, 0},
        {TC_INIT_EXITED, 0x137f, 0, 2, -EPROTO}, /* stopped */
        {TC_INIT_EXITED, 0xffff, 0, 2, -EPROTO}, /* continued */
        {TC_INIT_EXITED, 0x10000, 0, 2, -EPROTO},
        {TC_INIT_EXITED, -1, 0, 2, -EPROTO},
    };

    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_init_reply reply = make(cases[i].type);
        struct tc_init_reply got;

        reply.value = cases[i].value;
        reply.step = cases[i].step;
        reply.pid = cases[i].pid;
        ck_assert_msg(tc_reply_check(&reply, sizeof reply, cases[i].type == TC_INIT_EXITED ? 2 : 1, &got) ==
                          cases[i].result,
                      "case %zu", i);
    }
}
END_TEST

START_TEST(test_full_is_yes_or_no)
{
    struct tc_init_reply reply = make(TC_INIT_EXITED);
    struct tc_init_reply got;

    reply.value = 0;
    for (unsigned full = 0; full < 4; full++) {
        reply.full = full;
        ck_assert_int_eq(tc_reply_check(&reply, sizeof reply, TC_INIT_STARTED, &got), full <= 1 ? 0 : -EPROTO);
    }
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("reply", test_order, test_sizes, test_values, test_full_is_yes_or_no, NULL));
}
