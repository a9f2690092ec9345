/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drive: plays the recorded requesters' frames, byte for byte and at the times of the capture, into
 * software RNICs that stand where the recorded responders stood, and keeps what they answer.
 *
 * One RNIC for each responder address, with all the QPs that the capture shows there, because they
 * share memory. Before a frame is given to it, the RNIC's user does what the recorded responder's
 * user must have done by then: posts a receive WQE, stores bytes, invalidates a key.
 */
#ifndef REPLAY_ENGINE_RC_RESPONDER_H
#define REPLAY_ENGINE_RC_RESPONDER_H

#include "base/error.h"
#include "infer/infer_setup.h"
#include "infer/memory_log.h"

/* One frame that our RNIC sent. */
struct tx_response {
    uint32_t event; /* of the side: the request that drew it out */
    uint64_t time;
    int64_t rel;
    uint32_t psn;
    uint32_t msn;
    uint32_t dest_qp;
    uint16_t pkey;
    uint8_t opcode;
    uint8_t syndrome;
    bool se;
    bool ackreq;
    bool matched; /* for the comparison: a recorded answer was matched with it */
    uint64_t orig;
    uint32_t payload_len;
    uint64_t hash;          /* of the payload */
    const uint8_t *payload; /* NULL if it was too much to keep */
};

/* How far our responder was after a step that brought it on. */
struct epsn_advance {
    uint32_t event;
    int64_t epsn; /* rel of the next PSN expected */
    uint32_t msn;
};

struct rc_direction {
    struct inferred_setup setup;
    struct recorded_direction *stretch; /* a stretch of a side, owned; NULL for a whole side */
    const char *failed;                 /* why the RNIC could not be set up like this, or NULL */
    uint32_t host;                      /* index into session.dir */
    struct tx_response *response;       /* in the order they were sent */
    size_t response_cnt;
    size_t response_cap;
    struct epsn_advance *advance;
    size_t advance_cnt;
    size_t advance_cap;
    uint32_t error_event; /* step at which our QP went to the error state, or EVENT_NONE */
    uint32_t recv_posted; /* receive WQEs */
};

struct responder_host {
    uint8_t addr[16];
    enum roce_encap encap;
    struct shadow_memory memory;
    const char *failed;
};

/* Told in order what a responder's user does and when a request is given to it, so that the same
 * can be done with a device elsewhere. Each may return -1: no memory. */
struct session_watch {
    void *ctx;
    int (*recv)(void *ctx, uint32_t dir, uint32_t len);
    /* `initial`: it was there before anything was played. */
    int (*store)(void *ctx, uint32_t host, uint32_t rkey, uint64_t va, uint8_t byte, bool initial);
    int (*key)(void *ctx, uint32_t host, uint32_t rkey, bool valid);
    /* Step `step`'s frame is played when packet `pkt` of the trace was captured, at step `when`. */
    int (*frame)(void *ctx, uint32_t dir, uint32_t event, uint32_t when, uint32_t pkt);
};

struct session {
    const struct trace *trace;
    const struct session_watch *watch; /* or NULL */
    struct setup_override *override;   /* or NULL */
    struct memory_log *memory_log;     /* or NULL */
    struct rc_direction *dir;          /* one for each stretch of each side of the connections */
    size_t dir_cnt;
    size_t dir_cap;
    struct responder_host *host;
    size_t host_cnt;
    size_t host_cap;
    uint8_t **kept; /* payloads of answers */
    size_t kept_cnt;
    size_t kept_cap;
    uint64_t kept_len;
};

struct session_options {
    const struct session_watch *watch; /* or NULL */
    struct setup_override *override;   /* or NULL: all is derived */
    struct memory_log *memory_log;     /* receives what is put into memory, or NULL */
};

/* Derives and plays all sides. 0, or -1 and an error. session_free() is wanted in both cases. */
int session_play(struct session *session, const struct trace *trace,
                 const struct connections *connections, const struct session_options *options,
                 struct error *error);

/* The same in two steps. What is derived stays as it is while it is played, so that another thread
 * may play the other ends meanwhile (rc_requester.h). */
int session_infer(struct session *session, const struct trace *trace,
                  const struct connections *connections, const struct session_options *options,
                  struct error *error);
int rc_responder_play(struct session *session, struct error *error);
void session_free(struct session *session);

/* Adds an answer to what the run's responder sent, without its payload; NULL without memory. */
struct tx_response *session_add_response(struct rc_direction *dir, const struct roce_pkt *pkt,
                                         uint32_t event, uint64_t time, int64_t rel);

/* Hash of a payload, for comparing ones that were not kept. */
uint64_t payload_hash(const uint8_t *p, size_t len);

#endif
