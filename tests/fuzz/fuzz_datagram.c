/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: a device with two UD QPs and the GSI QP, with hostile peers and a program that makes
 * mistakes. The QPs join and leave two multicast groups.
 *
 * The input is a script of actions. A peer sends datagrams with chosen fields, or arbitrary bytes
 * after valid outer headers, with a right ICRC. The program posts work requests with valid and
 * invalid memory, creates and destroys address handles, joins and leaves groups, and changes QP
 * states. At some points the device's frames are fetched.
 *
 * Invariants: no byte outside the registered memory changes. A received datagram never causes a
 * response (R178): the device sends only datagrams that were posted, each at most once, as a valid
 * frame. Every work request completes at most once, in order. A received packet changes the state
 * of a QP only if the QP's receive buffer was invalid (R056).
 */
#include <string.h>
#include "device/rnic.h"
#include "fuzz.h"
#include "script.h"
#include "wire/pkt.h"

#define GUARD 512u
#define MEM   16384u
#define KEY   1u
#define QPS   3u /* two UD QPs and the GSI QP */
#define DEPTH 4u
#define AHS   4u

struct queue {
    struct rnic_qp *qp;
    uint64_t posted, done; /* number of send work requests, posted and completed */
    /* Number of receive work requests, posted and completed; used as wr_id. */
    uint64_t recv_posted, recv_done;
    bool bad_buffer; /* true: a receive was posted with a buffer that the device must not write */
};

struct fuzz {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct queue q[QPS];
    struct rnic_ah *ah[AHS];
    uint8_t *block; /* memory block: guard bytes, registered memory, guard bytes */
    uint64_t owed;  /* number of datagrams that were posted but not sent yet */
};

static const uint8_t my_gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 2};
static const uint8_t group[2][16] = {{[10] = 0xFF, 0xFF, 239, 0, 0, 1},
                                     {[10] = 0xFF, 0xFF, 239, 0, 0, 2}};

static uint32_t qpn_of(unsigned q)
{
    return q == 2 ? 1 : 0x10 + q;
}

static void modify(struct queue *q, enum rnic_qp_state state)
{
    const struct rnic_qp_attr attr = {
        .state = state, .pkey = 0xFFFF, .qkey = 0x111, .sq_psn = 0xFFFFFE};
    struct rnic_qp_view view;

    rnic_qp_modify(q->qp, &attr, 0);
    rnic_qp_view(q->qp, &view);
    if (view.state ==
        RNIC_QPS_RESET) { /* in RESET, all work requests are discarded without completions (R190) */
        q->done = q->posted;
        q->recv_done = q->recv_posted;
        q->bad_buffer = false;
    }
}

static void bring_up(struct queue *q)
{
    modify(q, RNIC_QPS_RESET);
    modify(q, RNIC_QPS_INIT);
    modify(q, RNIC_QPS_RTR);
    modify(q, RNIC_QPS_RTS);
}

static void setup(struct fuzz *fuzz)
{
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, 2}, .gid_cnt = 1, .mtu = 1024};
    struct rnic_mr_attr mr = {.len = MEM, .iova = 0x1000, .access = 1, .key = KEY};
    struct rnic_mr *out;

    memset(fuzz, 0, sizeof(*fuzz));
    memcpy(attr.gid[0].gid, my_gid, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    fuzz->block = malloc(MEM + 2 * GUARD);
    FUZZ_CHECK(fuzz->block != NULL);
    memset(fuzz->block, 0xA5, MEM + 2 * GUARD);
    fuzz->rnic = rnic_new(&attr);
    FUZZ_CHECK(fuzz->rnic != NULL);
    FUZZ_CHECK(rnic_pd_new(fuzz->rnic, &fuzz->pd) == RNIC_OK);
    mr.addr = fuzz->block + GUARD;
    FUZZ_CHECK(rnic_mr_reg(fuzz->pd, &mr, &out) == RNIC_OK);
    FUZZ_CHECK(rnic_cq_new(fuzz->rnic, 4096, &fuzz->cq) == RNIC_OK);
    for (unsigned i = 0; i < QPS; i++) {
        struct rnic_qp_init init = {.type = i == 2 ? RNIC_QPT_GSI : RNIC_QPT_UD,
                                    .recv_cq = fuzz->cq,
                                    .send_cq = fuzz->cq,
                                    .qpn = qpn_of(i),
                                    .max_recv_wr = DEPTH,
                                    .max_recv_sge = 2,
                                    .max_send_wr = DEPTH,
                                    .max_send_sge = 2,
                                    .max_inline = 64};

        FUZZ_CHECK(rnic_qp_new(fuzz->pd, &init, &fuzz->q[i].qp) == RNIC_OK);
        bring_up(&fuzz->q[i]);
    }
}

static struct queue *pick(struct fuzz *fuzz, struct script *script)
{
    return &fuzz->q[u8(script) % QPS];
}

static uint64_t pick_va(struct script *script)
{
    static const uint64_t vas[] = {0x1000, 0x1000 + MEM / 2, 0x1000 + MEM, 0xFFF, UINT64_MAX, 0};

    return vas[u8(script) % 6];
}

static uint32_t pick_len(struct script *script)
{
    static const uint32_t lens[] = {0,    1,    39,   40,   41,  104,     296,
                                    1024, 1025, 1064, 8192, MEM, MEM + 1, UINT32_MAX};
    uint8_t choice = u8(script);

    return choice < 14 ? lens[choice] : choice;
}

static void post_recv(struct fuzz *fuzz, struct script *script)
{
    struct queue *q = pick(fuzz, script);
    struct rnic_sge sge[3];
    struct rnic_recv_wr wr = {.wr_id = q->recv_posted, .sge = sge, .sge_cnt = u8(script) % 4};

    for (unsigned i = 0; i < 3; i++) {
        sge[i] = (struct rnic_sge){pick_va(script), pick_len(script), KEY + (u8(script) == 7)};
        if (i < wr.sge_cnt && sge[i].len &&
            (sge[i].lkey != KEY || sge[i].addr < 0x1000 || sge[i].addr - 0x1000 > MEM ||
             sge[i].len > MEM - (sge[i].addr - 0x1000)))
            q->bad_buffer = true;
    }
    if (rnic_post_recv(q->qp, &wr) == RNIC_OK)
        q->recv_posted++;
}

static void post_send(struct fuzz *fuzz, struct script *script)
{
    uint8_t inline_data[64] = {1};
    struct queue *q = pick(fuzz, script);
    struct rnic_sge sge[2];
    struct rnic_send_wr wr = {.wr_id = UINT64_C(1) << 63 | q->posted,
                              .opcode = (enum rnic_wr_opcode)(2 + (u8(script) & 1)),
                              .flags = RNIC_SEND_SIGNALED,
                              .sge = sge,
                              .sge_cnt = 1 + u8(script) % 2,
                              .ah = fuzz->ah[u8(script) % AHS],
                              .remote_qpn = u8(script) & 1 ? 0x10 : 0xFFFFFF,
                              .remote_qkey = (uint32_t)u8(script) << 24 | 0x111};

    for (unsigned i = 0; i < 2; i++)
        sge[i] = (struct rnic_sge){pick_va(script), pick_len(script), KEY + (u8(script) == 7)};
    if (u8(script) & 1) {
        wr.flags |= RNIC_SEND_INLINE;
        wr.sge_cnt = 1;
        sge[0] = (struct rnic_sge){(uintptr_t)inline_data, sge[0].len % 65, 0};
    }
    if (rnic_post_send(q->qp, &wr) == RNIC_OK) {
        q->posted++;
        fuzz->owed++;
    }
}

static void make_ah(struct fuzz *fuzz, struct script *script)
{
    unsigned i = u8(script) % AHS;
    uint8_t what = u8(script);
    struct rnic_av av = {.dmac = {2, 0, 0, 0, 0, 1},
                         .tagged = what >> 4 & 1,
                         .vlan = (uint16_t)(what * 17),
                         .flow = what * 4099u};

    memcpy(av.dgid, what & 1 ? group[what >> 1 & 1] : my_gid, 16);
    if (what & 4)
        av.dgid[what % 16] ^= 1;
    rnic_ah_del(fuzz->ah[i]);
    fuzz->ah[i] = NULL;
    rnic_ah_new(fuzz->pd, &av, &fuzz->ah[i]);
}

static void seal_and_input(struct fuzz *fuzz, uint8_t *buf, size_t len)
{
    enum rnic_qp_state before[QPS];
    struct rnic_qp_view view;
    struct roce_pkt pkt;
    uint32_t icrc;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0 &&
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD)
        roce_le32_put(buf + pkt.icrc_off, icrc);
    for (unsigned i = 0; i < QPS; i++) {
        rnic_qp_view(fuzz->q[i].qp, &view);
        before[i] = view.state;
    }
    rnic_input(fuzz->rnic, buf, len, 0);
    for (unsigned i = 0; i < QPS; i++) {
        rnic_qp_view(fuzz->q[i].qp, &view);
        FUZZ_CHECK(view.state == before[i] ||
                   (view.state == RNIC_QPS_ERR && fuzz->q[i].bad_buffer));
    }
}

static void datagram(struct fuzz *fuzz, struct script *script)
{
    static const uint8_t payload[1100] = {0xDD};
    static const uint32_t lens[] = {0, 1, 64, 256, 257, 1023, 1024, 1025, 1100};
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    uint8_t what = u8(script);
    uint8_t choice = u8(script);
    int len;

    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4,
                  what & 1 ? ROCE_OP_UD_SEND_ONLY : ROCE_OP_UD_SEND_ONLY_IMM);
    memcpy(pkt.eth.dst, "\2\0\0\0\0\2", 6);
    memcpy(pkt.ip4.src, "\xC0\0\2\1", 4);
    memcpy(pkt.ip4.dst, my_gid + 12, 4);
    pkt.bth.dest_qp = qpn_of(what >> 1 & 3);
    if (what & 8) {
        pkt.bth.dest_qp = ROCE_QP_MULTICAST;
        memcpy(pkt.ip4.dst, group[what >> 4 & 1] + 12, 4);
        rnic_gid_multicast_mac(group[what >> 4 & 1], pkt.eth.dst);
    }
    pkt.deth.src_qp = choice;
    pkt.deth.qkey = pkt.bth.dest_qp == 1 ? ROCE_QKEY_GSI : 0x111;
    if (what & 32 && choice & 1)
        pkt.deth.qkey ^= UINT32_C(1) << (choice >> 3);
    if (what & 64)
        pkt.bth.pkey = (uint16_t)(choice << 8 | choice);
    if (what & 128) {
        pkt.vlan_cnt = 1 + (choice & 3) % 3;
        for (unsigned i = 0; i < pkt.vlan_cnt; i++)
            pkt.vlan[i].type = i + 1u < pkt.vlan_cnt ? ROCE_ETHERTYPE_VLAN : ROCE_ETHERTYPE_IP4;
        pkt.eth.type = ROCE_ETHERTYPE_VLAN;
        pkt.ip4_options_len = choice >> 4 & 1 ? 40 : 0;
    }
    pkt.payload = payload;
    pkt.payload_len = lens[choice % 9];
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    FUZZ_CHECK(len > 0);
    seal_and_input(fuzz, buf, (size_t)len);
}

/* Passes bytes of the script to the device. The bytes are either a whole frame, or the BTH and
 * payload of a frame, which then has valid outer headers. */
static void raw(struct fuzz *fuzz, struct script *script)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    uint8_t what = u8(script);
    size_t want = u8(script);
    size_t len = want < script->left ? want : script->left;
    int built;

    if (what & 1) {
        memcpy(buf, script->p, len);
    } else {
        roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, ROCE_OP_UD_SEND_ONLY);
        memcpy(pkt.eth.dst, "\2\0\0\0\0\2", 6);
        memcpy(pkt.ip4.dst, my_gid + 12, 4);
        pkt.payload = script->p;
        pkt.payload_len = (uint32_t)len;
        built = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
        FUZZ_CHECK(built > 0);
        FUZZ_CHECK(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, (size_t)built, (size_t)built) ==
                   0);
        if (len)
            memcpy(buf + pkt.off[ROCE_HDR_BTH], script->p, len);
        if (what & 2) {
            memset(buf + pkt.off[ROCE_HDR_BTH] + 5, 0, 3);
            buf[pkt.off[ROCE_HDR_BTH] + 7] = (uint8_t)qpn_of(what >> 2 & 3);
        }
        script->p += len;
        script->left -= len;
        seal_and_input(fuzz, buf, (size_t)built);
        return;
    }
    script->p += len;
    script->left -= len;
    seal_and_input(fuzz, buf, len);
}

static void take(struct fuzz *fuzz, unsigned max)
{
    uint8_t buf[ROCE_FRAME_MAX];

    for (unsigned i = 0; i < max; i++) {
        size_t len = rnic_output(fuzz->rnic, buf, sizeof(buf), 0);
        struct roce_pkt pkt;

        if (len == 0)
            return;
        FUZZ_CHECK(fuzz->owed-- > 0);
        FUZZ_CHECK(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0);
        FUZZ_CHECK(pkt.defects == 0 && roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD);
        FUZZ_CHECK(pkt.op->svc == ROCE_SVC_UD && pkt.payload_len <= 1024 && !pkt.bth.ackreq);
        FUZZ_CHECK((pkt.bth.dest_qp == ROCE_QP_MULTICAST) == ((pkt.eth.dst[0] & 1) != 0));
    }
}

static void reap(struct fuzz *fuzz)
{
    struct rnic_wc wc;

    while (rnic_cq_poll(fuzz->cq, &wc, 1)) {
        struct queue *q = &fuzz->q[wc.qpn == 1 ? 2 : wc.qpn - 0x10];

        if (wc.wr_id >> 63) {
            /* Completions must be in the order of posting (R198). */
            FUZZ_CHECK((wc.wr_id & ~(UINT64_C(1) << 63)) == q->done++);
            FUZZ_CHECK(q->done <= q->posted);
        } else {
            FUZZ_CHECK(wc.wr_id == q->recv_done++);
            FUZZ_CHECK(q->recv_done <= q->recv_posted);
            FUZZ_CHECK(wc.status != RNIC_WC_SUCCESS ||
                       (wc.byte_len >= 40 && wc.byte_len <= 40 + 1024 && (wc.flags & RNIC_WC_GRH)));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct rnic_event event;
    struct fuzz fuzz;

    setup(&fuzz);
    while (script.left) {
        uint8_t op = u8(&script);

        switch (op % 16) {
        case 0: post_send(&fuzz, &script); break;
        case 1: make_ah(&fuzz, &script); break;
        case 2: raw(&fuzz, &script); break;
        case 3: rnic_mcast_attach(pick(&fuzz, &script)->qp, group[op >> 4 & 1]); break;
        case 4: rnic_mcast_detach(pick(&fuzz, &script)->qp, group[op >> 4 & 1]); break;
        case 5: take(&fuzz, u8(&script)); break;
        case 6:
            /* Poll first, because a change to RESET discards the remaining completions. */
            reap(&fuzz);
            modify(pick(&fuzz, &script), (enum rnic_qp_state)(op >> 4 & 7));
            break;
        case 7:
            reap(&fuzz);
            bring_up(pick(&fuzz, &script));
            break;
        case 8: rnic_event_get(fuzz.rnic, &event); break;
        case 9:
        case 10: post_recv(&fuzz, &script); break;
        case 11: post_send(&fuzz, &script); break;
        default: datagram(&fuzz, &script); break;
        }
    }
    take(&fuzz, UINT32_MAX);
    reap(&fuzz);
    for (unsigned i = 0; i < GUARD; i++)
        FUZZ_CHECK(fuzz.block[i] == 0xA5 && fuzz.block[GUARD + MEM + i] == 0xA5);
    rnic_del(fuzz.rnic);
    free(fuzz.block);
    return 0;
}
