/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

enum fake_broker_fault fake_broker_fault;
const struct tc_broker_message *fake_broker_says;
unsigned fake_broker_count;

struct order {
    uint32_t ask, answer, note;
};

struct tc_broker_message fake_message(enum tc_broker_message_type type, uint32_t ask, enum tc_operation operation,
                                      const char *target, size_t length)
{
    struct tc_broker_message message = {
        .type = type, .ask = ask, .operation = operation, .call = 257, .length = (uint32_t)length};

    message.rule.kind = TC_RULE_REF_RULE;
    memcpy(message.target, target, length);
    return message;
}

/* ---- the broker ---- */

static void say(int channel, const struct tc_broker_message *message)
{
    struct pollfd ready = {.fd = channel, .events = POLLOUT};

    poll(&ready, 1, -1);
    if (send(channel, message, tc_broker_message_size(message), MSG_NOSIGNAL) < 0)
        _exit(9);
}

static void report(int channel, const struct order *order, struct tc_broker_counts *counts)
{
    char text[64];
    struct tc_broker_message message;

    if (order->answer == TC_BROKER_ALLOW)
        snprintf(text, sizeof text, "answered %u allow", order->ask);
    else
        snprintf(text, sizeof text, "answered %u deny %u", order->ask, order->note);
    message = fake_message(TC_BROKER_DENIED, order->answer == TC_BROKER_ALLOW ? 0 : order->note, TC_OP_WRITE, text,
                           strlen(text));
    message.by = order->answer == TC_BROKER_ALLOW ? TC_DENIED_RULE : TC_DENIED_ASK;
    counts->denials++;
    say(channel, &message);
}

static void misbehave(int channel)
{
    struct tc_broker_message message = fake_message(TC_BROKER_FAILED, 0, TC_OP_READ, "broker: no chroot", 17);

    switch (fake_broker_fault) {
    case FAKE_BROKER_FAILS:
        message.rule.kind = TC_RULE_REF_NONE;
        say(channel, &message);
        _exit(1);
    case FAKE_BROKER_KILLED:
        raise(SIGKILL);
        break;
    case FAKE_BROKER_CANCELS:
        kill(getppid(), SIGTERM);
        break;
    case FAKE_BROKER_ENDS:
        _exit(7);
    case FAKE_BROKER_FINISHES:
        _exit(0);
    case FAKE_BROKER_NONSENSE:
        send(channel, "hello", 5, MSG_NOSIGNAL);
        break;
    case FAKE_BROKER_NO_SUCH:
        message.type = TC_BROKER_DENIED;
        message.rule.index = 1000;
        say(channel, &message);
        break;
    case FAKE_BROKER_UNKILLABLE:
        for (;;)
            pause();
    case FAKE_BROKER_NONE:
    case FAKE_BROKER_NOT_STARTED:
        break;
    }
}

static void serve(int channel, struct tc_broker_counts *counts)
{
    struct order order;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < fake_broker_count; i++) {
        if (fake_broker_says[i].type == TC_BROKER_DENIED)
            counts->denials++;
        say(channel, &fake_broker_says[i]);
    }
    misbehave(channel);
    while (recv(channel, &order, sizeof order, 0) == (ssize_t)sizeof order)
        report(channel, &order, counts);
    _exit(0);
}

/* ---- broker.h ---- */

int tc_broker_start(const struct tc_broker_setup *setup, struct tc_broker *ret, struct tc_error *err)
{
    int ends[2];

    ck_assert_int_gt(setup->init_pidfd, 0);
    if (fake_broker_fault == FAKE_BROKER_NOT_STARTED)
        return tc_error_set(err, -EAGAIN, "start the broker");
    *ret = (struct tc_broker)TC_BROKER_NONE;
    ret->counts = mmap(NULL, sizeof *ret->counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return tc_error_set(err, -errno, "socketpair");
    ret->channel = ends[0];
    ret->pid = fork();
    if (ret->pid == 0) {
        int channel = dup3(ends[1], 3, O_CLOEXEC) < 0 ? ends[1] : 3;

        close_range(0, 2, 0);
        close_range(4, ~0U, 0);
        serve(channel, ret->counts);
    }
    close(ends[1]);
    ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
    return 0;
}

int tc_broker_listen(struct tc_broker *broker, int listener)
{
    (void)broker;
    (void)listener;
    return 0;
}

int tc_broker_receive(struct tc_broker *broker, struct tc_broker_message *ret)
{
    ssize_t length = recv(broker->channel, ret, sizeof *ret, MSG_DONTWAIT);

    if (length < 0)
        return errno == EAGAIN ? 0 : -EPIPE;
    if (length == 0)
        return -EPIPE;
    return length >= (ssize_t)offsetof(struct tc_broker_message, target) ? 1 : -EPROTO;
}

int tc_broker_answer(struct tc_broker *broker, uint32_t ask, enum tc_broker_answer answer, uint32_t note)
{
    struct order order = {ask, answer, note};

    return send(broker->channel, &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void tc_broker_kill(struct tc_broker *broker)
{
    if (broker->pid > 0)
        kill(broker->pid, SIGKILL); /* by pid: valgrind knows no pidfd_send_signal */
}

int tc_broker_reap(struct tc_broker *broker, uint64_t *ret_user_us, uint64_t *ret_system_us, int *ret_status)
{
    if (broker->pid <= 0)
        return -ECHILD;
    waitpid(broker->pid, ret_status, 0);
    broker->pid = -1;
    *ret_user_us = 3000000;
    *ret_system_us = 2000000;
    return 0;
}

void tc_broker_release(struct tc_broker *broker)
{
    uint64_t user_us, system_us;
    int status;

    tc_broker_kill(broker);
    tc_broker_reap(broker, &user_us, &system_us, &status);
    tc_cleanup_fd(&broker->pidfd);
    tc_cleanup_fd(&broker->channel);
    if (broker->counts != NULL)
        munmap(broker->counts, sizeof *broker->counts);
    *broker = (struct tc_broker)TC_BROKER_NONE;
}

const char *tc_broker_call_name(int number)
{
    return number == 257 ? "openat" : NULL;
}
