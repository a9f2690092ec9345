/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int spool_init(struct spool *spool, size_t row_size, struct error *error)
{
    *spool = (struct spool){.file = tmpfile(), .size = row_size};
    if (!spool->file)
        return error_set(error, "cannot create a temporary file: %s", strerror(errno));
    return 0;
}

void spool_free(struct spool *spool)
{
    if (spool->file)
        fclose(spool->file);
    *spool = (struct spool){0};
}

void spool_put(struct spool *spool, const void *row)
{
    if (fwrite(row, spool->size, 1, spool->file) == 1)
        spool->cnt++;
    else
        spool->failed = true;
}

void spool_rewind(struct spool *spool)
{
    if (fseek(spool->file, 0, SEEK_SET) != 0)
        spool->failed = true;
}

bool spool_get(struct spool *spool, void *row)
{
    if (fread(row, spool->size, 1, spool->file) == 1)
        return true;
    if (ferror(spool->file))
        spool->failed = true;
    return false;
}

void spool_clear(struct spool *spool)
{
    if (fseek(spool->file, 0, SEEK_SET) != 0 || ftruncate(fileno(spool->file), 0) != 0)
        spool->failed = true;
    spool->cnt = 0;
}
