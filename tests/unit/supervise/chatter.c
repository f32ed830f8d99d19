/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file to stdout in pieces of random size: chatter FILE SEED [PIECE]. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[1 << 22];
    size_t most = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 5000;
    int file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
    ssize_t length = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    ssize_t done = 0;

    if (length < 0)
        return 1;
    srandom((unsigned)strtoul(argv[2], NULL, 10));
    while (done < length) {
        size_t piece = 1 + (size_t)random() % most;
        ssize_t written;

        if (piece > (size_t)(length - done))
            piece = (size_t)(length - done);
        written = write(STDOUT_FILENO, bytes + done, piece);
        if (written < 0)
            return 1;
        done += written;
        if (random() % 8 == 0)
            sched_yield();
    }
    _exit(0); /* without a sanitizer's search for leaks, which needs this pid namespace's /proc */
}
