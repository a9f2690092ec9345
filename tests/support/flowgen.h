/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flowgen: conversations between two RNICs, packet by packet, made with the packet builder. By
 * itself it says only what is right; a test changes a packet before it is put, or leaves one out.
 * Frames are kept, so that one conversation can be judged whole, cut, or with frames removed.
 *
 *   struct flowgen g;
 *   flowgen_init(&g);
 *   flowgen_write(&g, 0, 3000);                    side 0 writes, side 1 acknowledges
 *   struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
 *   p.bth.tver = 1;
 *   flowgen_put(&g, 0, &p);
 *   flowgen_free(&g);
 */
#ifndef TEST_FLOWGEN_H
#define TEST_FLOWGEN_H

#include "rng.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/pkt.h"

/* One pair of QPs. Side 0 is 192.0.2.1, side 1 is 192.0.2.2. */
struct flowgen_conn {
    uint32_t qpn[2];
    uint32_t psn[2]; /* of the side's next request */
    uint32_t msn[2]; /* messages of the side's requests that the peer completed */
    uint16_t sport;
};

struct flowgen_frame {
    size_t off; /* into `bytes` */
    uint32_t len;
    uint64_t time; /* ns */
    int side;      /* sender */
};

struct flowgen {
    struct flowgen_conn conn; /* the one that is talking; tests swap it for another */
    enum roce_encap encap;
    enum roce_svc svc; /* of flowgen_req(): RC unless set */
    uint32_t mtu;
    uint64_t now, step; /* ns; each packet takes `step` */
    uint16_t ip_id[2];
    uint64_t tid;
    struct roce_cm_req req; /* flowgen_connect() sends these, tests change them before */
    struct roce_cm_rep rep;
    struct flowgen_frame *frame;
    size_t frame_cnt, frame_cap;
    uint8_t *bytes;
    size_t byte_cnt, byte_cap;
};

void flowgen_init(struct flowgen *g);
/* The same, with the source port that says that both QPs belong together. */
void flowgen_begin(struct flowgen *g);
void flowgen_free(struct flowgen *g);

/* Two sides that the QPNs, PSNs and source port of `n` tell from other connections. */
struct flowgen_conn flowgen_conn_of(uint32_t n, uint32_t psn0, uint32_t psn1);

/* The UDP source port that Linux makes of the two QPNs: what shows that two directions are one. */
uint16_t flowgen_linux_sport(uint32_t qpn0, uint32_t qpn1);

/* The next request of a side, with `len` bytes of payload (a READ: to read). Last and Only ask for
 * an ACK; RETH, AtomicETH and Q_Key have good values. Takes its PSNs. */
struct roce_pkt flowgen_req(struct flowgen *g, int side, uint8_t opcode, uint32_t len);

/* A response by `side` to the PSN `psn` of the other side: credits not valid, MSN as it stands. */
struct roce_pkt flowgen_resp(struct flowgen *g, int side, uint8_t opcode, uint32_t psn,
                             uint32_t len);

/* Puts the packet on the wire, `step` after the one before. */
void flowgen_put(struct flowgen *g, int side, const struct roce_pkt *pkt);
void flowgen_put_as(struct flowgen *g, int side, const struct roce_pkt *pkt, unsigned build_flags);
/* The latest frame once more, byte for byte. */
void flowgen_copy(struct flowgen *g);
void flowgen_wait(struct flowgen *g, uint64_t ns);

/* ACK, NAK or RNR NAK by `side` for `psn`. */
void flowgen_ack(struct flowgen *g, int side, uint32_t psn, uint8_t syndrome);
/* ACK for everything the other side sent. */
void flowgen_ack_all(struct flowgen *g, int side);

/* Whole messages with their acknowledgements or responses. */
void flowgen_send(struct flowgen *g, int side, uint32_t len);
void flowgen_write(struct flowgen *g, int side, uint32_t len);
void flowgen_read(struct flowgen *g, int side, uint32_t len);
void flowgen_atomic(struct flowgen *g, int side);

/* The packets of a SEND or WRITE without the ACK; the PSN of the first. */
uint32_t flowgen_message(struct flowgen *g, int side, enum roce_kind kind, uint32_t len);
/* The responses first..last (offsets) to the READ of `len` bytes at `psn`. */
void flowgen_read_resp(struct flowgen *g, int side, uint32_t psn, uint32_t len, uint32_t first,
                       uint32_t last);

/* CM: a MAD from `side`; flowgen_connect() exchanges REQ, REP and RTU for `conn`. */
struct roce_pkt flowgen_mad(struct flowgen *g, int side, const uint8_t mad[256]);
void flowgen_cm(struct flowgen *g, int side, const struct roce_cm_msg *msg);
struct roce_cm_msg flowgen_cm_req(struct flowgen *g);
struct roce_cm_msg flowgen_cm_rep(struct flowgen *g);
void flowgen_connect(struct flowgen *g);
void flowgen_disconnect(struct flowgen *g);

/* A random conversation of `messages` messages in both directions. */
void flowgen_random(struct flowgen *g, struct rng *rng, unsigned messages);

/* What was lost in flowgen_lossy(), as the requester had to notice. */
struct flowgen_loss {
    uint32_t psn; /* where it went back to */
    bool timeout; /* by timer, else by sequence NAK */
};

/*
 * `packets` packets of WRITEs from side 0 with go-back-N, seen at side 0: of those it sends,
 * `permille` in a thousand do not arrive, and as many responses do not come back. `out` receives
 * what made it go back, in order; returns how often (at most `cap`).
 */
size_t flowgen_lossy(struct flowgen *g, struct rng *rng, uint32_t packets, uint32_t permille,
                     struct flowgen_loss *out, size_t cap);

#endif
