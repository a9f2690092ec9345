/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Narrowing: selects the frames of a capture that a command uses. The options --first, --from,
 * --to, --host and --connection have the same meaning in check, decode, replay and plot: the
 * command works as if the capture contained only the selected frames, but the frames keep their
 * numbers. In plot, --connection is different: it selects the connections to draw and can be
 * repeated, so plot uses NARROW_OTHER_OPTIONS.
 *
 * A command adds NARROW_OPTIONS to its table of options, passes each of these options to
 * narrow_option(), and passes the result to the reader (reader_narrow()). check/connection_frames.h
 * finds the frames of --connection.
 */
#ifndef REPLAY_CAPTURE_NARROW_H
#define REPLAY_CAPTURE_NARROW_H

#include <stdbool.h>
#include <stdint.h>
#include "util/cli_opts.h"

struct captured_frame;

/* Keys that the option parser (util/cli_opts.h) returns for --first, --from, --to, --host and
 * --connection. */
enum {
    NARROW_FIRST = CLI_LONG + 1000,
    NARROW_FROM,
    NARROW_TO,
    NARROW_HOST,
    NARROW_CONNECTION,
    NARROW_END,
};

/* clang-format off */
#define NARROW_OPTIONS                                                                             \
    {"connection", NARROW_CONNECTION, "N", "use only the packets and CM messages of connection N in rocedrill check's report"}, \
    NARROW_OTHER_OPTIONS
#define NARROW_OTHER_OPTIONS                                                                       \
    {"host", NARROW_HOST, "ADDRESS", "use only packets from or to this IP address"},               \
    {"from", NARROW_FROM, "TIME", "skip the frames before TIME, which counts from the first frame, for example 2.5s or 300ms"}, \
    {"to", NARROW_TO, "TIME", "skip the frames after TIME, which counts from the first frame"}, \
    {"first", NARROW_FIRST, "N", "read only the first N frames"}
/* clang-format on */

struct narrow {
    bool any;       /* at least one of these options was given */
    uint32_t first; /* number of frames from the start of the capture; 0: no limit */
    uint64_t from;  /* start of the selected time, ns after the first frame */
    uint64_t to;    /* end of the selected time, ns after the first frame; UINT64_MAX: no limit */
    bool has_host;
    uint8_t host[16]; /* IPv4 addresses as ::ffff:a.b.c.d */
    bool has_connection;
    uint32_t connection;
    /* Bit set of the frames of `connection`, indexed by frame number; NULL: not yet known. */
    uint8_t *frames;
    uint32_t frame_end; /* number of bits in `frames` */
};

/* Initializer that selects all frames. */
#define NARROW_NONE                                                                                \
    {                                                                                              \
        .to = UINT64_MAX                                                                           \
    }

/* Stores one option with a key from NARROW_FIRST to NARROW_END - 1 and its value `text`. Returns 0.
 * After an invalid value, prints an error and returns the exit status. */
int narrow_option(struct narrow *narrow, const char *command, int key, const char *text);

/* Returns whether the frame is selected. `start` is the time of the first frame, ns since 1970. */
bool narrow_takes(const struct narrow *narrow, const struct captured_frame *frame, uint64_t start);

void narrow_free(struct narrow *narrow);

#endif
