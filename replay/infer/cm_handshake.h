/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM: the connections that captured REQ and REP messages set up. Each names both QPNs and both
 * starting PSNs, which nothing else on the wire does.
 */
#ifndef REPLAY_INFER_CM_HANDSHAKE_H
#define REPLAY_INFER_CM_HANDSHAKE_H

#include "base/error.h"
#include "infer/trace.h"

struct cm_handshake_end {
    uint8_t addr[16];
    uint32_t comm_id;
    uint32_t qpn;
    uint32_t psn;       /* of the first request it will accept (R240) */
    uint32_t resources; /* READs and atomics it answers at a time */
    uint8_t rnr_retry;  /* how often the other end is to try again after an RNR NAK */
};

struct cm_handshake {
    struct cm_handshake_end active;  /* sent the REQ */
    struct cm_handshake_end passive; /* sent the REP */
    enum roce_encap encap;
    uint32_t mtu;               /* bytes, 0 if the code was reserved */
    uint8_t timeout, retry_cnt; /* of both: local ACK timeout's code, and retries after it */
    bool whole; /* neither message is cut: the numbers near their ends are theirs, not zeros */
    bool complete;
    uint32_t pkt; /* index into trace.pkt of the REP */
};

struct cm_handshakes {
    struct cm_handshake *handshake;
    size_t cnt;
    size_t cap;
};

/* 0, or -1 and an error (memory). cm_handshakes_free() is wanted in both cases. */
int cm_handshakes_find(struct cm_handshakes *cm, const struct trace *trace, struct error *error);
void cm_handshakes_free(struct cm_handshakes *cm);

#endif
