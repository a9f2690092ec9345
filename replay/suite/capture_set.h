/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Corpus: the captures that a command is to work on, named one by one or as folders. Of a folder
 * all captures are taken, by their endings, also in folders within it, in the order of their paths;
 * its manifest.tsv (manifest.h) says what is expected of each.
 */
#ifndef REPLAY_SUITE_CAPTURE_SET_H
#define REPLAY_SUITE_CAPTURE_SET_H

#include "base/error.h"
#include "suite/manifest.h"

struct capture_item {
    char *path; /* to open; "-" is standard input */
    char *peer; /* as the manifest says, or NULL */
    enum outcome expected;
};

struct capture_set {
    struct capture_item *item;
    size_t cnt;
    size_t cap;
    bool has_folder; /* a folder is among what was named */
};

/* Adds a capture, "-", or all of a folder. 0, or -1 and an error: a folder that cannot be read,
 * that has no capture in it, or a manifest that is broken or names a capture that is not there.
 * capture_set_free() is wanted in both cases. A file is not looked at. */
int capture_set_add(struct capture_set *captures, const char *path, struct error *error);
void capture_set_free(struct capture_set *captures);

/* Whether a file name ends like that of a capture: .pcap, .pcapng, .cap, .erf, also with .gz or
 * .zst behind it. */
bool is_capture_name(const char *name);

#endif
