/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time tool: turns a profile of policy/seccomp into one classic BPF
 * program per architecture.
 *
 *   filter-generate plan PROFILE   the cell's programs as a C source
 *   filter-generate init PROFILE   init's programs as a C source
 *   filter-generate broker PROFILE the broker's
 *   filter-generate list PROFILE   every call by number, with its answer and its group, for people and tests
 */
#include <err.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/filter/profile.h"
#include "plan/filter/program.h"

static const struct filter_target targets[] = {{"x86_64", "__x86_64__", SCMP_ARCH_X86_64},
                                               {"aarch64", "__aarch64__", SCMP_ARCH_AARCH64}};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

/* The list of what is allowed is only as good as it is complete: a call that was forgotten is found here. */
static void check_complete(const struct filter_profile *profile)
{
    for (size_t t = 0; t < TARGETS; t++) {
        struct filter_numbers numbers;

        filter_numbers_make(profile, &targets[t], &numbers);
        for (int i = 0; i < FILTER_NUMBERS; i++) {
            char *name = seccomp_syscall_resolve_num_arch(targets[t].architecture, i);

            if (name != NULL && numbers.calls[i] == NULL)
                errx(1, "the call %s (%d on %s) is in no group of the profile", name, i, targets[t].name);
            free(name);
        }
    }
}

static void print_program(const struct filter_profile *profile, const struct filter_target *target)
{
    static struct filter_program program;

    filter_program_make(profile, target, &program);
    printf("static const struct sock_filter %s_program[] = {\n", target->name);
    for (size_t i = 0; i < program.count; i++)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", program.items[i].code, program.items[i].jt, program.items[i].jf,
               program.items[i].k);
    printf("};\n\n");
}

static void print_plan(const struct filter_profile *profile)
{
    check_complete(profile);
    printf("/* Generated from policy/seccomp/cell.profile. */\n#include \"plan/filter.h\"\n\n"
           "#include <linux/filter.h>\n\n");
    for (size_t i = 0; i < TARGETS; i++)
        print_program(profile, &targets[i]);
    printf("const struct tc_filter tc_filters[] = {\n");
    for (size_t i = 0; i < TARGETS; i++)
        printf("    {\"floor\", 0x%08x, (const uint8_t *)%s_program, sizeof(%s_program)},\n", targets[i].architecture,
               targets[i].name, targets[i].name);
    printf("};\nconst size_t tc_filter_count = sizeof(tc_filters) / sizeof(tc_filters[0]);\n");
}

/* For who loads it alone: the native one, as tc_OWNER_filter of OWNER/narrow.h. */
static void print_own(const struct filter_profile *profile, const char *owner)
{
    printf("/* Generated from policy/seccomp/%s.profile. */\n#include \"%s/narrow.h\"\n\n", owner, owner);
    for (size_t i = 0; i < TARGETS; i++) {
        printf("#ifdef %s\n", targets[i].macro);
        print_program(profile, &targets[i]);
        printf("const struct sock_fprog tc_%s_filter = {sizeof(%s_program) / sizeof(%s_program[0]),\n"
               "    (struct sock_filter *)%s_program};\n#endif\n",
               owner, targets[i].name, targets[i].name, targets[i].name);
    }
}

static void print_list(const struct filter_profile *profile)
{
    struct filter_numbers numbers[TARGETS];

    for (size_t t = 0; t < TARGETS; t++) {
        filter_numbers_make(profile, &targets[t], &numbers[t]);
        printf("# %s: number, call, answer, group. Every other number: %s.\n", targets[t].name,
               filter_action_name(profile->otherwise));
        for (int i = 0; i < FILTER_NUMBERS; i++) {
            const struct filter_call *call = numbers[t].calls[i];

            if (call != NULL)
                printf("%-7s %3d %-24s %-9s %s\n", targets[t].name, i, call->name,
                       call->rule_count > 0 ? "arguments" : filter_action_name(call->action), call->group);
        }
    }
}

int main(int argc, char **argv)
{
    static struct filter_profile profile;

    if (argc != 3)
        errx(2, "usage: filter-generate plan|init|broker|list PROFILE");
    filter_profile_read(argv[2], &profile);
    if (strcmp(argv[1], "plan") == 0)
        print_plan(&profile);
    else if (strcmp(argv[1], "init") == 0 || strcmp(argv[1], "broker") == 0)
        print_own(&profile, argv[1]);
    else
        print_list(&profile);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
