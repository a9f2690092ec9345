/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live script: what a replay against a live responder does, in the order of the capture. It is
 * written by a replay against our own RNIC (drive.h): each time the responder's user acts there,
 * the far device's user has to do the same.
 */
#ifndef REPLAY_LIVE_LIVE_SCRIPT_H
#define REPLAY_LIVE_LIVE_SCRIPT_H

#include "engine/rc_responder.h"

enum live_event_kind {
    LIVE_RECV,     /* the agent posts a receive WQE of `len` bytes on `run` */
    LIVE_STORE,    /* ... stores `len` bytes at `va` of key `rkey` of `device` */
    LIVE_WITHDRAW, /* ... deregisters that key */
    LIVE_REGISTER, /* ... registers it again */
    LIVE_FRAME,    /* we send the frame of `step`, at step `when` */
    LIVE_ANSWER    /* the capture has the answer `step` here */
};

struct live_event {
    enum live_event_kind kind;
    uint32_t pkt; /* index into trace.pkt: when */
    uint32_t seq; /* order among those of one packet */
    uint32_t run;
    uint32_t step, when;
    uint32_t device;
    uint32_t rkey;
    uint32_t len;
    uint64_t va;
    size_t byte; /* STORE: the first of them in script.byte */
};

struct live_script {
    struct live_event *event;
    size_t cnt, cap;
    size_t pending; /* first event whose packet is not known yet */
    size_t initial; /* events before this one are the memory's initial image */
    uint8_t *byte;
    size_t byte_cnt, byte_cap;
};

/* A watch that writes the script, for rc_responder_play(). live_script_free() is wanted. */
struct session_watch live_script_watch(struct live_script *script);

/* Adds the recorded answers and puts all in order. 0, or -1 without memory. */
int live_script_finish(struct live_script *script, const struct session *session);
void live_script_free(struct live_script *script);

#endif
