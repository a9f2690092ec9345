/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the fast path (flow/fast_path.c). In each test, one packet of a message differs from its
 * neighbours, or another packet is sent between them. judge() fails if the results differ from the
 * results of an analysis engine without the fast path. Each change must also change a finding or
 * result, otherwise it would test nothing. After that, random conversations are judged.
 */
#include <string.h>
#include "judge.h"
#include "support/suite.h"

#define PACKETS 7u /* packets of the message: one First, five Middle, one Last */
#define ROUNDS  SUITE_TURNS(40)

/* Changes packet `p` before it is sent, or sends another packet before it. */
typedef void change_fn(struct flowgen *g, struct roce_pkt *p);

/* ---- alterations of the packet --------------------------------------------------------------- */

/* clang-format off */
static void nothing(struct flowgen *g, struct roce_pkt *p)   { (void)g; (void)p; }
static void ce_mark(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->ip4.ecn = 3; p->ip6.ecn = 3; }
static void fecn(struct flowgen *g, struct roce_pkt *p)      { (void)g; p->bth.fecn = 1; }
static void becn(struct flowgen *g, struct roce_pkt *p)      { (void)g; p->bth.becn = 1; }
static void dscp(struct flowgen *g, struct roce_pkt *p)      { (void)g; p->ip4.dscp ^= 8; p->ip6.dscp ^= 8; }
static void pkey(struct flowgen *g, struct roce_pkt *p)      { (void)g; p->bth.pkey = 0x8001; }
static void sport(struct flowgen *g, struct roce_pkt *p)     { (void)g; p->udp.sport ^= 1; }
static void psn_on(struct flowgen *g, struct roce_pkt *p)    { (void)g; p->bth.psn = (p->bth.psn + 1) & ROCE_PSN_MASK; }
static void psn_back(struct flowgen *g, struct roce_pkt *p)  { (void)g; p->bth.psn = (p->bth.psn - 1) & ROCE_PSN_MASK; }
static void psn_far(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->bth.psn ^= 0x400000; }
static void shorter(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->payload_len -= 4; }
static void longer(struct flowgen *g, struct roce_pkt *p)    { (void)g; p->payload_len += 4; }
static void empty(struct flowgen *g, struct roce_pkt *p)     { (void)g; p->payload_len = 0; }
static void reserved(struct flowgen *g, struct roce_pkt *p)  { (void)g; p->bth.resv7 = 1; }
static void options(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->ip4_options_len = 4; memset(p->ip4_options, 1, 4); }
static void opcode(struct roce_pkt *p, int by)               { p->bth.opcode = (uint8_t)(p->bth.opcode + by); p->op = roce_opcode(p->bth.opcode); }
static void other_kind(struct flowgen *g, struct roce_pkt *p) { (void)g; opcode(p, p->op->kind == ROCE_KIND_SEND ? 6 : -6); }
/* clang-format on */

/* Changes the packet to another transport service on the same QPs. */
static void service(struct flowgen *g, struct roce_pkt *p)
{
    (void)g;
    p->bth.opcode ^= ROCE_SVC_UC << 5;
    p->bth.ackreq = 0;
    p->op = roce_opcode(p->bth.opcode);
}

static void vlan(struct flowgen *g, struct roce_pkt *p)
{
    (void)g;
    p->vlan_cnt = 1;
    p->present |= ROCE_HDR_BIT(ROCE_HDR_VLAN);
    p->vlan[0] = (struct roce_vlan){.vid = 7, .type = p->eth.type};
    p->eth.type = ROCE_ETHERTYPE_VLAN;
}

/* Changes the addresses of the packet to the other IP version: it then belongs to another
 * connection. */
static void other_version(struct flowgen *g, struct roce_pkt *p)
{
    struct roce_pkt q;

    roce_pkt_init(&q, g->encap == ROCE_ENCAP_V2_IP4 ? ROCE_ENCAP_V2_IP6 : ROCE_ENCAP_V2_IP4,
                  p->bth.opcode);
    q.udp.sport = p->udp.sport;
    q.bth = p->bth;
    q.payload = p->payload;
    q.payload_len = p->payload_len;
    *p = q;
}

/* ---- packets in between ---------------------------------------------------------------------- */

static void pause(struct flowgen *g, struct roce_pkt *p)
{
    (void)p;
    flowgen_wait(g, 300000000);
}

static void answer(struct flowgen *g, uint32_t psn, uint8_t syndrome)
{
    flowgen_ack(g, 1, psn & ROCE_PSN_MASK, syndrome);
}

static void ack_before(struct flowgen *g, struct roce_pkt *p)
{
    answer(g, p->bth.psn - 1, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
}

static void ack_ahead(struct flowgen *g, struct roce_pkt *p)
{
    answer(g, p->bth.psn + 1, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
}

static void nak(struct flowgen *g, struct roce_pkt *p)
{
    answer(g, p->bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
}

/* Sends a sequence NAK, retransmits the packet with the PSN of the NAK, and sends another sequence
 * NAK. */
static void nak_again(struct flowgen *g, struct roce_pkt *p)
{
    nak(g, p);
    p->payload_cap_len = p->payload_len;
    flowgen_put(g, 0, p);
    nak(g, p);
}

/* Sends a READ of 300 bytes and an ACK for it. If the packets before do not show the path MTU, the
 * READ may have one or two PSNs. The next request has a PSN as if the READ had one PSN. */
static void read_of_some(struct flowgen *g, struct roce_pkt *p)
{
    uint32_t psn = p->bth.psn;
    struct roce_pkt q;

    if (p->op->svc == ROCE_SVC_UC)
        return;
    g->conn.psn[0] = psn;
    q = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, 300);
    flowgen_put(g, 0, &q);
    answer(g, psn, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
    g->conn.psn[0] = (psn + 1) & ROCE_PSN_MASK;
    q = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 8);
    flowgen_put(g, 0, &q);
    p->bth.psn = g->conn.psn[0];
    g->conn.psn[0] = (g->conn.psn[0] + 1) & ROCE_PSN_MASK;
}

/* Sends a fatal NAK, and the next request so long after it that the requester must have received
 * the NAK. */
static void refused(struct flowgen *g, struct roce_pkt *p)
{
    answer(g, p->bth.psn - 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    g->step = 60000000;
}

static void other_pkey_back(struct flowgen *g, struct roce_pkt *p)
{
    struct roce_pkt ack = flowgen_resp(g, 1, ROCE_OP_RC_ACK, p->bth.psn - 1, 0);

    ack.bth.pkey = 0x8002;
    flowgen_put(g, 1, &ack);
}

/* Sends a READ request between two packets of the message. */
static void read_between(struct flowgen *g, struct roce_pkt *p)
{
    struct roce_pkt read = *p;

    roce_pkt_init(&read, p->encap, (uint8_t)(ROCE_OP_RC_READ_REQUEST | p->op->svc << 5));
    read.eth = p->eth;
    read.ip4 = p->ip4;
    read.ip6 = p->ip6;
    read.udp = p->udp;
    read.bth.dest_qp = p->bth.dest_qp;
    read.bth.psn = p->bth.psn;
    read.reth = (struct roce_reth){.va = 0x1000, .rkey = 1, .dma_len = 8};
    flowgen_put(g, 0, &read);
    p->bth.psn = g->conn.psn[0];
    g->conn.psn[0] = (g->conn.psn[0] + 1) & ROCE_PSN_MASK;
}

/* Changes nothing. For the row with this function, talk() sends one READ more than its CM messages
 * allow. */
static void reads_before(struct flowgen *g, struct roce_pkt *p)
{
    (void)g;
    (void)p;
}

static void twice(struct flowgen *g, struct roce_pkt *p)
{
    (void)p;
    if (g->frame_cnt)
        flowgen_copy(g);
}

static const struct {
    const char *name;
    change_fn *change;
    bool unseen; /* the change must not affect any finding or result */
} rows[] = {
    {"nothing", nothing, true},
    {"CE", ce_mark, false},
    {"FECN", fecn, false},
    {"BECN", becn, false},
    {"DSCP", dscp, false},
    {"P_Key", pkey, false},
    {"source port", sport, false},
    {"PSN one on", psn_on, false},
    {"PSN one back", psn_back, false},
    {"PSN far away", psn_far, false},
    {"shorter", shorter, false},
    {"longer", longer, false},
    {"empty", empty, false},
    {"reserved bit", reserved, false},
    {"IPv4 options", options, false},
    {"SEND and WRITE", other_kind, false},
    {"service", service, false},
    {"VLAN", vlan, false},
    {"IPv4 and IPv6", other_version, false},
    {"pause", pause, false},
    {"ACK up to here", ack_before, false},
    {"ACK beyond", ack_ahead, false},
    {"NAK", nak, false},
    {"NAK again", nak_again, false},
    {"READ of some PSNs", read_of_some, false},
    {"refused", refused, false},
    {"P_Key of the other side", other_pkey_back, false},
    {"READ between", read_between, false},
    {"READs under way", reads_before, false},
    {"twice", twice, false},
};

/* Generates a conversation with one message of kind `kind` (SEND or WRITE). `change` changes
 * packet number `at` of this message. */
static void talk(struct flowgen *g, struct rng *rng, enum roce_kind kind, bool cm, unsigned at,
                 change_fn *change)
{
    uint8_t base = kind == ROCE_KIND_SEND ? ROCE_OP_RC_SEND_FIRST : ROCE_OP_RC_WRITE_FIRST;
    uint32_t last = 4 + 4 * rng_below(rng, 60), skew = 4 * rng_below(rng, 40);
    bool wrong = kind == ROCE_KIND_WRITE && rng_below(rng, 8) == 0; /* the DMA length in the RETH
                                                                     * differs from the length of
                                                                     * the message */

    if (cm)
        flowgen_connect(g);
    flowgen_send(g, 0, 100);
    if (rng_below(rng, 4)) { /* without these messages, the path MTU and the pairing are unknown */
        flowgen_write(g, 0, 3 * g->mtu);
        flowgen_write(g, 1, 3 * g->mtu);
    }
    for (int i = 0; change == reads_before && i < 5; i++) {
        struct roce_pkt read = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, 8);

        flowgen_put(g, 0, &read);
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        uint8_t place = i == 0 ? 0 : i + 1 < PACKETS ? 1 : 2;
        struct roce_pkt p = flowgen_req(g, 0, (uint8_t)(base + place), place == 2 ? last : g->mtu);

        p.reth.dma_len = (PACKETS - 1) * g->mtu + last + (wrong ? skew : 0);
        if (i == at)
            change(g, &p);
        p.payload_cap_len = p.payload_len;
        flowgen_put(g, 0, &p);
    }
    flowgen_ack_all(g, 1);
    flowgen_write(g, 0, 2 * g->mtu);
}

static bool same(const struct verdict *a, const struct verdict *b)
{
    bool same =
        memcmp(&a->totals, &b->totals, sizeof(a->totals)) == 0 && a->conn_cnt == b->conn_cnt;

    for (uint32_t i = 0; same && i < a->conn_cnt; i++)
        same = judge_same_conn(&a->conn[i], &b->conn[i]) && a->times[i] == b->times[i];
    return same;
}

static void judged(const struct rng *seed, size_t row, struct verdict *v)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};
    static const enum roce_svc svcs[] = {ROCE_SVC_RC, ROCE_SVC_RC, ROCE_SVC_UC};
    struct rng rng = *seed;
    struct flowgen g;
    bool cm;

    flowgen_init(&g);
    g.mtu = 256;
    g.encap = encaps[rng_below(&rng, 2)];
    g.svc = svcs[rng_below(&rng, 3)];
    cm = rng_below(&rng, 2);
    g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
    g.conn.psn[0] = rng_below(&rng, 3) ? rng_below(&rng, 1u << 24) : 0xFFFFF8;
    talk(&g, &rng, rng_below(&rng, 2) ? ROCE_KIND_SEND : ROCE_KIND_WRITE, cm,
         rng_below(&rng, PACKETS), rows[row].change);
    judge_end(&g, v);
}

static void one_differing_packet_is_judged_alike(void)
{
    static struct verdict plain, changed;
    struct rng rng = rng_seed();

    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        unsigned seen = 0;

        for (int i = 0; i < ROUNDS; i++) {
            struct rng seed = rng_of(rng_u64(&rng) | 1);

            judged(&seed, row, &changed);
            judged(&seed, 0, &plain);
            seen += !same(&plain, &changed);
        }
        /* Some changes have no effect in some conversations, such as IPv4 options in an IPv6
         * packet. */
        if (rows[row].unseen ? seen > 0 : seen < ROUNDS / 8)
            suite_fail(__FILE__, __LINE__, "%s: the results differ in %u of %d conversations",
                       rows[row].name, seen, ROUNDS);
    }
    CU_PASS("each was seen");
}

/* ---- random conversations -------------------------------------------------------------------- */

#define TALKS   SUITE_TURNS(2000)
#define ACTIONS 70
#define FLYING  64u

/* Unacknowledged packets of a side: the PSN of each packet, and the MSN of its ACK. */
struct flying {
    struct {
        uint32_t psn, msn;
    } at[FLYING];
    unsigned cnt;
};

/* Two connections between two hosts, with interleaved packets. */
struct mix {
    struct flowgen g; /* generator. g.conn is the connection that sends next; `other` is the second
                       * connection */
    struct rng *rng;
    struct flying flying[2];
    struct flowgen_conn other;
    struct flying other_flying[2];
    uint32_t odds; /* one in `odds` packets is changed */
    bool small;    /* no message is long enough to show the path MTU */
};

static void take_turns(struct mix *m)
{
    struct flowgen_conn conn = m->g.conn;
    struct flying flying[2];

    memcpy(flying, m->flying, sizeof(flying));
    m->g.conn = m->other;
    memcpy(m->flying, m->other_flying, sizeof(flying));
    m->other = conn;
    memcpy(m->other_flying, flying, sizeof(flying));
}

/* clang-format off */
static void va_at_end(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->reth.va = UINT64_MAX - 100; }
static void dma_too_long(struct flowgen *g, struct roce_pkt *p){ (void)g; p->reth.dma_len = 0x80000001; }
static void dma_longer(struct flowgen *g, struct roce_pkt *p)  { (void)g; p->reth.dma_len += 4; }
static void dma_shorter(struct flowgen *g, struct roce_pkt *p) { (void)g; p->reth.dma_len -= 4; }
static void no_dma(struct flowgen *g, struct roce_pkt *p)      { (void)g; p->reth.dma_len = 0; }
static void past_mtu(struct flowgen *g, struct roce_pkt *p)    { p->payload_len = p->payload ? g->mtu + 4 : 0; p->reth.dma_len = p->payload_len; }
static void past_all(struct flowgen *g, struct roce_pkt *p)    { (void)g; p->payload_len = p->payload ? 4100 : 0; p->reth.dma_len = p->payload_len; }
static void other_rkey(struct flowgen *g, struct roce_pkt *p)  { (void)g; p->reth.rkey ^= 1; }
static void msn_on(struct flowgen *g, struct roce_pkt *p)      { (void)g; p->aeth.msn = (p->aeth.msn + 1) & ROCE_PSN_MASK; }
static void msn_back(struct flowgen *g, struct roce_pkt *p)    { (void)g; p->aeth.msn = (p->aeth.msn - 1) & ROCE_PSN_MASK; }
static void few_credits(struct flowgen *g, struct roce_pkt *p) { (void)g; p->aeth.syndrome = ROCE_SYNDROME_ACK | 1; }
static void no_credits(struct flowgen *g, struct roce_pkt *p)  { (void)g; p->aeth.syndrome = ROCE_SYNDROME_ACK; }
static void rnr(struct flowgen *g, struct roce_pkt *p)         { (void)g; p->aeth.syndrome = ROCE_SYNDROME_RNR | 3; }
static void seq_nak(struct flowgen *g, struct roce_pkt *p)     { (void)g; p->aeth.syndrome = ROCE_SYNDROME_NAK; }
static void fatal_nak(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->aeth.syndrome = ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS; }
static void no_syndrome(struct flowgen *g, struct roce_pkt *p) { (void)g; p->aeth.syndrome = 0x9F; }
static void no_ackreq(struct flowgen *g, struct roce_pkt *p)   { (void)g; p->bth.ackreq = 0; }
static void late(struct flowgen *g, struct roce_pkt *p)        { (void)p; g->now -= g->now > 5000 ? 5000 : 0; }
static void short_rest(struct flowgen *g, struct roce_pkt *p)  { (void)p; flowgen_wait(g, 90000000); }
static void same_id(struct flowgen *g, struct roce_pkt *p)     { (void)g; p->ip4.id = 1; }
/* clang-format on */

static change_fn *const more[] = {past_mtu,    past_all,   va_at_end,  dma_too_long, dma_longer,
                                  dma_shorter, no_dma,     other_rkey, msn_on,       msn_back,
                                  few_credits, no_credits, rnr,        seq_nak,      fatal_nak,
                                  no_syndrome, no_ackreq,  late,       short_rest,   same_id};

static void put_odd(struct mix *m, int side, struct roce_pkt *p)
{
    static const uint8_t zeros[8];
    unsigned own = sizeof(rows) / sizeof(rows[0]) - 1;
    unsigned row = rng_below(m->rng, own + sizeof(more) / sizeof(more[0]));

    if (rng_below(m->rng, m->odds) == 0) {
        (row < own ? rows[1 + row].change : more[row - own])(&m->g, p);
        if (p->payload_len > 8000) /* the length became negative and wrapped */
            p->payload_len = 0;
        if (!p->payload)
            p->payload = zeros;
        p->payload_cap_len = p->payload_len;
    }
    flowgen_put(&m->g, side, p);
}

static void put_message(struct mix *m, int side)
{
    static const uint8_t sends[2][6] = {{0x00, 0x01, 0x02, 0x04}, {0x00, 0x01, 0x03, 0x05}};
    static const uint8_t writes[2][6] = {{0x06, 0x07, 0x08, 0x0A}, {0x06, 0x07, 0x09, 0x0B}};
    const uint8_t *op = (rng_below(m->rng, 3) ? writes : sends)[rng_below(m->rng, 8) == 0];
    uint32_t cnt = m->small || rng_below(m->rng, 2) ? 1 : 2 + rng_below(m->rng, 4);
    uint32_t last = rng_below(m->rng, 16) ? 4 + 4 * rng_below(m->rng, 63) : cnt == 1 ? 0 : 256;
    struct flying *f = &m->flying[side];

    for (uint32_t i = 0; i < cnt; i++) {
        unsigned place = cnt == 1 ? 3 : i == 0 ? 0 : i + 1 < cnt ? 1 : 2;
        struct roce_pkt p = flowgen_req(&m->g, side, op[place], i + 1 < cnt ? m->g.mtu : last);

        p.reth.dma_len = (cnt - 1) * m->g.mtu + last;
        if (f->cnt == FLYING)
            f->cnt = 0; /* the packets in flight remain unanswered */
        f->at[f->cnt].psn = p.bth.psn;
        f->at[f->cnt++].msn = m->g.conn.msn[side];
        put_odd(m, side, &p);
    }
}

/* Sends an ACK for some or all unacknowledged packets of `side`. */
static void put_ack(struct mix *m, int side)
{
    struct flying *f = &m->flying[side];
    unsigned i;
    struct roce_pkt p;

    if (f->cnt == 0 || m->g.svc == ROCE_SVC_UC)
        return;
    i = rng_below(m->rng, 2) ? f->cnt - 1 : rng_below(m->rng, f->cnt);
    p = flowgen_resp(&m->g, !side, ROCE_OP_RC_ACK, f->at[i].psn, 0);
    p.aeth.msn = f->at[i].msn;
    put_odd(m, !side, &p);
    f->cnt -= i + 1;
    memmove(f->at, f->at + i + 1, f->cnt * sizeof(f->at[0]));
}

/* Makes `side` retransmit from an unacknowledged packet on, or from a few packets after it. */
static void go_back(struct mix *m, int side)
{
    struct flying *f = &m->flying[side];
    unsigned i = f->cnt ? rng_below(m->rng, f->cnt) : 0;

    if (f->cnt == 0)
        return;
    if (rng_below(m->rng, 2))
        answer(&m->g, f->at[i].psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    m->g.conn.psn[side] = f->at[i].psn;
    m->g.conn.msn[side] = f->at[i].msn;
    f->cnt = i;
}

static void act(struct mix *m)
{
    int side = rng_below(m->rng, 6) == 0;
    bool rc = m->g.svc != ROCE_SVC_UC;
    struct flowgen_conn conn;
    struct roce_pkt p;
    uint32_t len;

    switch (rng_below(m->rng, 40)) {
    case 0: /* a READ or atomic */
    case 1:
        if (!rc)
            return;
        m->flying[side].cnt = 0;
        if (rng_below(m->rng, 3) == 0)
            flowgen_atomic(&m->g, side);
        else
            flowgen_read(&m->g, side, rng_below(m->rng, 700));
        break;
    case 2: /* a READ that gets no response, or a late one */
        if (!rc)
            return;
        len = rng_below(m->rng, 700);
        p = flowgen_req(&m->g, side, ROCE_OP_RC_READ_REQUEST, len);
        put_odd(m, side, &p);
        put_message(m, side);
        if (rng_below(m->rng, 2))
            flowgen_read_resp(&m->g, !side, p.bth.psn, len, 0, roce_psn_cnt(len, m->g.mtu) - 1);
        break;
    case 3: go_back(m, side); break;
    case 4: m->g.step = 1000 + rng_below(m->rng, 5000); break;
    case 5:
    case 6: take_turns(m); break;
    case 7: /* between messages, packets of another transport service, which are not part of the
             * connection */
        for (unsigned i = rng_below(m->rng, 8); i > 0; i--) {
            conn = m->g.conn;
            p = flowgen_req(&m->g, side, ROCE_OP_RC_SEND_ONLY, 8);
            service(&m->g, &p);
            flowgen_put(&m->g, side, &p);
            m->g.conn = conn;
            put_message(m, side);
        }
        break;
    default:
        if (rng_below(m->rng, 3))
            put_message(m, side);
        else
            put_ack(m, side);
    }
}

/* Random conversations: an analysis engine without the fast path must give the same results
 * (judge.h). */
static void random_packets_are_judged_alike(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP4,
                                             ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    static const enum roce_svc svcs[] = {ROCE_SVC_RC, ROCE_SVC_RC, ROCE_SVC_RC, ROCE_SVC_XRC,
                                         ROCE_SVC_UC};
    static struct verdict v;
    struct rng rng = rng_seed();

    for (int i = 0; i < TALKS; i++) {
        static struct mix m;
        struct judge_spoil spoil = {.rng = &rng};

        memset(&m, 0, sizeof(m));
        flowgen_init(&m.g);
        m.rng = &rng;
        m.odds = 4u << rng_below(&rng, 6);
        m.small = rng_below(&rng, 4) == 0;
        m.g.mtu = 256;
        m.g.encap = encaps[rng_below(&rng, 4)];
        m.g.svc = svcs[rng_below(&rng, 5)];
        if (rng_below(&rng, 2))
            m.g.conn.sport = flowgen_linux_sport(m.g.conn.qpn[0], m.g.conn.qpn[1]);
        m.g.conn.psn[0] = rng_below(&rng, 3) ? rng_below(&rng, 1u << 24) : 0xFFFFC0;
        m.other = flowgen_conn_of(7, m.g.conn.psn[0], m.g.conn.psn[1]);
        if (rng_below(&rng, 3) == 0)
            flowgen_connect(&m.g);
        for (int n = 0; n < ACTIONS; n++)
            act(&m);
        switch (rng_below(&rng, 12)) {
        case 0: spoil.drop_permille = 30; break;
        case 1: spoil.no_icrc = true; break;
        case 2: spoil.one_side = true; break;
        case 3: spoil.head = rng_below(&rng, 20); break;
        case 4:
            spoil.snap_min = 50;
            spoil.snap_max = 50 + rng_below(&rng, 300);
            break;
        }
        judge(&m.g, NULL, &spoil, &v);
        flowgen_free(&m.g);
    }
    CU_PASS("judge() compares");
}

SUITE("flow.fast_path", TEST(one_differing_packet_is_judged_alike),
      TEST(random_packets_are_judged_alike))
