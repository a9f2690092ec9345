/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tools/scratch.h"

#define TALLY   "tally"
#define SCRATCH "rnic-run-" /* beginning of the names of scratch folders */

/* minimum age of a folder that is deleted, s; a younger one may belong to an rnic-run that has not
 * locked it yet */
#define LEFT_AGE 60

int run_folder_create(struct run_folder *folder, const char *name, struct error *error)
{
    char path[PATH_MAX];
    int rc;

    *folder = (struct run_folder){.tally.fd = -1};
    if (snprintf(folder->path, sizeof folder->path, "%s", name) >=
        (int)(sizeof folder->path - sizeof "/" TALLY))
        return error_set(error, "%.64s...: %s", name, strerror(ENAMETOOLONG));
    if (!mkdtemp(folder->path))
        return error_set(error, "%s: %s", folder->path, strerror(errno));
    snprintf(path, sizeof path, "%.*s/" TALLY, (int)(sizeof path - sizeof "/" TALLY), folder->path);
    rc = tally_create(&folder->tally, path);
    if (rc == 0)
        return 0;
    rmdir(folder->path);
    return error_set(error, "%s: %s", path, strerror(-rc));
}

/* Deletes the files in the folder `fd`, and closes this descriptor. */
static void delete_files(int fd)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void run_folder_remove(struct run_folder *folder)
{
    int fd = *folder->path ? open_folder(AT_FDCWD, folder->path) : -1;

    if (fd >= 0)
        delete_files(fd);
    if (*folder->path)
        rmdir(folder->path);
    tally_close(&folder->tally);
    *folder->path = 0;
}

/* Returns whether the folder with the descriptor `folder` is left over from an rnic-run of this
 * user that has ended. Such a folder has reached LEFT_AGE, and no process has locked its tally
 * file. */
static bool was_left(int folder)
{
    struct stat st;
    bool left;
    int fd;

    if (fstat(folder, &st) < 0 || st.st_uid != geteuid() ||
        st.st_mtim.tv_sec > time(NULL) - LEFT_AGE)
        return false;
    fd = openat(folder, TALLY, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    left = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct tally) &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return left;
}

/* Deletes the folders in `parent` that are left over because an rnic-run of this user was killed.
 */
static void sweep_folder(const char *parent)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        bool named = strncmp(entry->d_name, SCRATCH, strlen(SCRATCH)) == 0 &&
                     strlen(entry->d_name) == strlen(SCRATCH "XXXXXX");
        int fd = named ? open_folder(dirfd(dir), entry->d_name) : -1;

        if (fd < 0)
            continue;
        if (!was_left(fd)) {
            close(fd);
            continue;
        }
        delete_files(fd);
        unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
}

int run_folder_scratch(struct run_folder *folder, struct error *error)
{
    char name[PATH_MAX];

    sweep_folder(scratch_folder());
    if (snprintf(name, sizeof name, "%s/" SCRATCH "XXXXXX", scratch_folder()) >= (int)sizeof name)
        return error_set(error, "TMPDIR: %s", strerror(ENAMETOOLONG));
    return run_folder_create(folder, name, error);
}

bool run_folder_is_whole(const struct run_folder *folder, const char *option, const char *what,
                         const char *effect)
{
    struct tally *tally = folder->tally.tally;
    uint64_t lost = tally ? atomic_load(&tally->lost) : 0;

    if (lost == 0)
        return true;
    fprintf(stderr, "rnic-run: %s: %" PRIu64 " of %" PRIu64 " %s could not be recorded%s: %s\n",
            option, lost, lost + atomic_load(&tally->recorded), what, effect,
            strerror(atomic_load(&tally->error)));
    return false;
}
