/* SPDX-License-Identifier: Apache-2.0 */

/* Run one command in a hand-made cell: `try PROGRAM ARG...`; without arguments `/usr/bin/true`. For measuring and for
 * looking around by hand. */

#include <stdio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "fixture.h"

int main(int argc, char **argv)
{
    static struct fixture fixture;
    static const char *const nothing[] = {"/usr/bin/true", NULL};
    struct tc_init_reply reply = {0};
    struct tc_error err = {0};
    struct tc_cell cell;
    int r;

    fixture_begin(&fixture);
    fixture.plan.argv = argc > 1 ? (const char *const *)argv + 1 : nothing;
    r = tc_cell_launch(&fixture.plan, &cell, &err);
    if (r == 0)
        r = tc_cell_exec(&cell, &fixture.plan, 0, 1, 2, &err);
    while (r == 0 && fixture_receive(&cell, &reply) == 1 && reply.type == TC_INIT_STARTED)
        ;
    tc_cell_release(&cell);
    rmdir(fixture.workspace);
    if (r < 0) {
        fprintf(stderr, "%s: %s (%s)\n", err.stage, err.message, err.hint);
        return 125;
    }
    if (reply.type == TC_INIT_FAILED) {
        fprintf(stderr, "step %u: errno %d\n", reply.step, reply.value);
        return 127;
    }
    return WIFEXITED(reply.value) ? WEXITSTATUS(reply.value) : 128 + WTERMSIG(reply.value);
}
