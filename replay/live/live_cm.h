/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live CM: plays recorded CM exchanges with a program on the target's host. Our CM (rnic/cm) sends
 * the messages of one recorded endpoint with live addresses, ids, QPNs, PSNs and ports. Our CM
 * decides itself when to retransmit. The messages of the target are compared with those of the
 * other recorded endpoint.
 *
 * cm_peer.c calls these functions:
 *
 *   1. live_cm_open() finds the exchanges, and listens if the target connects to us.
 *   2. live_cm_take() receives packets, live_cm_tick() runs the timers.
 *   3. live_cm_act() sends our next message, live_cm_expect() waits for the target's next message.
 *   4. live_cm_leave() disconnects, live_cm_judge() sets the verdicts, live_cm_close() frees.
 *
 * The comparison covers the messages, their order, and the fields that the target's program
 * chooses: resources, retry counts, reasons and private data except R_Keys and addresses. The
 * comparison omits IDs, QPNs and PSNs, which each endpoint chooses, properties of the device, and
 * the number of retransmissions.
 */
#ifndef REPLAY_LIVE_LIVE_CM_H
#define REPLAY_LIVE_LIVE_CM_H

#include "base/error.h"
#include "cm/cm.h"
#include "engine/cm/cm_exchange.h"
#include "live/live.h"

/* Recorded CM exchange, and the live exchange that repeats it. */
struct live_cm_exchange {
    uint32_t idx;
    const char *skip; /* reason why the exchange is skipped, or NULL */
    struct rnic_cm_id *id;
    uint32_t our_qpn, their_qpn; /* live QPNs of our endpoint and of the target */
    /* Live first PSN of the requests that we receive (`psn_in`) and that we send (`psn_out`). */
    uint32_t psn_in, psn_out;
    uint32_t rec_qpn[2], rec_psn[2]; /* recorded QPN and first PSN of each endpoint, indexed by enum
                                      * cm_role */
    uint32_t connected;         /* index into trace.pkt of the recorded REP; 0 if there is none */
    bool mtu_matters;           /* a message of the connection is longer than one packet */
    bool up;                    /* the live QPNs and PSNs of both endpoints are known */
    bool gone;                  /* the connection was rejected or disconnected */
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
    struct live_cm_exchange *exch; /* one element for each exchange of `exchanges` */
    size_t cnt;
    uint32_t psn; /* PSN of our next packet to QP 1 */
    bool no_memory;
};

/* Callback for private data that the target sent. Reads the live R_Keys in `live`. Then overwrites
 * them with the recorded R_Keys, so that the bytes can be compared with the recorded private data
 * `recorded`. */
typedef void live_private_fn(void *ctx, uint32_t exch, const uint8_t *recorded, uint8_t *live,
                             size_t len);

/* Finds the CM exchanges of the trace. Listens for REQs if our endpoint is the passive end of the
 * connections. Returns 0, or -1 and an error. Call live_cm_close() in both cases. */
int live_cm_open(struct live_cm *cm, struct live *live, struct cm_exchanges *xs,
                 struct error *error);

/* Disconnects all connections and waits for the target's DREPs, up to the tolerance. Returns 0, or
 * -1 and an error. */
int live_cm_leave(struct live_cm *cm, struct error *error);
void live_cm_close(struct live_cm *cm);

/* Passes a received packet for QP 1 to our CM. */
void live_cm_take(struct live_cm *cm, const struct roce_pkt *pkt);

/* Handles events, runs due timers and sends messages. Returns the time at which it must be called
 * again, ns. */
uint64_t live_cm_tick(struct live_cm *cm);

/* Sends message `i` of the exchange, which our endpoint sent in the capture. */
void live_cm_act(struct live_cm *cm, uint32_t exch, size_t i);

/* Waits up to `ns` for message `i` of the exchange, which the target sends, and compares the live
 * message with the recorded one. Returns 0, or -1 and an error. */
int live_cm_expect(struct live_cm *cm, uint32_t exch, size_t i, uint64_t ns, live_private_fn *learn,
                   void *ctx, struct error *error);

/* Sets the verdict on the target's end of each exchange. */
void live_cm_judge(struct live_cm *cm);

#endif
