/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "util/cli_opts.h"

/* Cost of a file besides its bytes, so that many small files are spread too. */
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

uint64_t shard_file_size(const char *path)
{
    struct stat st;

    return FILE_COST + (stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0);
}

struct sized_file {
    uint64_t size;
    size_t at;
};

static int bigger_first(const void *a, const void *b)
{
    const struct sized_file *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

int shard_order(const uint64_t *size, size_t cnt, size_t *order)
{
    struct sized_file *file = calloc(cnt + 1, sizeof(*file));

    if (!file)
        return -1;
    for (size_t i = 0; i < cnt; i++)
        file[i] = (struct sized_file){.size = size[i], .at = i};
    qsort(file, cnt, sizeof(*file), bigger_first);
    for (size_t i = 0; i < cnt; i++)
        order[i] = file[i].at;
    free(file);
    return 0;
}

int shard_choose(struct shard *shard, const uint64_t *size, size_t cnt, bool *chosen)
{
    size_t *order = calloc(cnt + 1, sizeof(*order));
    uint64_t *load = calloc(shard->count, sizeof(*load));
    int rc = order && load ? shard_order(size, cnt, order) : -1;

    shard->files = cnt;
    for (size_t i = 0; rc == 0 && i < cnt; i++) {
        unsigned least = 0;

        for (unsigned k = 1; k < shard->count; k++)
            if (load[k] < load[least])
                least = k;
        load[least] += size[order[i]];
        chosen[order[i]] = least + 1 == shard->index;
    }
    free(order);
    free(load);
    return rc;
}

json_t *shard_json(const struct shard *shard)
{
    return json_pack("{s:I, s:I, s:I}", "index", (json_int_t)shard->index, "count",
                     (json_int_t)shard->count, "files", (json_int_t)shard->files);
}
