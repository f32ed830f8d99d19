/* SPDX-License-Identifier: Apache-2.0 */

/*
 * race_execute ROUNDS [control]: execute so many times while the path or the arguments change. "public/p" may be
 * executed, "secret/p" may not; both are this program. As p it tells by its exit status which one it is and whether it
 * could read the file that its argument names. Prints per way of flipping how often a program ran, was refused, and
 * reached what is denied. control: until that was reached.
 */
#define _GNU_SOURCE /* unshared names of fcntl.h and sched.h */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "probe.h"

#define RAN 3     /* an allowed program, which read nothing that is denied */
#define REACHED 4 /* a program that may not be executed, or one that read what is denied */
#define PASSES_MOST 100

static atomic_bool stop;
static _Atomic uint64_t text[2]; /* eight characters and the end */
static char *_Atomic arguments[3];
static char program_name[] = "p", allowed[] = "public/f", denied[] = "secret/f";

static void flip_word(unsigned turn, const char *one, const char *other)
{
    uint64_t word;

    memcpy(&word, turn & 1 ? one : other, sizeof word);
    atomic_store(&text[0], word);
}

static void flip_path(unsigned turn)
{
    flip_word(turn, "public/p", "secret/p");
}

static void flip_link(unsigned turn)
{
    (void)turn;
    syscall(SYS_renameat2, AT_FDCWD, "link", AT_FDCWD, "knil", 2 /* RENAME_EXCHANGE */);
}

static void flip_argument(unsigned turn)
{
    flip_word(turn, allowed, denied);
}

static void flip_table(unsigned turn)
{
    arguments[1] = turn & 1 ? allowed : denied;
}

static const struct way {
    const char *name, *path, *argument; /* NULL: the text that is flipped */
    void (*flip)(unsigned turn);
} ways[] = {
    {"path", NULL, allowed, flip_path},
    {"link", "link/p", allowed, flip_link},
    {"argument", "public/p", NULL, flip_argument},
    {"table of arguments", "public/p", allowed, flip_table},
};

#define WAYS (sizeof ways / sizeof *ways)

static void *flipper(void *argument)
{
    const struct way *way = argument;

    for (unsigned turn = 0; !atomic_load(&stop); turn++) {
        way->flip(turn);
        if (turn % 63 == 0)
            sched_yield();
    }
    return NULL;
}

/* The exit status of what was executed, or of the child that could not. The child shares the memory that is flipped. */
static int execute(const char *path)
{
    pid_t pid = vfork();
    int status;

    if (pid == 0) {
        char *const none[] = {NULL};
        syscall(SYS_execve, path, arguments, none);
        _exit(errno == EACCES ? EACCES : 99);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        abort();
    return WEXITSTATUS(status);
}

struct tally {
    unsigned ran, refused, reached;
};

static void race(const struct way *way, unsigned rounds, bool control, struct tally *tally)
{
    const char *path = way->path == NULL ? (const char *)text : way->path;
    pthread_t thread;

    arguments[0] = program_name;
    arguments[1] = way->argument == NULL ? (char *)text : (char *)way->argument;
    way->flip(1);
    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, flipper, (void *)(uintptr_t)way) != 0)
        abort();
    for (unsigned i = 0; i < rounds && !(control && tally->reached > 0); i++) {
        int status = execute(path);
        tally->ran += status == RAN;
        tally->refused += status == EACCES;
        tally->reached += status == REACHED;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

/* As p, whose file is named for what it is. */
static int run_as_program(const char *file)
{
    char content[16] = "", self[256] = "";
    int fd = open(file, O_RDONLY);

    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        return 98;
    if (fd >= 0 && (read(fd, content, sizeof content - 1) < 0 || strcmp(content, "secret") == 0))
        return REACHED;
    return strstr(self, "/secret/") != NULL ? REACHED : RAN;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    bool control = argc > 2;

    if (argc == 2 && strcmp(argv[0], program_name) == 0)
        return run_as_program(argv[1]);
    printf("{");
    for (size_t w = 0; w < WAYS; w++) {
        struct tally tally = {0};
        for (unsigned pass = 0; pass < PASSES_MOST && (pass == 0 || tally.ran == 0 || tally.refused == 0); pass++)
            race(&ways[w], rounds / WAYS + 1, control, &tally);
        printf("%s\"%s\": [%u, %u, %u]", w == 0 ? "" : ", ", ways[w].name, tally.ran, tally.refused, tally.reached);
    }
    printf("}\n");
    return 0;
}
