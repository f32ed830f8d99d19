/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/utsname.h>

#include "base/emit.h"
#include "base/text.h"
#include "doctor/doctor.h"

#define FORMAT_VERSION 1

/* Paths and names of the host are among the words. */
static void append(struct tc_buf *out, const char *text)
{
    tc_text_escape(out, text, strlen(text));
}

void tc_doctor_print_text(const struct tc_examination *examination, struct tc_buf *out)
{
    for (enum tc_check check = 0; check < TC_CHECK_COUNT; check++) {
        const struct tc_finding *finding = &examination->findings[check];

        if (!examination->tried[check])
            continue;
        tc_buf_printf(out, "%-8s  %s: ", tc_state_names[finding->state], tc_check_name(check));
        append(out, finding->detail);
        if (finding->remedy[0] != '\0') {
            tc_buf_string(out, "; remedy: ");
            append(out, finding->remedy);
        }
        tc_buf_char(out, '\n');
    }
    tc_buf_string(out, "\nwhat toolcell run can enforce here:\n");
    for (enum tc_promise promise = 0; promise < TC_PROMISE_COUNT; promise++)
        tc_buf_printf(out, "%-3s  %s: %s\n", examination->enforces[promise].holds ? "yes" : "no",
                      tc_promise_name(promise), examination->enforces[promise].detail);
}

static void print_finding(enum tc_check check, const struct tc_finding *finding, struct tc_emit *emit)
{
    tc_emit_object(emit, NULL);
    tc_emit_string(emit, "name", tc_check_name(check));
    tc_emit_string(emit, "state", tc_state_names[finding->state]);
    tc_emit_bool(emit, "needed", tc_check_needed(check));
    tc_emit_string(emit, "detail", finding->detail);
    tc_emit_string(emit, "remedy", finding->remedy[0] == '\0' ? NULL : finding->remedy);
    tc_emit_object_end(emit);
}

static void print_promise(enum tc_promise promise, const struct tc_enforced *enforced, struct tc_emit *emit)
{
    tc_emit_object(emit, NULL);
    tc_emit_string(emit, "name", tc_promise_name(promise));
    tc_emit_bool(emit, "holds", enforced->holds);
    tc_emit_string(emit, "detail", enforced->detail);
    tc_emit_object_end(emit);
}

void tc_doctor_print_json(const struct tc_examination *examination, struct tc_buf *out)
{
    struct tc_emit emit = {.out = out, .indent = 2};
    struct utsname name = {0};

    uname(&name);
    tc_emit_object(&emit, NULL);
    tc_emit_integer(&emit, "version", FORMAT_VERSION);
    tc_emit_string(&emit, "toolcell", TC_VERSION);
    tc_emit_string(&emit, "kernel", name.release);
    tc_emit_string(&emit, "machine", name.machine);
    tc_emit_unsigned(&emit, "uid", examination->uid);
    tc_emit_bool(&emit, "works", tc_doctor_works(examination));
    tc_emit_array(&emit, "checks");
    for (enum tc_check check = 0; check < TC_CHECK_COUNT; check++)
        if (examination->tried[check])
            print_finding(check, &examination->findings[check], &emit);
    tc_emit_array_end(&emit);
    tc_emit_array(&emit, "enforces");
    for (enum tc_promise promise = 0; promise < TC_PROMISE_COUNT; promise++)
        print_promise(promise, &examination->enforces[promise], &emit);
    tc_emit_array_end(&emit);
    tc_emit_object_end(&emit);
    tc_buf_char(out, '\n');
}
