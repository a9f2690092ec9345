/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: the analysis engine (rnic/flow), which gets a stream of packets. The input is a
 * script that selects packets of a few connections, CM messages, arbitrary bytes as a frame, cut
 * frames, jumps of the time, and an allocator that sometimes fails.
 *
 * Invariants: memory use stays below the limit, and all memory is freed. Connection numbers and
 * sides are in range. Findings have existing rules. on_conn() is called exactly once for each
 * connection.
 */
#include <string.h>
#include "flow/flow.h"
#include "fuzz.h"
#include "script.h"

/* Memory limits, bytes. MEM_SMALL forces the engine to discard state. */
#define MEM_SMALL ((size_t)1 << 17)
#define MEM_LARGE ((size_t)1 << 24)
#define PACKETS   4096

struct watch {
    size_t now, max;
    uint32_t refuse; /* every `refuse`-th allocation fails; 0: none fails */
    uint32_t calls;
    uint64_t last_words;
};

static uint32_t u32(struct script *s)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 8 | u8(s);
    return v;
}

static void *get(void *ctx, size_t size)
{
    struct watch *w = ctx;

    /* The first allocation is for the struct roce_flow; it must not fail. */
    if (w->refuse && w->calls++ % w->refuse == w->refuse - 1)
        return NULL;
    w->now += size;
    FUZZ_CHECK(w->now <= w->max);
    return malloc(size);
}

static void put(void *ctx, void *p, size_t size)
{
    struct watch *w = ctx;

    FUZZ_CHECK(w->now >= size);
    w->now -= size;
    free(p);
}

static void on_finding(void *user, const struct roce_finding *f)
{
    char text[256];

    (void)user;
    FUZZ_CHECK(f->rule < ROCE_RULE_CNT && f->side < 2 && f->field);
    FUZZ_CHECK(roce_rule_info(f->rule)->judge == ROCE_JUDGE_FLOW);
    FUZZ_CHECK(f->severity <= roce_rule_info(f->rule)->severity);
    FUZZ_CHECK(strlen(roce_finding_text(f, text, sizeof(text))) < sizeof(text));
}

static void on_conn(void *user, const struct roce_conn_summary *conn)
{
    struct watch *w = user;

    w->last_words++;
    for (int i = 0; i < 2; i++) {
        FUZZ_CHECK(conn->side[i].region_cnt <= ROCE_REGIONS_MAX);
        for (int o = 0; o < ROCE_OPER_CNT; o++)
            (void)roce_hist_quantile(conn->side[i].oper[o].latency, 990);
    }
}

/* Makes a CM message with the communication IDs and QPNs of one of four connections. */
static void make_cm(struct script *s, struct roce_pkt *pkt, uint8_t mad[ROCE_MAD_SIZE])
{
    struct roce_cm_msg m;
    uint8_t which = u8(s), kind = u8(s) % 11;

    roce_cm_msg_init(&m, (enum roce_cm)kind, which & 3);
    switch (m.kind) {
    case ROCE_CM_REQ:
        m.req.local_comm_id = which & 3;
        m.req.local_qpn = 0x10 + (which & 3);
        m.req.starting_psn = u8(s);
        m.req.mtu = u8(s) & 7;
        m.req.transport = which >> 6;
        m.req.primary_ack_timeout = u8(s) & 31;
        break;
    case ROCE_CM_REP:
        m.rep.local_comm_id = 8 + (which & 3);
        m.rep.remote_comm_id = which >> 2 & 3;
        m.rep.local_qpn = 0x20 + (which & 3);
        m.rep.starting_psn = u8(s);
        break;
    case ROCE_CM_DREQ:
        m.dreq.local_comm_id = which & 3;
        m.dreq.remote_comm_id = 8 + (which >> 2 & 3);
        break;
    case ROCE_CM_DREP:
        m.drep.local_comm_id = 8 + (which & 3);
        m.drep.remote_comm_id = which >> 2 & 3;
        break;
    case ROCE_CM_REJ: m.rej.remote_comm_id = which & 3; break;
    case ROCE_CM_RTU: m.rtu.local_comm_id = which & 3; break;
    default: break;
    }
    (void)roce_cm_msg_build(&m, mad, ROCE_MAD_SIZE);
    pkt->bth.dest_qp = ROCE_QP_GSI;
    pkt->deth.qkey = ROCE_QKEY_GSI;
    pkt->deth.src_qp = ROCE_QP_GSI;
    pkt->payload = mad;
    pkt->payload_len = ROCE_MAD_SIZE;
}

/* Makes the next frame that the script selects. Returns its length. */
static size_t make_frame(struct script *s, uint8_t frame[ROCE_FRAME_MAX], uint32_t psn[4])
{
    static const uint8_t payload[4096] = {1, 2, 3};
    static const enum roce_encap encaps[4] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP4,
                                              ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    uint8_t what = u8(s), opcode = u8(s), mad[ROCE_MAD_SIZE];
    struct roce_pkt pkt;
    uint32_t conn = what & 3;
    int len;

    if (what >> 5 == 7) { /* a frame of arbitrary bytes */
        size_t n = u8(s);

        for (size_t i = 0; i < n; i++)
            frame[i] = u8(s);
        return n;
    }
    if (what >> 5 == 6)
        opcode = ROCE_OP_UD_SEND_ONLY;
    roce_pkt_init(&pkt, encaps[conn], opcode);
    pkt.ip4.src[3] = pkt.ip6.src[15] = pkt.grh.sgid[15] = what >> 2 & 1;
    pkt.ip4.dst[3] = pkt.ip6.dst[15] = pkt.grh.dgid[15] = what >> 3 & 1;
    pkt.bth.dest_qp = 0x10 + (what >> 2 & 1) * 0x10 + conn;
    pkt.bth.psn = psn[conn] = (psn[conn] + (uint32_t)(int8_t)u8(s)) & ROCE_PSN_MASK;
    pkt.bth.ackreq = u8(s) & 1;
    pkt.udp.sport = 0xC000;
    pkt.ip4.ecn = what >> 4 & 1 ? 3 : 2;
    if (roce_opcode(opcode)->hdrs)
        pkt.aeth = (struct roce_aeth){.syndrome = u8(s), .msn = u8(s)};
    pkt.reth =
        (struct roce_reth){.va = u8(s), .rkey = u8(s) & 15, .dma_len = u32(s) >> (u8(s) & 31)};
    pkt.atomiceth.va = u8(s);
    pkt.deth.src_qp = u8(s) & 3;
    if (roce_opcode(opcode)->payload != ROCE_PAYLOAD_NONE) {
        static const uint32_t lens[8] = {0, 8, 256, 256, 256, 1024, 4096, 100};

        pkt.payload = payload;
        pkt.payload_len = lens[u8(s) & 7];
    }
    if (what >> 5 == 6)
        make_cm(s, &pkt, mad);
    len = roce_pkt_build(&pkt, 0, frame, ROCE_FRAME_MAX);
    return len < 0 ? 0 : (size_t)len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = {data, size};
    struct watch w = {0};
    struct roce_flow_opts opts = {.mem = {get, put, &w},
                                  .user = &w,
                                  .on_finding = on_finding,
                                  .on_conn = on_conn,
                                  .profile = ROCE_PROFILE_LINUX_RXE_6_1};
    uint8_t setup = u8(&s), frame[ROCE_FRAME_MAX];
    uint32_t psn[4] = {0, 0xFFFFF0, 100, 0x800000};
    const struct roce_flow_totals *totals;
    struct roce_flow *flow;
    uint64_t now = 1000;
    unsigned cnt = 0;

    opts.mem_max = w.max = setup & 1 ? MEM_SMALL : MEM_LARGE;
    opts.conn_max = setup & 2 ? 3 : 1000;
    opts.window_max = setup & 4 ? 8 : 1024;
    w.refuse = setup & 8 ? 3u + (setup >> 4) : 0;
    flow = roce_flow_new(&opts);
    if (!flow)
        return 0;
    while (s.left > 0 && cnt++ < PACKETS) {
        size_t len = make_frame(&s, frame, psn), cap = len;
        uint8_t how = u8(&s);
        struct roce_pkt pkt;
        struct roce_flow_in in = {.pkt = &pkt, .frame = cnt, .icrc = ROCE_ICRC_UNVERIFIED};
        struct roce_flow_result r;

        if (how & 1 && cap > 40)
            cap = 40 + u8(&s) % (cap - 40);
        now += (uint64_t)1 << (how >> 2 & 31);
        in.time = how & 2 ? now - now / 4 : now;
        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, cap, len) != 0)
            continue;
        if (cap == len)
            in.icrc = roce_pkt_icrc_check(&pkt, NULL);
        roce_flow_feed(flow, &in, &r);
        FUZZ_CHECK(r.side < 2 && r.cause < ROCE_CAUSE_CNT);
        FUZZ_CHECK(r.next_psn <= ROCE_PSN_MASK && r.rel_psn <= ROCE_PSN_MASK);
        FUZZ_CHECK(r.conn_index == ROCE_NO_CONN ||
                   roce_flow_conn_index(flow, r.conn_index) <= r.conn_index);
        FUZZ_CHECK(r.requests_in_flight <= cnt && r.reads_in_flight <= cnt);
        FUZZ_CHECK(r.bytes_in_flight <= (uint64_t)cnt * 4096);
    }
    roce_flow_finish(flow);
    totals = roce_flow_totals(flow);
    FUZZ_CHECK(w.last_words == totals->connections);
    FUZZ_CHECK(totals->mem_peak <= w.max);
    roce_flow_del(flow);
    FUZZ_CHECK(w.now == 0);
    return 0;
}
