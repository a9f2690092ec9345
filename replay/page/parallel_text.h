/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parallel text: writes the elements of a long list to a stream with several threads. Each thread
 * formats some consecutive elements in memory. The thread of the caller writes them to the stream,
 * in the order of the list. So the text does not depend on the number of threads. Used by
 * page_data.c.
 */
#ifndef REPLAY_PAGE_PARALLEL_TEXT_H
#define REPLAY_PAGE_PARALLEL_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Writes element `i` of the list to `to`. Returns 0, or -1 after an error. Several threads call it
 * at the same time, with different elements. */
typedef int parallel_text_put(const void *list, uint32_t i, FILE *to);

/* Writes the elements 0 to `cnt` - 1 to `out` with at most `threads` threads; 0: one for each
 * processor. Returns 0, or -1 if memory is exhausted or `put` returned -1. */
int parallel_text_write(FILE *out, const void *list, uint32_t cnt, parallel_text_put *put,
                        unsigned threads);

#endif
