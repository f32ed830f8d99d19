/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the path leads is the environment's to say, so that whom it leads to is
 * asked of the kernel, on the very connection that is then used: the peer must
 * be root or the caller. The look at the file before that only spares others a
 * connection.
 */
#include "systemd/manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/peer.h"

#define SYSTEM_OWN "/run/systemd/private"
#define SYSTEM_BUS "/run/dbus/system_bus_socket"

const char *tc_manager_name(bool system)
{
    return system ? "the system's systemd" : "the user's systemd";
}

void tc_manager_close(struct tc_manager *manager)
{
    tc_cleanup_fd(&manager->fd);
}

static bool is_trusted(uid_t uid)
{
    return uid == geteuid() || uid == 0;
}

static int connect_to(const char *path, struct tc_manager *ret)
{
    struct ucred peer;
    struct stat file;
    int fd;

    if (lstat(path, &file) < 0)
        return -errno;
    if (!S_ISSOCK(file.st_mode))
        return -ENOTSOCK;
    if (!is_trusted(file.st_uid))
        return -EPERM;
    fd = tc_peer_connect(path, &peer);
    if (fd < 0)
        return fd;
    if (!is_trusted(peer.uid)) {
        close(fd);
        return -EPERM;
    }
    ret->fd = fd;
    ret->pid = peer.pid;
    return 0;
}

static int tell(int code, const char *path, struct tc_error *err)
{
    if (code == -EPERM)
        return tc_error_plain(err, code, "'%s' is somebody else's", path);
    return tc_error_set(err, code, "connect to '%s'", path);
}

int tc_manager_connect_at(const struct tc_manager_places *places, struct tc_manager *ret, struct tc_error *err)
{
    struct tc_error first = {0}, second = {0};
    int r;

    *ret = (struct tc_manager){.fd = TC_NO_FD};
    r = connect_to(places->own, ret);
    if (r == 0 || places->bus == NULL)
        return r == 0 ? 0 : tell(r, places->own, err);
    tell(r, places->own, &first);
    r = connect_to(places->bus, ret);
    ret->bus = r == 0;
    if (r == 0)
        return 0;
    tell(r, places->bus, &second);
    return tc_error_plain(err, r, "%.200s; %.200s", first.message, second.message);
}

static int connect_user(struct tc_manager *ret, struct tc_error *err)
{
    const char *directory = getenv("XDG_RUNTIME_DIR");
    char own[4096], bus[4096];

    *ret = (struct tc_manager){.fd = TC_NO_FD};
    if (directory == NULL || directory[0] != '/') {
        tc_error_plain(err, -ENOENT, "XDG_RUNTIME_DIR %s",
                       directory == NULL ? "is not set" : "is not an absolute path");
        tc_error_hint(err,
                      "set XDG_RUNTIME_DIR=/run/user/%u, which there is while the user is logged in, or always: "
                      "loginctl enable-linger",
                      geteuid());
        return -ENOENT;
    }
    /* What does not fit here does not fit into the address of a socket either. */
    snprintf(own, sizeof own, "%s/systemd/private", directory);
    snprintf(bus, sizeof bus, "%s/bus", directory);
    return tc_manager_connect_at(&(struct tc_manager_places){own, bus}, ret, err);
}

int tc_manager_connect(struct tc_manager *ret, struct tc_error *err)
{
    int r;

    if (geteuid() != 0)
        return connect_user(ret, err);
    r = tc_manager_connect_at(&(struct tc_manager_places){SYSTEM_OWN, SYSTEM_BUS}, ret, err);
    ret->system = true;
    return r;
}
