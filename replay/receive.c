/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "receive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "delivery.h"
#include "feed.h"

/* Addresses that are stood in for. */
#define DEVICES_MAX 256u

/* What a fresh receive buffer is full of, so that a byte too many shows. */
#define FILL 0xA5

/* Receive buffers are so much longer than needed: what is too long has to show. */
#define SLACK 4096u

#define TIME_BASE UINT64_C(1000000000)

/* One address with its RNIC. */
struct host {
    uint8_t addr[16];
    enum roce_encap encap;
    const char *failed; /* why it cannot be stood in for, or NULL */
    struct memory memory;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
};

/* A stream while it is played. */
struct receiver {
    struct host *host;
    struct rnic_qp *qp;
    struct delivery delivery;
    uint8_t *buf;
    uint32_t len;
    uint32_t used; /* bytes of `buf` that may not be FILL */
    struct rnic_mr *mr;
};

struct stage {
    struct streams *streams;
    struct host host[DEVICES_MAX];
    size_t host_cnt;
    struct receiver *receiver; /* one for each stream */
};

/* ---- hosts -------------------------------------------------------------------------------------
 */

/* A member of a group, since the packets name none: the first other end of the capture, or the
 * address after the sender's. */
static void member_of(const struct trace *trace, const struct stream *s, uint8_t out[16])
{
    for (uint32_t i = 0; i < trace->flows.cnt && i < STREAMS_MAX; i++) {
        const struct trace_flow *flow = &trace->flow[i];

        if (flow->encap == s->encap && memcmp(flow->src, s->peer, 16) != 0) {
            memcpy(out, flow->src, 16);
            return;
        }
    }
    memcpy(out, s->peer, 16);
    out[15] = out[15] == 0xFE ? 1 : (uint8_t)(out[15] + 1);
}

static struct host *host_of(struct stage *st, const struct stream *s)
{
    uint8_t addr[16];
    struct host *host;

    memcpy(addr, s->addr, 16);
    if (s->multicast)
        member_of(st->streams->trace, s, addr);
    for (size_t i = 0; i < st->host_cnt; i++)
        if (st->host[i].encap == s->encap && memcmp(st->host[i].addr, addr, 16) == 0)
            return &st->host[i];
    if (st->host_cnt == DEVICES_MAX)
        return NULL;
    host = &st->host[st->host_cnt++];
    memcpy(host->addr, addr, 16);
    host->encap = s->encap;
    memory_init(&host->memory);
    return host;
}

/* The memory that the WRITEs of a stream go to. */
static int claim(const struct trace *trace, const struct stream *s, struct memory *memory)
{
    struct roce_pkt pkt;

    for (size_t i = 0; i < s->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[s->pkt[i]];

        if (p->dropped || !roce_opcode_has(roce_opcode(p->opcode), ROCE_HDR_RETH))
            continue;
        trace_parse(p, &pkt);
        if (pkt.reth.dma_len <= RNIC_MESSAGE_MAX &&
            memory_claim(memory, pkt.reth.rkey, pkt.reth.va, pkt.reth.dma_len,
                         RNIC_ACCESS_REMOTE_WRITE) != 0)
            return -1;
    }
    return 0;
}

static const struct trace_packet *first_good(const struct trace *trace, const struct stream *s)
{
    for (size_t i = 0; i < s->cnt; i++)
        if (!trace->pkt[s->pkt[i]].dropped)
            return &trace->pkt[s->pkt[i]];
    return &trace->pkt[s->pkt[0]];
}

static const char *host_open(struct host *host, const struct trace *trace, const struct stream *s)
{
    static const uint8_t member[6] = {0x02, 0, 0, 0, 0, 0x02};
    struct rnic_attr attr = {.gid_cnt = 1};
    uint8_t src[6];
    const char *why = memory_map(&host->memory);

    if (why)
        return why;
    feed_macs(first_good(trace, s), attr.mac, src);
    if (s->multicast)
        memcpy(attr.mac, member, sizeof(member));
    memcpy(attr.gid[0].gid, host->addr, 16);
    attr.gid[0].type = host->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    attr.pkey[attr.pkey_cnt++] = s->pkey;
    host->rnic = rnic_new(&attr);
    if (!host->rnic || rnic_pd_new(host->rnic, &host->pd) != 0 ||
        rnic_cq_new(host->rnic, 64, &host->cq) != 0)
        return "no memory for the RNIC";
    for (uint32_t i = 0; i < host->memory.keys.cnt; i++) {
        int rc;

        if (host->memory.region[i].rkey == 0)
            return "R_Key 0 is used, which our RNIC cannot be made to have";
        rc = memory_register(&host->memory.region[i], host->pd);
        if (rc != 0)
            return rnic_error_text(rc);
    }
    return NULL;
}

static void host_close(struct host *host)
{
    for (uint32_t i = 0; i < host->memory.keys.cnt; i++)
        host->memory.region[i].mr = NULL; /* freed with the RNIC */
    rnic_del(host->rnic);
    memory_free(&host->memory);
}

/* ---- QPs ---------------------------------------------------------------------------------------
 */

/* The longest message that the stream completes in a receive buffer. */
static uint32_t longest(const struct trace *trace, const struct stream *s)
{
    struct delivery d;
    uint64_t max = s->svc == ROCE_SVC_UD ? DELIVERY_AREA + 4096 : 0;
    struct roce_pkt pkt;

    delivery_init(&d, s);
    for (size_t i = 0; i < s->cnt && s->svc == ROCE_SVC_UC; i++) {
        const struct trace_packet *p = &trace->pkt[s->pkt[i]];

        if (p->dropped)
            continue;
        trace_parse(p, &pkt);
        delivery_take(&d, &pkt);
        if (d.kind == ROCE_KIND_SEND && d.off > max)
            max = d.off;
    }
    return (uint32_t)max;
}

static void post_recv(struct receiver *r)
{
    struct rnic_sge sge = {.len = r->len, .lkey = rnic_mr_key(r->mr)};
    struct rnic_recv_wr wr = {.sge = &sge, .sge_cnt = 1};

    rnic_post_recv(r->qp, &wr);
}

static const char *qp_open(struct receiver *r, const struct stream *s, const struct roce_pkt *first,
                           rnic_time now)
{
    struct rnic_qp_init init = {.type = s->svc == ROCE_SVC_UC   ? RNIC_QPT_UC
                                        : s->qpn == ROCE_QP_GSI ? RNIC_QPT_GSI
                                                                : RNIC_QPT_UD,
                                .recv_cq = r->host->cq,
                                .qpn = s->multicast ? 0 : s->qpn,
                                .max_recv_wr = 2,
                                .max_recv_sge = 1};
    struct rnic_qp_attr attr = {.state = RNIC_QPS_INIT,
                                .access = RNIC_ACCESS_REMOTE_WRITE,
                                .pkey = s->pkey,
                                .qkey = s->qkey,
                                .path_mtu = s->mtu,
                                .dest_qpn = 2, /* the sender's, which UC does not show */
                                .rq_psn = first->bth.psn};
    int rc = rnic_qp_new(r->host->pd, &init, &r->qp);

    if (rc != 0) {
        r->qp = NULL;
        return rnic_error_text(rc);
    }
    memcpy(attr.av.dgid, s->peer, 16);
    memcpy(attr.av.dmac, first->eth.src, 6);
    rc = rnic_qp_modify(r->qp, &attr, now);
    attr.state = RNIC_QPS_RTR;
    if (rc == 0)
        rc = rnic_qp_modify(r->qp, &attr, now);
    if (rc == 0 && s->multicast)
        rc = rnic_mcast_attach(r->qp, s->addr);
    return rc == 0 ? NULL : rnic_error_text(rc);
}

/* The buffers of a stream, and its QP in place of an earlier one with its number. NULL, or why not.
 */
static const char *open_receiver(struct stage *st, uint32_t idx, const struct roce_pkt *first,
                                 rnic_time now)
{
    const struct stream *s = &st->streams->stream[idx];
    struct receiver *r = &st->receiver[idx];
    struct rnic_mr_attr attr = {.access = RNIC_ACCESS_LOCAL_WRITE};
    const char *why;

    for (size_t i = 0; i < st->streams->cnt; i++) {
        struct receiver *other = &st->receiver[i];

        if (other->qp && other->host == r->host && st->streams->stream[i].qpn == s->qpn &&
            !s->multicast && !st->streams->stream[i].multicast) {
            rnic_qp_del(other->qp);
            other->qp = NULL;
        }
    }
    if (!r->buf) {
        r->len = longest(st->streams->trace, s) + SLACK;
        r->buf = malloc(r->len);
        attr.addr = r->buf;
        attr.len = r->len;
        if (!r->buf || rnic_mr_reg(r->host->pd, &attr, &r->mr) != 0)
            return "no memory for the receive buffers";
        memset(r->buf, FILL, r->len);
    }
    why = qp_open(r, s, first, now);
    if (why) {
        if (r->qp)
            rnic_qp_del(r->qp);
        r->qp = NULL;
        return why;
    }
    delivery_init(&r->delivery, s);
    post_recv(r);
    return NULL;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

/* R172. */
static void compare_area(const uint8_t *area, const struct roce_pkt *pkt, struct field_diffs *d)
{
    const uint8_t *net = pkt->frame + pkt->net_off;
    bool ip4 = pkt->encap == ROCE_ENCAP_V2_IP4;

    if (ip4 ? memcmp(area + DELIVERY_AREA - ROCE_IP4_LEN, net, ROCE_IP4_LEN) != 0
            : memcmp(area, net, DELIVERY_AREA) != 0)
        fields_differ(d, "network header", "as captured", "other bytes");
}

static void compare_completion(const struct stream *s, const struct roce_pkt *pkt,
                               const struct delivered *want, const struct rnic_wc *wc,
                               const struct rnic_qp *qp, struct field_diffs *d)
{
    bool imm = roce_pkt_has(pkt, ROCE_HDR_IMMDT);
    bool ud = s->svc == ROCE_SVC_UD;
    unsigned flags = (ud ? (unsigned)RNIC_WC_GRH : 0u) | (imm ? (unsigned)RNIC_WC_WITH_IMM : 0u);

    if (wc->status != RNIC_WC_SUCCESS) {
        fields_differ(d, "completion", "SUCCESS", rnic_wc_status_name(wc->status));
        return;
    }
    fields_differ_num(d, "wc.opcode", "%u", want->write ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV,
                      wc->opcode);
    fields_differ_num(d, "wc.flags", "%x", flags, wc->flags);
    fields_differ_num(d, "wc.byte_len", "%u", want->byte_len, wc->byte_len);
    if (imm)
        fields_differ_num(d, "wc.imm", "%x", pkt->immdt.imm, wc->imm);
    fields_differ_num(d, "wc.qpn", "%x", rnic_qp_qpn(qp), wc->qpn);
    fields_differ_num(d, "wc.solicited", "%u", pkt->bth.se, wc->solicited);
    if (ud)
        fields_differ_num(d, "wc.src_qp", "%x", pkt->deth.src_qp, wc->src_qp);
}

/* Where the packet's bytes should be now, or NULL. */
static const uint8_t *place_of(const struct receiver *r, const struct delivered *want, uint32_t len)
{
    const struct memory_region *region;

    if (!want->write)
        return want->off + len < r->len ? r->buf + want->off : NULL;
    region = memory_find(&r->host->memory, want->rkey);
    return region && memory_covers(region, want->va, len, 0)
               ? region->image + (want->va - region->low)
               : NULL;
}

static void compare_bytes(const struct receiver *r, const struct trace_packet *p,
                          const struct roce_pkt *pkt, const struct delivered *want,
                          struct field_diffs *d)
{
    const uint8_t *place = place_of(r, want, p->payload_len);

    if (p->payload_len && (!place || memcmp(place, trace_payload(p), p->payload_len) != 0))
        fields_differ(d, "data", "as captured", "other bytes in memory");
    if (!want->write && place && place[p->payload_len] != FILL)
        fields_differ(d, "data", "nothing after the message", "bytes after it");
    if (r->delivery.stream->svc == ROCE_SVC_UD)
        compare_area(r->buf, pkt, d);
}

/* ---- a packet ----------------------------------------------------------------------------------
 */

/* Where a packet would do harm that must leave no trace: the next bytes of the message in hand, or
 * the first of its own. */
struct guard {
    const uint8_t *at; /* NULL: nowhere */
    uint32_t len;
    uint8_t before[4096];
};

static void guard_set(struct guard *g, const struct receiver *r, const struct roce_pkt *pkt)
{
    const struct delivery *del = &r->delivery;
    bool starts = roce_pkt_has(pkt, ROCE_HDR_RETH);
    bool write = pkt->op->kind == ROCE_KIND_WRITE;
    struct delivered place = {.write = write,
                              .rkey = starts ? pkt->reth.rkey : del->rkey,
                              .va = starts ? pkt->reth.va : del->va + del->off,
                              .off = roce_opcode_starts(pkt->op) ? 0 : del->off};

    g->len = pkt->payload_len < sizeof(g->before) ? pkt->payload_len : sizeof(g->before);
    g->at = write && !starts && del->kind != ROCE_KIND_WRITE ? NULL : place_of(r, &place, g->len);
    if (g->at)
        memcpy(g->before, g->at, g->len);
}

/* A fresh buffer for what begins a message. */
static void clean(struct receiver *r, const struct stream *s, const struct roce_pkt *pkt)
{
    uint64_t end;

    if (s->svc == ROCE_SVC_UD || roce_opcode_starts(pkt->op)) {
        memset(r->buf, FILL, r->used);
        r->used = 0;
    }
    end = r->delivery.off + pkt->payload_len + DELIVERY_AREA;
    if (end > r->used)
        r->used = end < r->len ? (uint32_t)end : r->len;
}

static int play(struct stage *st, uint32_t idx, uint32_t pkt_idx, rnic_time now)
{
    struct stream *s = &st->streams->stream[idx];
    struct receiver *r = &st->receiver[idx];
    const struct trace_packet *p = &st->streams->trace->pkt[pkt_idx];
    struct delivered want = {.fate = DELIVERY_DROPPED, .rule = "it is damaged"};
    struct field_diffs d = {.cnt = 0};
    uint8_t frame[ROCE_FRAME_MAX];
    char text[96] = "none";
    struct roce_pkt pkt;
    struct rnic_wc wc[4];
    struct guard guard;
    size_t cnt;

    trace_parse(p, &pkt);
    if (!p->dropped)
        clean(r, s, &pkt);
    guard_set(&guard, r, &pkt);
    feed(r->host->rnic, p, now);
    if (p->dropped)
        s->damaged++;
    else
        want = delivery_take(&r->delivery, &pkt);
    s->dropped += !p->dropped && want.fate == DELIVERY_DROPPED;
    s->compared++;
    cnt = rnic_cq_poll(r->host->cq, wc, sizeof(wc) / sizeof(wc[0]));
    if (want.fate == DELIVERY_COMPLETED && cnt == 1)
        compare_completion(s, &pkt, &want, &wc[0], r->qp, &d);
    else if (cnt != (want.fate == DELIVERY_COMPLETED)) {
        if (cnt)
            snprintf(text, sizeof(text), "%zu: %s", cnt, rnic_wc_status_name(wc[0].status));
        fields_differ(&d, "completion", want.fate == DELIVERY_COMPLETED ? "SUCCESS" : "none", text);
    }
    if (want.fate != DELIVERY_DROPPED && d.cnt == 0)
        compare_bytes(r, p, &pkt, &want, &d);
    else if (d.cnt == 0 && guard.at && memcmp(guard.at, guard.before, guard.len) != 0)
        fields_differ(&d, "data", "unchanged", "other bytes in memory");
    if (rnic_output(r->host->rnic, frame, sizeof(frame), now) > 0)
        fields_differ(&d, "answer", "none", "a packet"); /* R162, R178 */
    if (want.fate == DELIVERY_COMPLETED || want.fate == DELIVERY_WHOLE) {
        s->messages++;
        s->bytes += s->svc == ROCE_SVC_UC ? r->delivery.off : p->payload_len;
    }
    if (cnt)
        post_recv(r);
    return streams_report(st->streams, idx, pkt_idx, &d,
                          want.rule ? want.rule : "our RNIC receives this packet differently");
}

/* ---- all ---------------------------------------------------------------------------------------
 */

static int find_hosts(struct stage *st)
{
    for (size_t i = 0; i < st->streams->cnt; i++) {
        struct stream *s = &st->streams->stream[i];

        if (s->role != STREAM_RECEIVER || s->skip)
            continue;
        st->receiver[i].host = host_of(st, s);
        if (!st->receiver[i].host)
            s->skip = "more addresses than replay stands in for";
        else if (claim(st->streams->trace, s, &st->receiver[i].host->memory) != 0)
            return -1;
    }
    return 0;
}

static int play_packet(struct stage *st, uint32_t idx, uint32_t pkt)
{
    const struct trace *trace = st->streams->trace;
    struct stream *s = &st->streams->stream[idx];
    struct receiver *r = &st->receiver[idx];
    rnic_time now = trace->pkt[pkt].time - trace->pkt[0].time + TIME_BASE;
    struct roce_pkt parsed;

    if (s->skip)
        return 0;
    if (!r->host->rnic && !r->host->failed)
        r->host->failed = host_open(r->host, trace, s);
    s->skip = r->host->failed;
    if (!s->skip && !r->qp) {
        if (trace->pkt[pkt].dropped)
            return 0; /* nothing tells of it, and it tells nothing */
        trace_parse(&trace->pkt[pkt], &parsed);
        s->skip = open_receiver(st, idx, &parsed, now);
    }
    return s->skip ? 0 : play(st, idx, pkt, now);
}

int receive_all(struct streams *streams)
{
    struct stage *st = calloc(1, sizeof(*st));
    int rc = -1;

    if (st) {
        st->streams = streams;
        st->receiver = calloc(streams->cnt + 1, sizeof(*st->receiver));
    }
    if (st && st->receiver)
        rc = find_hosts(st);
    for (uint32_t i = 0; rc == 0 && i < streams->trace->cnt; i++)
        if (streams->receiver[i] != MAP_NONE)
            rc = play_packet(st, streams->receiver[i], i);
    for (size_t i = 0; st && i < st->host_cnt; i++)
        host_close(&st->host[i]);
    for (size_t i = 0; st && st->receiver && i < streams->cnt; i++)
        free(st->receiver[i].buf);
    if (st)
        free(st->receiver);
    free(st);
    return rc;
}
