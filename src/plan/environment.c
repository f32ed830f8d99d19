/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/layout.h"

/*
 * Names whose value makes a program load code, run another program or look for
 * its configuration elsewhere. One of them in the caller's environment was set
 * for the caller's own tools; inside it would be a surprise at best. A name
 * that ends in "*" stands for all names that begin so.
 */
static const char *const unsafe_names[] = {
    "LD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "MALLOC_*",
    "RES_OPTIONS",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASHOPTS",
    "SHELLOPTS",
    "ENV",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "FPATH",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONUSERBASE",
    "PYTHONEXECUTABLE",
    "PYTHONPLATLIBDIR",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "GIT_*",
    "SSH_ASKPASS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_*",
    "NODE_EXTRA_CA_CERTS",
    "PERL5*",
    "PERLLIB",
    "PERL_*",
    "RUBYOPT",
    "RUBYLIB",
    "GEM_*",
    "BUNDLE_*",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "LUA_*",
    "GOFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "MAKEFLAGS",
    "MAKEFILES",
    "R_PROFILE*",
    "R_ENVIRON*",
    "LESSOPEN",
    "LESSCLOSE",
    "OPENSSL_*",
    "TOOLCELL*",
    NULL,
};

bool tc_environment_unsafe(const char *name)
{
    for (const char *const *unsafe = unsafe_names; *unsafe != NULL; unsafe++) {
        size_t length = strlen(*unsafe);

        if ((*unsafe)[length - 1] == '*' ? strncmp(name, *unsafe, length - 1) == 0 : strcmp(name, *unsafe) == 0)
            return true;
    }
    return false;
}

const char *tc_environment_get(const char *const *list, const char *name)
{
    size_t length = strlen(name);

    for (; list != NULL && *list != NULL; list++)
        if (strncmp(*list, name, length) == 0 && (*list)[length] == '=')
            return *list + length + 1;
    return NULL;
}

/* The list under construction; NULL-terminated at every time. */
struct builder {
    struct tc_arena *arena;
    const char **list;
    size_t count, capacity;
};

static int builder_put(struct builder *builder, const char *name, const char *value, struct tc_error *err)
{
    size_t length = strlen(name);
    char *line;

    if (length == 0 || strchr(name, '=') != NULL)
        return tc_error_plain(err, -EINVAL, "environment: '%s' is not a variable name", name);
    if ((line = tc_arena_printf(builder->arena, "%s=%s", name, value)) == NULL)
        return tc_error_set(err, -ENOMEM, "environment");
    for (size_t i = 0; i < builder->count; i++)
        if (strncmp(builder->list[i], line, length + 1) == 0) {
            builder->list[i] = line;
            return 0;
        }
    if (builder->count + 1 >= builder->capacity) {
        const char **grown = tc_arena_array(builder->arena, builder->capacity * 2 + 32, sizeof(*grown));

        if (grown == NULL)
            return tc_error_set(err, -ENOMEM, "environment");
        if (builder->count > 0)
            memcpy(grown, builder->list, builder->count * sizeof(*grown));
        builder->list = grown;
        builder->capacity = builder->capacity * 2 + 32;
    }
    builder->list[builder->count++] = line;
    return 0;
}

static int put_pass(struct builder *builder, const struct tc_facts *facts, const char *name, struct tc_error *err)
{
    const char *value = tc_environment_get(facts->environ, name);

    return value == NULL || tc_environment_unsafe(name) ? 0 : builder_put(builder, name, value, err);
}

static int put_settings(struct builder *builder, const struct tc_setting *settings, size_t count, struct tc_error *err)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = builder_put(builder, settings[i].name, settings[i].value, err);
    return result;
}

static int put_defaults(struct builder *builder, const struct tc_request *request, const struct tc_facts *facts,
                        const char *cwd, struct tc_error *err)
{
    const struct tc_setting defaults[] = {
        {"PATH", TC_CELL_PATH}, {"HOME", TC_CELL_HOME},  {"USER", "agent"},  {"LOGNAME", "agent"}, {"SHELL", "/bin/sh"},
        {"LANG", "C.UTF-8"},    {"TZ", facts->timezone}, {"TMPDIR", "/tmp"}, {"PWD", cwd},         {"TOOLCELL", "1"},
    };
    int result = 0;

    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]) && result == 0; i++)
        if (defaults[i].value != NULL)
            result = builder_put(builder, defaults[i].name, defaults[i].value, err);
    return result == 0 && request->tty ? put_pass(builder, facts, "TERM", err) : result;
}

static bool passed_by_project(const struct tc_ruleset *rules, const char *name)
{
    const struct tc_ruleset *project = rules->project;

    if (project == NULL || project->pass_count == 0)
        return true;
    for (size_t i = 0; i < project->pass_count; i++)
        if (strcmp(project->pass[i], name) == 0)
            return true;
    return false;
}

int tc_environment_make(struct tc_arena *arena, const struct tc_ruleset *rules, const struct tc_request *request,
                        const struct tc_facts *facts, const char *cwd, const char *const **ret, struct tc_error *err)
{
    struct builder builder = {.arena = arena};
    int result = put_defaults(&builder, request, facts, cwd, err);

    if (result == 0)
        result = put_settings(&builder, rules->environment, rules->environment_count, err);
    for (size_t i = 0; i < rules->pass_count && result == 0; i++)
        if (passed_by_project(rules, rules->pass[i]))
            result = put_pass(&builder, facts, rules->pass[i], err);
    for (size_t i = 0; i < request->pass_env_count && result == 0; i++)
        result = put_pass(&builder, facts, request->pass_env[i], err);
    if (result == 0)
        result = put_settings(&builder, request->env, request->env_count, err);
    *ret = builder.list;
    return result;
}
