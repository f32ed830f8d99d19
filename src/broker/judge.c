/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/judge.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "broker/mounts.h"
#include "broker/report.h"
#include "broker/resolve_base.h"

static enum tc_denied_by denier(const struct tc_decision *decision)
{
    bool command = decision->by_project ? decision->project_command != NULL : decision->command != NULL;

    return command ? TC_DENIED_COMMAND : TC_DENIED_RULE;
}

int tc_judge_settle(struct tc_stopped *stopped, const struct tc_decision *decision, const char *target, size_t length)
{
    int r;

    switch (decision->effect) {
    case TC_ALLOW:
        return 0;
    case TC_ASK:
        r = tc_report_ask(stopped, decision, target, length);
        if (r == -EACCES)
            tc_report_denial(stopped, decision, TC_DENIED_ASK, target, length);
        return r;
    case TC_DENY:
        break;
    }
    tc_report_denial(stopped, decision, denier(decision), target, length);
    return -EACCES;
}

int tc_judge_path(struct tc_stopped *stopped, enum tc_operation operation, const char *resolved, const char *given,
                  bool directory)
{
    const struct tc_broker_state *state = stopped->state;
    struct tc_decision decision =
        tc_decide_names(state->rules, state->view, operation, resolved, given == NULL ? resolved : given, directory);

    return tc_judge_settle(stopped, &decision, resolved, strlen(resolved));
}

/* Where the text of a link leads: false when that depends on what stands on the way. */
static bool find_target(const char *link, const char *text, char ret[PATH_MAX])
{
    size_t length = text[0] == '/' ? 0 : (size_t)(strrchr(link, '/') - link);
    bool down = false;

    /* After any other name, ".." is the parent of wherever that leads. */
    for (const char *at = text; *at != '\0'; at += strspn(at, "/")) {
        size_t size = strcspn(at, "/");
        bool up = size == 2 && memcmp(at, "..", 2) == 0;

        if (up && down)
            return false;
        down |= size > 0 && !up && !(size == 1 && *at == '.');
        at += size;
    }
    return tc_path_append(ret, link, length, text) == 0;
}

static struct tc_decision stricter(struct tc_decision a, struct tc_decision b)
{
    return b.effect > a.effect ? b : a;
}

/* The text does not tell where it leads. What it leads to now can become something else, which nobody sees then: so it
 * is asked about both as a link to there and as one to the roots. */
static struct tc_decision decide_winding(struct tc_stopped *stopped, const char *link, const char *text, int parent)
{
    const struct tc_broker_state *state = stopped->state;
    struct tc_decision decision = tc_decide_symlink(state->rules, state->view, link, NULL);
    tc_auto_object object = TC_OBJECT_NONE;

    if (tc_object_from(stopped, parent, text, true, &object) < 0 || object.path[0] != '/')
        return decision;
    return stricter(decision, tc_decide_symlink(state->rules, state->view, link, object.path));
}

int tc_judge_symlink(struct tc_stopped *stopped, const char *resolved, const char *given, const char *target,
                     int parent)
{
    const struct tc_broker_state *state = stopped->state;
    char leads[PATH_MAX];
    struct tc_decision decision = find_target(resolved, target, leads)
                                      ? tc_decide_symlink(state->rules, state->view, resolved, leads)
                                      : decide_winding(stopped, resolved, target, parent);

    decision = stricter(decision, tc_decide_names(state->rules, state->view, TC_OP_WRITE, resolved, given, false));
    return tc_judge_settle(stopped, &decision, resolved, strlen(resolved));
}

int tc_judge_pair(struct tc_stopped *stopped, const struct tc_judged *from, const struct tc_judged *to, bool exchange)
{
    const struct tc_broker_state *state = stopped->state;
    struct tc_decision decision = tc_decide_rename(state->rules, state->view, from->path, to->path, from->directory);
    size_t first = strlen(from->path) + 1, second = strlen(to->path);
    char both[TC_BROKER_TARGET_SIZE];

    if (first + second > sizeof both)
        return -EACCES;
    if (exchange)
        decision = stricter(decision, tc_decide_rename(state->rules, state->view, to->path, from->path, to->directory));
    decision = stricter(
        decision, tc_decide_names(state->rules, state->view, TC_OP_WRITE, from->path, from->given, from->directory));
    decision =
        stricter(decision, tc_decide_names(state->rules, state->view, TC_OP_WRITE, to->path, to->given, to->directory));
    memcpy(both, from->path, first);
    memcpy(both + first, to->path, second);
    return tc_judge_settle(stopped, &decision, both, first + second);
}

int tc_judge_floor(struct tc_stopped *stopped, const struct tc_object *object, unsigned rights)
{
    const struct tc_plan *plan = stopped->state->plan;
    struct tc_decision decision = {.operation = rights & TC_ACCESS_READ   ? TC_OP_READ
                                                : rights & TC_ACCESS_LIST ? TC_OP_LIST
                                                                          : TC_OP_WRITE,
                                   .because = TC_BECAUSE_DEFAULT};
    unsigned access;

    /* In a mediated mount the rules alone decide; without Landlock there is no such floor. */
    if (object->mount != NULL || plan->landlock_abi == 0 || tc_object_nameless(object))
        return 0;
    /* Landlock cannot grant listing "/" without granting it below, where the rules decide. Here they do for "/" itself:
     * in the cell's own tree there are no names but the plan's. */
    if (object->place != NULL && object->place->root && rights == TC_ACCESS_LIST)
        return 0;
    access =
        object->place != NULL && !object->place->root ? object->place->access : tc_mounts_access(plan, object->path);
    if (access & TC_ACCESS_WRITE)
        access |= TC_ACCESS_MODIFY;
    if ((access & rights) == rights)
        return 0;
    tc_report_denial(stopped, &decision, TC_DENIED_FLOOR, object->path, object->length);
    return -EACCES;
}
