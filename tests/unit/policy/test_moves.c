/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What must hold of renames and symbolic links for any rules and paths, on
 * thousands of random ones from a fixed seed: a directory that may be moved
 * holds nothing that becomes freer, nothing is written more freely through a
 * link that may be made, and what is fixed stays.
 */

#include <string.h>

#include "base/path.h"
#include "fixture.h"
#include "policy/decide.h"
#include "random.h"

/* No name below may be decided more freely after the move, and what was written below not be denied there. */
static void check_move(const struct tc_ruleset *rules, const char *from, const char *to)
{
    for (int i = 0; i < 12; i++) {
        tc_auto_buf old = {0};
        tc_auto_buf new = {0};
        tc_auto_buf below = {0};

        random_name(&below);
        tc_buf_printf(&old, "%s%s", from, below.data);
        tc_buf_printf(&new, "%s%s", to, below.data);
        for (enum tc_operation operation = 0; operation < TC_OP_CONNECT; operation++) {
            bool directory = random_pick(2);
            ck_assert_msg(tc_decide(rules, &random_view, operation, new.data, new.length, directory).effect >=
                              tc_decide(rules, &random_view, operation, old.data, old.length, directory).effect,
                          "%s -> %s: %s%s is freer (round with %zu rules)", from, to, to, below.data,
                          rules->rule_count);
            ck_assert_msg(operation != TC_OP_WRITE ||
                              tc_decide(rules, &random_view, operation, new.data, new.length, directory).effect ==
                                  tc_decide(rules, &random_view, operation, old.data, old.length, directory).effect,
                          "%s -> %s: %s%s is stricter (round with %zu rules)", from, to, to, below.data,
                          rules->rule_count);
        }
    }
}

/* Random rules, every third time with those of a project above them. */
static struct tc_ruleset *random_tightened(void)
{
    struct tc_ruleset *rules = random_rules();
    tc_auto_buf text = {0};

    if (random_pick(3) == 0) {
        random_policy(&text);
        tighten_policy(rules, text.data);
    }
    return rules;
}

START_TEST(test_rename)
{
    tc_auto_buf from = {0};
    tc_auto_buf to = {0};
    unsigned moved = 0;

    random_begin(2);
    for (int round = 0; round < 6000; round++) {
        tc_auto_ruleset rules = random_tightened();
        for (int i = 0; i < 6; i++) {
            random_path(&from);
            random_path(&to);
            struct tc_decision decision = tc_decide_rename(rules, &random_view, from.data, to.data, true);
            if (decision.effect == TC_DENY)
                continue;
            moved++;
            check_move(rules, from.data, to.data);
        }
    }
    ck_assert_uint_gt(moved, 1000);
}
END_TEST

/* A name below two directories, in the mounts that these lie in. */
static bool same_mount(const char *directory, const struct tc_buf *name)
{
    return tc_view_find(&random_view, directory, strlen(directory)) ==
           tc_view_find(&random_view, name->data, name->length);
}

/* Whoever follows the link writes by its name what could not be written by it. Returns how often that was compared. */
static unsigned check_link(const struct tc_ruleset *rules, const char *link, const char *target)
{
    unsigned compared = 0;

    for (int i = 0; i < 12; i++) {
        tc_auto_buf named = {0};
        tc_auto_buf there = {0};
        tc_auto_buf below = {0};

        random_name(&below);
        tc_buf_printf(&named, "%s%s", link, below.data);
        tc_buf_printf(&there, "%s%s", target, below.data);
        if (!same_mount(link, &named) || !same_mount(target, &there))
            continue;
        compared++;
        ck_assert_msg(tc_decide(rules, &random_view, TC_OP_WRITE, there.data, there.length, false).effect >=
                          tc_decide(rules, &random_view, TC_OP_WRITE, named.data, named.length, false).effect,
                      "%s -> %s: %s is written more freely (round with %zu rules)", link, target, there.data,
                      rules->rule_count);
    }
    return compared;
}

/* A link whose text does not tell where it leads is judged as one to the root of any data mount. */
static unsigned check_any_link(const struct tc_ruleset *rules, const char *link)
{
    unsigned compared = 0;

    for (size_t i = 0; i < random_view.count; i++) {
        if (random_view.mounts[i].area == TC_AREA_DATA)
            compared += check_link(rules, link, random_view.mounts[i].target);
    }
    return compared;
}

/* One link, to a target or to nowhere known; true when it was let through. */
static bool try_link(const struct tc_ruleset *rules, const struct tc_buf *link, const char *target, unsigned *compared)
{
    const struct tc_view_mount *there = target == NULL ? NULL : tc_view_find(&random_view, target, strlen(target));
    struct tc_decision decision = tc_decide_symlink(rules, &random_view, link->data, target);
    enum tc_effect name = tc_decide(rules, &random_view, TC_OP_WRITE, link->data, link->length, false).effect;

    ck_assert_msg(decision.effect == name || (decision.effect == TC_DENY && decision.because == TC_BECAUSE_STRICTER),
                  "%s: the name alone is decided by its own rule, or the link is refused", link->data);
    if (decision.effect == TC_DENY)
        return false;
    if (tc_view_find(&random_view, link->data, link->length) != NULL &&
        strcmp(tc_view_find(&random_view, link->data, link->length)->target, link->data) == 0)
        return false; /* a mount stands there */
    if (target == NULL)
        *compared += check_any_link(rules, link->data);
    else if (there != NULL && there->area == TC_AREA_DATA)
        *compared += check_link(rules, link->data, target);
    return true;
}

START_TEST(test_symlink)
{
    tc_auto_buf link = {0};
    tc_auto_buf target = {0};
    unsigned made = 0, compared = 0;

    random_begin(7);
    for (int round = 0; round < 6000; round++) {
        tc_auto_ruleset rules = random_tightened();
        for (int i = 0; i < 6; i++) {
            random_path(&link);
            random_path(&target);
            bool known = try_link(rules, &link, target.data, &compared);
            bool unknown = try_link(rules, &link, NULL, &compared);
            made += known + unknown;
        }
    }
    ck_assert_uint_gt(made, 1000);
    ck_assert_uint_gt(compared, 10000);
}
END_TEST

/* What is fixed stays where it is, and what it lies in; nothing else is held. */
START_TEST(test_fixed)
{
    static const char *const fixed[] = {"/w/a/b", "/w/m/t", NULL};
    struct tc_view held = random_view;
    tc_auto_buf from = {0};
    tc_auto_buf to = {0};
    unsigned refused = 0;

    held.fixed = fixed;
    random_begin(8);
    for (int round = 0; round < 6000; round++) {
        tc_auto_ruleset rules = random_rules();
        bool directory = random_pick(2), above = false;

        random_path(&from);
        random_path(&to);
        if (random_pick(2)) {
            tc_buf_consume(&from, from.length);
            tc_buf_string(&from, "/w/a");
        }
        for (size_t i = 0; fixed[i] != NULL; i++)
            above = above || tc_path_below(fixed[i], from.data) || tc_path_below(fixed[i], to.data);
        struct tc_decision free = tc_decide_rename(rules, &random_view, from.data, to.data, directory);
        struct tc_decision bound = tc_decide_rename(rules, &held, from.data, to.data, directory);
        if (directory && above)
            ck_assert_int_eq(bound.effect, TC_DENY);
        else
            ck_assert_int_eq(bound.effect, free.effect);
        refused += bound.effect != free.effect;
    }
    ck_assert_uint_gt(refused, 10);
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("moves", test_rename, test_symlink, test_fixed, NULL));
}
