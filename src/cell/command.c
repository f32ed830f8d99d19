/* SPDX-License-Identifier: Apache-2.0 */
#include "cell/command.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/resource.h>

#include "init/protocol.h"

/* Linux takes at most 6 MiB of arguments and environment (fs/exec.c: three quarters of the largest stack). */
#define BLOCK_MAX (8u << 20)
#define FALLBACK_PATH "/bin:/usr/bin"
/* The kernel counts the broker with the cell, since it has the cell's ids in the cell's user namespace: so many threads
 * of it wait for calls (src/broker/loop.c). Further ones take from what is left to the cell. */
#define BROKER_TASKS 3
/* How long after every limit has passed init ends the cell by itself. */
#define DEADLINE_MARGIN_MS 5000

static size_t count_items(const char *const *items)
{
    size_t count = 0;

    while (items[count] != NULL)
        count++;
    return count;
}

static uint32_t append_string(struct tc_buf *out, const char *text)
{
    uint32_t offset = (uint32_t)out->length;

    tc_buf_append(out, text, strlen(text) + 1);
    return offset;
}

/* Strings follow a table whose place is already taken. A failed buffer is noticed at the end. */
static void append_items(struct tc_buf *out, uint32_t table, const char *const *items)
{
    for (size_t i = 0; items[i] != NULL; i++) {
        uint32_t offset = append_string(out, items[i]);

        if (!tc_buf_failed(out))
            memcpy(out->data + table + i * sizeof offset, &offset, sizeof offset);
    }
}

static uint32_t append_table(struct tc_buf *out, size_t count)
{
    uint32_t offset = (uint32_t)out->length;
    uint32_t zero = 0;

    for (size_t i = 0; i < count; i++)
        tc_buf_append(out, &zero, sizeof zero);
    return offset;
}

static void add_limit(struct tc_exec_block *block, int resource, uint64_t soft, uint64_t hard)
{
    block->limits[block->limit_count++] = (struct tc_exec_limit){.resource = resource, .soft = soft, .hard = hard};
}

static bool is_set(const struct tc_limits *limits, enum tc_limit limit)
{
    return (limits->set & (1u << limit)) != 0;
}

static void add_limits(struct tc_exec_block *block, const struct tc_plan *plan)
{
    const struct tc_limits *limits = &plan->limits;

    /* What the scheduler may grant the caller: no share of CPUs and no other process of the host stands against it. */
    add_limit(block, RLIMIT_RTPRIO, 0, 0);
    add_limit(block, RLIMIT_NICE, 0, 0);
    if (is_set(limits, TC_LIMIT_OPEN_FILES))
        add_limit(block, RLIMIT_NOFILE, limits->value[TC_LIMIT_OPEN_FILES], limits->value[TC_LIMIT_OPEN_FILES]);
    if (is_set(limits, TC_LIMIT_FILE_SIZE))
        add_limit(block, RLIMIT_FSIZE, limits->value[TC_LIMIT_FILE_SIZE], limits->value[TC_LIMIT_FILE_SIZE]);
    if (plan->count_processes) {
        uint64_t count = limits->value[TC_LIMIT_PIDS] + (plan->notify != 0 ? BROKER_TASKS : 0);

        add_limit(block, RLIMIT_NPROC, count, count);
    }
    /* The supervisor counts the whole cell; this holds for one process should the supervisor be stopped. */
    if (is_set(limits, TC_LIMIT_CPU_TIME)) {
        uint64_t seconds = limits->value[TC_LIMIT_CPU_TIME] / 1000 + 2;

        add_limit(block, RLIMIT_CPU, seconds, seconds);
    }
    if (is_set(limits, TC_LIMIT_WALL)) {
        uint64_t grace_ms = is_set(limits, TC_LIMIT_GRACE) ? limits->value[TC_LIMIT_GRACE] : 0;

        block->deadline_ms = limits->value[TC_LIMIT_WALL] + grace_ms + DEADLINE_MARGIN_MS;
    }
}

static const char *search_path(const char *const *env)
{
    for (; *env != NULL; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return FALLBACK_PATH;
}

/* Behind the tables, so that it is aligned as they are. */
static void append_filter(struct tc_buf *out, const struct tc_plan *plan, struct tc_exec_block *block)
{
    if (plan->notify == 0)
        return;
    block->notify = (uint32_t)out->length;
    block->notify_count = (uint32_t)(plan->notify_filter_size / sizeof(struct sock_filter));
    tc_buf_append(out, plan->notify_filter, plan->notify_filter_size);
}

int tc_command_block(const struct tc_plan *plan, struct tc_buf *out, struct tc_error *err)
{
    size_t argc = count_items(plan->argv);
    size_t envc = count_items(plan->env);
    struct tc_exec_block block = {.magic = TC_INIT_MAGIC, .argc = (uint32_t)argc, .envc = (uint32_t)envc, .umask = 022};

    if (argc > BLOCK_MAX / sizeof(uint32_t) || envc > BLOCK_MAX / sizeof(uint32_t))
        return tc_error_set(err, -E2BIG, "arguments and environment");
    block.terminal = plan->tty;
    add_limits(&block, plan);
    tc_buf_append(out, &block, sizeof block);
    block.argv = append_table(out, argc);
    block.envv = append_table(out, envc);
    append_filter(out, plan, &block);
    append_items(out, block.argv, plan->argv);
    append_items(out, block.envv, plan->env);
    block.program = append_string(out, plan->program != NULL ? plan->program : plan->argv[0]);
    block.cwd = append_string(out, plan->cwd);
    block.path_list = append_string(out, search_path(plan->env));
    if (tc_buf_failed(out))
        return tc_error_set(err, -ENOMEM, "describe the command");
    if (out->length > BLOCK_MAX)
        return tc_error_set(err, -E2BIG, "arguments and environment");
    memcpy(out->data, &block, sizeof block);
    return 0;
}
