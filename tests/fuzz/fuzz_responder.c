/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: a device with one QP (RC, UC or XRC, with or without SRQ) and a hostile peer. The
 * first byte of the input selects the kind of QP. The rest is a script of actions: requests with
 * chosen fields, posted receives, regions deregistered and registered, QP state changes, and frames
 * fetched from the device. The peer also sends arbitrary bytes as a frame, with a right ICRC, so
 * that they pass the first checks.
 *
 * Invariants (R250): no byte outside the registered memory changes, and no byte of the region that
 * allows only READs. The device sends at most OWED_MAX frames at a time. Every frame that it sends
 * is a valid response.
 */
#include <string.h>
#include "device/rnic.h"
#include "fuzz.h"
#include "script.h"
#include "wire/pkt.h"

#define GUARD  512u
#define RW_LEN 8192u
#define RO_LEN 1024u
/* Length of the memory block: guard, read-write region, guard, read-only region, guard. */
#define BLOCK   (3 * GUARD + RW_LEN + RO_LEN)
#define RW_IOVA (UINT64_MAX - 0x10000)
#define RO_IOVA 0x100u
#define RW_KEY  1u
#define RO_KEY  2u
#define QPN     0x11u
#define MTU     256u
#define READS   4u
#define SRQN    3u
/* Maximum number of frames that the QP has to send at a time: for each responder resource, a READ
 * response of the larger region and an ACK or NAK. */
#define OWED_MAX (READS * (RW_LEN / MTU + 1) + READS + 1)

struct fuzz {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *rw; /* region with read and write access; NULL while deregistered */
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_srq *srq;   /* SRQ of the QP, or NULL */
    struct rnic_xrcd *xrcd; /* XRC domain of the QP; NULL unless the QP is XRC */
    enum roce_svc svc;
    struct rnic_qp_attr attr;
    uint8_t *block;
    uint8_t *rw_mem;
    uint8_t *ro_mem;
};

static const uint8_t peer_gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 1};
static const uint8_t my_gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 2};

static uint32_t u32(struct script *script)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < 4; i++)
        v = v << 8 | u8(script);
    return v;
}

/* Returns a length near a limit, or a random length. pick_va() does the same for addresses. */
static uint32_t pick_len(struct script *script)
{
    static const uint32_t lens[] = {
        0, 1, 8, MTU - 1, MTU, MTU + 1, 2 * MTU, RW_LEN, RW_LEN + 1, UINT32_C(1) << 31, UINT32_MAX};
    uint8_t choice = u8(script);

    return choice < sizeof(lens) / sizeof(lens[0]) ? lens[choice] : choice;
}

static uint64_t pick_va(struct script *script)
{
    static const uint64_t vas[] = {RW_IOVA,          RW_IOVA + RW_LEN, RO_IOVA,
                                   RO_IOVA + RO_LEN, UINT64_MAX,       0};
    uint8_t choice = u8(script);

    return vas[choice % 6] + (uint64_t)(int64_t)(int8_t)u8(script);
}

static void reg(struct fuzz *fuzz)
{
    struct rnic_mr_attr attr = {.addr = fuzz->rw_mem,
                                .len = RW_LEN,
                                .iova = RW_IOVA,
                                .access = 0xF,
                                .key = RW_KEY,
                                .invalidate = true};

    FUZZ_CHECK(rnic_mr_reg(fuzz->pd, &attr, &fuzz->rw) == RNIC_OK);
}

static void modify(struct fuzz *fuzz, enum rnic_qp_state state)
{
    fuzz->attr.state = state;
    rnic_qp_modify(fuzz->qp, &fuzz->attr, 0);
}

static void bring_up(struct fuzz *fuzz)
{
    modify(fuzz, RNIC_QPS_RESET);
    modify(fuzz, RNIC_QPS_INIT);
    modify(fuzz, RNIC_QPS_RTR);
    modify(fuzz, RNIC_QPS_RTS);
}

static void make_srq(struct fuzz *fuzz)
{
    struct rnic_srq_init init = {.max_wr = 4, .max_sge = 2, .limit = 2, .srqn = SRQN};

    init.xrcd = fuzz->xrcd;
    init.cq = fuzz->xrcd ? fuzz->cq : NULL;
    FUZZ_CHECK(rnic_srq_new(fuzz->pd, &init, &fuzz->srq) == RNIC_OK);
}

static void setup(struct fuzz *fuzz, uint8_t kind)
{
    static const enum rnic_qp_type types[] = {RNIC_QPT_RC, RNIC_QPT_UC, RNIC_QPT_XRC_RECV};
    static const enum roce_svc services[] = {ROCE_SVC_RC, ROCE_SVC_UC, ROCE_SVC_XRC};
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, 2}, .gid_cnt = 1};
    struct rnic_qp_init init = {
        .type = types[kind % 3], .qpn = QPN, .max_recv_wr = 4, .max_recv_sge = 2};
    struct rnic_mr_attr ro = {
        .len = RO_LEN, .iova = RO_IOVA, .access = RNIC_ACCESS_REMOTE_READ, .key = RO_KEY};
    struct rnic_mr *mr;

    memset(fuzz, 0, sizeof(*fuzz));
    fuzz->svc = services[kind % 3];
    memcpy(attr.gid[0].gid, my_gid, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    fuzz->block = malloc(BLOCK);
    FUZZ_CHECK(fuzz->block != NULL);
    memset(fuzz->block, 0xA5, BLOCK);
    fuzz->rw_mem = fuzz->block + GUARD;
    fuzz->ro_mem = fuzz->rw_mem + RW_LEN + GUARD;
    memset(fuzz->ro_mem, 0x5A, RO_LEN);
    fuzz->rnic = rnic_new(&attr);
    FUZZ_CHECK(fuzz->rnic != NULL);
    FUZZ_CHECK(rnic_pd_new(fuzz->rnic, &fuzz->pd) == RNIC_OK);
    reg(fuzz);
    ro.addr = fuzz->ro_mem;
    FUZZ_CHECK(rnic_mr_reg(fuzz->pd, &ro, &mr) == RNIC_OK);
    FUZZ_CHECK(rnic_cq_new(fuzz->rnic, 8, &fuzz->cq) == RNIC_OK);
    init.recv_cq = fuzz->cq;
    if (fuzz->svc == ROCE_SVC_XRC)
        FUZZ_CHECK(rnic_xrcd_new(fuzz->rnic, &fuzz->xrcd) == RNIC_OK);
    if (kind & 0x80 || fuzz->xrcd)
        make_srq(fuzz);
    init.xrcd = fuzz->xrcd;
    init.srq = fuzz->xrcd ? NULL : fuzz->srq;
    init.no_credits = (kind & 0x40) != 0;
    FUZZ_CHECK(rnic_qp_new(fuzz->pd, &init, &fuzz->qp) == RNIC_OK);
    fuzz->attr = (struct rnic_qp_attr){.access = 0xF,
                                       .pkey = 0xFFFF,
                                       .path_mtu = MTU,
                                       .dest_qpn = 0x22,
                                       .rq_psn = 0xFFFFF0,
                                       .max_dest_rd_atomic = READS,
                                       .min_rnr_timer = 1};
    memcpy(fuzz->attr.av.dgid, peer_gid, 16);
    bring_up(fuzz);
}

static void check_memory(const struct fuzz *fuzz)
{
    for (size_t i = 0; i < BLOCK; i++) {
        const uint8_t *p = fuzz->block + i;

        if (p >= fuzz->rw_mem && p < fuzz->rw_mem + RW_LEN)
            continue;
        FUZZ_CHECK(*p == (p >= fuzz->ro_mem && p < fuzz->ro_mem + RO_LEN ? 0x5A : 0xA5));
    }
}

static void request(struct fuzz *fuzz, struct script *script)
{
    static const uint8_t payload[2 * MTU + 4] = {0xDD};
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_qp_view view;
    struct roce_pkt pkt;
    uint8_t flags = u8(script);
    int len;

    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, (uint8_t)((u8(script) & 0x1F) | fuzz->svc << 5));
    pkt.xrceth.srqn = flags & 64 ? u8(script) % 5 : SRQN;
    rnic_qp_view(fuzz->qp, &view);
    memcpy(pkt.eth.dst, "\2\0\0\0\0\2", 6);
    memcpy(pkt.ip4.src, peer_gid + 12, 4);
    memcpy(pkt.ip4.dst, my_gid + 12, 4);
    pkt.bth.dest_qp = QPN;
    pkt.bth.psn = (view.epsn + (flags & 1 ? (uint32_t)(int8_t)u8(script) : 0)) & ROCE_PSN_MASK;
    pkt.bth.ackreq = (flags & 2) != 0;
    pkt.bth.se = (flags & 4) != 0;
    pkt.reth = (struct roce_reth){
        .va = pick_va(script), .rkey = u8(script) % 4, .dma_len = pick_len(script)};
    pkt.atomiceth = (struct roce_atomiceth){
        .va = pkt.reth.va, .rkey = pkt.reth.rkey, .swap_add = u8(script), .compare = u8(script)};
    pkt.ieth.rkey = pkt.reth.rkey;
    pkt.payload = payload;
    pkt.payload_len = flags & 8 ? MTU : pick_len(script) % sizeof(payload);
    if (flags & 16)
        pkt.reth.dma_len = pkt.payload_len;
    if (pkt.op->payload == ROCE_PAYLOAD_NONE && !(flags & 32))
        pkt.payload_len = 0;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    if (len > 0)
        rnic_input(fuzz->rnic, buf, (size_t)len, 0);
}

/* Passes bytes of the script to the device. The bytes are either a whole frame, or the BTH and all
 * later bytes of a frame, which then has valid outer headers. Corrects the ICRC if the frame has
 * one. */
static void raw(struct fuzz *fuzz, struct script *script)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    size_t want = u8(script) * 2u;
    size_t len = want < script->left ? want : script->left;
    bool enveloped = u8(script) & 1;
    uint32_t icrc;

    if (len > script->left)
        len = script->left;
    if (enveloped) {
        int built;

        roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK);
        memcpy(pkt.eth.dst, "\2\0\0\0\0\2", 6);
        memcpy(pkt.ip4.src, peer_gid + 12, 4);
        memcpy(pkt.ip4.dst, my_gid + 12, 4);
        pkt.payload = script->p;
        pkt.payload_len = (uint32_t)len;
        built = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
        FUZZ_CHECK(built > 0);
        /* Replace the bytes from the BTH on by bytes of the script; the length stays the same. */
        FUZZ_CHECK(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, (size_t)built, (size_t)built) ==
                   0);
        if (len)
            memcpy(buf + pkt.off[ROCE_HDR_BTH], script->p, len);
        buf[pkt.off[ROCE_HDR_BTH]] =
            (uint8_t)((buf[pkt.off[ROCE_HDR_BTH]] & 0x1F) | fuzz->svc << 5);
        buf[pkt.off[ROCE_HDR_BTH] + 7] = QPN;
        script->p += len;
        script->left -= len;
        len = (size_t)built;
    } else {
        memcpy(buf, script->p, len);
        script->p += len;
        script->left -= len;
    }
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0 &&
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD)
        roce_le32_put(buf + pkt.icrc_off, icrc);
    rnic_input(fuzz->rnic, buf, len, 0);
}

static void post(struct fuzz *fuzz, struct script *script)
{
    struct rnic_sge sge[3];
    struct rnic_recv_wr wr = {.wr_id = 1, .sge = sge, .sge_cnt = u8(script) % 4};

    for (unsigned i = 0; i < 3; i++)
        sge[i] = (struct rnic_sge){
            .addr = pick_va(script), .len = pick_len(script), .lkey = u8(script) % 4};
    if (fuzz->srq)
        rnic_post_srq_recv(fuzz->srq, &wr);
    else
        rnic_post_recv(fuzz->qp, &wr);
}

/* Changes the size or the limit of the SRQ. Sometimes deletes an XRC SRQ or creates it again. */
static void change_srq(struct fuzz *fuzz, struct script *script)
{
    uint8_t choice = u8(script);
    uint32_t max = 1 + u8(script) % 40;
    uint32_t limit = choice % 5;

    if (fuzz->xrcd && choice >= 0xE0) {
        if (fuzz->srq)
            FUZZ_CHECK(rnic_srq_del(fuzz->srq) == RNIC_OK);
        fuzz->srq = NULL;
        if (choice & 1)
            make_srq(fuzz);
    } else if (fuzz->srq) {
        rnic_srq_modify(fuzz->srq, choice & 1 ? &max : NULL, choice & 2 ? &limit : NULL);
    }
}

static void take(struct fuzz *fuzz, unsigned max)
{
    uint8_t buf[ROCE_FRAME_MAX];

    for (unsigned i = 0; i < max; i++) {
        size_t len = rnic_output(fuzz->rnic, buf, sizeof(buf), 0);
        struct roce_pkt pkt;

        if (len == 0)
            return;
        FUZZ_CHECK(i < OWED_MAX);
        FUZZ_CHECK(fuzz->svc != ROCE_SVC_UC); /* UC has no responses (R162) */
        FUZZ_CHECK(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0);
        FUZZ_CHECK(pkt.defects == 0 && roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD);
        FUZZ_CHECK(roce_opcode_is_response(pkt.op) && pkt.bth.dest_qp == 0x22 &&
                   pkt.payload_len <= MTU);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct rnic_event event;
    struct rnic_wc wc[4];
    struct fuzz fuzz;

    setup(&fuzz, u8(&script));
    while (script.left) {
        uint8_t op = u8(&script);

        switch (op % 16) {
        case 0: post(&fuzz, &script); break;
        case 1: take(&fuzz, u8(&script)); break;
        case 2: raw(&fuzz, &script); break;
        case 3:
            if (fuzz.rw)
                rnic_mr_dereg(fuzz.rw);
            fuzz.rw = NULL;
            if (op & 16)
                reg(&fuzz);
            break;
        case 4:
            if (!fuzz.rw)
                reg(&fuzz);
            break;
        case 5: rnic_cq_poll(fuzz.cq, wc, 4); break;
        case 6: rnic_event_get(fuzz.rnic, &event); break;
        case 7:
            if (op & 16)
                fuzz.attr.access = u8(&script) & 0xF;
            if (op & 32)
                fuzz.attr.rq_psn = u32(&script) & ROCE_PSN_MASK;
            bring_up(&fuzz);
            break;
        case 8: modify(&fuzz, op >> 4 & 7); break;
        case 9: change_srq(&fuzz, &script); break;
        default: request(&fuzz, &script); break;
        }
    }
    take(&fuzz, UINT32_MAX);
    check_memory(&fuzz);
    rnic_del(fuzz.rnic);
    free(fuzz.block);
    return 0;
}
