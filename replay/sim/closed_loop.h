/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop: our RNIC takes the place of both endpoints of each recorded connection, with a
 * simulated link between them on which impairments lose, delay and change frames. A capture so
 * gives as many tests as there are impairments and seeds.
 *
 * report/report_loop.c calls it:
 *
 *   1. closed_loop_play() without impairments gives the reference.
 *   2. closed_loop_play() with impairments and a seed. It plays one RC direction after the other on
 * the memory that the one before left (rc_loop.h), then each CM exchange (cm_loop.h), then all
 *      datagram streams together (dgram_loop.h). Work requests are posted at the recorded times.
 *   3. closed_loop_compare() compares the two, closed_loop_verdict() sums up.
 *   4. closed_loop_free() frees each play.
 *
 * There is then no recorded traffic to compare with. Instead two things are checked:
 *
 *   - Each endpoint obeys the rules of rnic/flow: no ERROR in what it sent, given what reached it.
 *     After a forged packet reached it, ERRORs are only counted: an observer cannot tell which of
 * two different packets with one PSN was executed.
 *   - Each work request completes in order with the same status and data as in the reference. The
 * same receives complete, and memory ends with the same bytes.
 *
 * The second check is skipped after a forged packet (a field set, the ICRC corrected) and from
 * where a requester rightly gives up because all its tries were lost. A retransmitted READ may
 * return the data of before or after a later request that changes it.
 *
 * With --side one endpoint is the recording instead (recorded_peer.h): it sends the captured frames
 * at their times and reacts to nothing. Only our endpoint is judged, and the second check is made
 * only if no frame was lost, changed or moved, because the recording retransmits nothing.
 *
 * The caller owns all structs. -1 means that there is no memory.
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

/* Result of one RC direction in one play. */
struct rc_loop_result {
    const struct rc_direction *run;
    enum verdict verdict;
    char reason[CLOSED_LOOP_REASON_MAX]; /* why it failed or was skipped */
    struct work_requests works;
    struct completion_log sent, received;
    uint64_t *page; /* hash of each page that a request can change, after the last request */
    size_t page_cnt, page_cap;
    uint64_t frames, lost, damaged, forged,
        repeated;      /* frames sent; of them lost, damaged, forged; requests retransmitted */
    uint32_t errors;   /* ERRORs of both endpoints */
    uint32_t doubtful; /* ERRORs of an endpoint after a forged packet reached it */
    bool moved; /* a frame was lost, changed or not on time, or a copy found no receive WQE */
    bool gave_up;
    bool stuck; /* not all work requests completed */
};

struct closed_loop {
    const struct session *drive;
    const struct closed_loop_sides *ends;
    uint64_t seed;
    struct rc_loop_result *conn; /* one for each RC direction of the session */
    size_t cnt;
    struct cm_loop_result *cm; /* one for each CM exchange, if our RNIC is both endpoints */
    size_t cm_cnt;
    struct dgram_loop_result streams; /* datagram streams (UC and UD) */
    uint64_t applied[IMPAIR_RULES_MAX];
};

/* Endpoints that our RNIC takes the place of, of enum replay_side. */
struct closed_loop_sides {
    unsigned sides;
    const struct cm_exchanges *exchanges; /* CM exchanges, or NULL */
    const struct dgram_streams *streams;  /* datagram streams, or NULL */
    const struct rc_requester *post; /* responses that the recorded requester took; used only if our
                                        RNIC is the requester alone */
};

/* Where the frames are recorded (sim_pcap.h); NULL: nowhere. */
struct sim_pcap;

/* Plays the capture once. Returns 0, or -1 and an error; closed_loop_free() is needed in both
 * cases. */
int closed_loop_play(struct closed_loop *closed, const struct session *session,
                     const struct closed_loop_sides *ends, const struct impair_rules *edits,
                     uint64_t seed, struct sim_pcap *pcap, struct error *error);
void closed_loop_free(struct closed_loop *closed);

/* Compares a play with impairments to the reference and sets its verdicts. */
void closed_loop_compare(struct closed_loop *closed, const struct closed_loop *clean);

/* Returns FAIL if one part failed, else PASS if one passed, else SKIPPED. */
enum verdict closed_loop_verdict(const struct closed_loop *closed);

#endif
