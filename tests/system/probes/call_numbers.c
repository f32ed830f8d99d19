/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Try every call number below 600, each in a child of its own, with arguments
 * of which all bits are set: no valid pointer, descriptor, size or flag. Print
 * "NUMBER ANSWER" lines; the answer is 0, an errno, or "signal N". Numbers to
 * leave out are the arguments.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBERS 600

static bool is_left_out(int number, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (atoi(argv[i]) == number)
            return true;
    return false;
}

/* Calls that wait end by the alarm; those that make a process leave it to end as its maker does. */
static void attempt(int number, int *answer)
{
    struct itimerval soon = {.it_value = {.tv_usec = 200000}};
    pid_t self = getpid();
    long result;

    setitimer(ITIMER_REAL, &soon, NULL);
    errno = 0;
    result = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
    if (getpid() == self)
        *answer = result == -1 ? errno : 0;
    _exit(0);
}

int main(int argc, char **argv)
{
    int *answer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (int number = 0; number < NUMBERS; number++) {
        int status = 0;
        pid_t child;

        if (is_left_out(number, argc, argv))
            continue;
        *answer = 0;
        child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            attempt(number, answer);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFSIGNALED(status))
            printf("%d signal %d\n", number, WTERMSIG(status));
        else
            printf("%d %d\n", number, *answer);
    }
    return 0;
}
