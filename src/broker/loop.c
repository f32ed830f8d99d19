/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Workers and their monitor.
 *
 * Every worker waits for a call, performs it and answers it, without handing
 * it on. Anything in there may wait: for the other end of a FIFO, a lease, an
 * answer, the memory of a caller that keeps it locked. So there is no bound on
 * how long a worker is away, and the monitor sees to it that somebody is left:
 * when all are busy and none got done since it last looked, it adds some.
 * A call that waits thus holds up nobody else, however many do.
 *
 * A caller that is killed leaves a worker behind that waits for nothing. The
 * monitor asks the kernel about those that have been away for long, tells the
 * worker (abandoned), and interrupts its system call, if it is one that may be
 * interrupted (tc_stopped_interruptible); again at every turn, since the
 * signal may come just before the call.
 *
 * The monitor sleeps while nothing happens. Whoever takes the first call after
 * that wakes it.
 */

#include "broker/loop.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/calls.h"
#include "broker/channel.h"
#include "broker/report.h"
#include "kernel/notify.h"

#define WORKERS_FIRST 2
#define WORKERS_MOST 4096
#define STACK_SIZE (192u << 10) /* a few paths and packets; only what is used is there */
#define TURN_MS 4               /* between looks while there is something to look at */
#define QUIET_TURNS 25          /* without a call, after which the monitor sleeps */
#define LONG_MS 20              /* away for so long: see whether its caller is still there */
#define INTERRUPT SIGUSR1

struct worker {
    pthread_t thread;
    struct loop *loop;
    _Atomic uint64_t id;        /* of the call in its hands */
    _Atomic uint64_t since;     /* when it took that, 0 while it has none; clock of the monitor's turns */
    _Atomic uint64_t abandoned; /* a call whose caller is gone; set by the monitor */
};

struct loop {
    struct tc_broker_state *state;
    struct worker *workers; /* WORKERS_MOST; slots are filled from the front */
    size_t count;           /* monitor only */
    atomic_uint busy;
    atomic_int caller;    /* the last one */
    atomic_uint changes;  /* how often it was another one than before, in this turn */
    bool here;            /* callers and workers are woken where they are; monitor only */
    atomic_bool asleep;   /* the monitor */
    _Atomic uint64_t now; /* milliseconds, of the monitor's last turn */
    int bell;             /* eventfd: wakes the monitor */
    sem_t gate;           /* 1 once the listener is there: who passes it leaves it as it was */
};

/* ---- workers ---- */

static void ring(struct loop *loop)
{
    uint64_t one = 1;

    if (atomic_load_explicit(&loop->asleep, memory_order_seq_cst) && atomic_exchange(&loop->asleep, false))
        (void)!write(loop->bell, &one, sizeof one);
}

static void serve(struct worker *worker, const struct seccomp_notif *taken)
{
    struct loop *loop = worker->loop;
    struct tc_stopped stopped = {.state = loop->state,
                                 .id = taken->id,
                                 .tid = (pid_t)taken->pid,
                                 .nr = taken->data.nr,
                                 .pidfd = TC_NO_FD,
                                 .abandoned = &worker->abandoned};
    uint64_t now = atomic_load_explicit(&loop->now, memory_order_relaxed);

    for (size_t i = 0; i < TC_COUNT(stopped.args); i++)
        stopped.args[i] = taken->data.args[i];
    atomic_store_explicit(&worker->id, taken->id, memory_order_relaxed);
    atomic_store_explicit(&worker->since, now == 0 ? 1 : now, memory_order_release);
    atomic_fetch_add(&loop->busy, 1);
    atomic_fetch_add_explicit(&loop->state->counts->calls, 1, memory_order_relaxed);
    if (atomic_exchange_explicit(&loop->caller, stopped.tid, memory_order_relaxed) != stopped.tid)
        atomic_fetch_add_explicit(&loop->changes, 1, memory_order_relaxed);
    ring(loop);
    tc_call_serve(&stopped);
    atomic_store_explicit(&worker->since, 0, memory_order_release);
    atomic_fetch_sub(&loop->busy, 1);
}

void tc_stopped_interruptible(bool on)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, INTERRUPT);
    pthread_sigmask(on ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static void *work(void *argument)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct worker *worker = argument;
    struct seccomp_notif taken;

    /* A umask of its own: it is the caller's for the time of a call. */
    if (unshare(CLONE_FS) < 0)
        _exit(EXIT_FAILURE);
    while (sem_wait(&worker->loop->gate) < 0) /* -EINTR */
        ;
    sem_post(&worker->loop->gate);
    for (;;) {
        int r = tc_notify_receive(worker->loop->state->listener, &taken);
        if (r == 0)
            serve(worker, &taken);
        else if (r != -EINTR)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL); /* the monitor ends this when it is for good */
    }
    return NULL;
}

static int add_worker(struct loop *loop)
{
    struct worker *worker = &loop->workers[loop->count];
    pthread_attr_t attributes;
    int r;

    if (loop->count == WORKERS_MOST)
        return -EAGAIN;
    worker->loop = loop;
    r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&worker->thread, &attributes, work, worker);
    pthread_attr_destroy(&attributes);
    if (r != 0)
        return -r;
    loop->count++;
    return 0;
}

/* ---- monitor ---- */

/* Take the callers that are gone from those who wait for them. */
static void look_after(struct loop *loop)
{
    uint64_t now = atomic_load(&loop->now);
    bool any = false;

    for (size_t i = 0; i < loop->count; i++) {
        struct worker *worker = &loop->workers[i];
        uint64_t since = atomic_load_explicit(&worker->since, memory_order_acquire);
        uint64_t id = atomic_load_explicit(&worker->id, memory_order_relaxed);

        if (since == 0 || since + LONG_MS > now || tc_notify_valid(loop->state->listener, id))
            continue;
        /* Should it have gone on to another call, this is not about that one. */
        atomic_store(&worker->abandoned, id);
        pthread_kill(worker->thread, INTERRUPT);
        any = true;
    }
    if (any)
        tc_report_wake(loop->state);
}

/* All are away and nobody came back since the last turn, while somebody waits to be served. */
static void add_if_stuck(struct loop *loop, bool progress)
{
    struct pollfd listener = {.fd = loop->state->listener, .events = POLLIN};
    size_t more = loop->count / 2 + 1;

    if (progress || atomic_load(&loop->busy) < loop->count || poll(&listener, 1, 0) <= 0 ||
        (listener.revents & POLLIN) == 0)
        return;
    while (more-- > 0 && add_worker(loop) == 0)
        ;
}

/*
 * A caller and the worker that serves it never run at the same time. To and fro between two processors a call costs
 * more than it takes to perform it, where these have to be interrupted for it: in a virtual machine. So as long as
 * one caller makes all calls, who is woken is woken where the other is. Several callers would be gathered on one
 * processor by that.
 */
static void wake_here(struct loop *loop, bool here)
{
    loop->here = here;
    tc_notify_wake_here(loop->state->listener, here);
}

static void choose_where(struct loop *loop, uint64_t calls)
{
    unsigned changes = atomic_exchange_explicit(&loop->changes, 0, memory_order_relaxed);

    if (calls > 0 && (changes == 0) != loop->here)
        wake_here(loop, changes == 0);
}

static void count_time(struct tc_broker_counts *counts)
{
    struct timespec used;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
        atomic_store(&counts->cpu_us, (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000);
}

/* How long to wait for the next turn; -1 until somebody rings. */
static int next_turn(struct loop *loop, unsigned *quiet)
{
    if (*quiet < QUIET_TURNS || atomic_load(&loop->busy) > 0)
        return TURN_MS;
    atomic_store_explicit(&loop->asleep, true, memory_order_seq_cst);
    /* Who came between the two did not see it asleep. */
    if (atomic_load_explicit(&loop->busy, memory_order_seq_cst) == 0)
        return -1;
    atomic_store(&loop->asleep, false);
    *quiet = 0;
    return TURN_MS;
}

/* One wait. 1: go on, 0: the end, or -errno. */
static int turn(struct loop *loop, int timeout)
{
    struct pollfd ready[] = {{.fd = loop->state->channel, .events = POLLIN},
                             {.fd = loop->state->listener}, /* POLLHUP */
                             {.fd = loop->bell, .events = POLLIN}};
    uint64_t rung;
    int r = poll(ready, TC_COUNT(ready), timeout);

    if (r < 0)
        return errno == EINTR ? 1 : -errno;
    if (ready[1].revents & (POLLHUP | POLLERR))
        return 0;
    if (ready[2].revents & POLLIN)
        (void)!read(loop->bell, &rung, sizeof rung);
    if (ready[0].revents == 0)
        return 1;
    r = tc_channel_answers(loop->state);
    return r == -EPIPE ? 0 : r < 0 ? r : 1;
}

static int monitor(struct loop *loop)
{
    uint64_t calls = 0, before = 0;
    unsigned quiet = 0;
    int r = 1;

    while (r > 0) {
        atomic_store(&loop->now, tc_clock_ms());
        r = turn(loop, next_turn(loop, &quiet));
        atomic_store(&loop->now, tc_clock_ms());
        calls = atomic_load(&loop->state->counts->calls);
        quiet = calls == before ? quiet + 1 : 0;
        choose_where(loop, calls - before);
        look_after(loop);
        add_if_stuck(loop, calls != before);
        count_time(loop->state->counts);
        before = calls;
    }
    return r;
}

static void interrupted(int number)
{
    (void)number; /* it ends a system call; that is all */
}

/* Everything that needs no listener: the first call comes right after it. */
static int prepare(struct loop *loop)
{
    struct sigaction action = {.sa_handler = interrupted}; /* no SA_RESTART */
    int r = 0;

    /* One heap: a second costs the first worker that allocates more than all it will ever allocate. */
    mallopt(M_ARENA_MAX, 1);
    loop->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->workers = calloc(WORKERS_MOST, sizeof *loop->workers);
    tc_stopped_interruptible(false); /* workers inherit that */
    if (loop->bell < 0 || loop->workers == NULL || sem_init(&loop->gate, 0, 0) < 0 ||
        sigaction(INTERRUPT, &action, NULL) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < WORKERS_FIRST && r == 0; i++)
        r = add_worker(loop);
    return r;
}

int tc_loop_run(struct tc_broker_state *state, struct tc_error *err)
{
    static struct loop loop; /* the workers use it as long as they are */
    int r;

    loop.state = state;
    r = prepare(&loop);
    if (r < 0)
        return tc_error_set(err, r, "start workers");
    r = tc_channel_listener(state->channel);
    if (r < 0) /* -EPIPE: the owner closed it, no call will come */
        return r == -EPIPE ? 0 : tc_error_set(err, r, "take the listener");
    state->listener = r;
    atomic_store(&loop.now, tc_clock_ms());
    wake_here(&loop, true);
    sem_post(&loop.gate);
    r = monitor(&loop);
    count_time(state->counts);
    return r < 0 ? tc_error_set(err, r, "serve") : 0; /* the process ends now, and its threads with it */
}
