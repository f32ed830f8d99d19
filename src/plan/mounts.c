/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

/* The kernel writes blank, tab, newline and backslash as three octal digits (seq_path, fs/proc_namespace.c). */
static void unescape_field(char *text)
{
    char *out = text;

    while (*text != '\0') {
        if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' && text[3] >= '0' &&
            text[3] <= '7') {
            *out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

static char *next_field(char **line)
{
    return strsep(line, " ");
}

/* "ID PARENT MAJOR:MINOR ROOT TARGET OPTIONS [TAG…] - TYPE SOURCE SUPER" (proc_pid_mountinfo(5)). */
static int parse_line(char *line, struct tc_mount *ret)
{
    char *id = next_field(&line);
    char *end;
    char *device, *root, *target, *field;

    next_field(&line);
    device = next_field(&line);
    root = next_field(&line);
    target = next_field(&line);
    do
        field = next_field(&line);
    while (field != NULL && strcmp(field, "-") != 0);
    ret->filesystem = next_field(&line);
    if (ret->filesystem == NULL)
        return -EBADMSG;
    next_field(&line);
    ret->options = next_field(&line);
    if (ret->options == NULL)
        ret->options = "";
    ret->id = strtoull(id, &end, 10);
    if (end == id || *end != '\0')
        return -EBADMSG;
    unescape_field(root);
    unescape_field(target);
    ret->device = device;
    ret->root = root;
    ret->target = target;
    return 0;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count + 1;
}

int tc_mounts_parse(struct tc_arena *arena, const char *text, size_t length, struct tc_mounts *ret,
                    struct tc_error *err)
{
    char *copy = tc_arena_copy(arena, text, length);
    struct tc_mount *list = copy == NULL ? NULL : tc_arena_array(arena, count_lines(copy), sizeof(*list));
    size_t count = 0;
    char *line;

    if (list == NULL)
        return tc_error_set(err, -ENOMEM, "read the mount table");
    while ((line = strsep(&copy, "\n")) != NULL) {
        if (*line == '\0')
            continue;
        if (parse_line(line, &list[count]) < 0)
            return tc_error_plain(err, -EBADMSG, "/proc/self/mountinfo: line %zu is malformed", count + 1);
        count++;
    }
    ret->list = list;
    ret->count = count;
    return 0;
}

/* A seq file that changes while it is read may tear; one large read keeps that window as small as it can be. */
static int read_table(struct tc_buf *out)
{
    tc_auto_fd fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    char chunk[1 << 16];
    ssize_t got;

    if (fd < 0)
        return -errno;
    while ((got = read(fd, chunk, sizeof(chunk))) != 0) {
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0)
            tc_buf_append(out, chunk, (size_t)got);
    }
    return tc_buf_failed(out) || out->data == NULL ? -ENOMEM : 0;
}

int tc_mounts_read(struct tc_arena *arena, struct tc_mounts *ret, struct tc_error *err)
{
    tc_auto_buf text = {0};
    int result = read_table(&text);

    if (result < 0) {
        tc_error_set(err, result, "read /proc/self/mountinfo");
        tc_error_hint(err, "toolcell needs /proc to know what is mounted where");
        return result;
    }
    return tc_mounts_parse(arena, text.data, text.length, ret, err);
}

const struct tc_mount *tc_mounts_find(const struct tc_mounts *mounts, uint64_t id)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->list[i].id == id)
            return &mounts->list[i];
    return NULL;
}

const struct tc_mount *tc_mounts_containing(const struct tc_mounts *mounts, const char *path)
{
    const struct tc_mount *best = NULL;

    for (size_t i = 0; i < mounts->count; i++) {
        const struct tc_mount *mount = &mounts->list[i];

        if (tc_path_below(path, mount->target) && (best == NULL || strlen(mount->target) >= strlen(best->target)))
            best = mount;
    }
    return best;
}

const char *tc_mounts_position(struct tc_arena *arena, const struct tc_mount *mount, const char *path)
{
    const char *relative = tc_path_relative(path, mount->target);
    const char *root = strcmp(mount->root, "/") == 0 ? "" : mount->root;

    if (relative == NULL || *relative == '\0')
        return tc_arena_printf(arena, "%s %s", mount->device, mount->root);
    return tc_arena_printf(arena, "%s %s/%s", mount->device, root, relative);
}

/* Directories that the kernel itself keeps empty for other file systems; mounts there hide nothing
 * (mnt_already_visible() in fs/namespace.c). */
static bool hides_proc(const char *target)
{
    return tc_path_below(target, "/proc") && strcmp(target, "/proc/sys/fs/binfmt_misc") != 0 &&
           strcmp(target, "/proc/fs/nfsd") != 0;
}

bool tc_mounts_proc_visible(const struct tc_mounts *mounts)
{
    bool found = false;

    for (size_t i = 0; i < mounts->count; i++) {
        const struct tc_mount *mount = &mounts->list[i];

        if (strcmp(mount->target, "/proc") == 0)
            found = strcmp(mount->filesystem, "proc") == 0 && strcmp(mount->root, "/") == 0;
        else if (found && hides_proc(mount->target))
            return false;
    }
    return found;
}

bool tc_position_below(const char *inner, const char *outer)
{
    size_t length = strlen(outer);

    if (strncmp(inner, outer, length) != 0)
        return false;
    return inner[length] == '\0' || inner[length] == '/' || (length > 0 && outer[length - 1] == '/');
}
