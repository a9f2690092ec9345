/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flowgen.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define VA      UINT64_C(0x7F0000001000)
#define RKEY    0x1234u
#define TIMEOUT UINT64_C(67108864) /* local ACK timeout with code 14, ns */

static const uint8_t mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

/* Returns payload for the packet with this PSN. Bytes at different offsets in a packet differ. */
static const uint8_t *pattern(uint32_t psn)
{
    static uint8_t bytes[8192 + 256];

    if (bytes[1] == 0)
        for (unsigned i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
    return bytes + psn % 251;
}

void flowgen_init(struct flowgen *g)
{
    memset(g, 0, sizeof(*g));
    g->encap = ROCE_ENCAP_V2_IP4;
    g->mtu = 1024;
    g->now = UINT64_C(1000000000);
    g->step = 10000;
    g->tid = 0x100;
    g->ip_id[1] = 0x8000;
    g->conn = flowgen_conn_of(1, 0x5000, 0x9000);
}

void flowgen_begin(struct flowgen *g)
{
    flowgen_init(g);
    g->conn.sport = flowgen_linux_sport(g->conn.qpn[0], g->conn.qpn[1]);
}

void flowgen_free(struct flowgen *g)
{
    free(g->frame);
    free(g->bytes);
    memset(g, 0, sizeof(*g));
}

struct flowgen_conn flowgen_conn_of(uint32_t n, uint32_t psn0, uint32_t psn1)
{
    struct flowgen_conn c = {.qpn = {0x100 + n, 0x80000 + n}, .psn = {psn0, psn1}};

    c.sport = (uint16_t)(0xC000 + n % 0x3000);
    return c;
}

static void address(struct flowgen *g, int side, struct roce_pkt *p)
{
    memcpy(p->eth.src, mac[side], 6);
    memcpy(p->eth.dst, mac[!side], 6);
    if (g->encap == ROCE_ENCAP_V2_IP4) {
        const uint8_t a[4] = {192, 0, 2, (uint8_t)(side + 1)};
        const uint8_t b[4] = {192, 0, 2, (uint8_t)(2 - side)};

        memcpy(p->ip4.src, a, 4);
        memcpy(p->ip4.dst, b, 4);
    } else {
        uint8_t *src = g->encap == ROCE_ENCAP_V1 ? p->grh.sgid : p->ip6.src;
        uint8_t *dst = g->encap == ROCE_ENCAP_V1 ? p->grh.dgid : p->ip6.dst;

        src[0] = dst[0] = 0x20;
        src[1] = dst[1] = 0x01;
        src[15] = (uint8_t)(side + 1);
        dst[15] = (uint8_t)(2 - side);
    }
    p->udp.sport = g->conn.sport;
}

uint16_t flowgen_linux_sport(uint32_t qpn0, uint32_t qpn1)
{
    uint64_t v = (uint64_t)qpn0 * qpn1;
    uint32_t label;

    v ^= v >> 20;
    v ^= v >> 40;
    label = (uint32_t)v & 0xFFFFF;
    return (uint16_t)(0xC000 | ((label & 0x3FFF) ^ label >> 14));
}

struct roce_pkt flowgen_req(struct flowgen *g, int side, uint8_t opcode, uint32_t len)
{
    uint8_t value = (uint8_t)((opcode & 0x1F) | (opcode < 0x20 ? g->svc << 5 : opcode & 0xE0));
    const struct roce_opcode *op = roce_opcode(value);
    struct roce_pkt p;
    uint32_t psns = 1;

    roce_pkt_init(&p, g->encap, value);
    address(g, side, &p);
    p.bth.dest_qp = g->conn.qpn[!side];
    p.bth.psn = g->conn.psn[side];
    p.bth.ackreq = roce_opcode_ends(op) && (op->svc == ROCE_SVC_RC || op->svc == ROCE_SVC_XRC);
    p.reth = (struct roce_reth){.va = VA, .rkey = RKEY, .dma_len = len};
    p.atomiceth = (struct roce_atomiceth){.va = VA, .rkey = RKEY, .swap_add = 1};
    p.deth = (struct roce_deth){.qkey = 0x11, .src_qp = g->conn.qpn[side]};
    if (op->payload != ROCE_PAYLOAD_NONE) {
        p.payload = pattern(p.bth.psn);
        p.payload_len = p.payload_cap_len = len;
    }
    if (op->kind == ROCE_KIND_READ)
        psns = roce_psn_cnt(len, g->mtu);
    g->conn.psn[side] = (g->conn.psn[side] + psns) & ROCE_PSN_MASK;
    if (roce_opcode_ends(op))
        g->conn.msn[side] = (g->conn.msn[side] + 1) & ROCE_PSN_MASK;
    return p;
}

struct roce_pkt flowgen_resp(struct flowgen *g, int side, uint8_t opcode, uint32_t psn,
                             uint32_t len)
{
    struct roce_pkt p;

    roce_pkt_init(&p, g->encap, (uint8_t)(opcode | g->svc << 5));
    address(g, side, &p);
    p.bth.dest_qp = g->conn.qpn[!side];
    p.bth.psn = psn & ROCE_PSN_MASK;
    p.aeth.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
    p.aeth.msn = g->conn.msn[!side];
    p.payload = len ? pattern(psn) : NULL;
    p.payload_len = p.payload_cap_len = len;
    return p;
}

void flowgen_put_as(struct flowgen *g, int side, const struct roce_pkt *pkt, unsigned build_flags)
{
    struct roce_pkt p = *pkt;
    int len;

    if (g->byte_cnt + 3 * (size_t)ROCE_FRAME_MAX > g->byte_cap) {
        g->byte_cap = g->byte_cap * 2 + 8 * (size_t)ROCE_FRAME_MAX;
        g->bytes = realloc(g->bytes, g->byte_cap);
    }
    if (g->frame_cnt == g->frame_cap) {
        g->frame_cap = g->frame_cap * 2 + 64;
        g->frame = realloc(g->frame, g->frame_cap * sizeof(*g->frame));
    }
    assert(g->bytes && g->frame);
    if (p.ip4.id == 0)
        p.ip4.id = ++g->ip_id[side];
    len = roce_pkt_build(&p, build_flags, g->bytes + g->byte_cnt, g->byte_cap - g->byte_cnt);
    assert(len > 0);
    g->now += g->step;
    g->frame[g->frame_cnt++] = (struct flowgen_frame){g->byte_cnt, (uint32_t)len, g->now, side};
    g->byte_cnt += (size_t)len;
}

void flowgen_put(struct flowgen *g, int side, const struct roce_pkt *pkt)
{
    flowgen_put_as(g, side, pkt, 0);
}

struct roce_pkt flowgen_put_req(struct flowgen *g, int side, uint8_t opcode, uint32_t len)
{
    struct roce_pkt p = flowgen_req(g, side, opcode, len);

    flowgen_put(g, side, &p);
    return p;
}

void flowgen_copy(struct flowgen *g)
{
    struct flowgen_frame f = g->frame[g->frame_cnt - 1];
    struct roce_pkt p;
    int rc = roce_pkt_parse(&p, ROCE_LINK_ETHERNET, g->bytes + f.off, f.len, f.len);
    uint8_t bytes[2 * ROCE_FRAME_MAX];

    assert(rc == 0);
    memcpy(bytes, g->bytes + f.off, f.len);
    (void)rc;
    roce_pkt_parse(&p, ROCE_LINK_ETHERNET, bytes, f.len, f.len);
    flowgen_put(g, f.side, &p);
}

void flowgen_wait(struct flowgen *g, uint64_t ns)
{
    g->now += ns;
}

void flowgen_silence(struct flowgen *g, uint64_t ns)
{
    struct flowgen_conn conn = g->conn;

    flowgen_wait(g, ns);
    g->conn = flowgen_conn_of(7, 100, 200);
    flowgen_send(g, 0, 64);
    g->conn = conn;
}

void flowgen_ack(struct flowgen *g, int side, uint32_t psn, uint8_t syndrome)
{
    struct roce_pkt p = flowgen_resp(g, side, ROCE_OP_RC_ACK, psn, 0);

    p.aeth.syndrome = syndrome;
    flowgen_put(g, side, &p);
}

void flowgen_ack_all(struct flowgen *g, int side)
{
    if (g->svc != ROCE_SVC_UC)
        flowgen_ack(g, side, g->conn.psn[!side] - 1, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
}

uint32_t flowgen_message(struct flowgen *g, int side, enum roce_kind kind, uint32_t len)
{
    uint32_t cnt = roce_psn_cnt(len, g->mtu), first = g->conn.psn[side];
    uint8_t base = kind == ROCE_KIND_SEND ? ROCE_OP_RC_SEND_FIRST : ROCE_OP_RC_WRITE_FIRST;

    for (uint32_t i = 0; i < cnt; i++) {
        uint8_t place = cnt == 1 ? 4 : i == 0 ? 0 : i + 1 < cnt ? 1 : 2;
        uint32_t part = i + 1 < cnt ? g->mtu : len - i * g->mtu;
        struct roce_pkt p = flowgen_req(g, side, (uint8_t)(base + place), part);

        p.reth.dma_len = len;
        flowgen_put(g, side, &p);
    }
    return first;
}

void flowgen_send(struct flowgen *g, int side, uint32_t len)
{
    flowgen_message(g, side, ROCE_KIND_SEND, len);
    flowgen_ack_all(g, !side);
}

void flowgen_write(struct flowgen *g, int side, uint32_t len)
{
    flowgen_message(g, side, ROCE_KIND_WRITE, len);
    flowgen_ack_all(g, !side);
}

void flowgen_read_resp(struct flowgen *g, int side, uint32_t psn, uint32_t len, uint32_t first,
                       uint32_t last)
{
    uint32_t cnt = roce_psn_cnt(len, g->mtu);

    for (uint32_t i = first; i <= last; i++) {
        uint8_t op = i == first && i + 1 == cnt ? ROCE_OP_RC_READ_RESP_ONLY
                     : i == first               ? ROCE_OP_RC_READ_RESP_FIRST
                     : i + 1 == cnt             ? ROCE_OP_RC_READ_RESP_LAST
                                                : ROCE_OP_RC_READ_RESP_MIDDLE;
        struct roce_pkt p =
            flowgen_resp(g, side, op, psn + i, i + 1 < cnt ? g->mtu : len - i * g->mtu);

        flowgen_put(g, side, &p);
    }
}

void flowgen_read(struct flowgen *g, int side, uint32_t len)
{
    struct roce_pkt p = flowgen_req(g, side, ROCE_OP_RC_READ_REQUEST, len);

    flowgen_put(g, side, &p);
    flowgen_read_resp(g, !side, p.bth.psn, len, 0, roce_psn_cnt(len, g->mtu) - 1);
}

void flowgen_atomic(struct flowgen *g, int side)
{
    struct roce_pkt p = flowgen_req(g, side, ROCE_OP_RC_FETCH_ADD, 0);

    flowgen_put(g, side, &p);
    p = flowgen_resp(g, !side, ROCE_OP_RC_ATOMIC_ACK, p.bth.psn, 0);
    p.atomicacketh.orig = 42;
    flowgen_put(g, !side, &p);
}

/* ---- CM messages ----------------------------------------------------------------------------- */

struct roce_pkt flowgen_mad(struct flowgen *g, int side, const uint8_t mad[256])
{
    struct roce_pkt p;

    roce_pkt_init(&p, g->encap, ROCE_OP_UD_SEND_ONLY);
    address(g, side, &p);
    p.bth.dest_qp = ROCE_QP_GSI;
    p.deth = (struct roce_deth){.qkey = ROCE_QKEY_GSI, .src_qp = ROCE_QP_GSI};
    p.payload = mad;
    p.payload_len = p.payload_cap_len = 256;
    return p;
}

void flowgen_cm(struct flowgen *g, int side, const struct roce_cm_msg *msg)
{
    uint8_t mad[ROCE_MAD_SIZE] = {0};
    struct roce_pkt p = flowgen_mad(g, side, mad);
    int len = roce_cm_msg_build(msg, mad, sizeof(mad));

    assert(len == (int)sizeof(mad));
    (void)len;
    flowgen_put(g, side, &p);
}

struct roce_cm_msg flowgen_cm_req(struct flowgen *g)
{
    struct roce_cm_msg m;
    struct roce_cm_rdmaip ip = {.ipv = g->encap == ROCE_ENCAP_V2_IP4 ? 4 : 6, .sport = 1000};

    roce_cm_msg_init(&m, ROCE_CM_REQ, g->tid);
    m.req.local_comm_id = g->conn.qpn[0];
    m.req.service_id = roce_cm_sid(ROCE_CM_PS_TCP, 7471);
    m.req.local_qpn = g->conn.qpn[0];
    m.req.starting_psn = g->conn.psn[1]; /* first PSN that the passive side must send */
    m.req.responder_resources = 4;
    m.req.initiator_depth = 4;
    m.req.mtu = roce_mtu_code(g->mtu);
    m.req.primary_ack_timeout = 14;
    m.req.retry_count = 6;
    m.req.rnr_retry_count = 6;
    m.req.max_cm_retries = 15;
    m.req.transport = g->svc == ROCE_SVC_UC    ? ROCE_CM_TRANSPORT_UC
                      : g->svc == ROCE_SVC_XRC ? ROCE_CM_TRANSPORT_EXTENDED
                                               : ROCE_CM_TRANSPORT_RC;
    m.req.ext_transport = g->svc == ROCE_SVC_XRC ? ROCE_CM_EXT_TRANSPORT_XRC : 0;
    if (g->encap == ROCE_ENCAP_V2_IP4) {
        const uint8_t a[4] = {192, 0, 2, 1}, b[4] = {192, 0, 2, 2};

        memcpy(ip.src + 12, a, 4);
        memcpy(ip.dst + 12, b, 4);
    } else {
        ip.src[0] = ip.dst[0] = 0x20;
        ip.src[1] = ip.dst[1] = 0x01;
        ip.src[15] = 1;
        ip.dst[15] = 2;
    }
    (void)roce_cm_rdmaip_write(&ip, &m);
    return m;
}

struct roce_cm_msg flowgen_cm_rep(struct flowgen *g)
{
    struct roce_cm_msg m;

    roce_cm_msg_init(&m, ROCE_CM_REP, g->tid);
    m.rep.local_comm_id = g->conn.qpn[1];
    m.rep.remote_comm_id = g->conn.qpn[0];
    m.rep.local_qpn = g->svc == ROCE_SVC_XRC ? 0 : g->conn.qpn[1];
    m.rep.local_eecn = g->svc == ROCE_SVC_XRC ? g->conn.qpn[1] : 0;
    m.rep.starting_psn = g->conn.psn[0];
    m.rep.responder_resources = 4;
    m.rep.initiator_depth = 4;
    m.rep.rnr_retry_count = 6;
    return m;
}

void flowgen_connect(struct flowgen *g)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    m = flowgen_cm_rep(g);
    flowgen_cm(g, 1, &m);
    roce_cm_msg_init(&m, ROCE_CM_RTU, g->tid);
    m.rtu.local_comm_id = g->conn.qpn[0];
    m.rtu.remote_comm_id = g->conn.qpn[1];
    flowgen_cm(g, 0, &m);
    g->tid++;
}

void flowgen_disconnect(struct flowgen *g)
{
    struct roce_cm_msg m;

    roce_cm_msg_init(&m, ROCE_CM_DREQ, g->tid);
    m.dreq.local_comm_id = g->conn.qpn[0];
    m.dreq.remote_comm_id = g->conn.qpn[1];
    m.dreq.remote_qpn = g->conn.qpn[1];
    flowgen_cm(g, 0, &m);
    roce_cm_msg_init(&m, ROCE_CM_DREP, g->tid);
    m.drep.local_comm_id = g->conn.qpn[1];
    m.drep.remote_comm_id = g->conn.qpn[0];
    flowgen_cm(g, 1, &m);
    g->tid++;
}

/* ---- random conversations -------------------------------------------------------------------- */

void flowgen_random(struct flowgen *g, struct rng *rng, unsigned messages)
{
    for (unsigned i = 0; i < messages; i++) {
        int side = rng_below(rng, 3) == 0;
        uint32_t len = rng_below(rng, rng_below(rng, 2) ? 2 * g->mtu : 12 * g->mtu);

        flowgen_wait(g, rng_below(rng, 100000));
        switch (rng_below(rng, g->svc == ROCE_SVC_UC ? 2 : 6)) {
        case 0: flowgen_send(g, side, len); break;
        case 1: flowgen_write(g, side, len); break;
        case 2: flowgen_read(g, side, len); break;
        case 3: flowgen_atomic(g, side); break;
        case 4: { /* two messages acknowledged by one ACK */
            flowgen_message(g, side, ROCE_KIND_SEND, len);
            flowgen_write(g, side, rng_below(rng, 3000));
            break;
        }
        default: { /* RNR NAK, wait, retransmission */
            uint32_t psn = flowgen_message(g, side, ROCE_KIND_SEND, 100);
            struct roce_pkt p = flowgen_resp(g, !side, ROCE_OP_RC_ACK, psn, 0);

            p.aeth.syndrome = ROCE_SYNDROME_RNR | 14; /* RNR timer code 14: 1.28 ms */
            p.aeth.msn = (p.aeth.msn - 1) & ROCE_PSN_MASK;
            flowgen_put(g, !side, &p);
            flowgen_wait(g, roce_rnr_ns(14) + rng_below(rng, 1000000));
            g->conn.psn[side] = psn;
            g->conn.msn[side] = (g->conn.msn[side] - 1) & ROCE_PSN_MASK;
            flowgen_send(g, side, 100);
        }
        }
    }
}

#define MESSAGE_PKTS 4u
#define WINDOW       32u

size_t flowgen_lossy(struct flowgen *g, struct rng *rng, uint32_t packets, uint32_t permille,
                     struct flowgen_loss *out, size_t cap)
{
    uint32_t base = g->conn.psn[0], msn = g->conn.msn[0], sent = 0, una = 0, epsn = 0,
             nak_at = UINT32_MAX;
    uint32_t nak_in = 0, len = MESSAGE_PKTS * g->mtu;
    bool nak_sent = false, nak_coming = false;
    size_t cnt = 0;

    packets -= packets % MESSAGE_PKTS;
    while (una < packets) {
        if (nak_coming &&
            /* The sequence NAK arrives now: the requester retransmits from the NAK's PSN. */
            nak_in-- == 0) {
            nak_coming = false;
            flowgen_ack(g, 1, base + nak_at, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
            if (una < nak_at)
                una = nak_at;
            if (cnt < cap)
                out[cnt] = (struct flowgen_loss){(base + nak_at) & ROCE_PSN_MASK, false};
            cnt++;
            sent = nak_at;
            continue;
        }
        if (sent < packets && sent < una + WINDOW) {
            uint32_t k = sent % MESSAGE_PKTS;
            uint8_t op = k == 0                  ? ROCE_OP_RC_WRITE_FIRST
                         : k + 1 == MESSAGE_PKTS ? ROCE_OP_RC_WRITE_LAST
                                                 : ROCE_OP_RC_WRITE_MIDDLE;
            struct roce_pkt p;

            g->conn.psn[0] = (base + sent) & ROCE_PSN_MASK;
            p = flowgen_req(g, 0, op, g->mtu);
            p.reth.dma_len = len;
            flowgen_put(g, 0, &p);
            g->conn.msn[0] = (msn + epsn / MESSAGE_PKTS) & ROCE_PSN_MASK;
            if (rng_below(rng, 1000) >= permille) {
                bool lost = rng_below(rng, 1000) < permille;

                if (sent == epsn) {
                    epsn++;
                    nak_sent = false;
                    g->conn.msn[0] = (msn + epsn / MESSAGE_PKTS) & ROCE_PSN_MASK;
                    if (p.bth.ackreq && !lost && !nak_coming) {
                        flowgen_ack(g, 1, base + sent, ROCE_CREDIT_NONE);
                        una = epsn;
                    }
                } else if (sent > epsn && !nak_sent) {
                    nak_sent = true;
                    if (!lost) {
                        nak_coming = true;
                        nak_at = epsn;
                        nak_in = 2;
                    }
                } else if (sent < epsn && p.bth.ackreq && !lost && !nak_coming) {
                    flowgen_ack(g, 1, base + epsn - 1, ROCE_CREDIT_NONE);
                    una = epsn;
                }
            }
            sent++;
            continue;
        }
        if (nak_coming)
            continue;
        if (sent > una) { /* nothing more arrives: the requester's ACK timer expires */
            flowgen_wait(g, TIMEOUT);
            if (cnt < cap)
                out[cnt] = (struct flowgen_loss){(base + una) & ROCE_PSN_MASK, true};
            cnt++;
            sent = una;
        }
    }
    g->conn.psn[0] = (base + packets) & ROCE_PSN_MASK;
    g->conn.msn[0] = (msn + packets / MESSAGE_PKTS) & ROCE_PSN_MASK;
    return cnt;
}
