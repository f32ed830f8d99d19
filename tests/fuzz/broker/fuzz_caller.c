/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Strings read out of a caller's memory, here this process's own: at any place
 * in a page, before memory that is not there, of any length. The first two
 * bytes say how far before the end of the memory the string begins.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "broker/caller.h"

#define PAGES 4
#define SIZE (PAGES * 4096u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The kernel holds no call here; what is read is this process. */
bool tc_stopped_valid(const struct tc_stopped *stopped)
{
    return stopped->tid == getpid();
}

static char *make_memory(void)
{
    char *memory = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || munmap(memory + SIZE, 4096) < 0)
        abort();
    return memory;
}

static void check(struct tc_stopped *stopped, const char *string, size_t room)
{
    char *buffer = malloc(PATH_MAX);
    size_t expected = strnlen(string, room), length = 0;
    int r;

    if (buffer == NULL)
        return;
    r = tc_caller_string(stopped, (uintptr_t)string, buffer, &length);
    if (expected >= PATH_MAX ? r != -ENAMETOOLONG : expected == room ? r != -EFAULT : r != 0)
        abort();
    if (r == 0 && (length != expected || memcmp(buffer, string, expected + 1) != 0))
        abort();
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_broker_state state;
    static char *memory;
    struct tc_stopped stopped = {.state = &state, .tid = getpid(), .pidfd = TC_NO_FD};
    size_t before;

    if (memory == NULL)
        memory = make_memory();
    if (size < 2)
        return 0;
    before = (data[0] | (size_t)data[1] << 8) % SIZE + 1;
    data += 2;
    size -= 2;
    memset(memory, 'x', SIZE);
    memcpy(memory + SIZE - before, data, size < before ? size : before);
    check(&stopped, memory + SIZE - before, before);
    return 0;
}
