/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Decompress: returns the content of a compressed file as a stream. The first bytes determine the
 * format. zlib reads gzip; libarchive reads zstd, xz, bzip2 and lz4. zlib is used for two reasons.
 * libarchive 3.6.2 does not verify the checksum of gzip. With zlib, the content of a gzip member in
 * a pipe can be read as soon as the member ends. Several compressed members or frames in sequence
 * are returned as one stream. The memory used does not depend on the length of the file.
 *
 * Called by capture_reader.c, in this order:
 *   1. decompress_open() returns the stream to read;
 *   2. decompress_set_live(), for captures that are read while another program still writes them;
 *   3. reads of the stream; after an end of file, decompress_waits() returns whether more data may
 *      follow;
 *   4. fclose() of the stream, which also frees the state.
 *
 * Errors: a failed open sets an error that does not contain the name of the file. A failed read
 * sets ferror() of the stream, and decompress_error() returns the reason.
 */
#ifndef REPLAY_CAPTURE_DECOMPRESS_H
#define REPLAY_CAPTURE_DECOMPRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/error.h"

struct decompress;

/*
 * Returns the stream to read instead of `file`, which need not be seekable. For a regular file
 * without compression, returns `file` itself and sets *state to NULL. In all other cases, returns a
 * new stream: its fclose() also closes `file`, unless `keep` is set.
 *
 * Returns NULL and sets the error if this build cannot read the format; `file` is then still open.
 */
FILE *decompress_open(FILE *file, bool keep, struct decompress **state, struct error *error);

/*
 * Makes reads of a pipe return the bytes that have arrived, instead of waiting for a full buffer.
 * The stream then reports end of file at each pause. If decompress_waits() returns true, the caller
 * clears the end of file, and the next read waits for more bytes. Does nothing for a regular file
 * or if `state` is NULL. zstd, xz, bzip2 and lz4 return data only in whole blocks, even then.
 */
void decompress_set_live(struct decompress *state);
bool decompress_waits(const struct decompress *state);
bool decompress_is_live(const struct decompress *state);

/* Returns the reason why a read failed, or NULL. */
const char *decompress_error(const struct decompress *state);

#endif
