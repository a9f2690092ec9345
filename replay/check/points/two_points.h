/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Two points: compares two captures of the same traffic, taken at two points of its path. Called by
 * check --other-end.
 *
 *   1. two_points_new()
 *   2. check_capture() of each capture with the watch of two_points_watch(), then two_points_ran()
 *   3. two_points_compare(), then two_points_print() and two_points_json()
 *   4. two_points_del()
 *
 * A packet at one point equals a packet at the other point if their addresses, QP, PSN, opcode and
 * ICRC are equal. If a retransmission equals the first transmission, the times show which of the
 * packets match. A damaged packet matches if its ICRC field is equal, or if its addresses, QP, PSN
 * and opcode are equal. No packet arrives before it was sent. So the times of packets in both
 * directions limit the difference between the two clocks. The memory used is 60 bytes for each
 * packet.
 */
#ifndef REPLAY_CHECK_POINTS_TWO_POINTS_H
#define REPLAY_CHECK_POINTS_TWO_POINTS_H

#include <stdio.h>
#include "check/check.h"

struct two_points;

/* The packets of one connection from one endpoint to the other, between the two points. */
struct two_points_path {
    bool from_b;                   /* true: the packets pass capture point b before point a */
    uint64_t packets;              /* number of packets that passed the first point */
    uint64_t lost, damaged;        /* packets lost, and damaged, between the two points */
    uint64_t compared;             /* number of packets that both captures have */
    uint64_t delay_sum, delay_max; /* delays of these packets, ns */
    uint64_t missed[2]; /* packets that were acknowledged, but that capture a or b lacks */
};

/* Returns an empty comparison, or NULL if out of memory. */
struct two_points *two_points_new(void);
void two_points_del(struct two_points *points); /* Frees the comparison. `points` may be NULL. */

/* Returns the callbacks with which check_capture() records capture 0 (a) or 1 (b). */
struct check_watch two_points_watch(struct two_points *points, unsigned capture);

/* Sets the times of the first and the last frame of capture 0 or 1, ns. The frames may have any
 * protocol. Packets that only the other capture has are not compared outside these times. */
void two_points_ran(struct two_points *points, unsigned capture, uint64_t first_time,
                    uint64_t last_time);

/* Compares the captures. `name` are the names of a and b. Returns 0, or -1 and an error if out of
 * memory or if no packet is in both captures. Called once, before two_points_print() and
 * two_points_json(). */
int two_points_compare(struct two_points *points, const char *const name[2], struct error *error);

/* Returns the packets from `src` to QP `dest_qp` of `dst`, or NULL if neither capture has one. */
const struct two_points_path *two_points_path(const struct two_points *points,
                                              const uint8_t src[16], const uint8_t dst[16],
                                              uint32_t dest_qp);

/* Returns whether both captures have the packet in frame `frame` of capture a. */
bool two_points_passed(const struct two_points *points, uint32_t frame);

/* Returns whether the delays of packets are known. For this, both captures need packets of both
 * directions in common, and the times of these packets must not contradict each other. */
bool two_points_has_delays(const struct two_points *points);

/* Prints the result of the comparison. */
void two_points_print(FILE *out, const struct two_points *points, const char *const name[2]);

/* Writes the result as one JSON line of type `comparison`. Returns 0, or -1 if it could not be
 * written. */
int two_points_json(FILE *out, const struct two_points *points, const char *const name[2]);

#endif
