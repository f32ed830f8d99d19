/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start programs in turn and tell how long each took from start to reaped.
 *
 * usage: spawn WARMUP ROUNDS , PROGRAM ARGUMENT... , PROGRAM ARGUMENT... ...
 *
 * Every round runs each program once, so that what disturbs the machine disturbs all alike. Prints one line a run
 * after the warm-up: index of the program, nanoseconds, wait status. posix_spawn() here is a vfork: it copies no page
 * tables, so that this program's own size does not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAMS_MAX 32

extern char **environ;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Cut the arguments at each "," into NULL-terminated lists. Returns how many, 0 when a list is empty. */
static size_t split_programs(char **arguments, char **programs[PROGRAMS_MAX])
{
    size_t count = 0;

    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, ",") != 0)
            continue;
        *arguments = NULL;
        if (arguments[1] == NULL || strcmp(arguments[1], ",") == 0 || count == PROGRAMS_MAX)
            return 0;
        programs[count++] = arguments + 1;
    }
    return count;
}

static int run_once(char **argv, const posix_spawn_file_actions_t *actions, uint64_t *ret_ns, int *ret_status)
{
    uint64_t start = clock_ns();
    pid_t pid;
    int r = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);

    if (r != 0)
        return -r;
    while (wait4(pid, ret_status, 0, NULL) < 0)
        if (errno != EINTR)
            return -errno;
    *ret_ns = clock_ns() - start;
    return 0;
}

static int quiet_streams(posix_spawn_file_actions_t *actions)
{
    int r = posix_spawn_file_actions_init(actions);

    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    return -r;
}

int main(int argc, char **argv)
{
    char **programs[PROGRAMS_MAX];
    posix_spawn_file_actions_t actions;
    size_t count = argc > 3 ? split_programs(argv + 3, programs) : 0;
    long warmup, rounds;

    if (count == 0) {
        fprintf(stderr, "usage: spawn WARMUP ROUNDS , PROGRAM ARGUMENT... , PROGRAM ARGUMENT... ...\n");
        return 2;
    }
    warmup = strtol(argv[1], NULL, 10);
    rounds = strtol(argv[2], NULL, 10);
    if (quiet_streams(&actions) < 0)
        return 1;
    for (long round = -warmup; round < rounds; round++)
        for (size_t i = 0; i < count; i++) {
            uint64_t ns = 0;
            int status = 0;
            int r = run_once(programs[i], &actions, &ns, &status);

            if (r < 0) {
                fprintf(stderr, "spawn: %s: %s\n", programs[i][0], strerror(-r));
                return 1;
            }
            if (round >= 0)
                printf("%zu %llu %d\n", i, (unsigned long long)ns, status);
        }
    return 0;
}
