/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time tool: turns the table into one classic BPF program per
 * architecture and prints them as a C source. Usage: generate > blob.c
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/filter/table.h"

struct target {
    const char *name;
    uint32_t architecture;
};

static const struct target targets[] = {{"x86_64", SCMP_ARCH_X86_64}, {"aarch64", SCMP_ARCH_AARCH64}};

/* A rule under construction: the tests expanded so far. */
struct expansion {
    scmp_filter_ctx filter;
    const struct filter_rule *rule;
    int call;
    struct scmp_arg_cmp compares[FILTER_TESTS];
};

static void expand(struct expansion *state, size_t index);

static void expand_compare(struct expansion *state, size_t index, uint32_t mask, uint32_t value)
{
    state->compares[index] = SCMP_CMP(state->rule->tests[index].argument, SCMP_CMP_MASKED_EQ, mask, value);
    expand(state, index + 1);
}

/* The complement of a set of values as aligned blocks, each one masked comparison: split until no member is inside. */
static void expand_complement(struct expansion *state, size_t index, uint32_t mask, uint32_t value, uint32_t bit)
{
    const struct filter_test *test = &state->rule->tests[index];
    bool inside = false;

    for (size_t i = 0; i < test->count; i++)
        inside = inside || (test->values[i] & mask) == value;
    if (!inside) {
        expand_compare(state, index, mask, value);
        return;
    }
    if (bit == 0)
        return;
    expand_complement(state, index, mask | bit, value, bit >> 1);
    expand_complement(state, index, mask | bit, value | bit, bit >> 1);
}

static void expand(struct expansion *state, size_t index)
{
    const struct filter_test *test = &state->rule->tests[index];

    if (index == state->rule->test_count) {
        int result = seccomp_rule_add_array(state->filter, SCMP_ACT_ERRNO((uint32_t)state->rule->error), state->call,
                                            (unsigned)index, state->compares);
        /* EEXIST: two blocks of one complement may be covered by the same earlier rule. */
        if (result < 0 && result != -EEXIST)
            errx(1, "%s: %s", state->rule->call, strerror(-result));
        return;
    }
    switch (test->kind) {
    case FILTER_EQUAL:
        expand_compare(state, index, test->mask, test->value);
        break;
    case FILTER_ANY_BIT:
        for (uint32_t bit = 1; bit != 0; bit <<= 1)
            if (test->value & bit)
                expand_compare(state, index, bit, bit);
        break;
    case FILTER_POINTER:
    case FILTER_NULL:
        state->compares[index] = SCMP_CMP(test->argument, test->kind == FILTER_NULL ? SCMP_CMP_EQ : SCMP_CMP_NE, 0, 0);
        expand(state, index + 1);
        break;
    case FILTER_NOT_IN:
        expand_complement(state, index, 0, 0, test->mask ^ (test->mask >> 1));
        break;
    }
}

static void add_rule(scmp_filter_ctx filter, const struct target *target, const struct filter_rule *rule)
{
    struct expansion state = {.filter = filter, .rule = rule};
    int there = seccomp_syscall_resolve_name_arch(target->architecture, rule->call);

    state.call = seccomp_syscall_resolve_name(rule->call);
    if (state.call == __NR_SCMP_ERROR || there == __NR_SCMP_ERROR)
        errx(1, "libseccomp does not know the call %s", rule->call);
    if (there < 0) /* this architecture has no such call */
        return;
    expand(&state, 0);
}

static void load_program(const struct target *target, struct sock_filter **program, size_t *count)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    FILE *file = tmpfile();
    long size;

    if (filter == NULL || file == NULL)
        errx(1, "out of memory");
    if (target->architecture != seccomp_arch_native() &&
        (seccomp_arch_add(filter, target->architecture) < 0 || seccomp_arch_remove(filter, SCMP_ARCH_NATIVE) < 0))
        errx(1, "%s: not supported by libseccomp", target->name);
    if (seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) < 0 ||
        seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0)
        errx(1, "libseccomp 2.5 or newer is needed");
    for (size_t g = 0; g < filter_group_count; g++)
        for (size_t i = 0; i < filter_groups[g].count; i++)
            add_rule(filter, target, &filter_groups[g].rules[i]);
    if (seccomp_export_bpf(filter, fileno(file)) < 0)
        errx(1, "%s: export fails", target->name);
    size = lseek(fileno(file), 0, SEEK_END);
    *program = malloc((size_t)size);
    *count = (size_t)size / sizeof(**program);
    if (*program == NULL || pread(fileno(file), *program, (size_t)size, 0) != size)
        errx(1, "%s: read back fails", target->name);
    fclose(file);
    seccomp_release(filter);
}

/* Calls that are newer than libseccomp or than the table, before the rest. Jumps are relative: order is all that
 * matters. */
static size_t make_prologue(struct sock_filter *out)
{
    size_t count = 0;
    size_t tests = filter_unknown_call_count + 1;

    out[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < filter_unknown_call_count; i++)
        out[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, filter_unknown_calls[i],
                                                    (unsigned char)(tests - 1 - i), 0);
    out[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, FILTER_LAST_CALL, 0, 1);
    out[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    return count;
}

static void print_instructions(const struct sock_filter *program, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", program[i].code, program[i].jt, program[i].jf, program[i].k);
}

int main(void)
{
    printf("/* Generated from the filter's table. */\n#include \"plan/filter.h\"\n\n"
           "#include <linux/audit.h>\n#include <linux/filter.h>\n\n");
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct sock_filter prologue[16] = {0};
        struct sock_filter *program = NULL;
        size_t count = 0;

        load_program(&targets[i], &program, &count);
        printf("static const struct sock_filter %s_program[] = {\n", targets[i].name);
        print_instructions(prologue, make_prologue(prologue));
        print_instructions(program, count);
        printf("};\n\n");
        free(program);
    }
    printf("const struct tc_filter tc_filters[] = {\n");
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        printf("    {\"floor\", 0x%08x, (const uint8_t *)%s_program, sizeof(%s_program)},\n", targets[i].architecture,
               targets[i].name, targets[i].name);
    printf("};\nconst size_t tc_filter_count = sizeof(tc_filters) / sizeof(tc_filters[0]);\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
