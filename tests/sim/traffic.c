/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>
#include "flow_oracle.h"
#include "support/requester_oracle.h"
#include "support/suite.h"
#include "support/work.h"
#include "wire/codes.h"
#include "wire/crc32.h"

#define DEPTH 16u
/* First third of the memory: bytes that this side sends, and bytes that its peer READs. */
#define SOURCES 0u
#define FETCHED (QP_PAIR_MEM / 3) /* second third: results of READs and atomics */
/* Last third: destination of the peer's SENDs and WRITEs. */
#define WRITTEN (2 * FETCHED)
#define WORDS   64u /* each third begins with this number of bytes for atomics */
/* Number of PSNs of one direction for which packets are compared. */
#define PSNS 16384u
/* Virtual time in ns after which no request is still pending. */
#define LONG_TIME UINT64_C(60000000000)

/* Request of the random plan, with source and destination of the data. */
struct plan {
    enum rnic_wr_opcode opcode;
    uint32_t len;
    uint32_t off;  /* offset in the requester's memory */
    uint32_t roff; /* offset in the responder's memory, or in the receive buffer */
    unsigned flags;
    uint32_t imm;
    struct rnic_mr *mr; /* LOCAL_INV, SEND_INV: region to invalidate */
    uint64_t orig;      /* CMP_SWAP: value before the operation */
};

/* One direction of a QP: the requests of one side and their progress. */
struct stream {
    struct plan plan[TRAFFIC_WRS];
    unsigned posted;
    unsigned done;     /* number of requests with a checked completion */
    unsigned recv_cnt; /* number of receive WQEs that the requests of the stream use */
    unsigned recv_posted;
    unsigned recv_done;
    unsigned recv_plan[TRAFFIC_WRS]; /* index of the request that uses the n-th receive WQE */
    uint32_t sent;                   /* number of PSNs sent so far; the next one is new (R057) */
    uint32_t seen[PSNS];             /* hash of the packet at each PSN, 0 if none was sent (R153) */
    struct requester_oracle witness; /* oracle of the requester's counters */
};

static struct qp_pair pair;
static struct traffic_limits limits;
static struct stream stream[2][QP_PAIR_QPS];
static uint8_t *expected[2]; /* expected contents of each side's memory */
static struct rng rng;

/* ---- drawing the requests -------------------------------------------------------------------- */

/* Returns the offset in memory of the slot of request `i`. The memory has three areas of equal
 * size; `area` is the offset of one of them. Slots of different streams do not overlap. */
static uint32_t slot_of(unsigned qp, unsigned i, uint32_t area)
{
    return area + WORDS + (qp * limits.wr_cnt + i) * limits.max_len;
}

static uint32_t random_len(void)
{
    uint32_t mtu = limits.path_mtu;
    uint32_t len;

    switch (rng_below(&rng, 6)) {
    case 0: len = rng_below(&rng, 9); break;
    case 1: len = mtu - 1 + rng_below(&rng, 3); break;
    case 2: len = mtu * (1 + rng_below(&rng, 6)); break;
    case 3: len = mtu * (1 + rng_below(&rng, 4)) + rng_below(&rng, 5); break;
    default: len = rng_below(&rng, limits.max_len + 1); break;
    }
    return len > limits.max_len ? limits.max_len : len;
}

static struct rnic_mr *small_region(unsigned side)
{
    struct rnic_mr_attr attr = {.addr = pair.side[side].mem,
                                .len = 8,
                                .iova = 0x1000,
                                .access = RNIC_ACCESS_REMOTE_READ,
                                .invalidate = true};
    struct rnic_mr *mr = NULL;

    EXPECT_EQ(rnic_mr_reg(pair.side[side].pd, &attr, &mr), RNIC_OK);
    return mr;
}

static void make_plan(unsigned side, unsigned qp, unsigned i)
{
    static const enum rnic_wr_opcode ops[] = {
        RNIC_WR_WRITE,    RNIC_WR_WRITE_IMM, RNIC_WR_SEND,      RNIC_WR_SEND_IMM,
        RNIC_WR_READ,     RNIC_WR_CMP_SWAP,  RNIC_WR_FETCH_ADD, RNIC_WR_LOCAL_INV,
        RNIC_WR_SEND_INV, RNIC_WR_READ,      RNIC_WR_WRITE};
    struct stream *st = &stream[side][qp];
    struct plan *p = &st->plan[i];
    uint8_t *mine = expected[side];
    uint8_t *theirs = expected[!side];
    bool reads;

    *p = (struct plan){.opcode = ops[rng_below(&rng, sizeof(ops) / sizeof(ops[0]))],
                       .imm = (uint32_t)rng_u64(&rng)};
    reads = rnic_wr_is_fetch(p->opcode);
    p->len = rnic_wr_is_atomic(p->opcode) ? 8 : random_len();
    p->off = slot_of(qp, i, reads ? FETCHED : SOURCES);
    p->roff = slot_of(qp, i, reads ? SOURCES : WRITTEN);
    p->flags = (rng_below(&rng, 3) ? RNIC_SEND_SIGNALED : 0u) |
               (rng_below(&rng, 5) ? 0u : RNIC_SEND_FENCE) |
               (rng_below(&rng, 4) ? 0u : RNIC_SEND_SOLICITED);
    if (!reads && p->opcode != RNIC_WR_LOCAL_INV && p->len <= 64 && rng_below(&rng, 2))
        p->flags |= RNIC_SEND_INLINE;
    if (i == limits.wr_cnt - 1)
        p->flags |= RNIC_SEND_SIGNALED;
    if (rnic_wr_uses_rq(p->opcode))
        st->recv_plan[st->recv_cnt++] = i;
    switch (p->opcode) {
    case RNIC_WR_CMP_SWAP: { /* each CMP_SWAP must find the value that the previous one stored */
        uint64_t next = rng_u64(&rng);

        p->roff = 8 * (qp + 1);
        memcpy(&p->orig, theirs + p->roff, 8);
        memcpy(theirs + p->roff, &next, 8);
        memcpy(mine + p->off, &p->orig, 8);
        break;
    }
    case RNIC_WR_FETCH_ADD: { /* all QPs of a side add to one word (R123) */
        uint64_t sum;

        p->roff = 0;
        memcpy(&sum, theirs, 8);
        sum += p->imm;
        memcpy(theirs, &sum, 8);
        break; /* the value found depends on the atomics of the other QPs, so only check_adds()
                * checks the sum */
    }
    case RNIC_WR_LOCAL_INV:
        p->len = 0;
        p->mr = small_region(side);
        break;
    case RNIC_WR_READ: memcpy(mine + p->off, theirs + p->roff, p->len); break;
    default:
        if (p->opcode == RNIC_WR_SEND_INV)
            p->mr = small_region(!side);
        memcpy(theirs + p->roff, mine + p->off, p->len);
        break;
    }
}

/* ---- posting and polling --------------------------------------------------------------------- */

/* Divides the bytes of a request among one to four SGEs, some of them empty. Returns their
 * number. */
static uint32_t cut(struct rnic_sge sge[4], uint64_t addr, uint32_t len, uint32_t key)
{
    uint32_t cnt = 1 + rng_below(&rng, 4);

    for (uint32_t i = 0; i < cnt; i++) {
        uint32_t part = i == cnt - 1 ? len : rng_below(&rng, len + 1);

        sge[i] = (struct rnic_sge){addr, part, key};
        addr += part;
        len -= part;
    }
    return cnt;
}

static bool post_one(unsigned side, unsigned qp)
{
    struct stream *st = &stream[side][qp];
    const struct plan *p = &st->plan[st->posted];
    struct rnic_sge sge[4];
    struct rnic_send_wr wr = {.wr_id = st->posted,
                              .opcode = p->opcode,
                              .flags = p->flags,
                              .sge = sge,
                              .imm = p->imm,
                              .remote_addr = QP_PAIR_IOVA + p->roff,
                              .rkey = QP_PAIR_KEY,
                              .invalidate_key = p->mr ? rnic_mr_key(p->mr) : 0,
                              .compare_add = p->imm,
                              .srqn = qp_pair_qpn(!side, qp) + QP_PAIR_TARGET};

    if (p->opcode == RNIC_WR_CMP_SWAP) {
        wr.compare_add = p->orig;
        for (unsigned i = st->posted + 1; wr.swap == 0 && i < limits.wr_cnt; i++)
            if (st->plan[i].opcode == RNIC_WR_CMP_SWAP)
                wr.swap = st->plan[i].orig;
        if (wr.swap == 0)
            memcpy(&wr.swap, expected[!side] + p->roff, 8);
    }
    if (rnic_wr_is_atomic(p->opcode)) {
        sge[0] = (struct rnic_sge){QP_PAIR_IOVA + p->off, 8, QP_PAIR_KEY};
        wr.sge_cnt = 1;
    } else if (p->flags & RNIC_SEND_INLINE) {
        wr.sge_cnt = cut(sge, (uintptr_t)pair.side[side].mem + p->off, p->len, 0);
    } else if (p->opcode != RNIC_WR_LOCAL_INV) {
        wr.sge_cnt = cut(sge, QP_PAIR_IOVA + p->off, p->len, QP_PAIR_KEY);
    }
    if (rnic_post_send(pair.side[side].qp[qp], &wr) != RNIC_OK)
        return false;
    st->posted++;
    return true;
}

/* Posts the next receive WQE of a stream at its receiver. */
static bool post_recv(unsigned side, unsigned qp)
{
    struct stream *st = &stream[side][qp];
    const struct plan *p;
    struct rnic_sge sge[4];
    struct rnic_recv_wr wr = {.wr_id = st->recv_posted, .sge = sge};

    if (st->recv_posted == st->recv_cnt)
        return false;
    p = &st->plan[st->recv_plan[st->recv_posted]];
    wr.sge_cnt = p->opcode == RNIC_WR_WRITE_IMM
                     ? 0
                     : cut(sge, QP_PAIR_IOVA + p->roff, limits.max_len, QP_PAIR_KEY);
    if (qp_pair_post_recv(&pair, !side, qp, &wr) != RNIC_OK)
        return false;
    st->recv_posted++;
    return true;
}

/* Checks that each signaled request completes once, in order, after all earlier ones (R138,
 * R198). */
static void take_send(unsigned side, unsigned qp)
{
    struct stream *st = &stream[side][qp];
    struct rnic_wc wc;

    while (rnic_cq_poll(pair.side[side].send_cq[qp], &wc, 1) == 1) {
        if (limits.may_fail && wc.status != RNIC_WC_SUCCESS)
            return;
        while (st->done < limits.wr_cnt && !(st->plan[st->done].flags & RNIC_SEND_SIGNALED))
            st->done++;
        EXPECT_EQ(wc.wr_id, st->done);
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        if (wc.status != RNIC_WC_SUCCESS || st->done >= limits.wr_cnt)
            return;
        EXPECT_EQ(wc.opcode, work_completes_as(st->plan[st->done].opcode));
        EXPECT_EQ(wc.byte_len, st->plan[st->done].len);
        EXPECT_EQ(wc.qpn, qp_pair_qpn(side, qp));
        st->done++;
    }
}

/* Checks the receive completions of a stream (R087, R202, R203). */
static void take_recv(unsigned side, unsigned qp)
{
    struct stream *st = &stream[side][qp];
    struct rnic_wc wc;

    while (rnic_cq_poll(pair.side[!side].recv_cq[qp], &wc, 1) == 1) {
        const struct plan *p;
        bool imm, inv;

        if (limits.may_fail && wc.status != RNIC_WC_SUCCESS)
            return;
        EXPECT_EQ(wc.wr_id, st->recv_done);
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        if (wc.status != RNIC_WC_SUCCESS || st->recv_done >= st->recv_cnt)
            return;
        p = &st->plan[st->recv_plan[st->recv_done++]];
        imm = p->opcode == RNIC_WR_SEND_IMM || p->opcode == RNIC_WR_WRITE_IMM;
        inv = p->opcode == RNIC_WR_SEND_INV;
        EXPECT_EQ(wc.byte_len, p->len);
        EXPECT_EQ(wc.flags, imm ? RNIC_WC_WITH_IMM : inv ? RNIC_WC_WITH_INV : 0);
        EXPECT_EQ(wc.imm, imm ? p->imm : 0);
        EXPECT_EQ(wc.invalidated_key, inv ? rnic_mr_key(p->mr) : 0);
        EXPECT_EQ(wc.solicited, (p->flags & RNIC_SEND_SOLICITED) != 0);
        EXPECT_EQ(wc.qpn, rnic_qp_qpn(pair.side[!side].target[qp]));
        EXPECT_EQ(wc.opcode,
                  p->opcode == RNIC_WR_WRITE_IMM ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV);
    }
}

static enum rnic_qp_state state_of(unsigned side, unsigned qp)
{
    struct rnic_qp_view view;

    rnic_qp_view(pair.side[side].qp[qp], &view);
    return view.state;
}

static void go_to(unsigned side, unsigned qp, enum rnic_qp_state state)
{
    struct rnic_qp_attr attr = pair.side[side].attr[qp];

    attr.state = state;
    EXPECT_EQ(rnic_qp_modify(pair.side[side].qp[qp], &attr, pair.net.now), RNIC_OK);
}

/* Moves a QP from RTS to SQD, or from SQD to RTS. The return to RTS is more probable, so that all
 * QPs are rarely in SQD at the same time. */
static void drain_or_go_on(unsigned side, unsigned qp)
{
    bool drains = state_of(side, qp) == RNIC_QPS_SQD;

    if (rng_below(&rng, drains ? 8 : 120) == 0)
        go_to(side, qp, drains ? RNIC_QPS_RTS : RNIC_QPS_SQD);
}

static void tick(void *ctx, uint64_t now)
{
    (void)ctx;
    (void)now;
    for (unsigned side = 0; side < 2; side++) {
        for (unsigned qp = 0; qp < limits.qp_cnt; qp++) {
            struct stream *st = &stream[side][qp];

            take_send(side, qp);
            take_recv(side, qp);
            while (st->posted < limits.wr_cnt && post_one(side, qp))
                ;
            if (!limits.slow_receiver)
                while (post_recv(side, qp))
                    ;
            else if (rng_below(&rng, 12) == 0)
                post_recv(side, qp);
            if (limits.drains)
                drain_or_go_on(side, qp);
        }
    }
}

/* ---- checking each frame --------------------------------------------------------------------- */

/*
 * Checks each request packet when it is sent. A new request continues the PSNs of the previous one
 * (R057-R059). A retransmission equals the first transmission (R153), except that a READ may
 * request its tail (R112).
 */
static void observe(void *ctx, const struct simnet_event *event)
{
    const struct roce_pkt *pkt = event->pkt;
    unsigned side = event->from == pair.node[1];
    unsigned qp = pkt->bth.dest_qp & 0xF;
    struct stream *st = &stream[side][qp];
    uint32_t first = pair.side[side].attr[qp].sq_psn;
    uint32_t at = (pkt->bth.psn - first) & ROCE_PSN_MASK;
    uint32_t cnt = 1;
    uint32_t hash;

    (void)ctx;
    flow_oracle_sent(event);
    if (!roce_opcode_is_request(pkt->op)) {
        EXPECT_EQ(pkt->bth.ackreq, 0); /* no response has AckReq (R043) */
        EXPECT_EQ(pkt->bth.se, 0);     /* no response has the solicited bit (R041) */
        return;
    }
    if (pkt->op->kind == ROCE_KIND_READ)
        cnt = roce_psn_cnt(pkt->reth.dma_len, limits.path_mtu);
    hash =
        roce_crc32(0, pkt->frame + pkt->off[ROCE_HDR_BTH], pkt->icrc_off - pkt->off[ROCE_HDR_BTH]);
    if (hash == 0)
        hash = 1;
    if (at >= PSNS) {
        suite_fail(__FILE__, __LINE__, "PSN %06x does not belong to this stream", pkt->bth.psn);
        return;
    }
    if (at >= st->sent) {
        EXPECT_EQ(at, st->sent);
        if (limits.drains && roce_opcode_starts(pkt->op)) /* in SQD no message begins (R191) */
            EXPECT_EQ(state_of(side, qp), RNIC_QPS_RTS);
        st->sent = at + cnt;
        st->seen[at] = hash;
    } else if (pkt->op->kind != ROCE_KIND_READ || st->seen[at]) {
        EXPECT_EQ(hash, st->seen[at]);
    }
    oracle_sent(&st->witness, pkt, event->now);
}

/* Passes an arrived frame to the flow oracle. Passes a response also to the oracle of the requester
 * that receives it. */
static void arrive(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now)
{
    unsigned side = to == pair.node[1];
    struct roce_pkt pkt;

    flow_oracle_arrived(ctx, to, frame, len, now);
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) == 0 && !roce_pkt_dropped(&pkt) &&
        roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD && roce_opcode_is_response(pkt.op))
        oracle_got(&stream[side][pkt.bth.dest_qp & 0xF].witness, &pkt, now,
                   pair.net.hold_output[to] >= now);
}

/* ---- running the load and checking the results ----------------------------------------------- */

struct qp_pair *traffic_begin(uint64_t seed, const struct traffic_limits *lim,
                              const struct simnet_path *path)
{
    limits = *lim;
    if (limits.max_len < 8)
        limits.max_len = 8; /* bytes of an atomic */
    if (limits.qp_cnt * limits.wr_cnt * limits.max_len + WORDS > FETCHED)
        limits.max_len = (FETCHED - WORDS) / (limits.qp_cnt * limits.wr_cnt);
    rng = rng_of(seed ^ 0x7261666669630000u);
    memset(stream, 0, sizeof(stream));
    qp_pair_init_as(&pair, seed, limits.encap, limits.qp_cnt, DEPTH, &limits.opts);
    simnet_paths(&pair.net, path);
    for (unsigned s = 0; s < 2; s++) {
        for (unsigned q = 0; q < limits.qp_cnt; q++) {
            uint8_t depth = (uint8_t)(1 + rng_below(&rng, RNIC_RD_ATOMIC_MAX));

            pair.side[s].attr[q].path_mtu = limits.path_mtu;
            pair.side[s].attr[q].max_rd_atomic = depth;
            pair.side[!s].attr[q].max_dest_rd_atomic = depth;
            pair.side[s].attr[q].min_rnr_timer = (uint8_t)(1 + rng_below(&rng, 6));
        }
        expected[s] = malloc(QP_PAIR_MEM);
        if (!expected[s])
            abort();
        memcpy(expected[s], pair.side[s].mem, QP_PAIR_MEM);
    }
    for (unsigned q = 0; q < limits.qp_cnt; q++)
        for (unsigned s = 0; s < 2; s++)
            for (unsigned i = 0; i < limits.wr_cnt; i++)
                make_plan(s, q, i);
    qp_pair_connect(&pair);
    for (unsigned q = 0; q < limits.qp_cnt; q++)
        for (unsigned s = 0; s < 2; s++)
            oracle_init(&stream[s][q].witness, pair.side[s].attr[q].sq_psn, limits.path_mtu,
                        roce_ack_timeout_ns(pair.side[s].attr[q].timeout));
    pair.net.tick = tick;
    pair.net.observe = observe;
    flow_oracle_begin(&pair.net, pair.node[seed & 1], seed);
    pair.net.arrive = arrive;
    return &pair;
}

static bool all_done(void)
{
    bool done = true;

    for (unsigned s = 0; s < 2; s++)
        for (unsigned q = 0; q < limits.qp_cnt; q++)
            done = done && stream[s][q].done == limits.wr_cnt;
    return done;
}

void traffic_run(void)
{
    /* The network may become idle while a slow receiver still has WQEs to post or a QP is in SQD.
     * Run again: the next tick posts WQEs and returns QPs to RTS. */
    for (unsigned i = 0; i < 400 && (i == 0 || !all_done()); i++)
        qp_pair_run(&pair, LONG_TIME);
    limits.drains = false;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned q = 0; q < limits.qp_cnt; q++)
            if (state_of(s, q) == RNIC_QPS_SQD)
                go_to(s, q, RNIC_QPS_RTS);
}

/* Checks the values that the FETCH_ADDs of a stream found: each must exceed the previous one by at
 * least the previous operand and by less than 2^40 (R122, R123). Then sets the expected memory to
 * the values found. */
static void check_adds(unsigned side, unsigned qp)
{
    const struct plan *before = NULL;

    for (unsigned i = 0; i < limits.wr_cnt; i++) {
        const struct plan *p = &stream[side][qp].plan[i];
        uint64_t found;

        if (p->opcode != RNIC_WR_FETCH_ADD)
            continue;
        memcpy(&found, pair.side[side].mem + p->off, 8);
        memcpy(expected[side] + p->off, &found, 8);
        if (before) {
            uint64_t last;

            memcpy(&last, pair.side[side].mem + before->off, 8);
            CU_ASSERT(found - last >= before->imm && found - last < UINT64_C(1) << 40);
        }
        before = p;
    }
}

static void check_stream(unsigned side, unsigned qp)
{
    const struct stream *st = &stream[side][qp];
    struct rnic_qp_view mine;
    struct rnic_qp_view theirs;
    unsigned messages = 0;

    rnic_qp_view(pair.side[side].qp[qp], &mine);
    rnic_qp_view(pair.side[!side].target[qp], &theirs);
    for (unsigned i = 0; i < limits.wr_cnt; i++)
        messages += st->plan[i].opcode != RNIC_WR_LOCAL_INV;
    EXPECT_EQ(mine.state, RNIC_QPS_RTS);
    EXPECT_EQ(st->posted, limits.wr_cnt);
    EXPECT_EQ(st->done, limits.wr_cnt); /* all requests have completed (R247) */
    EXPECT_EQ(st->recv_done, st->recv_cnt);
    EXPECT_EQ(mine.send_wr, 0);
    EXPECT_EQ(mine.una_psn, mine.sq_psn); /* received, sent and acknowledged PSNs are equal
                                           * (R248) */
    EXPECT_EQ(theirs.epsn, mine.sq_psn);
    EXPECT_EQ(theirs.msn, messages); /* the MSN counts all messages (R102, R104) */
    EXPECT_EQ((st->sent + pair.side[side].attr[qp].sq_psn) & ROCE_PSN_MASK, mine.sq_psn);
}

/* Compares the requester counters of a side with those that the packets determine (R249). */
static void check_requesters(unsigned side, const struct rnic_counters *c)
{
    const uint64_t counted[] = {
#define X(name) c->name,
        ORACLE_COUNTS(X)
#undef X
    };
    struct oracle_range sum[ORACLE_COUNT_CNT] = {{0, 0}};

    for (unsigned q = 0; q < limits.qp_cnt; q++)
        oracle_add(sum, &stream[side][q].witness);
    oracle_check(sum, counted, side);
    for (unsigned k = 0; k < ORACLE_COUNT_CNT; k++)
        EXPECT_EQ(sum[k].least, sum[k].most); /* the packets must determine every count */
}

void traffic_check(void)
{
    struct rnic_event event;

    for (unsigned s = 0; s < 2; s++) {
        struct rnic_counters c = qp_pair_counters(&pair, s);

        for (unsigned q = 0; q < limits.qp_cnt; q++) {
            check_stream(s, q);
            check_adds(s, q);
        }
        for (uint32_t i = 0; i < QP_PAIR_MEM; i++) {
            if (pair.side[s].mem[i] != expected[s][i]) {
                suite_fail(__FILE__, __LINE__, "byte 0x%x of side %u is 0x%02x, expected 0x%02x", i,
                           s, pair.side[s].mem[i], expected[s][i]);
                break;
            }
        }
        EXPECT_EQ(rnic_deadline(pair.side[s].rnic), RNIC_NEVER); /* no timer is left (R151) */
        while (rnic_event_get(pair.side[s].rnic, &event))
            EXPECT_EQ(event.type, RNIC_EVENT_SQ_DRAINED);
        EXPECT_EQ(c.retry_exceeded_err + c.rnr_retry_exceeded_err + c.bad_resp_err, 0);
        EXPECT_EQ(c.rx_no_qp + c.rx_bad_pkey, 0);
        check_requesters(s, &c);
    }
    qp_pair_check_tally(&pair);
}

void traffic_end(void)
{
    flow_oracle_end(NULL, NULL);
    for (unsigned s = 0; s < 2; s++) {
        free(expected[s]);
        expected[s] = NULL;
        for (unsigned q = 0; q < limits.qp_cnt; q++)
            oracle_free(&stream[s][q].witness);
    }
    qp_pair_free(&pair);
}
