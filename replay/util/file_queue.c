/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/file_queue.h"

#include <stdlib.h>
#include "util/cli_opts.h"

struct file_place {
    size_t next; /* list index of the file at this position of the queue */
    bool big, finished;
};

unsigned file_queue_workers(unsigned wanted, size_t cnt)
{
    return cli_job_cnt(cli_job_cnt(wanted, CLI_JOBS_MAX), cnt);
}

bool file_queue_init(struct file_queue *queue, shard_path path, const void *list, size_t cnt,
                     unsigned workers)
{
    struct sized_file *sorted = workers > 1 ? shard_sort(path, list, cnt) : NULL;
    uint64_t total = 0;

    *queue = (struct file_queue){.file = calloc(cnt + 1, sizeof(*queue->file)), .cnt = cnt};
    if (!queue->file || (workers > 1 && !sorted)) {
        free(sorted);
        return false;
    }
    for (size_t i = 0; sorted && i < cnt; i++)
        total += sorted[i].size;
    for (size_t i = 0; i < cnt; i++)
        queue->file[i].next = sorted ? sorted[i].at : i;
    for (size_t i = 0; sorted && i < cnt && sorted[i].size > total / workers; i++)
        queue->file[sorted[i].at].big = true;
    free(sorted);
    return true;
}

void file_queue_free(struct file_queue *queue)
{
    free(queue->file);
    queue->file = NULL;
}

bool file_queue_take(struct file_queue *queue, size_t *at)
{
    if (queue->taken == queue->cnt)
        return false;
    *at = queue->file[queue->taken++].next;
    return true;
}

bool file_queue_is_big(const struct file_queue *queue, size_t at)
{
    return queue->file[at].big;
}

void file_queue_finish(struct file_queue *queue, size_t at)
{
    queue->file[at].finished = true;
    queue->finished++;
}

bool file_queue_return(struct file_queue *queue, size_t *at)
{
    if (queue->returned == queue->cnt || !queue->file[queue->returned].finished)
        return false;
    *at = queue->returned++;
    return true;
}
