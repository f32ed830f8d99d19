/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time of a whole cell, read from /proc of the host. RLIMIT_CPU counts
 * one process; a fork resets it. So the tree below init is walked, and what is
 * counted is what the living have spent and what they have waited for.
 *
 * The kernel adds a process to nobody's sum when its parent ignores SIGCHLD or
 * has set SA_NOCLDWAIT. So each look asks after the processes of the last one
 * that are gone: had their parent waited for them, its sums would have grown
 * by theirs. Page faults tell it as well as times, since each process has some
 * and they are counted exactly, while less than a tick is not shown. What is
 * lost is added here. How long such a process ran on after it was looked at
 * nobody knows; it counts as being as busy until this look. So children too
 * short to be looked at twice are counted by how often one is met. What gets
 * past: children as short, beside others with many faults that are waited for.
 *
 * Processes whose parent is gone too may have been waited for by it or by
 * whoever inherited them: they are held against what grew and has no other
 * explanation.
 */
#include "supervise/cpu.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

#define INTERVAL_MIN_MS 10u
#define INTERVAL_MAX_MS 100u

/* Processes that are gone and would have to show in the same place. */
struct loss {
    struct tc_cpu_sums gone; /* theirs, at the last look */
    uint64_t busy;           /* of them together, per mille of one CPU */
    struct tc_cpu_sums born; /* of processes in the same place that were not there then */
};

static void add(struct tc_cpu_sums *sums, const struct tc_cpu_sums *more)
{
    sums->user += more->user;
    sums->system += more->system;
    sums->faults += more->faults;
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static struct tc_cpu_sums difference(const struct tc_cpu_sums *a, const struct tc_cpu_sums *b)
{
    return (struct tc_cpu_sums){beyond(a->user, b->user), beyond(a->system, b->system), beyond(a->faults, b->faults)};
}

static uint64_t ticks_to_ms(uint64_t ticks)
{
    return ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static const struct tc_process *find_same(const struct tc_census *census, const struct tc_process *process)
{
    const struct tc_process *found = tc_census_find(census, process->pid);

    return found != NULL && found->start == process->start ? found : NULL;
}

/* Take a group's processes into the losses unless they show in what grew. What grew beyond them goes to ret_rest. */
static uint64_t settle(struct tc_cpu *cpu, const struct loss *loss, const struct tc_cpu_sums *grown, uint64_t passed_ms,
                       struct tc_cpu_sums *ret_rest)
{
    struct tc_cpu_sums missing = difference(&loss->gone, grown);
    struct tc_cpu_sums rest = difference(grown, &loss->gone);

    add(ret_rest, &rest);
    if (missing.user + missing.system + missing.faults == 0)
        return 0;
    add(&cpu->lost, &missing);
    /* One process after the other: what the next one has spent already is counted as its own. */
    return beyond(loss->busy * passed_ms / TC_BUSY,
                  ticks_to_ms(grown->user + grown->system + loss->born.user + loss->born.system));
}

struct look {
    const struct tc_census *before, *now;
    struct loss *losses; /* by position in now, of the children of each; one more for those whose parent is gone */
};

static void find_gone(const struct look *look)
{
    for (size_t i = 0; i < look->before->count; i++) {
        const struct tc_process *process = &look->before->list[i], *old, *parent = NULL;
        struct loss *loss;

        if (find_same(look->now, process) != NULL)
            continue;
        old = tc_census_find(look->before, process->parent);
        if (old != NULL)
            parent = find_same(look->now, old);
        loss = &look->losses[parent == NULL ? look->now->count : (size_t)(parent - look->now->list)];
        add(&loss->gone, &process->own);
        add(&loss->gone, &process->waited);
        loss->busy += process->busy;
    }
}

static void find_born(const struct look *look)
{
    for (size_t i = 0; i < look->now->count; i++) {
        const struct tc_process *process = &look->now->list[i];
        const struct tc_process *parent = tc_census_find(look->now, process->parent);

        if (parent != NULL && find_same(look->before, process) == NULL)
            add(&look->losses[parent - look->now->list].born, &process->own);
    }
}

/* Returns the guess, in milliseconds. */
static uint64_t settle_all(struct tc_cpu *cpu, const struct look *look, pid_t init, uint64_t passed_ms)
{
    struct tc_cpu_sums rest = {0, 0, 0}, nothing = {0, 0, 0};
    uint64_t guess_ms = 0;

    for (size_t i = 0; i < look->now->count; i++) {
        const struct tc_process *old = find_same(look->before, &look->now->list[i]);
        const struct loss *loss = &look->losses[i];
        struct tc_process fresh;
        struct tc_cpu_sums grown;

        if (old == NULL ||
            (loss->gone.user + loss->gone.system + loss->gone.faults == 0 && look->now->list[i].pid != init))
            continue;
        /* Read again: a child that ended during the walk may have been waited for after its parent was read. */
        if (tc_process_read(old->pid, &fresh) < 0 || fresh.start != old->start)
            continue;
        grown = difference(&fresh.waited, &old->waited);
        guess_ms += settle(cpu, loss, &grown, passed_ms, &rest);
    }
    return guess_ms + settle(cpu, &look->losses[look->now->count], &rest, passed_ms, &nothing);
}

/* Compare two looks. Without memory the losses of this time are not counted. */
static void count_losses(struct tc_cpu *cpu, const struct tc_census *now, pid_t init, uint64_t passed_ms)
{
    struct look look = {&cpu->census, now, calloc(now->count + 1, sizeof(struct loss))};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most_ms = passed_ms * (uint64_t)(cpus > 0 ? cpus : 1), guess_ms;

    if (look.losses == NULL)
        return;
    find_gone(&look);
    find_born(&look);
    guess_ms = settle_all(cpu, &look, init, passed_ms);
    cpu->guessed_ms += guess_ms < most_ms ? guess_ms : most_ms;
    free(look.losses);
}

int tc_cpu_look(struct tc_cpu *cpu, pid_t init)
{
    struct tc_census now = {NULL, 0, 0};
    uint64_t now_us = tc_clock_us(), user_ms, system_ms;
    struct tc_cpu_sums sums;
    int code = tc_census_take(init, &now);

    if (code < 0) {
        tc_census_free(&now);
        return code;
    }
    tc_census_complete(&now, &cpu->census, init);
    if (cpu->census.count > 0)
        count_losses(cpu, &now, init, (now_us - cpu->looked_us) / 1000);
    tc_census_free(&cpu->census);
    cpu->census = now;
    cpu->looked_us = now_us;
    sums = cpu->lost;
    for (size_t i = 0; i < now.count; i++) {
        add(&sums, &now.list[i].own);
        add(&sums, &now.list[i].waited);
    }
    /* A process that was missed for a moment comes back with the next look: spent is spent. */
    user_ms = ticks_to_ms(sums.user) + cpu->guessed_ms;
    system_ms = ticks_to_ms(sums.system);
    cpu->user_ms = user_ms > cpu->user_ms ? user_ms : cpu->user_ms;
    cpu->system_ms = system_ms > cpu->system_ms ? system_ms : cpu->system_ms;
    return 0;
}

/* From half to one and a half times as long. */
static uint64_t vary(uint64_t interval_ms)
{
    uint32_t number = 0;

    /* Not random before the host's generator is seeded, early in its boot; exact without. */
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        return interval_ms;
    return interval_ms / 2 + number % (interval_ms + 1);
}

uint64_t tc_cpu_interval(uint64_t limit_ms, uint64_t spent_ms)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t rest_ms = beyond(limit_ms, spent_ms) / (uint64_t)(cpus > 0 ? cpus : 1);

    if (rest_ms < INTERVAL_MIN_MS)
        return vary(INTERVAL_MIN_MS);
    return vary(rest_ms < INTERVAL_MAX_MS ? rest_ms : INTERVAL_MAX_MS);
}

void tc_cpu_free(struct tc_cpu *cpu)
{
    tc_census_free(&cpu->census);
}
