/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attempt to reach out of a cell: `attempt NAME ARGUMENT`. The exit status
 * is 0 when it got through and the errno when it was refused. A program of its
 * own without a C library, so that the same bytes run inside a cell with any
 * root file system, or none, and outside as the control.
 */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "doctor/attempt.h"
#include "kernel/raw.h"

static size_t length_of(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

static int is_same(const char *one, const char *other, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (one[i] != other[i])
            return 0;
    return 1;
}

static long number_of(const char *text)
{
    long number = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (*text - '0');
    return number;
}

static long read_file(const char *path)
{
    return tc_raw4(__NR_openat, AT_FDCWD, path, O_RDONLY, 0);
}

/* Anybody may put a link into the directory where this is tried. */
static long make_new_file(const char *path)
{
    return tc_raw4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

static long make_file(const char *path)
{
    return tc_raw4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
}

static long connect_loopback(const char *port)
{
    uint16_t number = (uint16_t)number_of(port);
    struct sockaddr_in address = {.sin_family = AF_INET};
    long fd = tc_raw3(__NR_socket, AF_INET, SOCK_STREAM, 0);

    address.sin_port = (uint16_t)(number << 8 | number >> 8);
    address.sin_addr.s_addr = 127 | 1 << 24;
    return fd < 0 ? fd : tc_raw3(__NR_connect, fd, &address, sizeof address);
}

static long connect_abstract(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = length_of(name);
    long fd = tc_raw3(__NR_socket, AF_UNIX, SOCK_STREAM, 0);

    if (length >= sizeof address.sun_path - 1)
        return -EINVAL;
    for (size_t i = 0; i < length; i++)
        address.sun_path[i + 1] = name[i];
    return fd < 0 ? fd : tc_raw3(__NR_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static long see_process(const char *pid)
{
    return tc_raw2(__NR_kill, number_of(pid), 0);
}

static long use_descriptor(const char *fd)
{
    return tc_raw3(__NR_fcntl, number_of(fd), F_GETFD, 0);
}

static long make_namespace(const char *unused)
{
    (void)unused;
    return tc_raw1(__NR_unshare, CLONE_NEWUSER);
}

static long set_id(const char *name)
{
    long fd = make_file(name);

    return fd < 0 ? fd : tc_raw2(__NR_fchmod, fd, 04755);
}

static long take_lease(const char *name)
{
    long fd = make_file(name);

    if (fd >= 0) { /* who has it open for writing gets no lease */
        tc_raw1(__NR_close, fd);
        fd = read_file(name);
    }
    return fd < 0 ? fd : tc_raw3(__NR_fcntl, fd, F_SETLEASE, F_RDLCK);
}

static long make_datagram(const char *unused)
{
    (void)unused;
    return tc_raw3(__NR_socket, AF_UNIX, SOCK_DGRAM, 0);
}

static long set_up_ring(const char *unused)
{
    uint64_t parameters[15] = {0}; /* struct io_uring_params has 120 bytes */

    (void)unused;
    return tc_raw2(__NR_io_uring_setup, 1, parameters);
}

static long name_handle(const char *path)
{
    struct {
        unsigned size;
        int type;
        unsigned char bytes[128];
    } handle = {.size = sizeof handle.bytes};
    int mount = 0;

    return tc_raw5(__NR_name_to_handle_at, AT_FDCWD, path, &handle, &mount, 0);
}

static long find_variable(char *const *environment)
{
    static const char wanted[] = TC_ATTEMPT_VARIABLE "=";

    for (; *environment != NULL; environment++)
        if (is_same(*environment, wanted, sizeof wanted - 1))
            return 0;
    return -ENOENT;
}

static const struct {
    const char *name;
    long (*run)(const char *argument);
} attempts[] = {
    {"host-file", read_file},
    {"host-write", make_new_file},
    {"loopback", connect_loopback},
    {"abstract-socket", connect_abstract},
    {"host-process", see_process},
    {"descriptor", use_descriptor},
    {"user-namespace", make_namespace},
    {"set-id", set_id},
    {"lease", take_lease},
    {"datagram", make_datagram},
    {"io-uring", set_up_ring},
    {"file-handle", name_handle},
};

static long attempt(const char *name, const char *argument, char *const *environment)
{
    if (is_same(name, "environment", sizeof "environment"))
        return find_variable(environment);
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        if (is_same(name, attempts[i].name, length_of(attempts[i].name) + 1))
            return attempts[i].run(argument);
    return -TC_ATTEMPT_UNKNOWN;
}

void tc_attempt_main(const long *stack) __attribute__((noreturn, used));
void tc_attempt_main(const long *stack)
{
    char *const *arguments = (char *const *)(stack + 1);
    long result = -TC_ATTEMPT_UNKNOWN;

    if (stack[0] == 3)
        result = attempt(arguments[1], arguments[2], arguments + 4);
    for (;;)
        tc_raw1(__NR_exit_group, result < 0 ? -result : 0);
}

#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall tc_attempt_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x30, xzr\n\tmov x0, sp\n\tbl tc_attempt_main\n\tbrk 1\n");
#endif
