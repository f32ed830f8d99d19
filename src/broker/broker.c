/* SPDX-License-Identifier: Apache-2.0 */

/* The owner's side: starting the broker, and talking with it. Nothing here waits for the broker, since what the broker
 * does may wait for the cell. */

#include "broker/broker.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/channel.h"
#include "broker/mounts.h"
#include "broker/start.h"
#include "kernel/limits.h"
#include "kernel/pidfd.h"
#include "kernel/reap.h"
#include "kernel/socket.h"

static int fork_broker(const struct tc_broker_setup *setup, int channel, struct tc_broker *broker)
{
    tc_auto_free struct tc_broker_mount *mounts = NULL;
    size_t mount_count = 0;
    pid_t owner = getpid();
    int r = tc_mounts_learn(setup->plan, setup->root, &mounts, &mount_count);

    if (r < 0)
        return r;
    /* The C library's: threads need its idea of the new process. */
    broker->pid = fork();
    if (broker->pid < 0)
        return -errno;
    if (broker->pid == 0)
        _exit(tc_broker_main(setup, mounts, mount_count, channel, broker->counts, owner));
    /* Not reaped yet, so the number is still its own. */
    broker->pidfd = (int)syscall(SYS_pidfd_open, broker->pid, 0);
    return broker->pidfd < 0 ? -errno : 0;
}

int tc_broker_start(const struct tc_broker_setup *setup, struct tc_broker *ret, struct tc_error *err)
{
    struct tc_broker broker = TC_BROKER_NONE;
    int ends[2], r;

    broker.counts = mmap(NULL, sizeof *broker.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (broker.counts == MAP_FAILED) {
        r = -errno;
        return tc_error_set(err, r, "share memory with the broker");
    }
    r = tc_socket_pair(ends);
    if (r == 0) {
        broker.channel = ends[0];
        r = fork_broker(setup, ends[1], &broker);
        close(ends[1]);
    }
    if (r < 0) {
        tc_broker_release(&broker);
        return tc_error_set(err, r, "start the broker");
    }
    *ret = broker;
    return 0;
}

int tc_broker_listen(struct tc_broker *broker, int listener)
{
    struct tc_channel_order order = {.type = TC_CHANNEL_LISTENER};

    return tc_limits_send(broker->channel, &order, sizeof order, &listener, 1);
}

int tc_broker_answer(struct tc_broker *broker, uint32_t ask, enum tc_broker_answer answer, uint32_t note)
{
    struct tc_channel_order order = {.type = TC_CHANNEL_ANSWER, .ask = ask, .answer = answer, .note = note};

    return tc_socket_send(broker->channel, &order, sizeof order, NULL, 0);
}

/* The broker works on what the cell says: it is believed as little as the cell. */
static bool well_formed(const struct tc_broker_message *message, size_t size)
{
    size_t head = offsetof(struct tc_broker_message, target);

    return size >= head && message->length == size - head && message->type >= TC_BROKER_FAILED &&
           message->type <= TC_BROKER_ASK && message->operation < TC_OP_COUNT && message->by <= TC_DENIED_COMMAND &&
           message->because <= TC_BECAUSE_STRICTER && message->rule.kind <= TC_RULE_REF_COMMAND &&
           message->rule.project <= 1;
}

int tc_broker_receive(struct tc_broker *broker, struct tc_broker_message *ret)
{
    ssize_t length = tc_socket_receive(broker->channel, ret, sizeof *ret, NULL);
    int told = tc_socket_told(length);

    return told == 1 && !well_formed(ret, (size_t)length) ? -EPROTO : told;
}

void tc_broker_kill(struct tc_broker *broker)
{
    if (broker->pid > 0)
        tc_pidfd_kill(broker->pidfd, broker->pid);
}

int tc_broker_reap(struct tc_broker *broker, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status)
{
    return tc_child_reap(&broker->pid, ret_user_us, ret_system_us, ret_status);
}

void tc_broker_release(struct tc_broker *broker)
{
    uint64_t user_us, system_us;
    int status;

    tc_broker_kill(broker);
    (void)tc_broker_reap(broker, &user_us, &system_us, &status);
    tc_cleanup_fd(&broker->pidfd);
    tc_cleanup_fd(&broker->channel);
    if (broker->counts != NULL && broker->counts != MAP_FAILED)
        munmap(broker->counts, sizeof *broker->counts);
    *broker = (struct tc_broker)TC_BROKER_NONE;
}
