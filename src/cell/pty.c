/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/file.h"
#include "kernel/socket.h"

/*
 * The command's terminal. It is one of the cell's own devpts, so that its name
 * and /dev/tty mean the same to everybody inside and nothing of the host's
 * terminals is in reach. The child makes it: what it opens belongs to the
 * cell's user. Both ends go to the parent over init's control socket, as the
 * twin does; the master gets to nobody inside, and the slave comes back as the
 * command's streams.
 */

#define MAGIC 0x70747931u /* "pty1" */

/* By descriptor, not by name (Linux 4.13): nothing that is mounted elsewhere can take its place. */
static int open_slave(int master)
{
    int locked = 0;
    int r = (int)tc_raw3(__NR_ioctl, master, TIOCSPTLCK, &locked);

    return r < 0 ? r : (int)tc_raw3(__NR_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/*
 * Should: open the terminal while Landlock, which remembers with each open file what may be done to its device, does
 * not bind this process yet, and its root is the cell's. Mustn't: let the terminal become this process's own, or the
 * master wait for the cell.
 */
int tc_pty_send(struct tc_child *child, struct tc_error *err)
{
    const uint32_t magic = MAGIC;
    tc_auto_fd master = TC_NO_FD;
    tc_auto_fd slave = TC_NO_FD;
    int r;

    if (!child->plan->tty)
        return 0;
    master = tc_file_open(AT_FDCWD, "/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK, 0);
    if (master < 0)
        return tc_error_set(err, master, "make a terminal");
    slave = open_slave(master);
    if (slave < 0)
        return tc_error_set(err, slave, "open the terminal");
    r = tc_socket_send(child->control, &magic, sizeof magic, (int[]){master, slave}, 2);
    return r < 0 ? tc_error_set(err, r, "hand the terminal to the supervisor") : 0;
}

int tc_pty_receive(struct tc_cell *cell, const struct tc_plan *plan, struct tc_error *err)
{
    int fds[2] = {TC_NO_FD, TC_NO_FD};
    int r;

    if (!plan->tty)
        return 0;
    r = tc_handover_take(cell, MAGIC, fds, TC_COUNT(fds));
    if (r < 0)
        return tc_error_plain(err, r, "the terminal did not come");
    cell->master = fds[0];
    cell->slave = fds[1];
    return 0;
}
