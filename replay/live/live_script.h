/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live script: what to do in a replay against a live responder, in the order of the capture. A
 * replay against our own RNIC writes it: whatever the responder's program does there, the agent
 * does on the target.
 *
 *   1. live_script_watch() returns a watch for rc_responder_play(), which fills the script.
 *   2. live_script_finish() adds the recorded responses and sorts the events.
 *   3. live_script_free()
 */
#ifndef REPLAY_LIVE_LIVE_SCRIPT_H
#define REPLAY_LIVE_LIVE_SCRIPT_H

#include "engine/rc_responder.h"

enum live_event_kind {
    LIVE_RECV,     /* the agent posts a receive of `len` bytes on the QP of `run` */
    LIVE_STORE,    /* the agent stores `len` bytes at `va` of the region of `rkey` */
    LIVE_WITHDRAW, /* the agent deregisters that region */
    LIVE_REGISTER, /* the agent registers that region again */
    LIVE_FRAME,    /* we send the frame of `step`, at event `when` */
    LIVE_ANSWER    /* the capture has a response here */
};

struct live_event {
    enum live_event_kind kind;
    uint32_t pkt; /* index of the packet at which it happens */
    uint32_t seq; /* order of events with the same packet */
    uint32_t run;
    uint32_t step, when;
    uint32_t device;
    uint32_t rkey;
    uint32_t len;
    uint64_t va;
    size_t byte; /* STORE: index of its first byte in script.byte */
};

struct live_script {
    struct live_event *event;
    size_t cnt, cap;
    size_t pending; /* first event whose packet is not known yet */
    size_t initial; /* events before this one store the initial content of memory */
    uint8_t *byte;
    size_t byte_cnt, byte_cap;
};

/* Returns a watch that fills the script. live_script_free() is needed. */
struct session_watch live_script_watch(struct live_script *script);

/* Adds the recorded responses and sorts the events. Returns 0, or -1 if there is no memory. */
int live_script_finish(struct live_script *script, const struct session *session);
void live_script_free(struct live_script *script);

#endif
