/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "util/cli_opts.h"

/* Bytes added to the size of each file when the shards are balanced, so that many small files are
 * distributed evenly, too. */
#define FILE_COST 4096u

int shard_option(struct shard *shard, const char *command, const char *text)
{
    char rest;

    if (sscanf(text, "%6u/%6u%c", &shard->index, &shard->count, &rest) != 2 || shard->index < 1 ||
        shard->index > shard->count || shard->count > SHARD_MAX)
        return cli_error("%s: --shard %s: not I/N, with I from 1 to N and N up to %u", command,
                         text, SHARD_MAX);
    return 0;
}

static int bigger_first(const void *a, const void *b)
{
    const struct sized_file *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

struct sized_file *shard_sort(shard_path path, const void *list, size_t cnt)
{
    struct sized_file *file = calloc(cnt + 1, sizeof(*file));
    struct stat st;

    for (size_t i = 0; file && i < cnt; i++) {
        bool known = stat(path(list, i), &st) == 0 && st.st_size > 0;

        file[i] = (struct sized_file){FILE_COST + (known ? (uint64_t)st.st_size : 0), i};
    }
    if (file)
        qsort(file, cnt, sizeof(*file), bigger_first);
    return file;
}

bool *shard_choose(struct shard *shard, shard_path path, const void *list, size_t cnt)
{
    struct sized_file *file = shard_sort(path, list, cnt);
    uint64_t *load = calloc(shard->count, sizeof(*load));
    bool *chosen = file && load ? calloc(cnt + 1, sizeof(*chosen)) : NULL;

    shard->files = cnt;
    for (size_t i = 0; chosen && i < cnt; i++) {
        unsigned least = 0;

        for (unsigned k = 1; k < shard->count; k++)
            if (load[k] < load[least])
                least = k;
        load[least] += file[i].size;
        chosen[file[i].at] = least + 1 == shard->index;
    }
    free(file);
    free(load);
    return chosen;
}

json_t *shard_json(const struct shard *shard)
{
    return json_pack("{s:I, s:I, s:I}", "index", (json_int_t)shard->index, "count",
                     (json_int_t)shard->count, "files", (json_int_t)shard->files);
}
