/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/cli_opts.h"

/* Gets the status (struct stat) of the file at `path`, or if `path` is "-", of the descriptor
 * `standard`. Returns false on failure. */
static bool stat_path(const char *path, int standard, struct stat *st)
{
    return (strcmp(path, "-") == 0 ? fstat(standard, st) : stat(path, st)) == 0;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_file(const char *path, const char *other, int standard)
{
    struct stat a, b;

    return stat_path(path, STDOUT_FILENO, &a) && stat_path(other, standard, &b) &&
           S_ISREG(a.st_mode) && is_same_inode(&a, &b);
}

/* Gets the status (struct stat) of the folder that contains `path`, and sets *name to the file name
 * in `path`. Returns false on failure. */
static bool stat_folder(const char *path, struct stat *folder, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *copy = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    bool there = (!slash || copy) && stat(slash ? copy : ".", folder) == 0;

    free(copy);
    *name = slash ? slash + 1 : path;
    return there;
}

/* Returns whether two paths would create the same file: the folder and the file name are equal.
 * Works before the file exists. */
static bool same_place(const char *path, const char *other)
{
    const char *name, *its;
    struct stat a, b;

    return stat_folder(path, &a, &name) && stat_folder(other, &b, &its) && is_same_inode(&a, &b) &&
           strcmp(name, its) == 0;
}

bool outfile_is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int outfile_is_no_input(const char *path, const char *capture)
{
    return path && same_file(path, capture, STDIN_FILENO)
               ? cli_error("%s: this output would overwrite an input capture",
                           outfile_is_stdout(path) ? "standard output" : path)
               : 0;
}

int outfiles_differ(const char *command, const char *const *path, unsigned cnt)
{
    for (unsigned i = 0; i < cnt; i++)
        for (unsigned j = 0; path[i] && j < i; j++)
            if (path[j] &&
                (same_place(path[i], path[j]) || same_file(path[i], path[j], STDOUT_FILENO)))
                return outfile_is_stdout(path[i])
                           ? cli_error("%s: only one output can be standard output", command)
                           : cli_error("%s: %s is used for two outputs", command, path[i]);
    return 0;
}

int outfile_open(const char *path, FILE **out)
{
    if (!path)
        return 0;
    if (outfile_is_stdout(path)) {
        *out = stdout;
        return 0;
    }
    *out = fopen(path, "wb");
    return *out ? 0 : cli_error("%s: %s", path, strerror(errno));
}

bool outfile_failed(FILE *file)
{
    return file && ferror(file);
}

int outfile_close(FILE *file, const char *path)
{
    bool failed = outfile_failed(file);

    if (!file || file == stdout)
        return 0;
    if (failed) /* errno has changed since the failure: write again, which sets errno */
        fputc('\n', file);
    if (fclose(file) != 0)
        return cli_error("%s: %s", path, strerror(errno));
    return failed ? cli_error("%s: cannot be written", path) : 0;
}

/* Returns the name of a temporary file in the folder of `path` or, if `path` is a symbolic link, of
 * its target. Returns NULL if out of memory. */
static char *temp_name(const char *path)
{
    char *target = realpath(path, NULL);
    size_t size = strlen(target ? target : path) + sizeof(".tmp-2147483647");
    char *temp = malloc(size);

    if (temp)
        snprintf(temp, size, "%s.tmp-%d", target ? target : path, (int)getpid());
    free(target);
    return temp;
}

/* Returns whether a temporary file cannot replace `path`. Examples are standard output (also by a
 * name in /dev), a pipe, a device, and a symbolic link to a file that does not exist. */
static bool is_irreplaceable(const char *path)
{
    struct stat st, link;

    if (outfile_is_stdout(path) || same_file(path, "-", STDOUT_FILENO))
        return true;
    return stat(path, &st) == 0 ? !S_ISREG(st.st_mode) : lstat(path, &link) == 0;
}

int outfile_open_temp(const char *path, FILE **out, char **temp)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;

    *temp = NULL;
    if (is_irreplaceable(path))
        return outfile_open(path, out);
    if (exists && access(path, W_OK) != 0)
        return cli_error("%s: %s", path, strerror(errno));
    *temp = temp_name(path);
    *out = *temp ? fopen(*temp, "wbx") : NULL;
    if (!*out) {
        int status = cli_error("%s: %s", path, strerror(errno));

        free(*temp);
        return status;
    }
    if (exists)
        (void)fchmod(fileno(*out), st.st_mode & 0777);
    return 0;
}

int outfile_close_temp(FILE *file, const char *path, char *temp, int status)
{
    int closed = outfile_close(file, path);
    char *target = temp ? realpath(path, NULL) : NULL; /* NULL: `path` does not exist yet */

    if (status == 0)
        status = closed;
    if (temp && status == 0 && rename(temp, target ? target : path) != 0)
        status = cli_error("%s: %s", path, strerror(errno));
    if (temp && status != 0)
        (void)unlink(temp);
    free(target);
    free(temp);
    return status;
}
