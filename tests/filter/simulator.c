/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator.h"

#include <check.h>
#include <string.h>

struct machine {
    uint32_t accumulator, index;
    uint32_t memory[BPF_MEMWORDS];
};

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word;

    if (offset % 4 != 0 || offset + 4 > sizeof(*data))
        ck_abort_msg("load at %u", offset);
    memcpy(&word, (const char *)data + offset, sizeof(word));
    return word;
}

static uint32_t operate(uint32_t a, uint16_t code, uint32_t b)
{
    switch (BPF_OP(code)) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_OR:
        return a | b;
    case BPF_AND:
        return a & b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return a << b;
    case BPF_RSH:
        return a >> b;
    default:
        ck_abort_msg("operation %x", code);
    }
}

static int holds(uint32_t a, uint16_t code, uint32_t b)
{
    switch (BPF_OP(code)) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    case BPF_JSET:
        return (a & b) != 0;
    default:
        ck_abort_msg("jump %x", code);
    }
}

/* Everything but returns and jumps. */
static void step(struct machine *machine, const struct sock_filter *at, const struct seccomp_data *data)
{
    uint32_t operand = BPF_SRC(at->code) == BPF_X ? machine->index : at->k;

    switch (BPF_CLASS(at->code)) {
    case BPF_LD:
        if (at->code == (BPF_LD | BPF_W | BPF_ABS))
            machine->accumulator = load(data, at->k);
        else if (at->code == (BPF_LD | BPF_IMM))
            machine->accumulator = at->k;
        else if (at->code == (BPF_LD | BPF_MEM) && at->k < BPF_MEMWORDS)
            machine->accumulator = machine->memory[at->k];
        else
            ck_abort_msg("load %x", at->code);
        break;
    case BPF_ST:
        if (at->k >= BPF_MEMWORDS)
            ck_abort_msg("store at %u", at->k);
        machine->memory[at->k] = machine->accumulator;
        break;
    case BPF_ALU:
        machine->accumulator = operate(machine->accumulator, at->code, operand);
        break;
    case BPF_MISC:
        if (BPF_MISCOP(at->code) == BPF_TAX)
            machine->index = machine->accumulator;
        else
            machine->accumulator = machine->index;
        break;
    default:
        ck_abort_msg("instruction %x", at->code);
    }
}

uint32_t simulate(const struct sock_filter *program, size_t count, const struct seccomp_data *data)
{
    struct machine machine = {0};

    for (size_t pc = 0; pc < count; pc++) {
        const struct sock_filter *at = &program[pc];

        if (BPF_CLASS(at->code) == BPF_RET)
            return BPF_RVAL(at->code) == BPF_A ? machine.accumulator : at->k;
        if (BPF_CLASS(at->code) != BPF_JMP)
            step(&machine, at, data);
        else if (BPF_OP(at->code) == BPF_JA)
            pc += at->k;
        else
            pc += holds(machine.accumulator, at->code, BPF_SRC(at->code) == BPF_X ? machine.index : at->k) ? at->jt
                                                                                                           : at->jf;
    }
    ck_abort_msg("the program has no end");
}
