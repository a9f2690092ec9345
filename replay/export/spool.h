/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Spool: a temporary file of rows that are needed only at the end of the capture. csv.c and
 * psn_graph.c use it. All rows of a spool have the same size.
 *
 *   1. spool_init(),
 *   2. spool_put() for each row,
 *   3. spool_rewind(), then spool_get() until it returns false,
 *   4. spool_clear() before the next capture, spool_free() at the end.
 */
#ifndef REPLAY_EXPORT_SPOOL_H
#define REPLAY_EXPORT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

struct spool {
    FILE *file;
    size_t size; /* size of a row, bytes */
    uint64_t cnt;
    bool failed; /* a row could not be stored or read back; stays set until spool_free() */
};

/* Creates the temporary file. Returns 0, or -1 and an error. */
int spool_init(struct spool *spool, size_t row_size, struct error *error);
void spool_free(struct spool *spool); /* Frees a spool. `spool` may be zero-initialised. */

void spool_put(struct spool *spool, const void *row);
void spool_rewind(struct spool *spool);
bool spool_get(struct spool *spool, void *row);
void spool_clear(struct spool *spool);

#endif
