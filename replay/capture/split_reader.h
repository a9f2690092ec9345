/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split reader: reads a mapped capture with several threads. Each thread parses the packets of one
 * "part" and then judges them: it passes them to judge(), a callback of the consumer. A part is the
 * packets between some pairs of hosts ("Several flows" in flow/flow.h). Used by check.
 *
 * The file is divided into windows of at most 1024 frames. For each window, one thread finds the
 * records and the part of each frame (split_index.h). A thread parses only the frames of its part.
 * So parsed packets do not move between the caches of two processors. The thread that is the last
 * to finish parsing its frames of a window calls look(). Then each thread judges its frames of this
 * window. A thread that has finished parses up to three more windows, or indexes windows that all
 * threads need. So the thread with the fewest packets does most of the indexing.
 *
 * A packet whose judgement depends on packets of other parts ends the split: a wrong ICRC
 * (icrc_trust.h), or a malformed RoCE packet. The caller then merges the parts, and parallel_reader
 * reads the rest. Most captures have no such packet.
 */
#ifndef REPLAY_CAPTURE_SPLIT_READER_H
#define REPLAY_CAPTURE_SPLIT_READER_H

#include "base/error.h"
#include "capture/parsed_frame.h"

#define SPLIT_PARTS_MAX 16u /* maximum number of parts of a capture */

/* If a packet precedes another one by at least this number of frames, it is judged first. */
#define SPLIT_AHEAD 4096u

/* Flag of frame_batch.part: while the packet is judged, all other threads wait. Every thread's
 * batch contains all packets with this flag. For a packet of another part, only the member `number`
 * is set. */
#define SPLIT_ALONE 0x80u

struct split_consumer {
    void *user;
    bool icrc; /* check the ICRCs; if unset, the status of each packet is UNVERIFIED */
    /* Hash secret of the struct roce_flow to which the digests are passed. */
    const struct roce_hash_secret *secret;
    unsigned parts;
    const uint8_t *part_of; /* for each group of hosts, the number of its part */
    /* Called for every window in the order of the capture, before its packets are judged. Returns
     * false to end the split before this window. `frames` is the number of its last frame. */
    bool (*look)(void *user, const struct capture_reader *reader, const struct frame_counts *counts,
                 uint32_t frames);
    /* Called with the packets of one part. Each part has its own thread. */
    void (*judge)(void *user, unsigned part, const struct frame_batch *frames);
    /* Called for each RoCE packet that was judged, if the split ends before the capture does. */
    void (*judged)(void *user, const struct parsed_frame *item);
};

/* State after the last packet of the capture. */
struct split_end {
    struct roce_flow_look look;
    uint64_t bytes; /* captured bytes of all RoCE packets */
};

/*
 * Assigns each group of hosts to one of `parts` parts. Counts the frames of each group in a sample,
 * the beginning of the capture, so that all parts have about equal numbers of frames. Call it after
 * reader_map_lazily(). Returns the share of the biggest part in the sample, in percent.
 */
unsigned split_choose_parts(const struct capture_reader *reader, unsigned parts,
                            uint8_t part_of[ROCE_FLOW_GROUPS]);

/*
 * Reads the capture with one thread for each part. Call it after reader_map_lazily().
 *
 * Returns 0 at the end of the file. Returns 1 if the split ended earlier: because of a packet, of
 * look(), or of a thread that could not be started. The caller then calls parallel_read(), which
 * continues with the first packet that was not judged. Returns -1 and an error if out of memory, or
 * if the file is malformed. In the second case, all frames before the malformed one were judged.
 * Sets *last at the end of the file and if the file is malformed.
 */
int split_read(struct capture_reader *reader, const struct split_consumer *consumer,
               struct split_end *last, struct error *error);

#endif
