/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_POLLER_H
#define TC_SUPERVISE_POLLER_H

#include <stdbool.h>
#include <stdint.h>

/* What one call waits for, in the order in which it is served: room is made before more is read, and what the
 * command said and did comes before what ends it. */
enum tc_source {
    TC_SOURCE_SINK_STDOUT,
    TC_SOURCE_SINK_STDERR,
    TC_SOURCE_SINK_EVENTS,
    TC_SOURCE_INPUT_READ,
    TC_SOURCE_INPUT_WRITE,
    TC_SOURCE_STDOUT,
    TC_SOURCE_STDERR,
    TC_SOURCE_ANSWER,
    TC_SOURCE_BROKER,       /* what it says; what was denied comes before what ends the call */
    TC_SOURCE_BROKER_DEATH, /* before the command's end, which a dead broker may have caused */
    TC_SOURCE_LISTENER,     /* a call is stopped, and no broker runs yet */
    TC_SOURCE_CONTROL,
    TC_SOURCE_DEATH,
    TC_SOURCE_RESIZE, /* the caller's terminal has another size, or is toolcell's again */
    TC_SOURCE_SIGNAL,
    TC_SOURCE_TIMER,
    TC_SOURCE_COUNT
};

/* An epoll set with one place per source; remembers what is registered, so that asking again costs nothing. */
struct tc_poller {
    int epoll;
    struct {
        bool present;
        uint32_t events;
        int fd;
    } entries[TC_SOURCE_COUNT];
    uint32_t ready[TC_SOURCE_COUNT]; /* EPOLL* of the last wait */
};

/** Open an empty set. 0 or -errno; released with tc_poller_close(). */
int tc_poller_open(struct tc_poller *poller);
void tc_poller_close(struct tc_poller *poller);

/**
 * Wait for events on fd (borrowed; level-triggered). EPOLLERR and EPOLLHUP are always reported, with events 0 too.
 * @return 0 or -errno; -EPERM: a regular file or the like, which is always ready
 */
int tc_poller_watch(struct tc_poller *poller, enum tc_source source, int fd, uint32_t events);

/** Stop waiting for a source; must precede the close of its descriptor. Nothing registered is fine. */
void tc_poller_drop(struct tc_poller *poller, enum tc_source source);

/** Sleep until something is ready, at most timeout_ms (-1: no bound), and fill ready[]. 0 or -errno; an interrupted
 *  wait returns 0 with nothing ready. */
int tc_poller_wait(struct tc_poller *poller, int timeout_ms);

#endif
