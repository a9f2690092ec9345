/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/parallel_text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "util/cli_opts.h"

#define THREADS_MAX 8u
#define PART_LEN    16u /* number of elements that a thread formats at a time */

/* Consecutive elements of the list. */
struct part {
    char *text;
    size_t len;
    int rc; /* 0, or -1 after an error */
    bool done;
};

struct work {
    const void *list;
    uint32_t cnt; /* elements of the list */
    parallel_text_put *put;
    struct part *part;
    uint32_t part_cnt;
    pthread_mutex_t lock; /* protects `next`, and the members `done` of the parts */
    pthread_cond_t done;  /* a part is done */
    uint32_t next;        /* first part that no thread has begun */
};

static void format_part(const struct work *work, uint32_t n)
{
    struct part *part = &work->part[n];
    const uint32_t from = n * PART_LEN;
    const uint32_t end = work->cnt - from < PART_LEN ? work->cnt : from + PART_LEN;
    FILE *to = open_memstream(&part->text, &part->len);

    if (!to) {
        part->rc = -1;
        return;
    }
    for (uint32_t i = from; i < end && part->rc == 0; i++)
        part->rc = work->put(work->list, i, to);
    if (fclose(to) != 0)
        part->rc = -1;
}

/* Formats the next part that no thread has begun. Called with the lock, and releases the lock while
 * it formats. Returns false if all parts are begun. */
static bool format_next(struct work *work)
{
    const uint32_t n = work->next;

    if (n == work->part_cnt)
        return false;
    work->next++;
    pthread_mutex_unlock(&work->lock);
    format_part(work, n);
    pthread_mutex_lock(&work->lock);
    work->part[n].done = true;
    pthread_cond_signal(&work->done);
    return true;
}

static void *run_thread(void *arg)
{
    struct work *work = arg;

    pthread_mutex_lock(&work->lock);
    while (format_next(work))
        ;
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* Writes the parts in their order. While the next one is not done, formats another one. */
static int write_parts(struct work *work, FILE *out)
{
    int rc = 0;

    for (uint32_t n = 0; n < work->part_cnt; n++) {
        struct part *part = &work->part[n];

        pthread_mutex_lock(&work->lock);
        while (!part->done)
            if (!format_next(work))
                pthread_cond_wait(&work->done, &work->lock);
        pthread_mutex_unlock(&work->lock);
        rc |= part->rc;
        if (rc == 0)
            fwrite(part->text, 1, part->len, out);
        free(part->text);
    }
    return rc;
}

int parallel_text_write(FILE *out, const void *list, uint32_t cnt, parallel_text_put *put,
                        unsigned threads)
{
    struct work work = {
        .list = list, .cnt = cnt, .put = put, .part_cnt = (cnt + PART_LEN - 1) / PART_LEN};
    const unsigned wanted = cli_job_cnt(cli_job_cnt(threads, THREADS_MAX), work.part_cnt);
    pthread_t thread[THREADS_MAX];
    unsigned started = 0;
    int rc = 0;

    if (wanted <= 1) { /* needs no copy of the text */
        for (uint32_t i = 0; i < cnt && rc == 0; i++)
            rc = put(list, i, out);
        return rc;
    }
    work.part = calloc(work.part_cnt, sizeof(*work.part));
    if (!work.part)
        return -1;
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.done, NULL);
    while (started + 1 < wanted && pthread_create(&thread[started], NULL, run_thread, &work) == 0)
        started++;
    rc = write_parts(&work, out);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    pthread_cond_destroy(&work.done);
    pthread_mutex_destroy(&work.lock);
    free(work.part);
    return rc;
}
