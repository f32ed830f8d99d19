/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cell.h"

static int with_path(int (*call)(int, const struct sockaddr *, socklen_t), int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return call(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

int peers_listen(const char *path, int type, int backlog)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), r = with_path(bind, fd, path);

    if (r == 0 && listen(fd, backlog) == 0)
        return fd;
    close(fd);
    return r < 0 ? r : -EIO;
}

int peers_connect(const char *path, int type)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), r = with_path(connect, fd, path);

    if (r == 0)
        return fd;
    close(fd);
    return r;
}

int peers_call(const char *path)
{
    int fd = peers_connect(path, SOCK_STREAM);
    char byte = 0;

    if (fd < 0)
        return fd;
    CELL_CHECK(read(fd, &byte, 1) == 1);
    close(fd);
    return byte;
}

void peers_pause(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

void peers_wait(void)
{
    struct peers_seen *seen = cell_memory;

    while (!atomic_load(&seen->ready))
        peers_pause(1);
}

static void serve_one(struct peers_seen *seen, int listener, char letter)
{
    int fd = accept(listener, NULL, NULL);
    struct ucred peer;
    socklen_t size = sizeof peer;

    CELL_CHECK(fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
    atomic_store(&seen->uid, peer.uid);
    atomic_store(&seen->pid, peer.pid);
    atomic_fetch_add(letter == 'd' ? &seen->denied : letter == 'a' ? &seen->allowed : &seen->asked, 1);
    (void)!send(fd, &letter, 1, MSG_NOSIGNAL);
    close(fd);
}

void peers_serve(void)
{
    struct pollfd ready[] = {{.fd = peers_listen("denied.sock", SOCK_STREAM, 100), .events = POLLIN},
                             {.fd = peers_listen("allowed.sock", SOCK_STREAM, 100), .events = POLLIN},
                             {.fd = peers_listen("asked.sock", SOCK_STREAM, 100), .events = POLLIN}};
    struct peers_seen *seen = cell_memory;

    CELL_CHECK(ready[0].fd >= 0 && ready[1].fd >= 0 && ready[2].fd >= 0);
    atomic_store(&seen->ready, true);
    for (;;) {
        CELL_CHECK(poll(ready, 3, -1) > 0);
        for (int i = 0; i < 3; i++) {
            if (ready[i].revents & POLLIN)
                serve_one(seen, ready[i].fd, "daq"[i]);
        }
    }
}
