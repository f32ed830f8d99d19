/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal for the command (--tty), relayed to the caller's.
 *
 * Theory of operation. The terminal belongs to the cell (src/cell/pty.c). Its
 * slave is the command's three streams and its controlling terminal, so that a
 * shell inside has job control; its master is here, where it takes the place of
 * the pipes: input.c writes to it and stream.c reads from it, with the limits
 * and the patience that they have with pipes. All output is one stream then,
 * stdout. Where the command is to have no stdin it gets an empty one, not the
 * terminal.
 *
 * Where the caller's stdin is a terminal it is raw while the command runs: ^C,
 * ^Z and ^D are bytes, and the cell's terminal makes of them what its processes
 * have set. What the cell can do to a terminal it does to its own: the caller's
 * is no descriptor of the cell, and what arrives there is output.
 *
 * The caller's terminal is changed only while it is toolcell's. In the background
 * it is the shell's: then toolcell stops, as whoever reads there does, until the
 * shell hands it over and says so by SIGCONT. It is restored when all output was
 * shown, on every way out, and while toolcell is stopped by SIGTSTP. A toolcell
 * that is killed by SIGKILL leaves it raw, as any program does.
 *
 * The slave is held open here as well. So the master does not end whenever no
 * process happens to have the terminal open; as with pipes, what is empty when
 * everything is dead has ended.
 *
 * Invariants. The master is non-blocking, attributes are set without waiting for
 * output, so that nothing a cell does with its terminal makes anyone here wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "supervise/call.h"

#define ROWS 24 /* where the caller has no terminal: what is said of one that does not tell its size */
#define COLUMNS 80

static int duplicate(int fd, int *ret)
{
    *ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return *ret < 0 ? -errno : 0;
}

static void set_size(const struct tc_tty *tty)
{
    struct winsize size = {.ws_row = ROWS, .ws_col = COLUMNS};

    if (tty->sized >= 0)
        ioctl(tty->sized, TIOCGWINSZ, &size);
    ioctl(tty->master, TIOCSWINSZ, &size);
}

/* The keys are those the caller is used to; all else is as a new terminal has it, but that text is UTF-8 in a cell. */
static void set_attributes(const struct tc_tty *tty)
{
    struct termios attributes, callers;

    if (tcgetattr(tty->slave, &attributes) < 0)
        return;
    attributes.c_iflag |= IUTF8;
    if (tty->caller >= 0 && tcgetattr(tty->caller, &callers) == 0)
        memcpy(attributes.c_cc, callers.c_cc, sizeof attributes.c_cc);
    tcsetattr(tty->slave, TCSANOW, &attributes);
}

static void find_callers(struct tc_call *call)
{
    struct tc_tty *tty = &call->tty;

    for (int fd = STDERR_FILENO; fd >= 0; fd--)
        if (isatty(fd))
            tty->sized = fd;
    if (call->input.from >= 0 && isatty(STDIN_FILENO))
        tty->caller = STDIN_FILENO;
}

/* Neither does anything by default, so that it is enough to hear of them. The mask is undone with the other signals. */
static int open_signals(struct tc_call *call)
{
    sigset_t set;

    if (call->tty.sized < 0)
        return 0;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGCONT);
    call->tty.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (call->tty.signals < 0)
        return -errno;
    sigprocmask(SIG_BLOCK, &set, NULL);
    return tc_poller_watch(&call->poller, TC_SOURCE_RESIZE, call->tty.signals, EPOLLIN);
}

/* The command's ends, and ours of its input and output. */
static int open_ends(struct tc_call *call)
{
    struct tc_tty *tty = &call->tty;
    struct tc_stream *stream = &call->streams[TC_STREAM_STDOUT];
    int code = 0;

    if (call->ends[0] < 0) { /* not an empty stdin */
        code = duplicate(tty->slave, &call->ends[0]);
        if (code == 0)
            code = duplicate(tty->master, &call->input.to);
    }
    if (code == 0)
        code = duplicate(tty->slave, &call->ends[1]);
    if (code == 0)
        code = duplicate(tty->slave, &call->ends[2]);
    if (code == 0)
        code = duplicate(tty->master, &stream->fd);
    return code < 0 ? code : tc_poller_watch(&call->poller, TC_SOURCE_STDOUT, stream->fd, EPOLLIN);
}

/* A terminal that is not the controlling one knows no background (ENOTTY). */
static bool in_background(const struct tc_tty *tty)
{
    pid_t group = tcgetpgrp(tty->caller);

    return group >= 0 && group != getpgrp();
}

bool tc_tty_background(const struct tc_call *call)
{
    return call->tty.caller >= 0 && in_background(&call->tty);
}

/* SIGTTIN stops nobody in an orphaned process group, which no shell will continue: then nothing is read. */
static void await_foreground(const struct tc_call *call)
{
    if (tc_tty_background(call))
        raise(SIGTTIN);
}

int tc_tty_open(struct tc_call *call, struct tc_error *err)
{
    struct tc_tty *tty = &call->tty;
    int code;

    tty->master = tc_take_fd(&call->cell.master);
    tty->slave = tc_take_fd(&call->cell.slave);
    if (tty->master < 0) /* the child was killed, which is told where READY is awaited */
        return 0;
    find_callers(call);
    code = open_ends(call);
    if (code == 0)
        code = open_signals(call);
    if (code < 0)
        return tc_error_set(err, code, "--tty");
    await_foreground(call);
    set_attributes(tty);
    set_size(tty);
    return 0;
}

/* Should the terminal become another job's this moment, SIGTTOU must not stop toolcell, whose limits run on. */
static int apply(int fd, const struct termios *attributes)
{
    sigset_t set, before;
    int r;

    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, &before);
    r = tcsetattr(fd, TCSANOW, attributes);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

static void set_mode(struct tc_tty *tty, enum tc_tty_mode mode)
{
    struct termios attributes;

    if (tty->caller < 0 || in_background(tty))
        return;
    if (tty->mode == TC_TTY_ORDINARY && (mode != TC_TTY_RAW || tcgetattr(tty->caller, &tty->saved) < 0))
        return;
    attributes = tty->saved;
    if (mode == TC_TTY_RAW)
        cfmakeraw(&attributes);
    else if (mode == TC_TTY_ENDING)
        attributes.c_oflag &= ~(tcflag_t)OPOST; /* what comes has been through the cell's terminal */
    if (apply(tty->caller, &attributes) == 0)
        tty->mode = mode;
}

static void want(struct tc_call *call, enum tc_tty_mode mode)
{
    call->tty.wanted = mode;
    set_mode(&call->tty, mode);
}

void tc_tty_begin(struct tc_call *call)
{
    want(call, TC_TTY_RAW);
}

void tc_tty_settle(struct tc_call *call)
{
    want(call, TC_TTY_ENDING);
}

void tc_tty_restore(struct tc_call *call)
{
    want(call, TC_TTY_ORDINARY);
}

void tc_tty_pause(struct tc_call *call)
{
    set_mode(&call->tty, TC_TTY_ORDINARY);
}

void tc_tty_resume(struct tc_call *call)
{
    set_mode(&call->tty, call->tty.wanted);
}

void tc_tty_serve(struct tc_call *call)
{
    struct signalfd_siginfo info;

    while (read(call->tty.signals, &info, sizeof info) == (ssize_t)sizeof info)
        ;
    if (call->input.to >= 0)
        await_foreground(call);
    set_size(&call->tty);
    tc_tty_resume(call);
    if (call->exec_ms != 0)
        tc_input_pump(call);
}

/* On a line that was begun the first one only hands that over (termios(3), VEOF). */
bool tc_tty_end_input(struct tc_call *call)
{
    struct tc_tty *tty = &call->tty;
    struct tc_input *input = &call->input;
    struct termios attributes;
    bool begun = input->last != 0 && input->last != '\n' && input->last != '\r';

    if (tty->master < 0 || tty->ended || tcgetattr(tty->slave, &attributes) < 0 ||
        attributes.c_cc[VEOF] == _POSIX_VDISABLE)
        return false;
    tty->ended = true;
    tc_poller_drop(&call->poller, TC_SOURCE_INPUT_READ);
    tc_cleanup_fd(&input->from);
    tty->end[0] = tty->end[1] = (char)attributes.c_cc[VEOF];
    input->next = tty->end;
    input->length = begun && (attributes.c_lflag & ICANON) ? 2 : 1;
    return true;
}

void tc_tty_close(struct tc_call *call)
{
    tc_tty_restore(call);
    tc_poller_drop(&call->poller, TC_SOURCE_RESIZE);
    tc_cleanup_fd(&call->tty.signals);
    tc_cleanup_fd(&call->tty.slave);
    tc_cleanup_fd(&call->tty.master);
    call->tty.caller = call->tty.sized = TC_NO_FD;
}
