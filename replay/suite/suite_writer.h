/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Writing into a folder of captures: everything is made in a folder of its own beside captures/ and
 * moved there at the end, so that a failure leaves nothing behind.
 */
#ifndef REPLAY_SUITE_SUITE_WRITER_H
#define REPLAY_SUITE_SUITE_WRITER_H

#include <pcap/pcap.h>
#include "base/error.h"
#include "suite/manifest.h"
#include "capture/capture_reader.h"

/* ---- a capture: pcap, nanoseconds --------------------------------------------------------------
 */

struct suite_file {
    const char *path;
    pcap_t *dead;
    pcap_dumper_t *out; /* from the first frame on */
    enum roce_link link;
};

struct suite_frame {
    uint64_t time; /* ns */
    uint32_t cap_len, wire_len;
};

int suite_file_open(struct suite_file *file, const char *path, struct error *error);

/* 0, or -1 and an error, also for a link layer other than that of the frames before. */
int suite_file_write(struct suite_file *file, enum roce_link link, const struct suite_frame *frame,
                     const uint8_t *data, struct error *error);

/* 0, or -1 and an error, which may be NULL, if not all could be written. */
int suite_file_close(struct suite_file *file, struct error *error);

/* ---- the folder --------------------------------------------------------------------------------
 */

struct suite_folder {
    char path[1024];
    char name[128];
    char work[1100];    /* folder of its own, "" once it is gone */
    char capture[1300]; /* where the capture is to be written */
};

struct suite_row {
    const char *peer, *shows; /* or NULL */
    uint32_t frames;
    enum outcome expected;
};

/* Makes the folder if there is none. 0, or -1 and an error: it cannot be written, or has the name
 * already. suite_folder_close() is wanted in both cases. */
int suite_folder_open(struct suite_folder *folder, const char *path, const char *name,
                      struct error *error);

/* Writes the golden outputs of the capture. Runs this program again for each of them: decode,
 * check, check -v and replay -v. Returns 0, or -1 and a fault. */
int suite_folder_golden(struct suite_folder *folder, const char *peer, struct error *error);

/* Moves all to its place and adds the row to the manifest. 0, or -1 and an error. */
int suite_folder_keep(struct suite_folder *folder, const struct suite_row *row,
                      struct error *error);

/* Removes what was not kept. */
void suite_folder_close(struct suite_folder *folder);

#endif
