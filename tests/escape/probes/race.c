/* SPDX-License-Identifier: Apache-2.0 */

/*
 * race ROUNDS [reads]: change what a call names while it is made. One thread flips, one calls; the working directory
 * holds "public" (allowed) and "secret" (denied), a file "f" in each, and "a/public", "b/public" (a link to secret).
 * Prints per way of flipping how often the content of secret/f was read. What was changed the test sees from outside.
 * "reads": only calls that leave the content alone, of each way until the secret was read once.
 */
#define _GNU_SOURCE /* unshared names of fcntl.h and sched.h */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "probe.h"

#define PUBLIC "public/f"
#define SECRET "secret/f"

static atomic_bool stop;
static _Atomic uint64_t text[2]; /* eight characters and the end */
static int hand, ways[2];

static void exchange(const char *one, const char *other)
{
    syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2);
}

/* ---- ways of flipping ---- */

static void flip_text(unsigned turn)
{
    uint64_t word;

    memcpy(&word, turn & 1 ? PUBLIC : SECRET, sizeof word);
    atomic_store(&text[0], word);
}

static void flip_link(unsigned turn)
{
    (void)turn;
    exchange("link", "knil");
}

static void flip_last(unsigned turn)
{
    (void)turn;
    exchange("public/l", "public/m");
}

static void flip_directory(unsigned turn)
{
    (void)turn;
    exchange("a/public", "b/public");
}

static void flip_ancestor(unsigned turn)
{
    (void)turn;
    exchange("a", "b");
}

static void flip_descriptor(unsigned turn)
{
    dup2(ways[turn & 1], hand);
}

static void flip_cwd(unsigned turn)
{
    if (fchdir(ways[turn & 1]) < 0)
        abort();
}

struct way {
    const char *name, *path;
    void (*flip)(unsigned turn);
};

static const struct way all[] = {
    {"text", NULL, flip_text},
    {"link", "link/f", flip_link},
    {"last", "public/l", flip_last},
    {"directory", "a/public/f", flip_directory},
    {"ancestor", "a/public/f", flip_ancestor},
    {"descriptor", "f", flip_descriptor},
    {"cwd", "f", flip_cwd},
};

/* ---- calls: 1 when the secret was read ---- */

static int look(int at, const char *path, int flags)
{
    char content[16] = "";
    int fd = openat(at, path, flags), seen = 0;

    if (fd >= 0) {
        seen = read(fd, content, sizeof content - 1) > 0 && strcmp(content, "secret") == 0;
        close(fd);
    }
    return seen;
}

static int call(unsigned which, int at, const char *path)
{
    struct timespec times[2] = {{1, 0}, {1, 0}};
    char magic[64];
    int fd, seen = 0;

    switch (which) {
    case 0:
        return look(at, path, O_RDONLY);
    case 1:
        return look(at, path, O_RDWR);
    case 2:
        fd = openat(at, path, O_WRONLY | O_APPEND);
        if (fd >= 0 && write(fd, "+", 1) > 0)
            close(fd);
        return 0;
    case 3:
        fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0)
            close(fd);
        return 0;
    case 4:
        fchmodat(at, path, 0606, 0);
        return 0;
    case 5:
        utimensat(at, path, times, 0);
        return 0;
    case 6:
        if (linkat(at, path, AT_FDCWD, "made", AT_SYMLINK_FOLLOW) == 0) {
            seen = look(AT_FDCWD, "made", O_RDONLY);
            unlink("made");
        }
        return seen;
    case 7:
        fd = openat(at, path, O_PATH); /* never stopped: the object is held, and then opened */
        snprintf(magic, sizeof magic, "/proc/self/fd/%d", fd);
        if (fd >= 0) {
            seen = look(AT_FDCWD, magic, O_RDONLY) || look(AT_FDCWD, magic, O_RDWR);
            close(fd);
        }
        return seen;
    case 8:
        if (at == AT_FDCWD && setxattr(path, "user.mine", "x", 1, 0) == 0)
            removexattr(path, "user.mine");
        return at == AT_FDCWD && truncate(path, 7) == 0 ? look(at, path, O_RDONLY) : 0;
    default:
        return 0;
    }
}

#define CALLS 9

static const unsigned reading[] = {0, 1, 6, 7};

/* On one processor it is at the yields that the other thread gets its turn: after an odd number of flips each. */
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

static unsigned race(const struct way *way, unsigned rounds, bool reads)
{
    int at = way->flip == flip_descriptor ? hand : AT_FDCWD;
    unsigned seen = 0;
    pthread_t thread;

    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, flipper, (void *)(uintptr_t)way) != 0)
        abort();
    for (unsigned i = 0; i < rounds && !(reads && seen > 0); i++)
        seen +=
            (unsigned)call(reads ? reading[i % 4] : i % CALLS, at, way->path == NULL ? (const char *)text : way->path);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    return seen;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    int here = open(".", O_PATH | O_DIRECTORY);

    hand = open("public", O_PATH | O_DIRECTORY);
    ways[0] = open("public", O_PATH | O_DIRECTORY);
    ways[1] = open("secret", O_PATH | O_DIRECTORY);
    if (here < 0 || hand < 0 || ways[1] < 0)
        return 1;
    flip_text(0);
    printf("begins\n{");
    fflush(stdout);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        unsigned seen = race(&all[i], rounds, argc > 2);
        if (fchdir(here) < 0)
            return 1;
        printf("%s\"%s\": %u", i == 0 ? "" : ", ", all[i].name, seen);
    }
    printf("}\n");
    return 0;
}
