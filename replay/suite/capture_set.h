/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Corpus: the captures that a command is to work on, named one by one or as folders. Of a folder
 * all captures are taken, by their endings, also in folders within it, in the order of their paths;
 * its manifest.tsv (manifest.h) says what is expected of each.
 */
#ifndef REPLAY_SUITE_CAPTURE_SET_H
#define REPLAY_SUITE_CAPTURE_SET_H

#include "suite/manifest.h"

struct corpus_item {
    char *path; /* to open; "-" is standard input */
    char *peer; /* as the manifest says, or NULL */
    enum outcome expected;
};

struct corpus {
    struct corpus_item *item;
    size_t cnt;
    size_t cap;
    bool gate; /* a folder is among what was named */
};

/* Adds a capture, "-", or all of a folder. 0, or -1 and a fault: a folder that cannot be read, that
 * has no capture in it, or a manifest that is broken or names a capture that is not there.
 * corpus_free() is wanted in both cases. A file is not looked at. */
int corpus_add(struct corpus *corpus, const char *path, struct fault *fault);
void corpus_free(struct corpus *corpus);

/* Whether a file name ends like that of a capture: .pcap, .pcapng, .cap, .erf, also with .gz or
 * .zst behind it. */
bool corpus_is_capture(const char *name);

#endif
