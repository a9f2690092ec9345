/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tally: a file with the counters of a recording of frames or of a timeline. rnic-run shares it
 * with the programs that it runs: all of them map the file. The counters show how much the programs
 * recorded, how much they could not record, and how much rnic-run has processed. rnic-run reserves
 * the space of the file first, so a full disk cannot prevent a program from counting what it could
 * not record.
 *
 * rnic-run holds a lock on the file. The kernel releases the lock when rnic-run ends in any way.
 * The programs then stop recording, and the next rnic-run deletes the folder of the ended one.
 */
#ifndef PORT_SYS_TALLY_H
#define PORT_SYS_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counters. Several processes change them at the same time, so they are atomic. */
struct tally {
    _Atomic uint64_t recorded; /* number of frames, or of rows of the timeline, that the programs
                                * recorded */
    _Atomic uint64_t lost;     /* number of frames or rows that the programs could not record */
    _Atomic uint64_t written;  /* number of bytes that the programs wrote */
    _Atomic uint64_t consumed; /* number of bytes that rnic-run has processed */
    _Atomic uint64_t limit;    /* maximum number of written bytes that rnic-run has not processed
                                * yet; 0: no maximum */
    uint64_t utc_offset;  /* UTC minus CLOCK_MONOTONIC when rnic-run started, ns: the recordings
                           * of all programs use it, so that setting the time of day does not
                           * change the order of their frames */
    _Atomic int error;    /* errno of the latest frame or row that could not be recorded; 0:
                           * none */
    _Atomic int detached; /* 1: the programs continue to record after rnic-run has ended */
};

struct tally_file {
    int fd;
    struct tally *tally; /* mapped file; NULL if the file is not open */
};

/* Creates the file at `path`, which must not exist, and locks it. Returns 0 or a negative errno. */
int tally_create(struct tally_file *file, const char *path);

/* Opens the file that rnic-run created. Returns 0 or a negative errno. */
int tally_open(struct tally_file *file, const char *path);
void tally_close(struct tally_file *file);

/* Returns whether the rnic-run that created the file has ended. False if the file is not open. */
bool tally_is_orphaned(const struct tally_file *file);

/* Counts frames or rows that could not be recorded because of `error`, an errno. Does nothing if
 * the file is not open. */
void tally_lose(const struct tally_file *file, uint64_t cnt, int error);

#endif
