/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "options.h"

static bool same_file(const char *path, const char *other)
{
    struct stat a, b;

    return stat(path, &a) == 0 && stat(other, &b) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool output_is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int output_spares(const char *path, const char *capture)
{
    return path && same_file(path, capture)
               ? options_complain("%s: would be overwritten: it is a capture to read", path)
               : 0;
}

int outputs_differ(const char *command, const char *const *path, unsigned cnt)
{
    for (unsigned i = 0; i < cnt; i++)
        for (unsigned j = 0; path[i] && j < i; j++)
            if (path[j] && (strcmp(path[i], path[j]) == 0 || same_file(path[i], path[j])))
                return output_is_standard(path[i])
                           ? options_complain("%s: only one output can be standard output", command)
                           : options_complain("%s: %s is given for two outputs", command, path[i]);
    return 0;
}

int output_open(const char *path, FILE **out)
{
    if (!path)
        return 0;
    if (output_is_standard(path)) {
        *out = stdout;
        return 0;
    }
    *out = fopen(path, "wb");
    return *out ? 0 : options_complain("%s: %s", path, strerror(errno));
}

bool output_failed(FILE *file)
{
    return file && ferror(file);
}

int output_close(FILE *file, const char *path)
{
    bool failed = output_failed(file);

    if (!file || file == stdout)
        return 0;
    if (fclose(file) != 0)
        return options_complain("%s: %s", path, strerror(errno));
    return failed ? options_complain("%s: cannot be written", path) : 0;
}
