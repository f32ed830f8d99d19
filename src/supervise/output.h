/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_OUTPUT_H
#define TC_SUPERVISE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define TC_SINK_QUEUE (256u << 10) /* bytes that wait for a slow reader, per sink */

/* How a descriptor is written to without ever blocking on its reader and without touching the flags of an open file
 * description that others share. */
enum tc_sink_kind {
    TC_SINK_NONE,   /* not open (for writing): everything is thrown away */
    TC_SINK_FILE,   /* never waits for a reader: regular files, /dev/null */
    TC_SINK_SOCKET, /* MSG_DONTWAIT */
    TC_SINK_OWN,    /* a pipe or terminal opened anew: a description of our own, O_NONBLOCK */
    TC_SINK_PIPE,   /* one that cannot be opened anew: at most PIPE_BUF bytes when poll says so */
    TC_SINK_TTY     /* likewise; a terminal that is writable takes a few bytes */
};

/* One descriptor of the caller that is written to, and what waits for it. */
struct tc_sink {
    const char *name;
    enum tc_sink_kind kind;
    int fd;
    char *queue; /* TC_SINK_QUEUE bytes, allocated on first use */
    size_t head; /* first byte that waits */
    size_t length;
    int broken; /* -errno once writing failed; the sink then swallows everything */
    bool lost;  /* and did so with something */
};

#define TC_SINK_EMPTY ((struct tc_sink){.kind = TC_SINK_NONE, .fd = -1})

/**
 * Take a duplicate of a descriptor to write to.
 *
 * @param fd    borrowed; one that is not open for writing gives a sink that throws away
 * @param name  for messages, borrowed
 * @return 0 or -errno; released with tc_sink_close()
 */
int tc_sink_open(struct tc_sink *sink, int fd, const char *name, struct tc_error *err);

/** Bytes that can be put at once; SIZE_MAX when everything is thrown away. */
size_t tc_sink_room(const struct tc_sink *sink);

/** Queue bytes (length at most tc_sink_room()) and write what can be written now. Failures stick in sink->broken. */
void tc_sink_put(struct tc_sink *sink, const void *bytes, size_t length);

/** Write what waits, as far as that is possible without blocking. */
void tc_sink_flush(struct tc_sink *sink);

/** Give up on a reader: everything that waits or comes is thrown away. */
void tc_sink_break(struct tc_sink *sink, int error);

/** True when nothing waits. */
static inline bool tc_sink_idle(const struct tc_sink *sink)
{
    return sink->length == 0;
}

void tc_sink_close(struct tc_sink *sink);

#endif
