/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Capture set: the captures that a command reads. The user names single captures or folders. A
 * folder adds all captures in it and in its subfolders, in the order of their paths. A file is a
 * capture if its name has the ending of a capture (is_capture_name()). The file manifest.tsv of the
 * folder (manifest.h) has the expected result of each capture.
 */
#ifndef REPLAY_SUITE_CAPTURE_SET_H
#define REPLAY_SUITE_CAPTURE_SET_H

#include "base/error.h"
#include "suite/manifest.h"
#include "util/shard.h"

struct capture_item {
    char *path; /* path to open; "-" is standard input */
    char *peer; /* peer that the manifest names, or NULL */
    enum outcome expected;
    size_t position; /* number of the capture in the whole list, from 0; capture_set_shard() does
                      * not change this number */
};

struct capture_set {
    struct capture_item *item;
    size_t cnt;
    size_t cap;
    const char *folder; /* first folder that the user named, owned by the caller, or NULL */
};

/* Adds a capture, "-", or all captures of a folder, without opening the files. Returns 0, or -1 and
 * an error. It is an error if a folder cannot be read or has no capture, or if a manifest is
 * malformed or names a missing capture. Call capture_set_free() in both cases. */
int capture_set_add(struct capture_set *captures, const char *path, struct error *error);

/* Keeps only the captures that belong to one shard (part) of the run. Does nothing if shard->count
 * is 0. Returns 0, or -1 and an error. */
int capture_set_shard(struct capture_set *captures, struct shard *shard, struct error *error);

/* Checks that no output file of a command is one of the captures. Returns 0, or the exit status
 * after an error. */
int capture_set_is_no_output(const struct capture_set *captures, const char *const *out,
                             unsigned cnt);
void capture_set_free(struct capture_set *captures);

/* Returns whether a file name has the ending of a capture: .pcap, .pcapng, .cap or .erf, optionally
 * followed by .gz or .zst. */
bool is_capture_name(const char *name);

#endif
