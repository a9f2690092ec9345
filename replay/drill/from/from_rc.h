/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drills of RC and XRC connections. The drill has a QP for each direction of the connection. A
 * direction is the requests of one QP and the responses to them (infer/session.h). session_infer()
 * must have inferred the session.
 */
#ifndef REPLAY_DRILL_FROM_FROM_RC_H
#define REPLAY_DRILL_FROM_FROM_RC_H

#include "drill/from/from_drill.h"
#include "engine/replay.h"

/* The first connection that can be replayed. */
#define FROM_RC_FIRST UINT32_MAX

/* Add the lines of a connection. from_rc_responder(): the device is the responder; adds the
 * requests, and the actions of the responder's program. from_rc_requester(): the device is the
 * requester; adds its work requests, and the responses. Return 0, 1 if the capture has no such
 * connection that can be replayed, or -1 and an error. */
int from_rc_responder(struct from_drill *d, struct replay *replay, uint32_t connection);
int from_rc_requester(struct from_drill *d, struct replay *replay, uint32_t connection);

/* Directions of the connection from which the drill is written. */
struct from_directions {
    uint32_t dir[FROM_QPS_MAX]; /* for each QP of the drill: index of its direction in
                                 * session.dir */
    unsigned cnt;
};

/* Chooses the directions of a connection. Returns the same values as from_rc_responder(). */
int from_rc_choose(struct from_drill *d, const struct session *session, uint32_t *connection,
                   struct from_directions *out);

/* Returns the index of the QP for a direction, or -1 if the direction belongs to another
 * connection. */
int from_rc_qp(const struct from_directions *directions, uint32_t dir);

/* Prints the head of a drill of a connection. `role`: role of the device. `rule`: id of the rule
 * that the head names. */
void from_rc_head(FILE *out, const struct session *session, const struct from_directions *q,
                  const char *role, const char *rule);

#endif
