/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Decompress: gives the content of a compressed file as a stream, so that the parser need not know.
 * The first bytes decide the format. gzip is read with zlib; zstd, xz, bzip2 and lz4 with
 * libarchive. zlib stays because libarchive does not verify the checksum of gzip (3.6.2), and
 * because a gzip member in a pipe is shown when it ends. Several members or frames in a row are one
 * stream. Memory does not depend on the length of the file.
 *
 * Called by capture_reader.c, in this order:
 *   1. decompress_open() returns the stream to read;
 *   2. decompress_set_live(), for formats that can be read while they grow;
 *   3. reads of the stream; decompress_waits() tells a pause from the end;
 *   4. fclose() of the stream, which also frees the state.
 *
 * Errors: a failed open sets the error without the name of the file. A failed read sets ferror() of
 * the stream, and decompress_error() says why.
 */
#ifndef REPLAY_CAPTURE_DECOMPRESS_H
#define REPLAY_CAPTURE_DECOMPRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

struct decompress;

/*
 * Returns the stream to read instead of `file`, which need not be seekable. That is `file` itself
 * if it is a regular file without compression; then *state is NULL. Otherwise fclose() of the
 * stream closes `file` too, unless `keep` is set.
 *
 * Returns NULL and sets the error if this build cannot read the format; `file` is then still open.
 */
FILE *decompress_open(FILE *file, bool keep, struct decompress **state, struct error *error);

/*
 * Makes reads of a pipe return what has arrived instead of waiting for a full buffer. The stream is
 * then at its end of file although more may follow: decompress_waits() returns true, the caller
 * clears the end of file, and the next read waits for more. Does nothing for a regular file (also
 * if `state` is NULL), and zstd, xz, bzip2 and lz4 are still read in whole blocks.
 */
void decompress_set_live(struct decompress *state);
bool decompress_waits(const struct decompress *state);
bool decompress_is_live(const struct decompress *state);

/* Returns why a read failed, or NULL. */
const char *decompress_error(const struct decompress *state);

#endif
