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
 * ICRC are equal. A retransmission is equal to the first transmission, so the times decide which of
 * them match. The times of the packets also limit the difference between the two clocks, because in
 * both directions a packet cannot arrive before it was sent. The memory used is 60 bytes for each
 * packet.
 */
#ifndef REPLAY_CHECK_TWO_POINTS_H
#define REPLAY_CHECK_TWO_POINTS_H

#include <stdio.h>
#include "check/check.h"

struct two_points;

/* Returns an empty comparison, or NULL if out of memory. */
struct two_points *two_points_new(void);
void two_points_del(struct two_points *points); /* Frees the comparison. `points` may be NULL. */

/* Returns the watch that records capture 0 (a) or 1 (b). */
struct check_watch two_points_watch(struct two_points *points, unsigned capture);

/* Sets the times of the first and the last frame, of any protocol, of capture 0 or 1, ns. A packet
 * of the other capture outside this time is not compared. */
void two_points_ran(struct two_points *points, unsigned capture, uint64_t first_time,
                    uint64_t last_time);

/* Compares the captures. `name` are the names of a and b. Returns 0, or -1 and an error if out of
 * memory or if no packet is in both captures. Called once, before two_points_print() and
 * two_points_json(). */
int two_points_compare(struct two_points *points, const char *const name[2], struct error *error);

/* Prints the result of the comparison. */
void two_points_print(FILE *out, const struct two_points *points, const char *const name[2]);

/* Writes the result as one JSON line of type `comparison`. Returns 0, or -1 if it could not be
 * written. */
int two_points_json(FILE *out, const struct two_points *points, const char *const name[2]);

#endif
