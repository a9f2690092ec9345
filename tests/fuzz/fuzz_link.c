/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: two whole devices with an RC, a UC and an XRC connection between them. The input
 * controls the programs of both devices and the network. The programs post work requests of every
 * kind and receives, deregister and register regions while packets are in flight, and move QPs to
 * any state. The network delivers, drops, duplicates, delays and alters frames. An altered frame
 * has valid outer headers and a right ICRC. Time advances.
 *
 * Invariants (R189, R190, R198, R208, R247, R250): no byte outside the currently registered memory
 * changes. Each request completes at most once and in order; after an error, all further requests
 * of the QP complete with WR_FLUSH_ERR. The number of frames that a device sends after one input is
 * bounded. After a timer fired, it is no longer due. At the end, QPs that are reset and connected
 * again transfer a WRITE, whatever happened before.
 */
#include <string.h>
#include "device/rnic.h"
#include "fuzz.h"
#include "script.h"
#include "wire/pkt.h"

#define GUARD  256u
#define PART   4096u /* length of a region, bytes; the memory has two regions */
#define MEM    (2 * PART)
#define LINKS  3u
#define DEPTH  8u
#define MTU    256u
#define FLIGHT 32u
/* A device sends fewer frames than this after one input: two READ responses of PART bytes for each
 * request. */
#define BURST 600u

static const enum rnic_qp_type types[LINKS] = {RNIC_QPT_RC, RNIC_QPT_UC, RNIC_QPT_XRC_SEND};

struct end {
    struct rnic_qp *qp, *target;
    uint64_t posted, done;
    bool failed;
};

struct side {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *send_cq, *recv_cq;
    struct rnic_xrcd *xrcd;
    struct rnic_srq *srq;
    struct rnic_mr *mr[2];
    struct rnic_mw *mw;
    struct end end[LINKS];
    uint8_t *block; /* memory block: guard bytes, registered memory, guard bytes */
    uint8_t was[MEM];
};

struct flight {
    unsigned to;
    size_t len;
    uint8_t bytes[1200];
};

static struct fuzz {
    struct side side[2];
    struct flight flight[FLIGHT];
    unsigned flight_cnt;
    uint64_t now;
} fuzz;

static uint32_t qpn_of(unsigned link, bool target)
{
    return 0x10 + 2 * link + (target && types[link] == RNIC_QPT_XRC_SEND);
}

static uint32_t key_of(unsigned region)
{
    return 0x100 + region;
}

static uint8_t *mem_of(struct side *side)
{
    return side->block + GUARD;
}

/* ---- creating the objects -------------------------------------------------------------------- */

static void reg(struct side *side, unsigned i)
{
    const struct rnic_mr_attr attr = {.addr = mem_of(side) + i * PART,
                                      .len = PART,
                                      .iova = i * PART,
                                      .access = RNIC_ACCESS_ALL,
                                      .key = key_of(i),
                                      .invalidate = i == 1};

    if (!side->mr[i])
        FUZZ_CHECK(rnic_mr_reg(side->pd, &attr, &side->mr[i]) == RNIC_OK);
}

/* Deregisters a region and saves its bytes: they must not change until the region is registered
 * again. */
static void dereg(struct side *side, unsigned i)
{
    if (!side->mr[i] || rnic_mr_dereg(side->mr[i]) != RNIC_OK)
        return; /* a region cannot be deregistered while a window is bound to it */
    side->mr[i] = NULL;
    memcpy(side->was + i * PART, mem_of(side) + i * PART, PART);
}

static void check_memory(struct side *side)
{
    for (unsigned i = 0; i < GUARD; i++)
        FUZZ_CHECK(side->block[i] == 0xA5 && side->block[GUARD + MEM + i] == 0xA5);
    for (unsigned i = 0; i < 2; i++)
        if (!side->mr[i])
            FUZZ_CHECK(memcmp(side->was + i * PART, mem_of(side) + i * PART, PART) == 0);
}

static void gid_of(unsigned s, uint8_t gid[16])
{
    static const uint8_t ip4[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 0};

    memcpy(gid, ip4, 16);
    gid[15] = (uint8_t)(s + 1);
}

static void modify(unsigned s, unsigned link, bool target, enum rnic_qp_state state)
{
    struct end *end = &fuzz.side[s].end[link];
    struct rnic_qp_view view;
    struct rnic_qp_attr attr = {.state = state,
                                .access = RNIC_ACCESS_ALL,
                                .pkey = 0xFFFF,
                                .av = {.dmac = {2, 0, 0, 0, 0, (uint8_t)(2 - s)}},
                                .path_mtu = MTU,
                                .dest_qpn = qpn_of(link, !target),
                                .rq_psn = s ? 0xFFFFFA : 0xFFFFF0,
                                .sq_psn = s ? 0xFFFFF0 : 0xFFFFFA,
                                .max_dest_rd_atomic = 2,
                                .max_rd_atomic = 2,
                                .min_rnr_timer = 1,
                                .timeout = 1,
                                .retry_cnt = 2,
                                .rnr_retry = 2};

    gid_of(!s, attr.av.dgid);
    rnic_qp_modify(target ? end->target : end->qp, &attr, fuzz.now);
    rnic_qp_view(end->qp, &view);
    if (view.state ==
        RNIC_QPS_RESET) { /* in RESET, all work requests are discarded without completions (R190) */
        end->done = end->posted;
        end->failed = false;
    }
}

static void bring_up(unsigned s, unsigned link)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_RESET, RNIC_QPS_INIT, RNIC_QPS_RTR,
                                                RNIC_QPS_RTS};

    for (unsigned i = 0; i < 4; i++) {
        modify(s, link, false, states[i]);
        if (fuzz.side[s].end[link].target != fuzz.side[s].end[link].qp)
            modify(s, link, true, states[i]);
    }
}

static void make_link(struct side *side, unsigned link)
{
    bool xrc = types[link] == RNIC_QPT_XRC_SEND;
    struct rnic_qp_init init = {.type = types[link],
                                .qpn = qpn_of(link, false),
                                .recv_cq = xrc ? NULL : side->recv_cq,
                                .send_cq = side->send_cq,
                                .max_recv_wr = DEPTH,
                                .max_recv_sge = 2,
                                .max_send_wr = DEPTH,
                                .max_send_sge = 2,
                                .max_inline = 32};
    struct end *end = &side->end[link];

    FUZZ_CHECK(rnic_qp_new(side->pd, &init, &end->qp) == RNIC_OK);
    end->target = end->qp;
    if (!xrc)
        return;
    init = (struct rnic_qp_init){
        .type = RNIC_QPT_XRC_RECV, .qpn = qpn_of(link, true), .xrcd = side->xrcd};
    FUZZ_CHECK(rnic_qp_new(side->pd, &init, &end->target) == RNIC_OK);
}

static void make_side(unsigned s, bool ecn)
{
    struct side *side = &fuzz.side[s];
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, (uint8_t)(s + 1)}, .gid_cnt = 1};
    struct rnic_srq_init srq = {.max_wr = DEPTH, .max_sge = 2, .limit = 2, .srqn = 0x77};

    gid_of(s, attr.gid[0].gid);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    if (ecn)
        rnic_ecn_defaults(&attr.ecn);
    memset(side, 0, sizeof(*side));
    side->rnic = rnic_new(&attr);
    side->block = malloc(GUARD + MEM + GUARD);
    FUZZ_CHECK(side->rnic && side->block);
    memset(side->block, 0xA5, GUARD + MEM + GUARD);
    FUZZ_CHECK(rnic_pd_new(side->rnic, &side->pd) == RNIC_OK);
    FUZZ_CHECK(rnic_cq_new(side->rnic, 4096, &side->send_cq) == RNIC_OK);
    FUZZ_CHECK(rnic_cq_new(side->rnic, 4096, &side->recv_cq) == RNIC_OK);
    FUZZ_CHECK(rnic_xrcd_new(side->rnic, &side->xrcd) == RNIC_OK);
    srq.xrcd = side->xrcd;
    srq.cq = side->recv_cq;
    FUZZ_CHECK(rnic_srq_new(side->pd, &srq, &side->srq) == RNIC_OK);
    FUZZ_CHECK(rnic_mw_new(side->pd, RNIC_MW_TYPE_2, &side->mw) == RNIC_OK);
    reg(side, 0);
    reg(side, 1);
    for (unsigned link = 0; link < LINKS; link++)
        make_link(side, link);
}

/* ---- posting and polling --------------------------------------------------------------------- */

static void post_send(unsigned s, struct script *script)
{
    static const enum rnic_wr_opcode ops[] = {
        RNIC_WR_WRITE,     RNIC_WR_WRITE_IMM, RNIC_WR_SEND,    RNIC_WR_SEND_IMM,
        RNIC_WR_READ,      RNIC_WR_CMP_SWAP,  RNIC_WR_BIND_MW, RNIC_WR_FETCH_ADD,
        RNIC_WR_LOCAL_INV, RNIC_WR_SEND_INV,  RNIC_WR_FLUSH,   RNIC_WR_ATOMIC_WRITE,
        RNIC_WR_READ,      RNIC_WR_WRITE,     RNIC_WR_SEND,    RNIC_WR_READ};
    struct side *side = &fuzz.side[s];
    uint8_t what = u8(script), where = u8(script), size = u8(script);
    struct end *end = &side->end[what % LINKS];
    struct rnic_sge sge = {(where & 15) * 512u, size * 16u, key_of(where >> 3 & 1)};
    struct rnic_send_wr wr = {.wr_id = (uint64_t)(what % LINKS) << 32 | end->posted,
                              .opcode = ops[what >> 4],
                              .flags = RNIC_SEND_SIGNALED | (what & 8 ? RNIC_SEND_FENCE : 0u),
                              .sge = &sge,
                              .sge_cnt = 1,
                              .imm = where,
                              .invalidate_key = key_of(1),
                              .remote_addr = (where >> 4) * 512u,
                              .rkey = key_of(where >> 7),
                              .compare_add = size,
                              .srqn = 0x77};

    if (rnic_wr_is_atomic(wr.opcode) || wr.opcode == RNIC_WR_ATOMIC_WRITE)
        sge.len = 8;
    if (rnic_wr_is_local(wr.opcode) || wr.opcode == RNIC_WR_FLUSH)
        wr.sge_cnt = 0;
    wr.flush.len = size * 16u;
    wr.flush.type = RNIC_FLUSH_GLOBAL;
    if (size == 255)
        wr.rkey = rnic_mw_rkey(fuzz.side[!s].mw);
    wr.mw = (struct rnic_mw_bind){.mw = side->mw,
                                  .mr = side->mr[where & 1],
                                  .addr = (where & 1) * PART,
                                  .len = PART,
                                  .access = RNIC_ACCESS_REMOTE,
                                  .rkey = (rnic_mw_rkey(side->mw) & ~0xFFu) | size};
    if (wr.opcode == RNIC_WR_BIND_MW && !wr.mw.mr)
        return;
    end->posted += rnic_post_send(end->qp, &wr) == RNIC_OK;
}

static void post_recv(unsigned s, struct script *script)
{
    struct side *side = &fuzz.side[s];
    uint8_t what = u8(script), where = u8(script);
    const struct rnic_sge sge = {(where & 15) * 512u, (what >> 3) * 64u, key_of(where >> 3 & 1)};
    const struct rnic_recv_wr wr = {.sge = &sge, .sge_cnt = 1};

    if (types[what % LINKS] == RNIC_QPT_XRC_SEND)
        rnic_post_srq_recv(side->srq, &wr);
    else
        rnic_post_recv(side->end[what % LINKS].qp, &wr);
}

/* Polls all completions (R189, R198). Checks that each request completes once and in order, and
 * after an error only with WR_FLUSH_ERR. */
static void reap(unsigned s)
{
    struct side *side = &fuzz.side[s];
    struct rnic_event event;
    struct rnic_wc wc;

    while (rnic_cq_poll(side->send_cq, &wc, 1) == 1) {
        struct end *end = &side->end[wc.wr_id >> 32];

        FUZZ_CHECK((wc.wr_id & UINT32_MAX) == end->done && end->done < end->posted);
        FUZZ_CHECK(!end->failed || wc.status == RNIC_WC_WR_FLUSH_ERR);
        end->done++;
        end->failed = end->failed || wc.status != RNIC_WC_SUCCESS;
    }
    while (rnic_cq_poll(side->recv_cq, &wc, 1) == 1)
        ;
    while (rnic_event_get(side->rnic, &event))
        FUZZ_CHECK(event.type != RNIC_EVENT_CQ_ERR);
}

/* ---- delivering frames ----------------------------------------------------------------------- */

/* Moves all frames that the device of side `s` sends into the network. If the network is full,
 * further frames are lost. */
static void take(unsigned s)
{
    unsigned cnt = 0;
    uint8_t buf[ROCE_FRAME_MAX];
    size_t len;

    while ((len = rnic_output(fuzz.side[s].rnic, buf, sizeof(buf), fuzz.now)) > 0) {
        struct flight *f = &fuzz.flight[fuzz.flight_cnt];

        FUZZ_CHECK(++cnt < BURST);
        FUZZ_CHECK(len <= sizeof(f->bytes));
        if (fuzz.flight_cnt == FLIGHT)
            continue;
        f->to = !s;
        f->len = len;
        memcpy(f->bytes, buf, len);
        fuzz.flight_cnt++;
    }
}

static void settle(unsigned s)
{
    take(s);
    reap(s);
    check_memory(&fuzz.side[s]);
}

/* Clears end->failed if the QP is in RTS, because its requests can succeed again: a UC QP can
 * return from SQE to RTS (R192). */
static void forgive(struct end *end)
{
    struct rnic_qp_view view;

    rnic_qp_view(end->qp, &view);
    end->failed = end->failed && view.state != RNIC_QPS_RTS;
}

static void alter(struct flight *f, struct script *script)
{
    struct roce_pkt pkt;
    uint32_t icrc;
    uint8_t cnt = 1 + u8(script) % 4;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->bytes, f->len, f->len) != 0)
        return;
    while (cnt--) {
        size_t at = pkt.off[ROCE_HDR_BTH] + u8(script) % 44u;

        if (at < f->len)
            f->bytes[at] = u8(script);
    }
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->bytes, f->len, f->len) == 0 &&
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD)
        roce_le32_put(f->bytes + pkt.icrc_off, icrc);
}

/* Delivers frame `i` of the network to its device. If `keep` is true, the frame also stays in the
 * network, so that it can be delivered again. */
static void deliver(unsigned i, bool keep)
{
    struct flight f;

    if (i >= fuzz.flight_cnt)
        return;
    f = fuzz.flight[i];
    if (!keep)
        memmove(&fuzz.flight[i], &fuzz.flight[i + 1],
                (--fuzz.flight_cnt - i) * sizeof(fuzz.flight[0]));
    rnic_input(fuzz.side[f.to].rnic, f.bytes, f.len, fuzz.now);
    settle(f.to);
}

/* Advances the time to the next deadline of the device of side `s`, and lets its timer expire
 * once. */
static void next_timer(unsigned s)
{
    struct side *side = &fuzz.side[s];
    rnic_time at = rnic_deadline(side->rnic);

    if (at == RNIC_NEVER)
        return;
    if (at > fuzz.now)
        fuzz.now = at;
    rnic_expire(side->rnic, fuzz.now);
    settle(s);
    FUZZ_CHECK(rnic_deadline(side->rnic) > fuzz.now);
}

/* ---- checks after the input ------------------------------------------------------------------ */

/* Resets the QPs of a connection and connects them again. Checks that they transfer a WRITE over a
 * lossless network, whatever happened before. */
static void check_alive(unsigned link)
{
    /* The script for post_send(): a WRITE of 1024 bytes. */
    struct script ask = {(const uint8_t[]){(uint8_t)link, 0, 64}, 3};
    struct end *end = &fuzz.side[0].end[link];

    fuzz.flight_cnt = 0;
    for (unsigned s = 0; s < 2; s++) {
        reg(&fuzz.side[s], 0);
        reap(s);
        bring_up(s, link);
        take(s);
    }
    fuzz.flight_cnt = 0; /* drop the frames of the other connections */
    end->failed = false;
    post_send(0, &ask);
    FUZZ_CHECK(end->posted == end->done + 1);
    take(0);
    for (unsigned i = 0; i < 64 && end->done < end->posted; i++) {
        reap(0);
        if (fuzz.flight_cnt)
            deliver(0, false);
        else
            next_timer(i & 1);
    }
    reap(0);
    FUZZ_CHECK(end->done == end->posted && !end->failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    bool ecn = u8(&script) & 1;

    fuzz.flight_cnt = 0;
    fuzz.now = 0;
    for (unsigned s = 0; s < 2; s++)
        make_side(s, ecn);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned link = 0; link < LINKS; link++)
            bring_up(s, link);
    while (script.left) {
        uint8_t op = u8(&script);
        unsigned s = op >> 7;
        unsigned link = (op >> 5 & 3) % LINKS;

        switch (op & 15) {
        case 0:
        case 1: post_send(s, &script); break;
        case 2: post_recv(s, &script); break;
        case 3: deliver(op >> 4, true); break; /* true: the frame can be delivered a second time */
        case 4:
            if (fuzz.flight_cnt)
                alter(&fuzz.flight[u8(&script) % fuzz.flight_cnt], &script);
            break;
        case 5:
            if (fuzz.flight_cnt)
                fuzz.flight_cnt--;
            break;
        case 6: next_timer(s); break;
        case 7: dereg(&fuzz.side[s], op >> 6 & 1); break;
        case 8: reg(&fuzz.side[s], op >> 6 & 1); break;
        case 9:
            /* Poll first, because a change to RESET discards the remaining completions. */
            settle(s);
            modify(s, link, op & 16, (enum rnic_qp_state)(u8(&script) % 7));
            settle(s);
            forgive(&fuzz.side[s].end[link]);
            break;
        case 10:
            settle(s);
            bring_up(s, link);
            break;
        case 11: fuzz.now += u8(&script) * UINT64_C(1000); break;
        default: deliver(u8(&script) % FLIGHT % (fuzz.flight_cnt + 1), false); break;
        }
        settle(s);
    }
    for (unsigned link = 0; link < LINKS; link++)
        check_alive(link);
    for (unsigned s = 0; s < 2; s++) {
        rnic_del(fuzz.side[s].rnic);
        free(fuzz.side[s].block);
    }
    return 0;
}
