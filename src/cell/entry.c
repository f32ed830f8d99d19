/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cell/launch.h"

/* What the plan puts into the private tree itself: directories, links and small files. All of it belongs to the cell's
 * user and turns read-only with the tree. */

int tc_entry_directory(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const char *name = "";
    int parent = tc_target_parent(child, step, &name, err);
    tc_auto_fd made = TC_NO_FD;
    int r;

    if (parent < 0)
        return parent;
    if (mkdirat(parent, name, step->mode) < 0 && errno != EEXIST)
        return tc_error_set(err, -errno, "make the directory '%s' in the cell", step->target);
    if (step->access == 0)
        return 0;
    made = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = made < 0 ? -errno : tc_rules_allow(child, made, true, step->access);
    return r < 0 ? tc_error_set(err, r, "add the Landlock rule of '%s'", step->target) : 0;
}

int tc_entry_symlink(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const char *name = "";
    int parent = tc_target_parent(child, step, &name, err);

    if (parent < 0)
        return parent;
    if (symlinkat(step->text, parent, name) < 0)
        return tc_error_set(err, -errno, "make the link '%s' in the cell", step->target);
    return 0;
}

static int write_text(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);

        if (written < 0)
            return -errno;
        text += written;
        length -= (size_t)written;
    }
    return 0;
}

int tc_entry_file(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const char *name = "";
    int parent = tc_target_parent(child, step, &name, err);
    tc_auto_fd file = TC_NO_FD;
    int r;

    if (parent < 0)
        return parent;
    file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step->mode);
    r = file < 0 ? -errno : write_text(file, step->text, step->text_length);
    if (r == 0)
        r = tc_rules_allow(child, file, false, step->access);
    return r < 0 ? tc_error_set(err, r, "make the file '%s' in the cell", step->target) : 0;
}

/* Read with the cell's own id, which root's rights to the file do not reach. */
static int copy_content(int from, int to)
{
    char buffer[16384];
    size_t left = TC_COPY_LIMIT;

    for (;;) {
        ssize_t got = read(from, buffer, sizeof buffer);
        int r;

        if (got < 0)
            return -errno;
        if (got == 0)
            return 0;
        if ((size_t)got > left)
            return -EFBIG;
        left -= (size_t)got;
        r = write_text(to, buffer, (size_t)got);
        if (r < 0)
            return r;
    }
}

int tc_entry_copy(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const char *name = "";
    tc_auto_fd source = tc_source_read(step, err);
    tc_auto_fd file = TC_NO_FD;
    int parent, r;

    if (source < 0)
        return source;
    parent = tc_target_parent(child, step, &name, err);
    if (parent < 0)
        return parent;
    file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step->mode);
    r = file < 0 ? -errno : copy_content(source, file);
    if (r == 0)
        r = tc_rules_allow(child, file, false, step->access);
    return r < 0 ? tc_error_set(err, r, "copy '%s' into the cell", step->source) : 0;
}
