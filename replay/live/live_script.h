/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live script: the events of a replay against a live responder, in the order of the capture.
 * rc_responder_play(), the replay against our own RNIC, finds which receives the responder's
 * program posted and which memory it wrote or registered, and fills the script. The agent then
 * repeats these actions on the target.
 *
 *   1. live_script_watch() returns the callbacks through which rc_responder_play() fills the
 *      script.
 *   2. live_script_finish() adds the recorded responses and sorts the events.
 *   3. live_script_free()
 */
#ifndef REPLAY_LIVE_LIVE_SCRIPT_H
#define REPLAY_LIVE_LIVE_SCRIPT_H

#include "engine/play/rc_responder.h"

enum live_event_kind {
    LIVE_RECV, /* the agent posts a receive WQE of `len` bytes on the target's QP of direction
                * `run` */
    /* The agent stores `len` bytes at address `va` of the region with R_Key `rkey`. */
    LIVE_STORE,
    LIVE_WITHDRAW, /* the agent deregisters the region with R_Key `rkey` */
    LIVE_REGISTER, /* the agent registers the region with R_Key `rkey` again */
    /* We send the frame of request `step` of direction `run` when event `when` of the direction is
     * due, at the capture time of packet `pkt`. `when` differs from `step` if the recorded
     * responder executed the request before the request was captured. */
    LIVE_FRAME,
    LIVE_ANSWER /* the capture has a response at this point: we wait for the target's response to
                 * the same request */
};

struct live_event {
    enum live_event_kind kind;
    uint32_t pkt; /* index into trace.pkt of the packet at which the event happens */
    uint32_t seq; /* order among the events of one packet */
    uint32_t run;
    uint32_t step, when;
    uint32_t device;
    uint32_t rkey;
    uint32_t len;
    uint64_t va;
    size_t byte; /* LIVE_STORE: index of the first byte in script.byte */
};

struct live_script {
    struct live_event *event;
    size_t cnt, cap;
    size_t pending; /* index of the first event without a valid `pkt`; the next LIVE_FRAME sets
                     * `pkt` for all these events */
    size_t initial; /* number of events that store the initial contents of memory */
    uint8_t *byte;
    size_t byte_cnt, byte_cap;
};

/* Returns callbacks that add events to the script. Call live_script_free() at the end. */
struct session_watch live_script_watch(struct live_script *script);

/* Adds the recorded responses and sorts the events. Returns 0, or -1 if out of memory. */
int live_script_finish(struct live_script *script, const struct session *session);
void live_script_free(struct live_script *script);

#endif
