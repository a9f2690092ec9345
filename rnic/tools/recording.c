/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "pcapng/pcapng_join.h"
#include "tools/scratch.h"

#define WAIT_NS   UINT64_C(1000000000) /* maximum wait for processes that still record, ns */
#define PERIOD_NS 10000000

int recording_begin(const char *path, struct run_folder *folder, struct error *error)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s.XXXXXX", path) < (int)sizeof(name) &&
        run_folder_create(folder, name, error) == 0)
        return 0;
    /* The name must not begin as the name of a scratch folder does, because the next rnic-run
     * deletes the scratch folders that a killed rnic-run left. */
    snprintf(name, sizeof(name), "%s/rnic-record-XXXXXX", scratch_folder());
    return run_folder_create(folder, name, error);
}

/* Returns whether a process still records to the file. */
static bool is_growing(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool growing = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

    if (fd >= 0)
        close(fd);
    return growing;
}

static bool any_is_growing(const glob_t *found)
{
    for (size_t i = 0; i < found->gl_pathc; i++)
        if (is_growing(found->gl_pathv[i]))
            return true;
    return false;
}

/* Finds the files of a recording. First waits, for at most WAIT_NS, until no process writes to
 * them. */
static void find_files(const char *folder, glob_t *found)
{
    const struct timespec period = {.tv_nsec = PERIOD_NS};
    char pattern[PATH_MAX + sizeof("/*.pcapng")];

    snprintf(pattern, sizeof(pattern), "%s/*.pcapng", folder);
    for (uint64_t waited = 0;; waited += PERIOD_NS) {
        if (glob(pattern, 0, NULL, found) != 0)
            *found = (glob_t){0};
        if (waited >= WAIT_NS || !any_is_growing(found))
            return;
        globfree(found);
        nanosleep(&period, NULL);
    }
}

static int write_file(const char *path, const glob_t *found, const char *comment,
                      struct error *error)
{
    FILE *out = fopen(path, "we");
    int rc;

    if (!out)
        return error_set(error, "%s: %s", path, strerror(errno));
    rc = pcapng_join(out, found->gl_pathv, (unsigned)found->gl_pathc, comment, error);
    if ((fflush(out) != 0 || ferror(out)) && rc == 0)
        rc = error_set(error, "%s: %s", path, strerror(errno));
    fclose(out);
    return rc;
}

/* If there is only one recording and no comment, renames the recording to `path` and removes an
 * incomplete block at its end. Copying many gigabytes would delay the end of rnic-run. Returns
 * false if the frames must be copied: for example to sort them, or because the file at `path` has
 * another owner or mode, or a hard link. */
static bool move_file(const char *path, const glob_t *found, const char *comment)
{
    struct stat to, from;
    uint64_t len;

    return found->gl_pathc == 1 && !comment && !is_growing(*found->gl_pathv) &&
           stat(path, &to) == 0 && stat(*found->gl_pathv, &from) == 0 && S_ISREG(to.st_mode) &&
           to.st_nlink == 1 && to.st_mode == from.st_mode && to.st_uid == from.st_uid &&
           to.st_gid == from.st_gid && pcapng_is_joined(*found->gl_pathv, &len) &&
           truncate(*found->gl_pathv, (off_t)len) == 0 && rename(*found->gl_pathv, path) == 0;
}

int recording_end(const char *path, struct run_folder *folder, const char *comment, bool *left,
                  struct error *error)
{
    glob_t found;
    bool moved;
    int rc;

    find_files(folder->path, &found);
    moved = move_file(path, &found, comment);
    rc = moved ? 0 : write_file(path, &found, comment, error);
    *left = false;
    for (size_t i = 0; rc == 0 && !moved && i < found.gl_pathc; i++) {
        if (is_growing(found.gl_pathv[i]))
            *left = true;
        else
            unlink(found.gl_pathv[i]);
    }
    if (rc == 0 && !*left)
        run_folder_remove(folder);
    else if (*left)
        atomic_store(&folder->tally.tally->detached, 1);
    globfree(&found);
    return rc;
}
