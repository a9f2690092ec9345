/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Writing into a folder of captures: everything is made in a folder of its own beside captures/ and
 * moved there at the end, so that a failure leaves nothing behind.
 */
#ifndef REPLAY_SUITE_SUITE_WRITER_H
#define REPLAY_SUITE_SUITE_WRITER_H

#include <pcap/pcap.h>
#include "suite/manifest.h"
#include "capture/capture_reader.h"

/* ---- a capture: pcap, nanoseconds --------------------------------------------------------------
 */

struct add_file {
    const char *path;
    pcap_t *dead;
    pcap_dumper_t *out; /* from the first frame on */
    enum roce_link link;
};

struct add_frame {
    uint64_t time; /* ns */
    uint32_t cap_len, wire_len;
};

int add_file_open(struct add_file *file, const char *path, struct fault *fault);

/* 0, or -1 and a fault, also for a link layer other than that of the frames before. */
int add_file_write(struct add_file *file, enum roce_link link, const struct add_frame *frame,
                   const uint8_t *data, struct fault *fault);

/* 0, or -1 and a fault, which may be NULL, if not all could be written. */
int add_file_close(struct add_file *file, struct fault *fault);

/* ---- the folder --------------------------------------------------------------------------------
 */

struct add_folder {
    char path[1024];
    char name[128];
    char work[1100];    /* folder of its own, "" once it is gone */
    char capture[1300]; /* where the capture is to be written */
};

struct add_row {
    const char *peer, *shows; /* or NULL */
    uint32_t frames;
    enum outcome expected;
};

/* Makes the folder if there is none. 0, or -1 and a fault: it cannot be written, or has the name
 * already. add_folder_close() is wanted in both cases. */
int add_folder_open(struct add_folder *folder, const char *path, const char *name,
                    struct fault *fault);

/* The golden outputs of the capture: decode, check and replay, each in a process of its own. 0, or
 * -1 and a fault. */
int add_folder_golden(struct add_folder *folder, const char *peer, struct fault *fault);

/* Moves all to its place and adds the row to the manifest. 0, or -1 and a fault. */
int add_folder_keep(struct add_folder *folder, const struct add_row *row, struct fault *fault);

/* Removes what was not kept. */
void add_folder_close(struct add_folder *folder);

#endif
