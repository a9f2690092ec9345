/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Shard: one of N parts of a list of files (option --shard I/N), so that N hosts can each check one
 * part. The files are assigned from the biggest to the smallest, each to the part with the least
 * bytes so far. So all hosts that have the same files compute the same parts.
 */
#ifndef REPLAY_UTIL_SHARD_H
#define REPLAY_UTIL_SHARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARD_MAX 100000u /* largest number of shards */

struct shard {
    /* Number of this part, from 1, and number of parts; both 0: no parts, use all files. */
    unsigned index, count;
    size_t files; /* number of files of all parts together */
};

/* clang-format off */
#define SHARD_KEY (256 + 4000)
#define SHARD_OPTION(things)                                                                       \
    {"shard", SHARD_KEY, "I/N", "use only part I of N of the " things "; --json then also has what rocedrill merge needs"}
/* clang-format on */

/* Reads "I/N", the argument of --shard of a command. Returns 0, or the exit status after an error.
 */
int shard_option(struct shard *shard, const char *command, const char *text);

/* Returns the path of file `i` of a list. */
typedef const char *(*shard_path)(const void *list, size_t i);

struct sized_file {
    uint64_t size; /* size of the file plus FILE_COST (shard.c), bytes */
    size_t at;     /* index of the file in the list */
};

/* Returns the `cnt` files from the biggest to the smallest, or NULL if out of memory. The caller
 * frees the array. */
struct sized_file *shard_sort(shard_path path, const void *list, size_t cnt);

/* Returns an array of `cnt` flags: true if the file belongs to the part `shard`. The caller frees
 * the array. Returns NULL if out of memory. */
bool *shard_choose(struct shard *shard, shard_path path, const void *list, size_t cnt);

/* Returns the JSON object {index, count, files}, or NULL if out of memory. */
json_t *shard_json(const struct shard *shard);

#endif
