/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Programs that start another one, and which of their options take an
 * argument. Sources: sudo(8), doas(1), env(1), nice(1), nohup(1), timeout(1),
 * xargs(1), and the shells' own manuals. An option that is not known is taken
 * to stand alone.
 */

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/command.h"

struct wrapper {
    const char *name;
    const char *letters;      /* short options with an argument of their own */
    const char *const *words; /* long options with an argument of their own, unless "=" gives it */
    bool assignments;         /* NAME=VALUE may stand before the program */
    size_t operands;          /* operands before the program */
};

static const char *const sudo_words[] = {"--close-from", "--chdir", "--chroot", "--command-timeout",
                                         "--group",      "--host",  "--prompt", "--other-user",
                                         "--role",       "--type",  "--user",   NULL};
static const char *const env_words[] = {"--unset", "--chdir", "--split-string", "--argv0", NULL};
static const char *const nice_words[] = {"--adjustment", NULL};
static const char *const timeout_words[] = {"--kill-after", "--signal", NULL};
static const char *const xargs_words[] = {"--arg-file",  "--delimiter",        "--max-args", "--max-chars",
                                          "--max-procs", "--process-slot-var", NULL};
static const char *const none[] = {NULL};

static const struct wrapper wrappers[] = {
    {"sudo", "CDghpRrtTUu", sudo_words, true, 0},
    {"doas", "aCu", none, false, 0},
    {"env", "uCSa", env_words, true, 0},
    {"nice", "n", nice_words, false, 0},
    {"nohup", "", none, false, 0},
    {"timeout", "ks", timeout_words, false, 1},
    {"xargs", "adEILnPs", xargs_words, false, 0},
    {"busybox", "", none, false, 0},
};

static const struct wrapper *find_wrapper(const char *program)
{
    const char *name = tc_path_name(program);

    for (size_t i = 0; i < TC_COUNT(wrappers); i++) {
        if (strcmp(wrappers[i].name, name) == 0)
            return &wrappers[i];
    }
    return NULL;
}

static bool is_word(const char *const *words, const char *option)
{
    for (; *words != NULL; words++) {
        if (strcmp(*words, option) == 0)
            return true;
    }
    return false;
}

/* How many items an option takes: itself, and the next one when its argument is not attached. */
static size_t option_length(const struct wrapper *wrapper, const char *option)
{
    if (option[1] == '-')
        return is_word(wrapper->words, option) ? 2 : 1;
    for (const char *letter = option + 1; *letter != '\0'; letter++) {
        if (strchr(wrapper->letters, *letter) != NULL)
            return letter[1] == '\0' ? 2 : 1;
    }
    return 1;
}

size_t tc_wrapper_length(const char *const *argv, size_t count)
{
    const struct wrapper *wrapper = find_wrapper(argv[0]);
    size_t at = 1;

    if (wrapper == NULL)
        return 0;
    while (at < count && argv[at][0] == '-') {
        const char *option = argv[at];
        if (strcmp(option, "--") == 0) {
            at++;
            break;
        }
        at += option[1] == '\0' ? 1 : option_length(wrapper, option);
    }
    while (wrapper->assignments && at < count && strchr(argv[at], '=') != NULL)
        at++;
    at += wrapper->operands;
    return at > count ? count : at;
}

/* Where a shell's options end; sets text when one of them says that a command text follows. */
static size_t shell_options(const char *const *argv, size_t count, bool *text)
{
    size_t at = 1;

    while (at < count && (argv[at][0] == '-' || argv[at][0] == '+') && argv[at][1] != '\0') {
        const char *option = argv[at++];
        if (strcmp(option, "--") == 0)
            break;
        if (option[1] == '-') {
            at += strcmp(option, "--rcfile") == 0 || strcmp(option, "--init-file") == 0;
            continue;
        }
        *text |= option[0] == '-' && strchr(option, 'c') != NULL;
        at += strpbrk(option, "oO") != NULL;
    }
    return at;
}

const char *tc_shell_text(const char *const *argv, size_t count)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", NULL};
    bool text = false;
    size_t at;

    if (!is_word(shells, tc_path_name(argv[0])))
        return NULL;
    at = shell_options(argv, count, &text);
    return text && at < count ? argv[at] : NULL;
}
