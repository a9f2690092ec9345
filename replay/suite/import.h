/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Add: puts a capture, or the interesting part of it, into a folder that `rocedrill replay FOLDER`
 * replays as a gate: captures/NAME.pcap, its golden outputs beside it, and its row in manifest.tsv.
 */
#ifndef REPLAY_SUITE_IMPORT_H
#define REPLAY_SUITE_IMPORT_H

#include <stdint.h>
#include "base/error.h"
#include "suite/select_packets.h"

struct import_options {
    const char *folder;
    const char *name;  /* without an ending; NULL: that of the capture */
    const char *peer;  /* implementation that was recorded, or NULL */
    const char *shows; /* what it shows, for the manifest, or NULL */
    bool addresses;    /* are anonymized */
    bool payload;      /* is */
    uint32_t want[SELECT_MAX];
    size_t want_cnt;
};

/* What was added. */
struct import_result {
    char name[128];
    uint32_t frames, of;  /* frames written, and of the capture */
    uint32_t unknown;     /* datagrams left out, for nobody knows what is in them */
    uint32_t payloads;    /* packets whose payload was changed */
    uint32_t macs, ips;   /* addresses changed */
    enum verdict verdict; /* of the replay of what was written */
    bool all;             /* every connection; else those of `text` */
    char text[256];       /* "connection 2 (...)" */
};

/* 0, or -1 and an error: then nothing was left in the folder. */
int import_capture(const char *path, const struct import_options *options,
                   struct import_result *added, struct error *error);

#endif
