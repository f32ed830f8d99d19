/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ESCAPE_RACE_H
#define ESCAPE_RACE_H

/* What race.c and its table of calls share. One program includes it once. */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "probe.h"

#define EXCHANGE 2 /* RENAME_EXCHANGE, whose name not every C library has */

/* Where a call is made to: relative to a directory, or as one path for calls that know no directory. */
struct target {
    int at;
    const char *path, *full;
};

/* An address whose path is one aligned word, so that it is exchanged at once and never half of each. */
static union {
    uint64_t word[16];
    struct {
        char unused[8 - sizeof(sa_family_t)];
        struct sockaddr_un address;
    } at;
} text = {.at = {.address = {.sun_family = AF_UNIX}}};

static int here, secret, fine;         /* the working directory; the denied one; the allowed one of this way */
static int inotify;                    /* the one that gets the watches */
static struct stat secret_f, secret_d; /* as they were */

#endif
