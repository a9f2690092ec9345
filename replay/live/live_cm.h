/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live CM: the recorded exchanges of the communication manager, played with a far program. Our CM
 * (rnic/cm) says what one recorded end said, with live addresses, ids, QPNs, PSNs and ports, and
 * repeats, answers and forgets as a CM does; what the far CM says is compared with what the other
 * end said.
 *
 * Fixed: which messages come, in which order; what the far program chose (resources, retries,
 * reasons, private data), but for keys and addresses of memory, which are learnt. Free: numbers
 * that are an end's own, what its device is, and how often a message is repeated.
 */
#ifndef REPLAY_LIVE_LIVE_CM_H
#define REPLAY_LIVE_LIVE_CM_H

#include "base/error.h"
#include "cm/cm.h"
#include "engine/cm_exchange.h"
#include "live/live.h"

/* One exchange. */
struct live_cm_exchange {
    uint32_t idx;
    const char *skip; /* why it is not played, or NULL */
    struct rnic_cm_id *id;
    uint32_t our_qpn, their_qpn;     /* live */
    uint32_t psn_in, psn_out;        /* live: of the first request that we take, and that we send */
    uint32_t rec_qpn[2], rec_psn[2]; /* recorded, by enum exchange_role: what that end told */
    uint32_t connected;         /* index into trace.pkt of the recorded REP; 0: there is none */
    bool mtu_matters;           /* a message is longer than one packet */
    bool up;                    /* both ends' numbers are known */
    bool gone;                  /* refused, or disconnected */
    bool sent[ROCE_CM_CNT];     /* kinds that our end has sent */
    bool received[ROCE_CM_CNT]; /* ... and got */
    bool compared[ROCE_CM_CNT];
    struct roce_cm_msg msg[ROCE_CM_MSG_CNT]; /* got: the first of each kind */
};

struct live_cm {
    struct live *live;
    struct cm_exchanges *exchanges;
    enum cm_role ours;
    struct rnic_cm *cm;
    struct rnic_cm_id **listener;
    size_t listener_cnt;
    struct live_cm_exchange *exch; /* of exchanges.exchange */
    size_t cnt;
    uint32_t psn; /* of our next packet to QP 1 */
    bool no_memory;
};

/* Learns from private data before it is compared: `live` may be changed. */
typedef void live_private_fn(void *ctx, uint32_t exch, const uint8_t *recorded, uint8_t *live,
                             size_t len);

/* Finds the exchanges of the live drive's trace, of which we are end `ours`, and listens where that
 * is the passive one. 0, or -1 and an error; live_cm_close() is wanted in both cases. */
int live_cm_open(struct live_cm *cm, struct live *live, struct cm_exchanges *xs,
                 struct error *error);

/* Ends what is connected, and waits for the far end to say so too, for the tolerance. */
int live_cm_leave(struct live_cm *cm, struct error *error);
void live_cm_close(struct live_cm *cm);

/* A packet to QP 1. */
void live_cm_take(struct live_cm *cm, const struct roce_pkt *pkt);

/* Sends what waits, repeats what is due and takes the news; when it is wanted again. */
uint64_t live_cm_tick(struct live_cm *cm);

/* Our end's message `i` of the link's exchange is due. */
void live_cm_act(struct live_cm *cm, uint32_t exch, size_t i);

/* Waits for the far end's message `i`, for `ns`, and compares it. 0, or -1 and an error. */
int live_cm_expect(struct live_cm *cm, uint32_t exch, size_t i, uint64_t ns, live_private_fn *learn,
                   void *ctx, struct error *error);

/* Sets the verdicts of the far ends. */
void live_cm_judge(struct live_cm *cm);

#endif
