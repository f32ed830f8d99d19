/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/failure.h"

#include <unistd.h>

#include "base/buf.h"
#include "cli/output.h"
#include "cli/verb.h"

void tc_failure_print(const struct tc_error *err)
{
    tc_auto_buf line = {0};

    tc_supervise_message(err, &line);
    if (tc_buf_failed(&line))
        tc_output_write(STDERR_FILENO, "toolcell: out of memory\n", 24);
    else
        tc_output_write(STDERR_FILENO, line.data, line.length);
}

int tc_failure_report(const struct tc_request *request, const struct tc_report *report, enum tc_outcome outcome,
                      const struct tc_error *err)
{
    struct tc_plan plan = {.arena = NULL};
    struct tc_result result = {
        .outcome = outcome,
        .exit_code = -1,
        .status = outcome == TC_OUTCOME_REFUSED ? TC_STATUS_REFUSED : TC_STATUS_FAILED,
        .error = *err,
        .cpu_user_ms = TC_NOT_MEASURED,
        .cpu_system_ms = TC_NOT_MEASURED,
        .memory_peak_bytes = TC_NOT_MEASURED,
        .pids_peak = TC_NOT_MEASURED,
        .io_read_bytes = TC_NOT_MEASURED,
        .io_write_bytes = TC_NOT_MEASURED,
    };

    result.wall_ms = tc_clock_ms() - report->started_ms;
    tc_error_hint_general(&result.error);
    if (report->events < 0) {
        tc_failure_print(&result.error);
        return result.status;
    }
    if (request != NULL) {
        plan.labels = request->labels;
        plan.label_count = request->label_count;
    }
    tc_supervise_report(&plan, report, &result);
    return result.status;
}
