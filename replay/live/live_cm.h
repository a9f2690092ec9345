/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live CM: plays recorded CM exchanges with a program on the target's host. Our CM (rnic/cm) sends
 * the messages of one recorded endpoint with live addresses, ids, QPNs, PSNs and ports; it
 * retransmits and answers by itself. The target's messages are compared with those of the other
 * recorded endpoint.
 *
 * cm_peer.c calls it:
 *
 *   1. live_cm_open() finds the exchanges, and listens if the target connects to us.
 *   2. live_cm_take() takes received packets, live_cm_tick() runs the timers.
 *   3. live_cm_act() sends our next message, live_cm_expect() waits for the target's.
 *   4. live_cm_leave() disconnects, live_cm_judge() sets the verdicts, live_cm_close() frees.
 *
 * Compared are the messages and their order and what the target's program chose: resources, retry
 * counts, reasons and private data, without the R_Keys and addresses in it. Not compared are
 * numbers that each endpoint chooses, properties of its device, and how often a message is
 * retransmitted.
 */
#ifndef REPLAY_LIVE_LIVE_CM_H
#define REPLAY_LIVE_LIVE_CM_H

#include "base/error.h"
#include "cm/cm.h"
#include "engine/cm_exchange.h"
#include "live/live.h"

/* One CM exchange. */
struct live_cm_exchange {
    uint32_t idx;
    const char *skip; /* why it is skipped, or NULL */
    struct rnic_cm_id *id;
    uint32_t our_qpn, their_qpn; /* live */
    uint32_t psn_in,
        psn_out; /* live: first PSN of the requests that we receive, and of those that we send */
    uint32_t rec_qpn[2],
        rec_psn[2];             /* recorded QPN and first PSN of each endpoint, by enum cm_role */
    uint32_t connected;         /* index of the recorded REP in the trace; 0: none */
    bool mtu_matters;           /* a message is longer than one packet */
    bool up;                    /* the numbers of both endpoints are known */
    bool gone;                  /* it was rejected or disconnected */
    bool sent[ROCE_CM_CNT];     /* kinds of messages that we have sent */
    bool received[ROCE_CM_CNT]; /* kinds of messages that the target has sent */
    bool compared[ROCE_CM_CNT];
    struct roce_cm_msg msg[ROCE_CM_MSG_CNT]; /* first message of each kind that the target sent */
};

struct live_cm {
    struct live *live;
    struct cm_exchanges *exchanges;
    enum cm_role ours;
    struct rnic_cm *cm;
    struct rnic_cm_id **listener;
    size_t listener_cnt;
    struct live_cm_exchange *exch; /* one for each exchange of `exchanges` */
    size_t cnt;
    uint32_t psn; /* PSN of our next packet to QP 1 */
    bool no_memory;
};

/* Learns R_Keys from private data and replaces them in `live` before it is compared. */
typedef void live_private_fn(void *ctx, uint32_t exch, const uint8_t *recorded, uint8_t *live,
                             size_t len);

/* Finds the exchanges of the trace and listens if our endpoint is the passive one. Returns 0, or
 * -1 and an error; live_cm_close() is needed in both cases. */
int live_cm_open(struct live_cm *cm, struct live *live, struct cm_exchanges *xs,
                 struct error *error);

/* Disconnects and waits for the target's answer, up to the tolerance. */
int live_cm_leave(struct live_cm *cm, struct error *error);
void live_cm_close(struct live_cm *cm);

/* Takes a packet to QP 1. */
void live_cm_take(struct live_cm *cm, const struct roce_pkt *pkt);

/* Handles events, runs due timers and sends messages. Returns when it must be called again, ns. */
uint64_t live_cm_tick(struct live_cm *cm);

/* Sends message `i` of the exchange, which is ours. */
void live_cm_act(struct live_cm *cm, uint32_t exch, size_t i);

/* Waits up to `ns` for message `i` of the target and compares it. Returns 0, or -1 and an error. */
int live_cm_expect(struct live_cm *cm, uint32_t exch, size_t i, uint64_t ns, live_private_fn *learn,
                   void *ctx, struct error *error);

/* Sets the verdicts of the target's endpoints. */
void live_cm_judge(struct live_cm *cm);

#endif
