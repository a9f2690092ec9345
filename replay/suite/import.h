/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Import: adds a capture, or the packets of some of its connections, to a folder of regression
 * tests for `rocedrill replay FOLDER`. Writes captures/NAME.pcap, and a row in manifest.tsv.
 */
#ifndef REPLAY_SUITE_IMPORT_H
#define REPLAY_SUITE_IMPORT_H

#include <stdint.h>
#include "base/error.h"
#include "suite/select_packets.h"

struct import_options {
    const char *folder;
    const char *name;  /* file name of the new capture without ending; NULL: file name of the
                        * original capture */
    const char *peer;  /* implementation that was recorded; NULL: a replaced capture keeps the peer
                        * in its manifest row */
    const char *shows; /* description of the capture for the manifest, or NULL */
    bool replace;      /* replace a capture of this name */
    bool addresses;    /* anonymize addresses */
    bool payload;      /* anonymize the payload */
    uint32_t want[SELECT_MAX];
    size_t want_cnt;
};

/* Result of an import. */
struct import_result {
    char name[128];
    uint32_t frames, of;  /* number of frames written (`frames`) and in the original capture
                           * (`of`) */
    uint32_t unknown;     /* number of datagrams that were not imported because their contents
                           * are unknown */
    uint32_t payloads;    /* number of packets with a changed payload */
    uint32_t cut;         /* number of packets with a payload that the snaplen cut; a replay does
                           * not compare this payload */
    uint32_t macs, ips;   /* number of addresses replaced */
    enum verdict verdict; /* verdict of the replay of the new capture */
    bool all;       /* true: every connection was imported. false: `text` names the imported ones */
    char text[256]; /* for example "connection #2, #5" */
};

/* Imports a capture into a folder. Returns 0, or -1 and an error. After an error, the folder has no
 * new file, and still has the capture that was to be replaced. */
int import_capture(const char *path, const struct import_options *wanted,
                   struct import_result *added, struct error *error);

#endif
