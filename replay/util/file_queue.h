/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * File queue: distributes the files of a list to workers, and returns the finished files in the
 * order of the list. So the output of a command does not depend on the number of its workers. With
 * several workers, a worker begins with the biggest file, so that the other workers have enough
 * work until it is finished. Used by check and drill, whose workers are threads, and by replay,
 * whose workers are processes. Threads call it under a lock.
 */
#ifndef REPLAY_UTIL_FILE_QUEUE_H
#define REPLAY_UTIL_FILE_QUEUE_H

#include "util/shard.h"

struct file_queue {
    struct file_place *file;
    size_t cnt;
    size_t taken, finished, returned;
};

/* Returns the number of workers for `cnt` files: `wanted`, or the number of processors if `wanted`
 * is 0. The result is at least 1, and at most `cnt` and CLI_JOBS_MAX. */
unsigned file_queue_workers(unsigned wanted, size_t cnt);

/* Makes the queue of `cnt` files. Returns false if out of memory. Call file_queue_free() in both
 * cases. */
bool file_queue_init(struct file_queue *queue, shard_path path, const void *list, size_t cnt,
                     unsigned workers);
void file_queue_free(struct file_queue *queue);

/* Sets *at to the list index of the next file to work on. Returns false if there is none. */
bool file_queue_take(struct file_queue *queue, size_t *at);

/* Returns whether one worker would need more time for the file than the other workers need for the
 * rest: the file has more than an equal share of the bytes of all files. Always false with one
 * worker. */
bool file_queue_is_big(const struct file_queue *queue, size_t at);

void file_queue_finish(struct file_queue *queue, size_t at);

/* If the next file in the order of the list is finished, sets *at to its index and returns true.
 * Otherwise returns false. */
bool file_queue_return(struct file_queue *queue, size_t *at);

#endif
