/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/cleanup.h"
#include "cell/launch.h"
#include "kernel/file.h"

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
    r = tc_file_make_directory(parent, name, step->mode);
    if (r < 0 && r != -EEXIST)
        return tc_error_set(err, r, "make the directory '%s' in the cell", step->target);
    if (step->access == 0)
        return 0;
    made = tc_file_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    r = made < 0 ? made : tc_rules_allow(child, made, true, step->access);
    return r < 0 ? tc_error_set(err, r, "add the Landlock rule of '%s'", step->target) : 0;
}

int tc_entry_symlink(struct tc_child *child, const struct tc_step *step, struct tc_error *err)
{
    const char *name = "";
    int parent = tc_target_parent(child, step, &name, err);
    int r;

    if (parent < 0)
        return parent;
    r = (int)tc_raw3(__NR_symlinkat, step->text, parent, name);
    if (r < 0)
        return tc_error_set(err, r, "make the link '%s' in the cell", step->target);
    return 0;
}

static int write_text(int fd, const char *text, size_t length)
{
    while (length > 0) {
        long written = tc_file_write(fd, text, length);

        if (written < 0)
            return (int)written;
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
    file = tc_file_open(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, step->mode);
    r = file < 0 ? file : write_text(file, step->text, step->text_length);
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
        long got = tc_file_read(from, buffer, sizeof buffer);
        int r;

        if (got < 0)
            return (int)got;
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
    file = tc_file_open(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, step->mode);
    r = file < 0 ? file : copy_content(source, file);
    if (r == 0)
        r = tc_rules_allow(child, file, false, step->access);
    return r < 0 ? tc_error_set(err, r, "copy '%s' into the cell", step->source) : 0;
}
