/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inflate: a compressed file as a stream of what is in it, so that a reader of captures need not
 * know. gzip where zlib was there at build time, zstd where libzstd was. Several members or frames
 * one after another are one stream, as gzip -dc and zstd -dc have it. Memory does not depend on the
 * length of the file.
 */
#ifndef REPLAY_CAPTURE_DECOMPRESS_H
#define REPLAY_CAPTURE_DECOMPRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

struct decompress;

/*
 * The stream to read instead of `file`, which need not be seekable: `file` itself where it is not
 * compressed and can be rewound. fclose() of the stream also closes `file`, unless `keep` is set.
 *
 * *state is NULL when the stream is `file` itself, and else lives until fclose().
 * NULL and an error (without the file's name) if it is compressed in a way that this build does not
 * know; `file` is still open then.
 */
FILE *decompress_open(FILE *file, bool keep, struct decompress **state, struct error *error);

/*
 * A pipe may be a capture under way: from now on a read of the stream ends early, as at the end of
 * a file, where all that has come was read. decompress_waits() then says that this was not the end;
 * the caller clears the stream's end of file, and its next read waits for more. Nothing changes for
 * a regular file. NULL is a plain regular file, too.
 */
void decompress_live(struct decompress *state);
bool decompress_waits(const struct decompress *state);
bool decompress_is_live(const struct decompress *state);

/* What is wrong with the compressed data: the reason of a failed read, or NULL. */
const char *decompress_error(const struct decompress *state);

#endif
