/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/emit.h"
#include "doctor/selftest.h"

#define FORMAT_VERSION 1

/* The words of an errno: "Permission denied". */
static const char *words(int code)
{
    const char *text = strerrordesc_np(code);

    return code == 0 ? "got through" : text != NULL ? text : "refused";
}

void tc_selftest_print_text(const struct tc_attempt *attempts, struct tc_buf *out)
{
    size_t count[TC_VERDICT_COUNT] = {0};

    for (size_t i = 0; i < TC_ATTEMPT_COUNT; i++) {
        const struct tc_attempt *attempt = &attempts[i];

        count[attempt->verdict]++;
        tc_buf_printf(out, "%-8s  %s: %s: in a cell: %s; outside: %s\n", tc_verdict_names[attempt->verdict],
                      attempt->name, attempt->what, words(attempt->inside), words(attempt->outside));
    }
    tc_buf_printf(out, "\n%zu held, %zu open, %zu unproven\n", count[TC_VERDICT_HELD], count[TC_VERDICT_OPEN],
                  count[TC_VERDICT_UNPROVEN]);
}

static void print_code(struct tc_emit *emit, const char *key, int code)
{
    const char *name = strerrorname_np(code);

    tc_emit_string(emit, key, code == 0 ? NULL : name != NULL ? name : "refused");
}

void tc_selftest_print_json(const struct tc_attempt *attempts, struct tc_buf *out)
{
    struct tc_emit emit = {.out = out, .indent = 2};

    tc_emit_object(&emit, NULL);
    tc_emit_integer(&emit, "version", FORMAT_VERSION);
    tc_emit_string(&emit, "toolcell", TC_VERSION);
    tc_emit_unsigned(&emit, "uid", geteuid());
    tc_emit_bool(&emit, "holds", tc_selftest_holds(attempts));
    tc_emit_array(&emit, "attempts");
    for (size_t i = 0; i < TC_ATTEMPT_COUNT; i++) {
        tc_emit_object(&emit, NULL);
        tc_emit_string(&emit, "name", attempts[i].name);
        tc_emit_string(&emit, "verdict", tc_verdict_names[attempts[i].verdict]);
        tc_emit_string(&emit, "what", attempts[i].what);
        print_code(&emit, "inside", attempts[i].inside);
        print_code(&emit, "outside", attempts[i].outside);
        tc_emit_object_end(&emit);
    }
    tc_emit_array_end(&emit);
    tc_emit_object_end(&emit);
    tc_buf_char(out, '\n');
}
