/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow generator: conversations between two RNICs, packet by packet, made with the packet builder.
 * By default they obey the specification. A test alters a packet before flowgen_put(), or omits
 * one. The generator keeps the frames, so a test can analyse one conversation whole, cut, or
 * without some frames.
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
    uint32_t psn[2]; /* PSN of each side's next request */
    uint32_t msn[2]; /* number of each side's messages that the peer completed */
    uint16_t sport;
};

struct flowgen_frame {
    size_t off; /* offset of the frame in `bytes` */
    uint32_t len;
    uint64_t time; /* time of the frame, ns */
    int side;      /* side that sent the frame */
};

struct flowgen {
    struct flowgen_conn conn; /* current connection; a test may replace it */
    enum roce_encap encap;
    enum roce_svc svc; /* transport service of flowgen_req(); RC by default */
    uint32_t mtu;
    uint64_t now, step; /* time of the next packet and interval between packets, ns */
    uint16_t ip_id[2];
    uint64_t tid;
    struct roce_cm_req req; /* CM messages of flowgen_connect(); a test may change them first */
    struct roce_cm_rep rep;
    struct flowgen_frame *frame;
    size_t frame_cnt, frame_cap;
    uint8_t *bytes;
    size_t byte_cnt, byte_cap;
};

void flowgen_init(struct flowgen *g);
/* Starts a conversation whose UDP source port shows that both QPs belong together. */
void flowgen_begin(struct flowgen *g);
void flowgen_free(struct flowgen *g);

/* Returns connection `n`. Its QPNs, PSNs and source port differ from those of all other
 * connections. */
struct flowgen_conn flowgen_conn_of(uint32_t n, uint32_t psn0, uint32_t psn1);

/* Returns the UDP source port that Linux computes from the two QPNs. The port shows that two
 * directions are one connection. */
uint16_t flowgen_linux_sport(uint32_t qpn0, uint32_t qpn1);

/* Returns the next request of a side with `len` bytes of payload; a READ requests `len` bytes. Last
 * and Only packets request an ACK; RETH, AtomicETH and Q_Key have valid values. Advances the PSN of
 * the side. */
struct roce_pkt flowgen_req(struct flowgen *g, int side, uint8_t opcode, uint32_t len);

/* Returns a response by `side` to PSN `psn` of the other side, without credits, with the current
 * MSN. */
struct roce_pkt flowgen_resp(struct flowgen *g, int side, uint8_t opcode, uint32_t psn,
                             uint32_t len);

/* Sends the packet `step` after the previous one. */
void flowgen_put(struct flowgen *g, int side, const struct roce_pkt *pkt);
void flowgen_put_as(struct flowgen *g, int side, const struct roce_pkt *pkt, unsigned build_flags);
/* Sends the latest frame again, byte for byte. */
void flowgen_copy(struct flowgen *g);
void flowgen_wait(struct flowgen *g, uint64_t ns);

/* Sends an ACK, NAK or RNR NAK by `side` for `psn`. */
void flowgen_ack(struct flowgen *g, int side, uint32_t psn, uint8_t syndrome);
/* Sends an ACK by `side` for all packets that its peer sent. */
void flowgen_ack_all(struct flowgen *g, int side);

/* Send whole messages with their acknowledgements or responses. */
void flowgen_send(struct flowgen *g, int side, uint32_t len);
void flowgen_write(struct flowgen *g, int side, uint32_t len);
void flowgen_read(struct flowgen *g, int side, uint32_t len);
void flowgen_atomic(struct flowgen *g, int side);

/* Sends the packets of a SEND or WRITE without the ACK. Returns the PSN of the first one. */
uint32_t flowgen_message(struct flowgen *g, int side, enum roce_kind kind, uint32_t len);
/* Sends the responses first..last (offsets) to the READ of `len` bytes at `psn`. */
void flowgen_read_resp(struct flowgen *g, int side, uint32_t psn, uint32_t len, uint32_t first,
                       uint32_t last);

/* Functions for CM messages: flowgen_mad() returns a MAD of `side`; flowgen_connect() sends REQ,
 * REP and RTU for `conn`. */
struct roce_pkt flowgen_mad(struct flowgen *g, int side, const uint8_t mad[256]);
void flowgen_cm(struct flowgen *g, int side, const struct roce_cm_msg *msg);
struct roce_cm_msg flowgen_cm_req(struct flowgen *g);
struct roce_cm_msg flowgen_cm_rep(struct flowgen *g);
void flowgen_connect(struct flowgen *g);
void flowgen_disconnect(struct flowgen *g);

/* Sends a random conversation of `messages` messages in both directions. */
void flowgen_random(struct flowgen *g, struct rng *rng, unsigned messages);

/* One go-back of flowgen_lossy(), as the requester sees it. */
struct flowgen_loss {
    uint32_t psn; /* first PSN that the requester retransmits */
    bool timeout; /* cause: a timeout if true, else a sequence NAK */
};

/*
 * Sends `packets` packets of WRITEs from side 0 with go-back-N, captured at side 0. `permille` of a
 * thousand packets are lost, of the requests and of the responses. Stores the first `cap` go-backs
 * in `out`, in order, and returns their number.
 */
size_t flowgen_lossy(struct flowgen *g, struct rng *rng, uint32_t packets, uint32_t permille,
                     struct flowgen_loss *out, size_t cap);

#endif
