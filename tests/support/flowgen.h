/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow generator: builds a conversation between two RNICs packet by packet, for tests of rnic/flow.
 * Without changes, the conversation obeys the specification. A test alters or omits a packet before
 * it calls flowgen_put(). The generator stores the frames, so a test can analyse the whole
 * conversation, the first part of it, or all but some frames.
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
    uint32_t msn[2]; /* MSN: number of messages of each side that the peer has completed */
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
    enum roce_svc svc; /* transport service of the requests that flowgen_req() builds; default RC */
    uint32_t mtu;
    uint64_t now, step; /* time of the next packet, and time between two packets, ns */
    uint16_t ip_id[2];
    uint64_t tid;
    /* REQ and REP that flowgen_connect() sends; a test can change them before. */
    struct roce_cm_req req;
    struct roce_cm_rep rep;
    struct flowgen_frame *frame;
    size_t frame_cnt, frame_cap;
    uint8_t *bytes;
    size_t byte_cnt, byte_cap;
};

void flowgen_init(struct flowgen *g);
/* Starts a conversation in which the UDP source port is the port that Linux computes from both
 * QPNs. This port shows that the two directions are one connection. */
void flowgen_begin(struct flowgen *g);
void flowgen_free(struct flowgen *g);

/* Returns the parameters of connection number `n`. No other connection has the same QPNs or source
 * port. `psn0`, `psn1`: first PSN of each side. */
struct flowgen_conn flowgen_conn_of(uint32_t n, uint32_t psn0, uint32_t psn1);

/* Returns the UDP source port that Linux computes from the two QPNs. Both directions of a
 * connection have the same port. */
uint16_t flowgen_linux_sport(uint32_t qpn0, uint32_t qpn1);

/* Returns the next request packet of `side`, with `len` bytes of payload; for a READ, `len` is the
 * length to read. Last and Only packets request an ACK. RETH, AtomicETH and Q_Key have valid
 * values. Advances the PSN of the side. */
struct roce_pkt flowgen_req(struct flowgen *g, int side, uint8_t opcode, uint32_t len);

/* Returns a response packet with PSN `psn` from `side`. The AETH has the current MSN and no valid
 * credit count. */
struct roce_pkt flowgen_resp(struct flowgen *g, int side, uint8_t opcode, uint32_t psn,
                             uint32_t len);

/* Send a packet, g->step ns after the previous packet. flowgen_put_as() passes `build_flags` to the
 * packet builder, for example to keep defects. */
void flowgen_put(struct flowgen *g, int side, const struct roce_pkt *pkt);
void flowgen_put_as(struct flowgen *g, int side, const struct roce_pkt *pkt, unsigned build_flags);
/* Sends the packet of flowgen_req(), and returns it. */
struct roce_pkt flowgen_put_req(struct flowgen *g, int side, uint8_t opcode, uint32_t len);
/* Appends a copy of the latest frame, as if it was captured twice. */
void flowgen_copy(struct flowgen *g);
void flowgen_wait(struct flowgen *g, uint64_t ns);
/* Waits, and then sends a message of another connection. The capture therefore continues while the
 * current connection is silent. */
void flowgen_silence(struct flowgen *g, uint64_t ns);

/* Sends an ACK, NAK or RNR NAK with PSN `psn` from `side`. */
void flowgen_ack(struct flowgen *g, int side, uint32_t psn, uint8_t syndrome);
/* Sends an ACK from `side` for all requests that the other side sent. */
void flowgen_ack_all(struct flowgen *g, int side);

/* Send a whole message or operation of `side`, including the ACK or the responses of the other
 * side. */
void flowgen_send(struct flowgen *g, int side, uint32_t len);
void flowgen_write(struct flowgen *g, int side, uint32_t len);
void flowgen_read(struct flowgen *g, int side, uint32_t len);
void flowgen_atomic(struct flowgen *g, int side);

/* Sends the packets of a SEND or WRITE, but not the ACK. Returns the PSN of the first packet. */
uint32_t flowgen_message(struct flowgen *g, int side, enum roce_kind kind, uint32_t len);
/* Sends some responses to a READ of `len` bytes with first PSN `psn`: the responses number `first`
 * to `last`, counted from 0. */
void flowgen_read_resp(struct flowgen *g, int side, uint32_t psn, uint32_t len, uint32_t first,
                       uint32_t last);

/* Functions for CM messages. flowgen_mad() returns a packet with a MAD from `side`.
 * flowgen_connect() sends REQ, REP and RTU for g->conn. */
struct roce_pkt flowgen_mad(struct flowgen *g, int side, const uint8_t mad[256]);
void flowgen_cm(struct flowgen *g, int side, const struct roce_cm_msg *msg);
struct roce_cm_msg flowgen_cm_req(struct flowgen *g);
struct roce_cm_msg flowgen_cm_rep(struct flowgen *g);
void flowgen_connect(struct flowgen *g);
void flowgen_disconnect(struct flowgen *g);

/* Sends a random conversation of `messages` messages in both directions. */
void flowgen_random(struct flowgen *g, struct rng *rng, unsigned messages);

/* One retransmission (go-back-N) of the requester in flowgen_lossy(). */
struct flowgen_loss {
    uint32_t psn; /* first PSN that the requester retransmits */
    bool timeout; /* true: caused by a timeout; false: caused by a sequence NAK */
};

/*
 * Sends `packets` packets of WRITEs from side 0, as a capture at side 0 shows them. Of the requests
 * and of the responses, `permille` of a thousand packets are lost, and the requester retransmits
 * with go-back-N. Stores the first `cap` retransmissions in `out`, in order. Returns the number of
 * all retransmissions.
 */
size_t flowgen_lossy(struct flowgen *g, struct rng *rng, uint32_t packets, uint32_t permille,
                     struct flowgen_loss *out, size_t cap);

#endif
