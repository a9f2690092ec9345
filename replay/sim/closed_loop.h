/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop: our RNIC stands for both ends. What the capture shows that the requester posted is
 * posted, at its times; what it shows that the responder had, is there; between the two lies a link
 * in virtual time, on which edit.h does what it likes with the frames. So each clean capture is as
 * many tests as there are edits and seeds.
 *
 * Nothing recorded can be compared with then. The rules that hold instead:
 *
 *   - Each end is judged by rnic/flow with what it sent and what reached it: no ERROR of its own.
 *     After a forged packet reached it, an ERROR is counted only: of two different packets with one
 *     PSN an observer cannot tell which one was executed.
 *   - Every work request completes, in order, with the status that it has without edits; its
 *     result, what is received, and all memory are what they are without edits.
 *
 * The second is not asked where edits made up packets that were never sent (a field set, the ICRC
 * made right), nor where they took as many frames in a row as a requester may try: then giving up
 * is right. A READ of bytes that a later request changes may bring either, if it is repeated.
 *
 * One of the ends may be the recording instead (closed_recorded.h): it sends what was captured, at
 * its times, through the edits, and reacts to nothing. Then only our end is judged; what completes,
 * is received and is in memory is compared only where no frame was lost, changed or moved, for the
 * recording does not send anything again.
 *
 * The connections, and the two directions of one, are played one after the other, on the memory
 * that those before them left. QPs are connected without the connection manager; its exchanges are
 * played after that, each by itself: closed_cm.h; then what is not acknowledged: closed_stream.h.
 */
#ifndef REPLAY_SIM_CLOSED_LOOP_H
#define REPLAY_SIM_CLOSED_LOOP_H

#include "base/error.h"
#include "sim/cm_loop.h"
#include "sim/dgram_loop.h"
#include "engine/rc_compare_responses.h"
#include "impair/impair.h"
#include "sim/completion_log.h"
#include "engine/rc_requester.h"
#include "infer/roles.h"
#include "infer/infer_work_requests.h"

#define CLOSED_LOOP_REASON_MAX 320u

/* One run of the drive, played once. */
struct rc_loop_result {
    const struct rc_direction *run;
    enum verdict verdict;
    char reason[CLOSED_LOOP_REASON_MAX]; /* why it is skipped or fails; of a pass, why less was
                                            asked */
    struct work_requests works;
    struct completion_log sent, received;
    uint64_t *page; /* hash of each page that a request can change, after the last one */
    size_t page_cnt, page_cap;
    uint64_t frames, lost, damaged, forged, repeated; /* `repeated`: requests sent again */
    uint32_t errors;                                  /* ERRORs of either end */
    uint32_t doubtful; /* ... after packets that nobody sent reached it */
    bool moved; /* a frame was lost, changed, not at its time, or one more found no receive WQE */
    bool gave_up;
    bool stuck; /* not all work requests completed */
};

struct closed_loop {
    const struct session *drive;
    const struct closed_loop_sides *ends;
    uint64_t seed;
    struct rc_loop_result *conn; /* one for each run of the drive */
    size_t cnt;
    struct cm_loop_result *cm; /* one for each exchange, if ours is at both ends */
    size_t cm_cnt;
    struct dgram_loop_result streams; /* of UC and UD */
    uint64_t applied[IMPAIR_RULES_MAX];
};

/* Which ends our RNIC stands for, of enum replay_side. */
struct closed_loop_sides {
    unsigned sides;
    const struct cm_exchanges *exchanges; /* of the communication manager, or NULL */
    const struct dgram_streams *streams;  /* of UC and UD, or NULL */
    const struct rc_requester *post; /* which answers were taken; only if ours requests alone */
};

/* Where what was exchanged is written: record.h. NULL: nowhere. */
struct sim_pcap;

/* Plays all runs once. 0, or -1 and an error. closed_loop_free() is wanted in both cases. */
int closed_loop_play(struct closed_loop *closed, const struct session *session,
                     const struct closed_loop_sides *ends, const struct impair_rules *edits,
                     uint64_t seed, struct sim_pcap *pcap, struct error *error);
void closed_loop_free(struct closed_loop *closed);

/* Judges a play with edits against one without. */
void closed_loop_compare(struct closed_loop *closed, const struct closed_loop *clean);

/* FAIL if one failed, PASS if one passed and none failed, else SKIPPED. */
enum verdict closed_loop_verdict(const struct closed_loop *closed);

#endif
