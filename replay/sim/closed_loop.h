/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop: our RNIC replaces both endpoints of each recorded connection. A simulated link
 * between the endpoints loses, delays and changes frames (impairments). One capture thus becomes a
 * test with any number of impairments and seeds.
 *
 * report/report_loop.c calls these functions:
 *
 *   1. closed_loop_play() without impairments produces the reference.
 *   2. closed_loop_play() with impairments and a seed. It plays the RC directions one after another
 *      (rc_loop.h), then each CM exchange (cm_loop.h), then all datagram streams together
 *      (dgram_loop.h). An RC direction begins with the memory contents that the previous direction
 *      left. Work requests are posted at the recorded times.
 *   3. closed_loop_compare() compares both plays, closed_loop_verdict() returns the verdict.
 *   4. closed_loop_free() frees each play.
 *
 * A play with impairments cannot be compared with the recorded packets. So two other checks are
 * made:
 *
 *   1. Each endpoint obeys the protocol rules. The analysis engine rnic/flow judges the frames that
 *      the endpoint sent and received, and must report no ERROR about the endpoint. After the
 *      endpoint received a forged packet (a changed field with a corrected ICRC), ERRORs are only
 *      counted, because rnic/flow cannot decide which of two different packets with one PSN the
 *      endpoint executed.
 *   2. Work requests complete in order, with the status and data of the reference. The same
 *      receives complete as in the reference, and memory ends with equal bytes.
 *
 * The second check is skipped after a forged packet, for all later directions too. The requester
 * gives up if the link lost all transmissions of a request, or lost the NAK of a responder that
 * entered the error state. Then the completions before that of the failed request are compared, and
 * the receives that completed, but not the memory. Later directions skip the second check. If a
 * later request changes the data of a READ, the data of the READ may differ from the reference,
 * because the READ may have been retransmitted.
 *
 * With the option --side, a recorded peer (recorded_peer.h) replaces one endpoint. The recorded
 * peer sends the captured frames at their times and does not react to any packet. Only our endpoint
 * is judged. The second check is made only if no frame was lost, changed or delayed, because the
 * recorded peer retransmits nothing.
 *
 * The caller owns all structs. Functions that return an int return -1 if out of memory.
 */
#ifndef REPLAY_SIM_CLOSED_LOOP_H
#define REPLAY_SIM_CLOSED_LOOP_H

#include "base/error.h"
#include "engine/compare/rc_compare_responses.h"
#include "engine/play/rc_requester.h"
#include "impair/impair.h"
#include "infer/infer_work_requests.h"
#include "infer/roles.h"
#include "sim/cm_loop.h"
#include "sim/completion_log.h"
#include "sim/dgram_loop.h"

#define CLOSED_LOOP_REASON_MAX 320u

/* Result of one RC direction in one play of the capture. */
struct rc_loop_result {
    const struct rc_direction *run;
    enum verdict verdict;
    char reason[CLOSED_LOOP_REASON_MAX]; /* reason why the direction failed or was skipped */
    struct work_requests works;
    struct completion_log sent, received;
    uint64_t *page; /* hash of each memory page that a request can change, at the end of the play */
    size_t page_cnt, page_cap;
    uint64_t frames;                /* number of frames sent */
    uint64_t lost, damaged, forged; /* number of sent frames that the link lost, damaged or
                                     * forged (changed so that the receiver accepts them) */
    uint64_t repeated;              /* number of requests retransmitted */
    uint32_t errors;                /* number of findings about our endpoints that the oracles
                                     * count (flow_oracle.h), without those in `doubtful` */
    uint32_t doubtful; /* number of findings about an endpoint that its oracle counted after the
                        * endpoint had received a forged packet */
    bool moved;        /* true: a frame was lost, changed or delayed, or it was duplicated and the
                        * capture has RNR NAKs, so that the copy may find no receive WQE */
    bool gave_up;      /* the requester gave up, and the impairments of the link explain this */
    bool stuck;        /* some work requests never completed */
};

struct closed_loop {
    const struct session *drive;
    const struct closed_loop_sides *ends;
    uint64_t seed;
    struct rc_loop_result *conn; /* one element for each RC direction of the session */
    size_t cnt;
    struct cm_loop_result *cm; /* one element for each CM exchange, if our RNIC is both endpoints */
    size_t cm_cnt;
    struct dgram_loop_result streams; /* result of the datagram streams (UC and UD) */
    uint64_t applied[IMPAIR_RULES_MAX];
};

/* Options of a play. `sides`: endpoints that our RNIC replaces, bits of enum replay_role.
 * `exchanges` and `streams`: traffic to play in addition to RC. */
struct closed_loop_sides {
    unsigned sides;
    const struct cm_exchanges *exchanges; /* CM exchanges of the capture, or NULL */
    const struct dgram_streams *streams;  /* datagram streams of the capture, or NULL */
    const struct rc_requester *post;      /* outcome of each recorded response (enum resp_outcome);
                                           * used only if our RNIC replaces the requester alone */
};

/* File to which a play writes its frames (sim_pcap.h). */
struct sim_pcap;

/* Plays the capture once. Returns 0, or -1 and an error. Call closed_loop_free() in both cases. */
int closed_loop_play(struct closed_loop *closed, const struct session *session,
                     const struct closed_loop_sides *ends, const struct impair_rules *edits,
                     uint64_t seed, struct sim_pcap *pcap, struct error *error);
void closed_loop_free(struct closed_loop *closed);

/* Compares a play with impairments, `closed`, with the reference `clean`. Sets the verdicts in
 * `closed`. */
void closed_loop_compare(struct closed_loop *closed, const struct closed_loop *clean);

/* Returns FAIL if a part of the play failed, else PASS if a part passed, else SKIPPED. */
enum verdict closed_loop_verdict(const struct closed_loop *closed);

#endif
