/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Responder device: our RNIC in place of one responder address during the replay, with its QPs
 * and their shared memory. */
#ifndef REPLAY_ENGINE_PLAY_RC_RESPONDER_DEV_H
#define REPLAY_ENGINE_PLAY_RC_RESPONDER_DEV_H

#include "engine/play/rc_responder.h"
#include "infer/shared_memory.h"

/* Recorded response that has a payload. */
struct recorded_payload {
    int64_t rel;
    uint32_t event;
};

#define NOT_HELD SIZE_MAX

/* State of the replay of one direction. */
struct dir_state {
    struct rc_direction *dir;
    struct rnic_qp *qp;
    bool over;                        /* true: a later connection reused the QPN, so the QP of this
                                       * direction no longer exists */
    uint32_t last;                    /* index into setup.event: our RNIC received the latest
                                       * request at the time of this packet */
    struct recorded_payload *payload; /* recorded responses with a payload, sorted by PSN, then
                                       * capture order */
    size_t payload_cnt;
    size_t held; /* first packet that waits for requests of other connections (shared_memory.h):
                  * index in the array of struct scheduled_packet, or NOT_HELD */
    size_t held_last;
};

/* Shared receive queue that XRC requests use. */
struct responder_srq {
    uint32_t srqn;
    struct rnic_srq *srq;
    uint32_t spare; /* number of posted receive WQEs that are not consumed yet */
};

/* Our RNIC in place of one responder address. */
struct rc_responder_dev {
    struct session *session;
    struct responder_host *host;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_mr *recv_mr;
    uint8_t *recv_buf;
    uint32_t recv_len;
    uint32_t recv_key;
    rnic_time last;          /* virtual time of the latest packet replayed */
    uint32_t app_active;     /* index in trace.pkt of the packet at which the responder's program
                              * was last active (struct shadow_reader) */
    struct dir_state *state; /* one element for each direction of the session; only the elements of
                              * directions to this responder are used */
    uint8_t *invalidated;    /* for each memory region: a SEND invalidated its R_Key */
    struct rnic_xrcd *xrcd;
    struct responder_srq *srq;
    size_t srq_cnt;
    size_t srq_cap;
    struct shared_memory sharing;
    size_t held_cnt;
};

/* Creates our RNIC for the responder address of direction `any`. Returns NULL, or the reason why
 * the RNIC cannot be created. Call rc_responder_dev_close() in both cases. */
const char *rc_responder_dev_open(struct rc_responder_dev *dev, const struct rc_direction *any);
void rc_responder_dev_close(struct rc_responder_dev *dev);

/* Returns the QP of direction `dir`. The first call creates the QP, and destroys the QP of an
 * earlier connection with the same QPN. Returns NULL if a later connection has already reused the
 * QPN, or if the QP cannot be created (see dir->failed). */
struct rnic_qp *rc_responder_dev_qp(struct rc_responder_dev *dev, uint32_t dir, rnic_time now);

#endif
