/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "doctor/probe.h"
#include "kernel/caps.h"
#include "kernel/clone.h"
#include "kernel/uidlease.h"
#include "kernel/userns.h"

/*
 * A process in namespaces of its own, with the ids a cell would have and by
 * the calls a launch would use; but with a copy of the memory, since it must
 * not disturb the probe that waits for it.
 */

#define CELL_ID 1000

struct meeting {
    uid_t uid; /* the caller's, which cannot be asked for inside until they are mapped */
    gid_t gid;
    int go[2];     /* one byte when root has written the maps */
    int report[2]; /* the struct tc_inside */
};

static int map_self(const struct meeting *meeting)
{
    struct tc_id_range uid = {CELL_ID, meeting->uid, 1};
    struct tc_id_range gid = {CELL_ID, meeting->gid, 1};

    return tc_userns_map(0, &uid, 1, &gid, 1);
}

static int map_child(pid_t pid)
{
    struct tc_uid_range range;
    struct tc_id_range id = {.inside = CELL_ID, .count = 1};
    int r = tc_uidlease_range(TC_UIDLEASE_CONFIG, &range);

    if (r < 0)
        return r;
    id.outside = range.first;
    return tc_userns_map(pid, &id, 1, &id, 1);
}

static int become_mapped(void)
{
    int r = tc_caps_keep();

    if (r < 0)
        return r;
    if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, CELL_ID, CELL_ID, CELL_ID) < 0 ||
        syscall(SYS_setresuid, CELL_ID, CELL_ID, CELL_ID) < 0)
        return -errno;
    return 0;
}

static void work_inside(struct meeting *meeting, int (*work)(void))
{
    struct tc_inside inside = {.result = TC_NOT_REACHED};
    char byte;

    close(meeting->go[1]);
    if (meeting->uid != 0)
        inside.mapped = map_self(meeting);
    else if (read(meeting->go[0], &byte, 1) == 1)
        inside.mapped = become_mapped();
    else
        _exit(1);
    /* After the change of ids, which clears it. A parent that is gone already shows as a broken pipe. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        _exit(1);
    if (inside.mapped == 0)
        inside.result = work();
    _exit(write(meeting->report[1], &inside, sizeof inside) == (ssize_t)sizeof inside ? 0 : 1);
}

static void attend(struct meeting *meeting, pid_t pid, struct tc_inside *ret)
{
    bool root = meeting->uid == 0;
    struct tc_inside said;

    close(meeting->report[1]);
    meeting->report[1] = TC_NO_FD;
    ret->mapped = root ? map_child(pid) : 0;
    if (ret->mapped == 0 && (!root || write(meeting->go[1], "", 1) == 1)) {
        ret->result = -EIO;
        if (read(meeting->report[0], &said, sizeof said) == (ssize_t)sizeof said)
            *ret = said;
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

void tc_inside_run(unsigned long flags, int (*work)(void), struct tc_inside *ret)
{
    struct meeting meeting = {geteuid(), getegid(), {TC_NO_FD, TC_NO_FD}, {TC_NO_FD, TC_NO_FD}};
    pid_t pid = -1;

    *ret = (struct tc_inside){.mapped = TC_NOT_REACHED, .result = TC_NOT_REACHED};
    if (pipe2(meeting.go, O_CLOEXEC) < 0 || pipe2(meeting.report, O_CLOEXEC) < 0)
        ret->made = -errno;
    else
        pid = tc_clone_copied(flags | SIGCHLD, NULL);
    if (pid == 0)
        work_inside(&meeting, work);
    if (pid > 0)
        attend(&meeting, pid, ret);
    else if (ret->made == 0)
        ret->made = (int)pid;
    for (int i = 0; i < 2; i++) {
        tc_cleanup_fd(&meeting.go[i]);
        tc_cleanup_fd(&meeting.report[i]);
    }
}
