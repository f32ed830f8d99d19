/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/filter/profile.h"

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/filter/program.h"
#include "simulator.h"
#include "unit.h"

/*
 * What the generator makes, against the profile itself read by the simplest
 * means there are: every call, with arguments made of the values that the
 * profile names, changed by a bit here and there.
 */

#define ROUNDS 3000

static const struct filter_target targets[] = {{"x86_64", "", SCMP_ARCH_X86_64}, {"aarch64", "", SCMP_ARCH_AARCH64}};

static uint64_t state = 0x9e3779b97f4a7c15u; /* the same numbers in every run */

static uint64_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static bool is_value(const struct filter_test *test, uint64_t argument)
{
    for (size_t i = 0; i < test->count; i++)
        if (((uint32_t)argument & test->mask) == test->values[i])
            return true;
    return false;
}

static bool test_holds(const struct filter_test *test, uint64_t argument)
{
    switch (test->kind) {
    case FILTER_IS:
        return is_value(test, argument);
    case FILTER_IS_NOT:
        return !is_value(test, argument);
    case FILTER_HAS:
        return ((uint32_t)argument & test->mask & test->values[0]) != 0;
    case FILTER_ABOVE:
        return ((uint32_t)argument & test->mask) > test->values[0];
    case FILTER_SET:
        return argument != 0;
    case FILTER_NULL:
        return argument == 0;
    }
    return false;
}

static uint32_t answer(const struct filter_call *call, const struct seccomp_data *data)
{
    for (size_t i = 0; i < call->rule_count; i++) {
        const struct filter_rule *rule = &call->rules[i];
        bool holds = true;

        for (size_t k = 0; k < rule->test_count; k++)
            holds = holds && test_holds(&rule->tests[k], data->args[rule->tests[k].argument]);
        if (holds)
            return rule->action;
    }
    return call->action;
}

/* One of the values that a call's rules name for this argument, or any number; then perhaps a bit of it turned. */
static uint64_t make_argument(const struct filter_call *call, unsigned argument)
{
    uint64_t value = random_number() % 3 == 0 ? random_number() : random_number() % 4;

    for (size_t i = 0; i < call->rule_count; i++)
        for (size_t k = 0; k < call->rules[i].test_count; k++) {
            const struct filter_test *test = &call->rules[i].tests[k];

            if (test->argument == argument && test->count > 0 && random_number() % 2 == 0)
                value = test->values[random_number() % test->count];
        }
    if (random_number() % 4 == 0)
        value ^= 1ull << random_number() % 64;
    return value;
}

static void compare(const struct filter_target *target, const struct filter_profile *profile,
                    const struct filter_program *program, const struct filter_call *call, int number)
{
    struct seccomp_data data = {.nr = number, .arch = target->architecture};
    size_t rounds = call != NULL && call->rule_count > 0 ? ROUNDS : 1;

    while (rounds-- > 0) {
        for (unsigned i = 0; i < 6; i++)
            data.args[i] = call == NULL ? random_number() : make_argument(call, i);
        if (simulate(program->items, program->count, &data) !=
            (call == NULL ? profile->otherwise : answer(call, &data)))
            ck_abort_msg("%s: call %d(%llx, %llx, %llx, %llx) is answered otherwise", target->name, number,
                         (unsigned long long)data.args[0], (unsigned long long)data.args[1],
                         (unsigned long long)data.args[2], (unsigned long long)data.args[3]);
    }
}

static void check_profile(const char *name)
{
    static struct filter_profile profile;
    static struct filter_program program;
    char path[4096];

    ck_assert_ptr_nonnull(getenv("TOOLCELL_PROFILES"));
    snprintf(path, sizeof(path), "%s/%s", getenv("TOOLCELL_PROFILES"), name);
    memset(&profile, 0, sizeof(profile));
    filter_profile_read(path, &profile);
    for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++) {
        struct filter_numbers numbers;

        filter_numbers_make(&profile, &targets[t], &numbers);
        filter_program_make(&profile, &targets[t], &program);
        for (int number = 0; number < FILTER_NUMBERS; number++)
            compare(&targets[t], &profile, &program, numbers.calls[number], number);
        compare(&targets[t], &profile, &program, NULL, FILTER_NUMBERS);
        compare(&targets[t], &profile, &program, NULL, -1);
    }
}

START_TEST(test_cell)
{
    check_profile("cell.profile");
}
END_TEST

START_TEST(test_init)
{
    check_profile("init.profile");
}
END_TEST

START_TEST(test_broker)
{
    check_profile("broker.profile");
}
END_TEST

/* Long enough that returns are out of reach and jumps need a step between. */
START_TEST(test_long_program)
{
    static struct filter_profile profile;
    static struct filter_program program;
    static const struct filter_target *target = &targets[0];
    struct filter_numbers numbers;
    size_t steps = 0;

    profile.otherwise = SECCOMP_RET_ERRNO | ENOSYS;
    profile.call_count = 60;
    for (int i = 0; i < 60; i++) {
        struct filter_call *call = &profile.calls[i];
        char *name = seccomp_syscall_resolve_num_arch(target->architecture, i * 5);

        snprintf(call->name, sizeof(call->name), "%s", name);
        free(name);
        call->named = true;
        call->action = SECCOMP_RET_ALLOW;
        call->rule_count = 2;
        for (size_t k = 0; k < 2; k++) {
            struct filter_rule *rule = &call->rules[k];

            rule->action = SECCOMP_RET_ERRNO | (uint32_t)(k == 0 ? EPERM : 1000 + i);
            rule->test_count = 1;
            rule->tests[0] = (struct filter_test){
                .kind = k == 0 ? FILTER_IS_NOT : FILTER_HAS, .argument = 1, .mask = 0xff, .count = k == 0 ? 12 : 1};
            for (uint32_t v = 0; v < 12; v++)
                rule->tests[0].values[v] = v * 7 + 1;
        }
    }
    filter_numbers_make(&profile, target, &numbers);
    filter_program_make(&profile, target, &program);
    for (size_t i = 0; i < program.count; i++)
        steps += program.items[i].code == (BPF_JMP | BPF_JA);
    ck_assert_uint_gt(steps, 0);
    for (int number = 0; number < FILTER_NUMBERS; number++)
        compare(target, &profile, &program, numbers.calls[number], number);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("profile", test_cell, test_init, test_broker, test_long_program, NULL));
}
