/* SPDX-License-Identifier: Apache-2.0 */

/*
 * race ROUNDS [control | CALL]: change what a call names while it is made. One thread flips, one calls; every call of
 * race_calls.h so many rounds, shared by the ways of flipping. The working directory holds "public" (allowed),
 * "secret" (denied) and "a/public", in each a file "f", a directory "d" and a socket "s" of the host; links that lead
 * to either; "b/public" (a link to secret) and "own". Prints per call how often it worked, was refused, reached the
 * secret. control: each call by each way until the secret was reached or changed; prints per call the ways that never
 * did.
 */
#define _GNU_SOURCE /* unshared names of fcntl.h and sched.h */
#include <pthread.h>
#include <sched.h>

#include "race_calls.h"

#define HAND 100            /* the descriptor that stands for one directory or the other */
#define PASSES_MOST 100     /* of all ways, until a call both worked and was refused */
#define CONTROL_MOST 500000 /* rounds of one call by one way */

static atomic_bool stop;
static int ways_there[2]; /* public and secret */

static void exchange(const char *one, const char *other)
{
    syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, EXCHANGE);
}

/* ---- ways of flipping ---- */

static char text_leaf = 'f';

static void flip_text(unsigned turn)
{
    uint64_t word;

    memcpy(&word, turn & 1 ? "public/" : "secret/", sizeof word);
    ((char *)&word)[7] = text_leaf;
    __atomic_store_n((uint64_t *)(void *)text.at.address.sun_path, word, __ATOMIC_SEQ_CST);
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
    dup2(ways_there[turn & 1], HAND);
}

static void flip_cwd(unsigned turn)
{
    if (fchdir(ways_there[turn & 1]) < 0)
        abort();
}

struct way {
    const char *name, *directory;
    void (*flip)(unsigned turn);
};

static const struct way ways[] = {
    {"text", NULL, flip_text},
    {"link", "link/", flip_link},
    {"last", "public/l", flip_last},
    {"directory", "a/public/", flip_directory},
    {"ancestor", "a/public/", flip_ancestor},
    {"descriptor", "/proc/self/fd/100/", flip_descriptor},
    {"cwd", "", flip_cwd},
};

#define WAYS (sizeof ways / sizeof *ways)

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

/* ---- rounds ---- */

struct tally {
    unsigned worked, refused, reached;
};

static bool same(const struct stat *one, const struct stat *other)
{
    return one->st_ino == other->st_ino && one->st_nlink == other->st_nlink && one->st_size == other->st_size &&
           memcmp(&one->st_mtim, &other->st_mtim, sizeof one->st_mtim) == 0;
}

static bool same_time(const struct stat *one, const struct stat *other)
{
    return memcmp(&one->st_ctim, &other->st_ctim, sizeof one->st_ctim) == 0;
}

/* ret: the directory, its file, its directory. False when one of them is not there. */
static bool look_at_secret(struct stat ret[3])
{
    return fstat(secret, &ret[0]) == 0 && fstatat(secret, "f", &ret[1], AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(secret, "d", &ret[2], AT_SYMLINK_NOFOLLOW) == 0;
}

/* The change time of the directory itself tells only where it is moved to, which the host may do. */
static bool touched(const struct stat before[3])
{
    struct stat now[3];

    if (!look_at_secret(now) || !same(&before[0], &now[0]))
        return true;
    for (size_t i = 1; i < 3; i++) {
        if (!same(&before[i], &now[i]) || !same_time(&before[i], &now[i]))
            return true;
    }
    return false;
}

/*
 * Until whatever changes has another time than what stands there: before Linux 6.13 all changes within one tick of the
 * clock have the same.
 */
static void await_tick(const struct stat standing[3])
{
    struct timespec now;

    for (size_t i = 0; i < 3; i++) {
        do
            clock_gettime(CLOCK_REALTIME_COARSE, &now);
        while (now.tv_sec < standing[i].st_ctim.tv_sec ||
               (now.tv_sec == standing[i].st_ctim.tv_sec && now.tv_nsec <= standing[i].st_ctim.tv_nsec));
    }
}

static bool fits(const struct call *call, const struct way *way)
{
    return way->flip != flip_last || call->follows;
}

static struct target aim(const struct call *call, const struct way *way, char *path, size_t size)
{
    bool whole = way->flip == flip_last;

    if (way->flip == flip_text) {
        text_leaf = call->leaf;
        flip_text(1);
        return (struct target){AT_FDCWD, text.at.address.sun_path, text.at.address.sun_path};
    }
    snprintf(path, size, "%s%.*s", way->directory, whole ? 0 : 1, &call->leaf);
    if (way->flip == flip_descriptor)
        return (struct target){HAND, path + strlen(way->directory), path};
    return (struct target){AT_FDCWD, path, path};
}

/* In control: until the secret was reached or changed, true when it was. */
static bool race(const struct call *call, const struct way *way, unsigned rounds, bool control, struct tally *tally)
{
    char path[32];
    struct target to = aim(call, way, path, sizeof path);
    struct stat before[3];
    bool met = false;
    pthread_t thread;

    if (!look_at_secret(before))
        abort();
    await_tick(before);
    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, flipper, (void *)(uintptr_t)way) != 0)
        abort();
    for (unsigned i = 0; i < rounds && !met; i++) {
        int r = call->run(&to);
        tally->worked += r > 0;
        tally->refused += r == 0 && errno == EACCES;
        tally->reached += r == REACHED;
        met = control && (r == REACHED || (call->harmless && r > 0) || touched(before));
        if (call->restore != NULL)
            call->restore();
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    tally->reached += !control && touched(before);
    return met;
}

/* As it was at first, but for times. */
static void repair(int directory, const char *content)
{
    int fd;

    unlinkat(directory, "n", 0);
    unlinkat(directory, "n", AT_REMOVEDIR);
    mkdirat(directory, "d", 0755);
    fd = openat(directory, "f", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, content, strlen(content)) < 0)
        abort();
    fremovexattr(fd, "user.mine"); /* to set what is set changes nothing */
    close(fd);
}

static void begin(const struct way *way, int a_public)
{
    fine = way->directory != NULL && way->directory[0] == 'a' ? a_public : ways_there[0];
    if (fchdir(here) < 0)
        abort();
}

static void report_control(const struct call *call, int a_public)
{
    struct tally unused = {0};
    unsigned missed = 0;

    for (size_t w = 0; w < WAYS; w++) {
        unlinkat(here, "made", 0);
        unlinkat(here, "made", AT_REMOVEDIR);
        repair(secret, "secret");
        repair(ways_there[0], "public");
        repair(a_public, "public");
        make_own();
        begin(&ways[w], a_public);
        if (fits(call, &ways[w]) && !race(call, &ways[w], CONTROL_MOST, true, &unused))
            printf("%s\"%s\"", missed++ == 0 ? "" : ", ", ways[w].name);
    }
}

static void report(const struct call *call, int a_public, unsigned rounds, bool text_only)
{
    struct tally tally = {0};
    unsigned share = text_only ? rounds : rounds / (call->follows ? WAYS : WAYS - 1) + 1;

    for (unsigned pass = 0; pass < PASSES_MOST && (pass == 0 || tally.worked == 0 || tally.refused == 0); pass++) {
        for (size_t w = 0; w < (text_only ? 1 : WAYS); w++) {
            begin(&ways[w], a_public);
            if (fits(call, &ways[w]))
                race(call, &ways[w], share, false, &tally);
        }
    }
    printf("%u, %u, %u", tally.worked, tally.refused, tally.reached);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    bool control = argc > 2 && strcmp(argv[2], "control") == 0;
    const char *only = argc > 2 && !control ? argv[2] : NULL;
    int a_public = open("a/public", O_PATH | O_DIRECTORY);

    here = open(".", O_PATH | O_DIRECTORY);
    secret = ways_there[1] = open("secret", O_PATH | O_DIRECTORY);
    ways_there[0] = open("public", O_PATH | O_DIRECTORY);
    inotify = inotify_init();
    if (here < 0 || secret < 0 || ways_there[0] < 0 || a_public < 0 || inotify < 0)
        return 1;
    if (dup2(ways_there[0], HAND) < 0 || fstatat(secret, "f", &secret_f, 0) < 0 ||
        fstatat(secret, "d", &secret_d, 0) < 0)
        return 1;
    printf("begins\n{");
    for (size_t c = 0, told = 0; c < CALLS; c++) {
        if (only != NULL && strcmp(only, calls[c].name) != 0)
            continue;
        printf("%s\"%s\": [", told++ == 0 ? "" : ", ", calls[c].name);
        fflush(stdout);
        if (control)
            report_control(&calls[c], a_public);
        else
            report(&calls[c], a_public, rounds, only != NULL);
        printf("]");
    }
    printf("}\n");
    return 0;
}
