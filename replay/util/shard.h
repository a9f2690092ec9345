/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Shard: one of N parts of a list of files, for --shard I/N. Every host that lists the same files
 * with the same sizes finds the same parts: the files are assigned from the biggest to the
 * smallest, each to the part with the least bytes so far.
 */
#ifndef REPLAY_UTIL_SHARD_H
#define REPLAY_UTIL_SHARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARD_MAX 100000u

struct shard {
    unsigned index, count; /* this part, from 1, and the number of parts; 0: all files */
    size_t files;          /* number of files of all parts */
};

/* clang-format off */
#define SHARD_KEY (256 + 4000)
#define SHARD_OPTION(things)                                                                       \
    {"shard", SHARD_KEY, "I/N", "use only part I of N of the " things "; --json then has what rocedrill merge needs"}
/* clang-format on */

/* Reads "I/N", the argument of --shard of a command. Returns 0, or the exit status after an error.
 */
int shard_option(struct shard *shard, const char *command, const char *text);

/* Returns the path of file `i` of a list. */
typedef const char *(*shard_path)(const void *list, size_t i);

struct sized_file {
    uint64_t size; /* bytes, and the cost of any file */
    size_t at;     /* number in the list */
};

/* Returns the `cnt` files from the biggest to the smallest, or NULL if out of memory. The caller
 * frees them. */
struct sized_file *shard_sort(shard_path path, const void *list, size_t cnt);

/* Returns an array that is true for each of the `cnt` files in the part, or NULL if out of memory.
 * The caller frees it. */
bool *shard_choose(struct shard *shard, shard_path path, const void *list, size_t cnt);

/* Returns {index, count, files}, or NULL if out of memory. */
json_t *shard_json(const struct shard *shard);

#endif
