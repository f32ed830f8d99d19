/* SPDX-License-Identifier: Apache-2.0 */
#include "launder_tree.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cell.h"

void launder_tree_make(void)
{
    CELL_CHECK(mkdir("vault", 0755) == 0 && mkdir("locked", 0755) == 0 && mkdir("locked/empty", 0755) == 0);
    CELL_CHECK(mkdir(".git", 0755) == 0 && mkdir(".git/hooks", 0755) == 0 && mkdir("dir", 0755) == 0);
    CELL_CHECK(mkdir("secret", 0755) == 0);
    cell_file("a", "mine");
    cell_file(".env", "SECRET");
    cell_file("secret/.env", "SECRET");
    cell_file("vault/x", "SECRET");
    cell_file("locked/f", "LOCKED");
    CELL_CHECK(setxattr("locked/f", "user.set", "v", 1, 0) == 0);
    CELL_CHECK(symlink("vault", "alias") == 0 && symlink("vault/x", "tovault") == 0);
    CELL_CHECK(symlink("locked", "lockalias") == 0 && symlink("locked/f", "tolocked") == 0);
    CELL_CHECK(symlink("f", "locked/link") == 0);
}

static const char *const untouchable[] = {".env",     "secret/.env", "vault/x",      "locked",
                                          "locked/f", "locked/link", "locked/empty", ".git/hooks"};
_Static_assert(sizeof untouchable / sizeof *untouchable == LAUNDER_UNTOUCHABLE, "all of them");

void launder_tree_look(struct stat ret[LAUNDER_UNTOUCHABLE])
{
    for (size_t i = 0; i < LAUNDER_UNTOUCHABLE; i++)
        if (lstat(untouchable[i], &ret[i]) < 0)
            ret[i] = (struct stat){0};
}

bool launder_tree_untouched(const struct stat before[LAUNDER_UNTOUCHABLE], const char *but)
{
    struct stat after[LAUNDER_UNTOUCHABLE];

    launder_tree_look(after);
    for (size_t i = 0; i < LAUNDER_UNTOUCHABLE; i++) {
        if (but != NULL && strcmp(untouchable[i], but) == 0)
            continue;
        if (after[i].st_ino != before[i].st_ino || after[i].st_nlink != before[i].st_nlink ||
            memcmp(&after[i].st_ctim, &before[i].st_ctim, sizeof after[i].st_ctim) != 0) {
            fprintf(stderr, "touched %s\n", untouchable[i]);
            return false;
        }
    }
    return true;
}
