/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Suite writer: adds a capture, and its row of manifest.tsv, to a folder of captures. Writes both
 * files to a temporary folder first, and moves them to the folder of captures at the end. So after
 * a failure the folder has no new file, and still has the capture that was to be replaced.
 */
#ifndef REPLAY_SUITE_SUITE_WRITER_H
#define REPLAY_SUITE_SUITE_WRITER_H

#include <pcap/pcap.h>
#include "base/error.h"
#include "capture/capture_reader.h"
#include "suite/manifest.h"

/* ---- writing a capture file (pcap with nanoseconds) --------------------------------------------
 */

struct suite_file {
    const char *path;
    pcap_t *dead;
    pcap_dumper_t *out; /* NULL before the first frame */
    enum roce_link link;
};

struct suite_frame {
    uint64_t time; /* capture time in ns */
    uint32_t cap_len, wire_len;
};

int suite_file_open(struct suite_file *file, const char *path, struct error *error);

/* Writes a frame. Returns 0, or -1 and an error. All frames of a file must have the same link
 * layer. */
int suite_file_write(struct suite_file *file, enum roce_link link, const struct suite_frame *frame,
                     const uint8_t *data, struct error *error);

/* Closes the file. Returns 0, or -1 and an error if some data could not be written. `error` may be
 * NULL. */
int suite_file_close(struct suite_file *file, struct error *error);

/* ---- the folder of captures --------------------------------------------------------------------
 */

struct suite_folder {
    char path[1024];
    char name[128];
    char work[1100];    /* temporary folder; "" after its removal */
    char capture[1300]; /* path at which the caller writes the capture */
    bool replace;       /* a capture of this name is replaced */
    struct manifest manifest;
    const struct manifest_row *row; /* row of the replaced capture, or NULL */
};

struct suite_row {
    const char *peer, *shows; /* may be NULL */
    uint32_t frames;
    enum outcome expected;
};

/* Creates the folder if it does not exist, and a temporary folder. Returns 0, or -1 and an error.
 * It is an error if the folder is not writable, or if it has a capture of this name and `replace`
 * is false. Call suite_folder_close() in both cases. */
int suite_folder_open(struct suite_folder *folder, const char *path, const char *name, bool replace,
                      struct error *error);

/* Moves the capture to its final path and writes its row into the manifest. If the row replaces an
 * old one, columns without a new value keep the old value. Returns 0, or -1 and an error. */
int suite_folder_keep(struct suite_folder *folder, const struct suite_row *row,
                      struct error *error);

/* Removes the temporary folder and all files in it. */
void suite_folder_close(struct suite_folder *folder);

#endif
