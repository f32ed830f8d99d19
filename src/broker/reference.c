/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

struct tc_rule_ref tc_rule_refer(const struct tc_ruleset *rules, const struct tc_decision *decision)
{
    const struct tc_ruleset *own = decision->by_project ? rules->project : rules;
    const struct tc_rule *rule = decision->by_project ? decision->project_rule : decision->rule;
    const struct tc_command_rule *command = decision->by_project ? decision->project_command : decision->command;
    struct tc_rule_ref ref = {.kind = TC_RULE_REF_NONE, .project = decision->by_project};

    if (decision->because != TC_BECAUSE_RULE && decision->because != TC_BECAUSE_FREER &&
        decision->because != TC_BECAUSE_STRICTER)
        return ref;
    if (command != NULL) {
        ref.kind = TC_RULE_REF_COMMAND;
        ref.index = (uint32_t)(command - own->commands);
    } else if (rule != NULL) {
        ref.kind = TC_RULE_REF_RULE;
        ref.index = (uint32_t)(rule - own->rules);
    }
    return ref;
}
