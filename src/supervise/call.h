/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_SUPERVISE_CALL_H
#define TC_SUPERVISE_CALL_H

/* One call in progress, as the files of this layer share it. Inside the layer only. */

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/emit.h"
#include "broker/broker.h"
#include "cell/cell.h"
#include "supervise/approval.h"
#include "supervise/cpu.h"
#include "supervise/group.h"
#include "supervise/output.h"
#include "supervise/poller.h"
#include "supervise/signals.h"
#include "supervise/supervise.h"
#include "supervise/timers.h"

/* Where a call stands. It only ever moves down this list. */
enum tc_phase {
    TC_PHASE_BOOT,     /* no request has been sent to init */
    TC_PHASE_STARTING, /* EXEC was sent; STARTED or FAILED comes next */
    TC_PHASE_RUNNING,  /* the command runs */
    TC_PHASE_DYING,    /* the cell was killed; its pidfd tells when everything is dead */
    TC_PHASE_DRAINING, /* nothing lives; what is still in pipes and queues goes to its readers */
    TC_PHASE_CLOSING,  /* the result is queued, after everything else */
    TC_PHASE_DONE
};

enum tc_stream_index { TC_STREAM_STDOUT, TC_STREAM_STDERR, TC_STREAM_COUNT };
enum tc_sink_index { TC_SINK_STDOUT, TC_SINK_STDERR, TC_SINK_EVENTS, TC_SINK_COUNT };

#define TC_READ_SIZE (64u << 10)
#define TC_HELD_MAX 3 /* bytes of a character that is not complete */

/* One output stream of the command. */
struct tc_stream {
    int fd;              /* our end of the pipe, non-blocking; TC_NO_FD once it has ended */
    bool passed_through; /* goes to the caller's descriptor of the same number */
    uint64_t bytes;      /* read so far, delivered or not */
    char held[TC_HELD_MAX];
    size_t held_length; /* start of a character whose rest has not come; events only */
};

/* The command's input: from the caller's stdin or from memory into a pipe. */
struct tc_input {
    int from;         /* what is read, TC_NO_FD for memory */
    bool from_polled; /* a shared description that may only be read after poll */
    int to;           /* our end of the pipe, non-blocking; TC_NO_FD once done */
    char *buffer;     /* owned; NULL for memory */
    const char *next; /* what waits for the command */
    size_t length;
    char last; /* byte written, 0 before the first */
};

/* How the caller's terminal is set while it is relayed to one of the cell. */
enum tc_tty_mode {
    TC_TTY_ORDINARY, /* as the caller had it */
    TC_TTY_RAW,      /* every byte is for the command: the cell's terminal edits lines and makes signals */
    TC_TTY_ENDING    /* the command is dead, its output is still coming: ^C and ^Z are toolcell's again */
};

/* The command's terminal (--tty). All descriptors are TC_NO_FD without one. */
struct tc_tty {
    int master;  /* non-blocking; input and stream have duplicates */
    int slave;   /* held, so that output does not end before the cell does */
    int signals; /* a signalfd for WINCH and CONT, where there is a terminal of the caller's */
    int caller;  /* the caller's terminal that is relayed, borrowed */
    int sized;   /* the caller's terminal that the size is taken from, borrowed */
    enum tc_tty_mode mode, wanted;
    struct termios saved; /* with a mode that is not ordinary */
    bool ended;           /* the end of the input was typed */
    char end[2];
};

/* An answer that the broker has had no room for yet. */
struct tc_pending_answer {
    uint32_t ask, note;
    bool allow;
};

/* The broker beside the cell, where the rules need one. */
struct tc_mediation {
    struct tc_broker broker;           /* TC_BROKER_NONE before its start */
    int listener;                      /* until there is a broker to hand it to */
    bool ended;                        /* the broker is dead, be it reaped or not */
    uint64_t user_us, system_us;       /* processor time of a broker that has ended */
    uint64_t own_denials;              /* that are not the broker's */
    struct tc_pending_answer *pending; /* owned */
    size_t pending_count, pending_room;
    unsigned told;       /* events `denied` */
    struct tc_buf lines; /* the first denials, for people */
    unsigned line_count;
    size_t but_one; /* where the last of them begins */
};

struct tc_call {
    const struct tc_plan *plan; /* borrowed; NULL in a report without one */
    const struct tc_report *report;
    struct tc_result *result;
    enum tc_phase phase;
    bool decided;         /* result->outcome holds: the first cause wins */
    bool ended;           /* init told how the command ended, or why it did not start */
    bool emptied;         /* every process of the cell is dead */
    bool stuck;           /* killed processes do not die: the cell cannot be reaped */
    int cancelled_by;     /* signal number, or 0 */
    bool reader_gone;     /* some reader has gone away */
    uint64_t exec_ms;     /* when EXEC was sent, 0 before */
    struct tc_cpu cpu;    /* as last looked at */
    uint64_t delivered;   /* bytes of output within the limit */
    uint64_t thrown_away; /* bytes beyond it */

    struct tc_group *group;   /* its control groups, or NULL */
    struct tc_launch *launch; /* until the cell is built, or NULL */
    struct tc_cell cell;
    struct tc_poller poller;
    struct tc_timers timers;
    struct tc_signals signals;
    struct tc_mediation mediation;
    struct tc_approval approval;
    struct tc_tty tty;
    int ends[3]; /* the command's own streams, until it is started */
    struct tc_input input;
    struct tc_stream streams[TC_STREAM_COUNT];
    struct tc_sink sinks[TC_SINK_COUNT];
    bool carries[TC_SINK_COUNT]; /* the sink has a reader whose end cancels the call and who is waited for */
    struct tc_buf line;          /* an event being written */
    char *chunk;                 /* TC_HELD_MAX + TC_READ_SIZE bytes, borrowed */
};

/* loop.c */

/** Serve a call until it is done. 0, or -errno when waiting itself fails. */
int tc_call_loop(struct tc_call *call);

/** The loop itself cannot run: kill, and deliver the result as far as that is possible without waiting. */
void tc_call_abandon(struct tc_call *call, const struct tc_error *error);

/** Serve the signals that have come. */
void tc_call_signals(struct tc_call *call);

/** Look at the CPU time, end the call when it is used up, and say when to look again. 0 or -errno: it is not shown. */
int tc_call_look_at_cpu(struct tc_call *call);

/** Settle the outcome unless an earlier cause has. */
void tc_call_decide(struct tc_call *call, enum tc_outcome outcome);

/** toolcell or the host failed: settle that unless an earlier cause has, and kill everything now. */
void tc_call_fail(struct tc_call *call, const struct tc_error *error);

/** When both the cell and the broker are dead, go on to hand over what is left. */
void tc_call_see_end(struct tc_call *call);

/** Settle the outcome and kill everything now. */
void tc_call_end(struct tc_call *call, enum tc_outcome outcome);

/** The reader of a stream or of the events has gone: cancels the call, except with --keep-going. */
void tc_call_reader_gone(struct tc_call *call, const struct tc_sink *sink);

/** True while a limit is set; its value in *ret. */
bool tc_call_limit(const struct tc_call *call, enum tc_limit limit, uint64_t *ret);

/* run.c */

/** Have the command started: the cell is up, and nothing speaks against it any more. */
int tc_call_start(struct tc_call *call, struct tc_error *err);

/* delivery.c */

/** Take up what the poller says of the sinks. */
void tc_delivery_serve(struct tc_call *call);

/** See whether the last phases are over, and set what is to be waited for next. */
void tc_delivery_advance(struct tc_call *call);

/** Queue the result and the lines for people. False when the events' reader is behind. */
bool tc_delivery_conclude(struct tc_call *call);

/** Leave behind whoever still has not read everything. */
void tc_delivery_give_up(struct tc_call *call);

/* input.c */

/**
 * Open the command's stdin.
 * @param ret  the command's end, owned by the caller; left alone where it will be the terminal
 * @return 0 or -errno; -EINVAL: the caller's stdin is of a kind that is not relayed
 */
int tc_input_open(struct tc_call *call, int *ret, struct tc_error *err);

/** Move bytes as far as that is possible without waiting. */
void tc_input_pump(struct tc_call *call);
void tc_input_close(struct tc_call *call);

/* stream.c */

/** Make the pipe of one output stream; *ret, the command's end, is owned by the caller. 0 or -errno. */
int tc_stream_open(struct tc_call *call, enum tc_stream_index index, int *ret, struct tc_error *err);

/** Read once and hand on, if there is room. */
void tc_stream_pump(struct tc_call *call, enum tc_stream_index index);

/** Wait for output where there is room for it, leave the pipe alone where there is none. */
void tc_stream_watch(struct tc_call *call, enum tc_stream_index index);
void tc_stream_close(struct tc_call *call, enum tc_stream_index index);

/* tty.c: all but tc_tty_open() do nothing in a call without a terminal. */

/** Take the terminal of a cell that is built as the command's streams. 0 or -errno. */
int tc_tty_open(struct tc_call *call, struct tc_error *err);

/** The command is on its way: what is typed is for it. */
void tc_tty_begin(struct tc_call *call);

/** Take up a new size, and the caller's terminal where it has become toolcell's again. */
void tc_tty_serve(struct tc_call *call);

/** Leave the caller's terminal as it was while toolcell is stopped; take it up again. */
void tc_tty_pause(struct tc_call *call);
void tc_tty_resume(struct tc_call *call);

/** True while somebody else's job has the caller's terminal: reading it would stop toolcell. */
bool tc_tty_background(const struct tc_call *call);

/** The caller's input has ended: have that typed as the next input. False when it has been, or there is no terminal. */
bool tc_tty_end_input(struct tc_call *call);

/** Nothing is typed any more, what was written is still shown. */
void tc_tty_settle(struct tc_call *call);

/** All is shown: leave the caller's terminal as it was. */
void tc_tty_restore(struct tc_call *call);
void tc_tty_close(struct tc_call *call);

/* mediation.c */

/** Start the broker where calls will be stopped for it right from the start. */
int tc_mediation_start(struct tc_call *call, struct tc_error *err);

/** Take the listener that init has handed over (call->cell.listener). */
void tc_mediation_listen(struct tc_call *call);

/** Take up what the poller says of broker and listener. */
void tc_mediation_serve(struct tc_call *call);

/** Hear what the broker says, as far as there is room to tell it. */
void tc_mediation_pump(struct tc_call *call);

/** Listen to the broker where there is room to tell what it says, else leave it alone. */
void tc_mediation_watch(struct tc_call *call);

/** Answer a question of the broker. */
void tc_mediation_answer(struct tc_call *call, uint32_t ask, bool allow, enum tc_ask_why why);

/** Everything is dead that it could serve: kill it. */
void tc_mediation_kill(struct tc_call *call);

/** True when there is no broker (any more). */
bool tc_mediation_dead(const struct tc_call *call);

/** True when all that the broker has said was taken up. */
bool tc_mediation_told(const struct tc_call *call);

/** Its reader is too slow: what the broker still has to say stays untold. */
void tc_mediation_hush(struct tc_call *call);

/** Processor time of a living broker, milliseconds. */
uint64_t tc_mediation_cpu_ms(const struct tc_call *call);

/** Denials so far, told or not. */
uint64_t tc_mediation_denials(const struct tc_call *call);

void tc_mediation_close(struct tc_call *call);

/* usage.c */

/** Bring call->cpu up to date. 0, or -errno: nothing shows it. */
int tc_usage_cpu(struct tc_call *call);

/** Take up the bytes that a dead cell has read and written, before its init is reaped. */
void tc_usage_io(struct tc_call *call);

/** Take up what the control groups of a dead cell tell, over what was found without them. */
void tc_usage_group(struct tc_call *call);

/* denial.c */

/** True when one more event of any size fits. */
bool tc_denial_room(const struct tc_call *call);

/** The ruleset that a rule's position counts in, or NULL when the position is none. */
const struct tc_ruleset *tc_denial_ruleset(const struct tc_plan *plan, const struct tc_rule_ref *ref);

/** True when the event in call->line leaves room for its end. */
bool tc_denial_fits(const struct tc_call *call, bool brief);

/** The command may not start: the call ends as refused. */
void tc_denial_refuse(struct tc_call *call, const struct tc_broker_message *about, enum tc_ask_why why);

/** Tell that something was denied; the first 100 in full. */
void tc_denial_tell(struct tc_call *call, const struct tc_broker_message *denied);

/** Write the members that `ask` and `denied` share: operation, target, to, rule. Of long rules the beginning only. */
void tc_denial_emit(struct tc_emit *emit, const struct tc_call *call, const struct tc_broker_message *about,
                    bool brief);

/** Append who or what is concerned, for people: "read /workspace/.env: rule *.pem (workspace): secrets". */
void tc_denial_describe(const struct tc_call *call, const struct tc_broker_message *about, struct tc_buf *out);

/** Append the lines that people read at the end. */
void tc_denial_messages(const struct tc_call *call, struct tc_buf *out);

/* event.c */

#define TC_EVENT_LINE_MAX (64u << 10) /* bytes, the newline included */

/** Begin an event in call->line. */
struct tc_emit tc_event_begin(struct tc_call *call, const char *name);

/** Finish the line and queue it. False when there is no room for it. */
bool tc_event_end(struct tc_call *call, struct tc_emit *emit);

#define TC_LABEL_BYTES 8192u /* in all labels: escaped, they still fit into the line of an event */

/** Bytes in all labels of a plan (NULL: none). Labels beyond TC_LABEL_BYTES are left out of events. */
size_t tc_event_label_bytes(const struct tc_plan *plan);

void tc_event_start(struct tc_call *call);

/** Write output as one or more events. The room was made sure of: tc_event_budget(). */
void tc_event_output(struct tc_call *call, enum tc_stream_index index, const char *bytes, size_t length);

/** How many bytes of output surely fit into room bytes of events. */
size_t tc_event_budget(size_t room);

/** Put the result on the queue of events. False when there is no room for it yet. */
bool tc_event_result(struct tc_call *call);

/* result.c */

#define TC_SIGNAL_NAME_SIZE 24

/** Take up how the command ended. False when init cannot have said that. */
bool tc_result_exited(struct tc_call *call, const struct tc_init_reply *reply);

/** Take up why the command could not be started. */
void tc_result_failed(struct tc_call *call, const struct tc_init_reply *reply);

/** The host or toolcell failed. Settles the outcome unless it is settled. */
void tc_result_setup_failed(struct tc_call *call, const struct tc_error *error);

/** Word how a process of ours went: its status, or reaped, negative, when that could not be had. who: "the broker". */
void tc_result_word_death(struct tc_error *error, const char *who, int reaped, int status);

/** A reader did not get everything: says why, where the reader did not simply leave. */
void tc_result_undelivered(struct tc_call *call, const struct tc_sink *sink);

/** Everything is dead: usage, and what only that tells. */
void tc_result_complete(struct tc_call *call);

/** Settle what delivery tells, the counts and result->status. Called again when something changed. */
void tc_result_set_status(struct tc_call *call);

/** "SIGKILL", "SIGRTMIN+3": writes the name of a signal and returns it. */
const char *tc_signal_name(int signal, char name[TC_SIGNAL_NAME_SIZE]);

/** Append the lines that people read on stderr. */
void tc_result_messages(const struct tc_call *call, struct tc_buf *out);

#endif
