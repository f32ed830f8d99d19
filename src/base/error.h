/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_ERROR_H
#define TC_BASE_ERROR_H

/**
 * One failure, with the words a user reads.
 *
 * Fixed size and free of pointers, so that a child process can send it through
 * a pipe as it is. Leaf wrappers of system calls return -errno and take no
 * error; whoever knows what was attempted fills one in, and callers on the way
 * up prefix what they were doing. It is printed once, at the edge.
 */
struct tc_error {
    int code;          /* -errno, always negative once set; 0 while unset */
    char stage[24];    /* where setup stopped ("request", "policy", "mounts", ...), for the result */
    char message[512]; /* "what: why", one line, never ends in a newline */
    char hint[256];    /* a remedy, or empty */
};

/**
 * Set an error: the formatted text, followed by ": strerror(-code)".
 *
 * @param err     filled in; may be NULL when the caller only wants the code
 * @param code    -errno
 * @param format  what was attempted, e.g. "open '%s'"
 * @return code, so that callers can write `return tc_error_set(...)`
 */
int tc_error_set(struct tc_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Like tc_error_set(), but the text is the whole message: no strerror is added. Returns code. */
int tc_error_plain(struct tc_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Prefix an error that is already set: "prefix: message". Returns its code. */
int tc_error_wrap(struct tc_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Attach a remedy to an error that is already set. Returns its code. */
int tc_error_hint(struct tc_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * Attach the general remedy to an error that has none, where there is one: for
 * ENOSYS, that the kernel or what is around toolcell lacks a system call.
 * Returns its code.
 */
int tc_error_hint_general(struct tc_error *err);

/** Name the stage unless an inner one is named already. Returns its code. */
int tc_error_stage(struct tc_error *err, const char *stage);

#endif
