/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking at the caller's terminal (--ask tty), one question at a time.
 *
 * The terminal is the caller's /dev/tty, whatever the streams are. What was
 * typed before a question is shown is thrown away: it was no answer to it. Lines
 * are read as a terminal edits them, with ^C and ^Z as always; a terminal that
 * is set otherwise is set so for as long as a question is shown.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervise/call.h"

#define EDITED (ICANON | ECHO | ISIG)

/* From the background a terminal cannot be read, and must not stop toolcell either, whose limits run on. */
static void block_job_control(struct tc_terminal *terminal)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTTIN);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, &terminal->saved_mask);
}

int tc_terminal_open(struct tc_call *call, struct tc_error *err)
{
    struct tc_terminal *terminal = &call->approval.terminal;
    int code;

    terminal->fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (terminal->fd < 0) {
        tc_error_set(err, -errno, "--ask tty: open /dev/tty");
        return tc_error_hint(err, "without a terminal: --ask fd:N or --ask deny");
    }
    block_job_control(terminal);
    code = tc_poller_watch(&call->poller, TC_SOURCE_ANSWER, terminal->fd, 0);
    return code < 0 ? tc_error_set(err, code, "--ask tty") : 0;
}

/* What does not fit is lost: a terminal that takes nothing shows nothing. */
static void put(const struct tc_terminal *terminal, const struct tc_buf *text)
{
    if (!tc_buf_failed(text) && text->length > 0)
        (void)!write(terminal->fd, text->data, text->length);
}

static void restore(struct tc_terminal *terminal)
{
    if (terminal->changed)
        tcsetattr(terminal->fd, TCSANOW, &terminal->saved);
    terminal->changed = false;
}

static void prepare(struct tc_terminal *terminal)
{
    struct termios edited;

    tcflush(terminal->fd, TCIFLUSH);
    if (terminal->changed || tcgetattr(terminal->fd, &terminal->saved) < 0 ||
        ((terminal->saved.c_lflag & EDITED) == EDITED && (terminal->saved.c_iflag & ICRNL) != 0))
        return;
    edited = terminal->saved;
    edited.c_lflag |= EDITED;
    edited.c_iflag |= ICRNL;
    edited.c_oflag |= OPOST;
    terminal->changed = tcsetattr(terminal->fd, TCSANOW, &edited) == 0;
}

static void show(struct tc_call *call, const struct tc_open_ask *ask)
{
    struct tc_terminal *terminal = &call->approval.terminal;
    uint64_t now = tc_clock_ms();
    tc_auto_buf text = {0};

    prepare(terminal);
    tc_buf_string(&text, "\ntoolcell: the rules ask: ");
    tc_denial_describe(call, ask->about, &text);
    tc_buf_printf(&text, "\n  allow it [o]nce, for this [c]all, or [n]ot at all? (%" PRIu64 " s) ",
                  ask->until_ms > now ? (ask->until_ms - now + 999) / 1000 : 0);
    put(terminal, &text);
    terminal->shown = ask->number;
    tc_poller_watch(&call->poller, TC_SOURCE_ANSWER, terminal->fd, EPOLLIN);
}

void tc_terminal_refresh(struct tc_call *call)
{
    struct tc_terminal *terminal = &call->approval.terminal;
    const struct tc_open_ask *next = tc_approval_oldest(call);

    if (terminal->fd < 0 || (terminal->shown != 0 && tc_approval_is_open(call, terminal->shown)))
        return;
    terminal->shown = 0;
    if (next != NULL) {
        show(call, next);
        return;
    }
    restore(terminal);
    tc_poller_watch(&call->poller, TC_SOURCE_ANSWER, terminal->fd, 0);
}

/* One line is an answer; anything else asks again. */
static void take_line(struct tc_call *call, const char *line, size_t length)
{
    struct tc_terminal *terminal = &call->approval.terminal;
    struct tc_answer answer = {.ask = terminal->shown};
    tc_auto_buf again = {0};

    while (length > 0 && isspace((unsigned char)*line)) {
        line++;
        length--;
    }
    switch (length > 0 ? tolower((unsigned char)*line) : 0) {
    case 'c':
        answer.keep = true;
        answer.allow = true;
        break;
    case 'o':
        answer.allow = true;
        break;
    case 'n':
        break;
    default:
        tc_buf_string(&again, "  [o]nce, [c]all or [n]o? ");
        put(terminal, &again);
        return;
    }
    tc_approval_answer(call, &answer);
}

void tc_terminal_serve(struct tc_call *call)
{
    struct tc_terminal *terminal = &call->approval.terminal;
    char bytes[256];
    ssize_t length;

    if (terminal->shown == 0) { /* a hangup, since nothing else is waited for */
        tc_approval_gone(call);
        return;
    }
    length = read(terminal->fd, bytes, sizeof bytes);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length < 0)
        tc_approval_gone(call);
    else if (length == 0) /* ^D */
        tc_approval_answer(call, &(struct tc_answer){.ask = terminal->shown});
    else
        take_line(call, bytes, (size_t)length);
}

void tc_terminal_close(struct tc_call *call)
{
    struct tc_terminal *terminal = &call->approval.terminal;

    if (terminal->fd < 0)
        return;
    restore(terminal);
    tc_poller_drop(&call->poller, TC_SOURCE_ANSWER);
    tc_cleanup_fd(&terminal->fd);
    terminal->shown = 0;
    sigprocmask(SIG_SETMASK, &terminal->saved_mask, NULL);
}
