/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/attempt.h"

#define INHERITED_FROM 100 /* above what a program may find open by chance */
#define FIRST_PID 64       /* a cell's own processes have lower numbers */
#define PID_ATTEMPTS 128

static int write_file(const char *path, const void *bytes, size_t length, mode_t mode)
{
    tc_auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

    if (fd < 0)
        return -errno;
    if (write(fd, bytes, length) != (ssize_t)length)
        return -EIO;
    return fchmod(fd, mode) < 0 ? -errno : 0;
}

/*
 * Permissions that let everybody in, so that they are not what refuses. But for one directory, where nothing is
 * executed or followed, nobody else may change anything: the control runs from here with the caller's rights.
 */
static int set_files(struct tc_stage *stage, struct tc_error *err)
{
    const char *parent = getenv("TMPDIR");
    int r = 0;

    if (parent == NULL || parent[0] != '/' || strlen(parent) > 200)
        parent = "/tmp";
    snprintf(stage->directory, sizeof stage->directory, "%s/toolcell-selftest-XXXXXX", parent);
    if (mkdtemp(stage->directory) == NULL) {
        stage->directory[0] = '\0';
        return tc_error_set(err, -errno, "make a directory in '%s'", parent);
    }
    snprintf(stage->work, sizeof stage->work, "%s/work", stage->directory);
    snprintf(stage->program, sizeof stage->program, "%s/attempt", stage->work);
    snprintf(stage->secret, sizeof stage->secret, "%s/secret", stage->directory);
    snprintf(stage->open, sizeof stage->open, "%s/open", stage->directory);
    snprintf(stage->created, sizeof stage->created, "%s/created", stage->open);
    if (chmod(stage->directory, 0755) < 0 || mkdir(stage->work, 0755) < 0 || mkdir(stage->open, 0777) < 0 ||
        chmod(stage->open, 0777) < 0)
        r = -errno;
    if (r == 0)
        r = write_file(stage->program, tc_attempt_image, tc_attempt_image_size, 0755);
    if (r == 0)
        r = write_file(stage->secret, "secret", strlen("secret"), 0644);
    return r < 0 ? tc_error_set(err, r, "prepare '%s'", stage->directory) : 0;
}

static int listen_on(int family, const void *address, socklen_t length)
{
    tc_auto_fd fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, address, length) < 0 || listen(fd, 8) < 0)
        return -errno;
    return tc_take_fd(&fd);
}

/* A host without one of them has no such door; the control will tell. */
static void set_listeners(struct tc_stage *stage)
{
    struct sockaddr_in internet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    socklen_t length = sizeof internet;

    stage->listeners[0] = listen_on(AF_INET, &internet, sizeof internet);
    if (stage->listeners[0] >= 0 && getsockname(stage->listeners[0], (struct sockaddr *)&internet, &length) == 0)
        snprintf(stage->port, sizeof stage->port, "%u", (unsigned)ntohs(internet.sin_port));
    snprintf(stage->name, sizeof stage->name, "toolcell-selftest-%d", (int)getpid());
    memcpy(local.sun_path + 1, stage->name, strlen(stage->name));
    length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(stage->name));
    stage->listeners[1] = listen_on(AF_UNIX, &local, length);
}

static void wait_for_death(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0)
        while (getppid() == parent)
            poll(NULL, 0, -1);
    _exit(0);
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int set_process(struct tc_stage *stage, struct tc_error *err)
{
    pid_t parent = getpid();

    for (int i = 0; i < PID_ATTEMPTS && stage->pid < FIRST_PID; i++) {
        if (stage->pid > 0)
            end_process(stage->pid);
        stage->pid = fork();
        if (stage->pid == 0)
            wait_for_death(parent);
        if (stage->pid < 0)
            return tc_error_set(err, -errno, "start a process");
    }
    snprintf(stage->process, sizeof stage->process, "%d", (int)stage->pid);
    return 0;
}

static int set_descriptor(struct tc_stage *stage, struct tc_error *err)
{
    tc_auto_fd directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    stage->inherited = directory < 0 ? -errno : fcntl(directory, F_DUPFD, INHERITED_FROM);
    if (stage->inherited < 0)
        return tc_error_set(err, -errno, "open a directory");
    snprintf(stage->descriptor, sizeof stage->descriptor, "%d", stage->inherited);
    return 0;
}

int tc_stage_set(struct tc_stage *ret, struct tc_error *err)
{
    int r = set_files(ret, err);

    if (r == 0)
        r = set_process(ret, err);
    if (r == 0)
        r = set_descriptor(ret, err);
    if (r == 0 && setenv(TC_ATTEMPT_VARIABLE, "secret", 1) < 0)
        r = tc_error_set(err, -errno, "set a variable");
    if (r == 0)
        set_listeners(ret);
    return r;
}

void tc_stage_strike(struct tc_stage *stage)
{
    static const char *const names[] = {"attempt", "set-id", "lease"};
    char path[320];

    for (size_t i = 0; i < TC_COUNT(names) && stage->work[0] != '\0'; i++) {
        snprintf(path, sizeof path, "%s/%s", stage->work, names[i]);
        unlink(path);
    }
    if (stage->directory[0] != '\0') {
        rmdir(stage->work);
        unlink(stage->secret);
        unlink(stage->created);
        rmdir(stage->open);
        rmdir(stage->directory);
    }
    if (stage->pid > 0)
        end_process(stage->pid);
    tc_cleanup_fd(&stage->listeners[0]);
    tc_cleanup_fd(&stage->listeners[1]);
    tc_cleanup_fd(&stage->inherited);
    unsetenv(TC_ATTEMPT_VARIABLE);
}
