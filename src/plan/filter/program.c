/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/filter/program.h"

#include <err.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>

/*
 * Theory of operation
 *
 * The numbers of an architecture fall into runs with the same answer. A binary
 * tree over the runs ends in a return, or in the tests of one call. This is
 * not libseccomp's code because a run costs one comparison here and one per
 * call there, and because "none of these values" is as many comparisons here
 * and dozens of masked ones there. The kernel walks the whole program once per
 * number when it is loaded (seccomp_cache_prepare, Linux 5.11), to remember
 * which calls are always allowed: those never reach the program again, and a
 * shallow tree is what loading it costs.
 *
 * x32 calls carry bit 30 in their number and so lie behind the last run;
 * negative numbers, which a tracer may write to skip a call, too.
 */

struct run {
    uint32_t first;
    const struct filter_call *call; /* with tests, or NULL */
    uint32_t action;
};

#define REACH 256 /* of a conditional jump */

/*
 * Programs are written from their end to their begin, since classic BPF jumps
 * forward only: every target is there before the jump to it. A label is the
 * place of an instruction counted from the end.
 */
static size_t prepend(struct filter_program *program, uint16_t code, uint32_t value)
{
    if (program->count == FILTER_INSTRUCTIONS)
        errx(1, "the program is too long");
    program->items[program->count] = (struct sock_filter){.code = code, .k = value};
    return program->count++;
}

/* The return with this action; one that is near enough is shared, since loading costs by the length of the program. */
static size_t place_return(struct filter_program *program, uint32_t action)
{
    for (size_t i = program->count; i-- > 0 && program->count - i < REACH - 2;)
        if (program->items[i].code == (BPF_RET | BPF_K) && program->items[i].k == action)
            return i;
    return prepend(program, BPF_RET | BPF_K, action);
}

/* A place at most so many instructions ahead of the next one: the label, or a longer jump to it. */
static size_t bring_near(struct filter_program *program, size_t label, size_t reach)
{
    if (program->count - label <= reach)
        return label;
    return prepend(program, BPF_JMP | BPF_JA, (uint32_t)(program->count - label - 1));
}

static size_t prepend_jump(struct filter_program *program, uint16_t code, uint32_t value, size_t yes, size_t no)
{
    size_t label;

    yes = bring_near(program, yes, REACH - 1);
    no = bring_near(program, no, REACH);
    label = prepend(program, BPF_JMP | BPF_K | code, value);
    program->items[label].jt = (unsigned char)(label - yes - 1);
    program->items[label].jf = (unsigned char)(label - no - 1);
    return label;
}

static size_t prepend_load(struct filter_program *program, const struct filter_test *test, size_t half)
{
    return prepend(
        program, BPF_LD | BPF_W | BPF_ABS,
        (uint32_t)(offsetof(struct seccomp_data, args) + test->argument * sizeof(uint64_t) + half * sizeof(uint32_t)));
}

/* Which of the values it is: `one` when one of them, else `other`. */
static size_t prepend_values(struct filter_program *program, const struct filter_test *test, size_t one, size_t other)
{
    for (size_t i = test->count; i-- > 0;)
        other = prepend_jump(program, BPF_JEQ, test->values[i], one, other);
    return other;
}

static size_t prepend_upper_half(struct filter_program *program, const struct filter_test *test, size_t zero, size_t no)
{
    prepend_jump(program, BPF_JEQ, 0, zero, no);
    return prepend_load(program, test, 1);
}

static size_t prepend_test(struct filter_program *program, const struct filter_test *test, size_t yes, size_t no)
{
    switch (test->kind) {
    case FILTER_IS:
        prepend_values(program, test, yes, no);
        break;
    case FILTER_IS_NOT:
        prepend_values(program, test, no, yes);
        break;
    case FILTER_HAS:
        prepend_jump(program, BPF_JSET, test->values[0], yes, no);
        break;
    case FILTER_ABOVE:
        prepend_jump(program, BPF_JGT, test->values[0], yes, no);
        break;
    case FILTER_SET:
        prepend_jump(program, BPF_JEQ, 0, prepend_upper_half(program, test, no, yes), yes);
        break;
    case FILTER_NULL:
        prepend_jump(program, BPF_JEQ, 0, prepend_upper_half(program, test, yes, no), no);
        break;
    }
    if (test->mask != 0xffffffff)
        prepend(program, BPF_ALU | BPF_AND | BPF_K, test->mask);
    return prepend_load(program, test, 0);
}

static size_t prepend_call(struct filter_program *program, const struct filter_call *call)
{
    size_t next = place_return(program, call->action);

    for (size_t i = call->rule_count; i-- > 0;) {
        const struct filter_rule *rule = &call->rules[i];
        size_t yes = place_return(program, rule->action);

        for (size_t k = rule->test_count; k-- > 0;)
            yes = prepend_test(program, &rule->tests[k], yes, next);
        next = yes;
    }
    return next;
}

static size_t prepend_runs(struct filter_program *program, const struct run *runs, size_t count)
{
    size_t half = count / 2;
    size_t high, low;

    if (count == 1)
        return runs->call != NULL ? prepend_call(program, runs->call) : place_return(program, runs->action);
    high = prepend_runs(program, runs + half, count - half);
    low = prepend_runs(program, runs, half);
    /* What was near when it was placed may be far by now. */
    if (count - half == 1 && runs[half].call == NULL)
        high = place_return(program, runs[half].action);
    return prepend_jump(program, BPF_JGE, runs[half].first, high, low);
}

static size_t make_runs(const struct filter_profile *profile, const struct filter_numbers *numbers, struct run *ret)
{
    size_t count = 0;

    for (uint32_t i = 0; i <= FILTER_NUMBERS; i++) {
        const struct filter_call *call = i < FILTER_NUMBERS ? numbers->calls[i] : NULL;
        uint32_t action = call == NULL ? profile->otherwise : call->action;

        if (call != NULL && call->rule_count == 0)
            call = NULL;
        if (count == 0 || call != NULL || ret[count - 1].call != NULL || ret[count - 1].action != action)
            ret[count++] = (struct run){.first = i, .call = call, .action = action};
    }
    return count;
}

void filter_numbers_make(const struct filter_profile *profile, const struct filter_target *target,
                         struct filter_numbers *ret)
{
    *ret = (struct filter_numbers){0};
    for (size_t i = 0; i < profile->call_count; i++) {
        const struct filter_call *call = &profile->calls[i];
        int number = seccomp_syscall_resolve_name_arch(target->architecture, call->name);

        if (number == __NR_SCMP_ERROR)
            number = call->number;
        if (number == -1 || !call->named)
            errx(1, "%s: no such call, or in no group", call->name);
        if (number < 0) /* libseccomp's numbers for calls that other architectures have */
            continue;
        if (number >= FILTER_NUMBERS || ret->calls[number] != NULL)
            errx(1, "%s: number %d is too large, or taken", call->name, number);
        ret->calls[number] = call;
    }
}

void filter_program_make(const struct filter_profile *profile, const struct filter_target *target,
                         struct filter_program *ret)
{
    struct filter_numbers numbers;
    struct run runs[FILTER_NUMBERS + 1];
    size_t start, other;

    ret->count = 0;
    filter_numbers_make(profile, target, &numbers);
    start = prepend_runs(ret, runs, make_runs(profile, &numbers, runs));
    if (start != ret->count - 1) /* a return that is shared */
        bring_near(ret, start, 0);
    start = prepend(ret, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    other = place_return(ret, SECCOMP_RET_ERRNO | ENOSYS);
    prepend_jump(ret, BPF_JEQ, target->architecture, start, other);
    prepend(ret, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    for (size_t i = 0; i < ret->count / 2; i++) {
        struct sock_filter item = ret->items[i];

        ret->items[i] = ret->items[ret->count - 1 - i];
        ret->items[ret->count - 1 - i] = item;
    }
}
