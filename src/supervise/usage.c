/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call has used. A control group counts all that ever lived in it, so
 * where there is one it has the word. Else CPU time is what init and whoever
 * was waited for have spent, or what the looks at /proc have found if that is
 * more; bytes are those of init, to which the kernel adds the ones of every
 * process that was waited for, and the killed ones; and peaks are not known.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervise/call.h"

int tc_usage_cpu(struct tc_call *call)
{
    uint64_t user_us, system_us;

    if (tc_group_cpu(call->group, &user_us, &system_us) < 0)
        return tc_cpu_look(&call->cpu, call->cell.pid);
    call->cpu.user_ms = user_us / 1000;
    call->cpu.system_ms = system_us / 1000;
    return 0;
}

void tc_usage_io(struct tc_call *call)
{
    static const char format[] =
        "rchar: %*u wchar: %*u syscr: %*u syscw: %*u read_bytes: %" SCNu64 " write_bytes: %" SCNu64;
    uint64_t bytes_read, bytes_written;
    char path[40], text[512];
    ssize_t length;
    tc_auto_fd fd = TC_NO_FD;

    snprintf(path, sizeof path, "/proc/%d/io", call->cell.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0)
        return;
    text[length] = '\0';
    // NOLINTNEXTLINE(cert-err34-c) the kernel prints numbers of these types
    if (sscanf(text, format, &bytes_read, &bytes_written) != 2)
        return;
    call->result->io_read_bytes = bytes_read;
    call->result->io_write_bytes = bytes_written;
}

static void replace(uint64_t *number, uint64_t better)
{
    if (better != UINT64_MAX)
        *number = better;
}

void tc_usage_group(struct tc_call *call)
{
    struct tc_result *result = call->result;
    struct tc_group_usage usage;

    if (call->plan->count_processes)
        result->pids_denied = TC_NOT_MEASURED;
    if (call->group == NULL)
        return;
    tc_group_read(call->group, &usage);
    if (usage.user_us != UINT64_MAX) {
        result->cpu_user_ms = (usage.user_us + call->mediation.user_us) / 1000;
        result->cpu_system_ms = (usage.system_us + call->mediation.system_us) / 1000;
    }
    replace(&result->memory_peak_bytes, usage.memory_peak);
    replace(&result->pids_peak, usage.pids_peak);
    replace(&result->io_read_bytes, usage.io_read);
    replace(&result->io_write_bytes, usage.io_write);
    replace(&result->pids_denied, usage.pids_denied);
    result->oom_kills = usage.oom_kills;
}
