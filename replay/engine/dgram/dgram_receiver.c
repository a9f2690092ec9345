/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram/dgram_receiver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"
#include "engine/dgram/dgram_expected.h"
#include "engine/dgram/dgram_host.h"

/* Fill byte of an empty receive buffer. A changed fill byte shows that our RNIC wrote beyond the
 * message. */
#define FILL 0xA5

/* Extra bytes at the end of each receive buffer, so that a write beyond the longest message is
 * detected. */
#define SLACK 4096u

#define TIME_BASE UINT64_C(1000000000) /* virtual time of the first packet, ns */

/* Replay of one stream: our QP in place of the recorded receiver. */
struct dgram_receiver {
    struct dgram_host *host;
    struct rnic_qp *qp;
    struct expected_delivery delivery;
    uint8_t *buf;
    uint32_t len;
    uint32_t used; /* number of bytes at the start of `buf` that may have a value other than FILL */
    struct rnic_mr *mr;
    bool doubt; /* true: the comparison of this QP is suspended, because its host received a
                 * frame that fault injection altered (dgram_receivers_frame()) */
};

struct dgram_receivers {
    struct dgram_streams *streams;
    struct dgram_hosts hosts;
    struct dgram_receiver *receiver; /* one for each stream */
};

/* Frame that a host receives in place of packet `pkt` of stream `stream`. */
struct arrival {
    uint32_t stream;
    uint32_t pkt;
    const uint8_t *frame;
    size_t len;
    const struct roce_pkt *parsed;
    bool damaged; /* a conformant receiver drops the frame */
};

/* ---- opening the QPs ------------------------------------------------------------------------- */

/* Returns the length of the longest message of the stream that consumes a receive buffer. */
static uint32_t longest(const struct trace *trace, const struct dgram_stream *s)
{
    struct expected_delivery d;
    uint64_t max = s->svc == ROCE_SVC_UD ? GRH_AREA_LEN + 4096 : 0;
    struct roce_pkt pkt;

    expected_delivery_init(&d, s);
    for (size_t i = 0; i < s->cnt && s->svc == ROCE_SVC_UC; i++) {
        const struct trace_packet *p = &trace->pkt[s->pkt[i]];

        if (p->dropped)
            continue;
        trace_parse(p, &pkt);
        expected_delivery_next(&d, &pkt);
        if (d.kind == ROCE_KIND_SEND && d.off > max)
            max = d.off;
    }
    return (uint32_t)max;
}

static void post_recv(struct dgram_receiver *r)
{
    struct rnic_sge sge = {.len = r->len, .lkey = rnic_mr_key(r->mr)};
    struct rnic_recv_wr wr = {.sge = &sge, .sge_cnt = 1};

    rnic_post_recv(r->qp, &wr);
}

static const char *qp_open(struct dgram_receiver *r, const struct dgram_stream *s,
                           const struct roce_pkt *first, rnic_time now)
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
                                /* Arbitrary QPN of the sender: UC packets do not contain the QPN of
                                 * their sender. */
                                .dest_qpn = 2,
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

/* Allocates the receive buffers of a stream and creates its QP. Destroys an earlier QP with the
 * number of the new one. Returns NULL, or the reason why the QP cannot be created. */
static const char *open_receiver(struct dgram_receivers *rx, uint32_t idx,
                                 const struct roce_pkt *first, rnic_time now)
{
    const struct dgram_stream *s = &rx->streams->stream[idx];
    struct dgram_receiver *r = &rx->receiver[idx];
    struct rnic_mr_attr attr = {.access = RNIC_ACCESS_LOCAL_WRITE};
    const char *why;

    for (size_t i = 0; i < rx->streams->cnt; i++) {
        struct dgram_receiver *other = &rx->receiver[i];

        if (other->qp && other->host == r->host && rx->streams->stream[i].qpn == s->qpn &&
            !s->multicast && !rx->streams->stream[i].multicast) {
            rnic_qp_del(other->qp);
            other->qp = NULL;
        }
    }
    if (!r->buf) {
        r->len = longest(rx->streams->trace, s) + SLACK;
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
    expected_delivery_init(&r->delivery, s);
    post_recv(r);
    return NULL;
}

/* ---- Comparing with the expected result ------------------------------------------------------ */

/* Compares the first 40 bytes of a receive buffer with the network header of the UD packet
 * (R172). */
static void compare_area(const uint8_t *area, const struct roce_pkt *pkt, struct field_diffs *d)
{
    const uint8_t *net = pkt->frame + pkt->net_off;
    bool ip4 = pkt->encap == ROCE_ENCAP_V2_IP4;

    if (ip4 ? memcmp(area + GRH_AREA_LEN - ROCE_IP4_LEN, net, ROCE_IP4_LEN) != 0
            : memcmp(area, net, GRH_AREA_LEN) != 0)
        field_diff_add(d, "network header", "as captured", "other bytes");
}

static void compare_completion(const struct dgram_stream *s, const struct roce_pkt *pkt,
                               const struct rx_result *want, const struct rnic_wc *wc,
                               const struct rnic_qp *qp, struct field_diffs *d)
{
    bool imm = roce_pkt_has(pkt, ROCE_HDR_IMMDT);
    bool ud = s->svc == ROCE_SVC_UD;
    unsigned flags = (ud ? (unsigned)RNIC_WC_GRH : 0u) | (imm ? (unsigned)RNIC_WC_WITH_IMM : 0u);

    if (wc->status != RNIC_WC_SUCCESS) {
        field_diff_add(d, "completion", "SUCCESS", rnic_wc_status_name(wc->status));
        return;
    }
    field_diff_add_num(d, "wc.opcode", FIELD_NUMBER,
                       want->write ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV, wc->opcode);
    field_diff_add_num(d, "wc.flags", FIELD_HEX, flags, wc->flags);
    field_diff_add_num(d, "wc.byte_len", FIELD_NUMBER, want->byte_len, wc->byte_len);
    if (imm)
        field_diff_add_num(d, "wc.imm", FIELD_HEX, pkt->immdt.imm, wc->imm);
    field_diff_add_num(d, "wc.qpn", FIELD_HEX, rnic_qp_qpn(qp), wc->qpn);
    field_diff_add_num(d, "wc.solicited", FIELD_NUMBER, pkt->bth.se, wc->solicited);
    if (ud)
        field_diff_add_num(d, "wc.src_qp", FIELD_HEX, pkt->deth.src_qp, wc->src_qp);
}

/* Returns the address where our RNIC must have stored the packet's payload, or NULL if the packet
 * stores no payload. */
static const uint8_t *place_of(const struct dgram_receiver *r, const struct rx_result *want,
                               uint32_t len)
{
    const struct shadow_region *region;

    if (!want->write)
        return want->off + len < r->len ? r->buf + want->off : NULL;
    region = shadow_find(&r->host->memory, want->rkey);
    return region && shadow_covers(region, want->va, len, 0)
               ? region->image + (want->va - region->low)
               : NULL;
}

static void compare_bytes(const struct dgram_receiver *r, const struct roce_pkt *pkt,
                          const struct rx_result *want, struct field_diffs *d)
{
    const uint8_t *place = place_of(r, want, pkt->payload_len);

    if (pkt->payload_len && (!place || memcmp(place, pkt->payload, pkt->payload_len) != 0))
        field_diff_add(d, "data", "as captured", "different bytes in memory");
    if (!want->write && place && place[pkt->payload_len] != FILL)
        field_diff_add(d, "data", "buffer unchanged after the message",
                       "bytes written after the message");
    if (r->delivery.stream->svc == ROCE_SVC_UD)
        compare_area(r->buf, pkt, d);
}

/* ---- One frame ------------------------------------------------------------------------------- */

/* Copy of the memory that must not change if our RNIC drops the packet: the memory to which an
 * accepted packet would be written. */
struct guard {
    const uint8_t *at; /* NULL if the packet has no destination in memory */
    uint32_t len;
    uint8_t before[4096];
};

static void guard_set(struct guard *g, const struct dgram_receiver *r, const struct roce_pkt *pkt)
{
    const struct expected_delivery *del = &r->delivery;
    bool starts = roce_pkt_has(pkt, ROCE_HDR_RETH);
    bool write = pkt->op->kind == ROCE_KIND_WRITE;
    struct rx_result place = {.write = write,
                              .rkey = starts ? pkt->reth.rkey : del->rkey,
                              .va = starts ? pkt->reth.va : del->va + del->off,
                              .off = roce_opcode_starts(pkt->op) ? 0 : del->off};

    g->len = pkt->payload_len < sizeof(g->before) ? pkt->payload_len : sizeof(g->before);
    g->at = write && !starts && del->kind != ROCE_KIND_WRITE ? NULL : place_of(r, &place, g->len);
    if (g->at)
        memcpy(g->before, g->at, g->len);
}

/* Fills the receive buffer with FILL if the packet begins a message. */
static void reset_buffer(struct dgram_receiver *r, const struct dgram_stream *s,
                         const struct roce_pkt *pkt)
{
    uint64_t end;

    if (s->svc == ROCE_SVC_UD || roce_opcode_starts(pkt->op)) {
        memset(r->buf, FILL, r->used);
        r->used = 0;
    }
    end = r->delivery.off + pkt->payload_len + GRH_AREA_LEN;
    if (end > r->used)
        r->used = end < r->len ? (uint32_t)end : r->len;
}

/* Passes a frame to the host's RNIC and compares the result with the expected one. */
static int compare_arrival(struct dgram_receivers *rx, const struct arrival *a, rnic_time now)
{
    struct dgram_stream *s = &rx->streams->stream[a->stream];
    struct dgram_receiver *r = &rx->receiver[a->stream];
    struct rx_result want = {.outcome = RX_DROPPED, .why_dropped = "the packet has a wrong ICRC"};
    struct field_diffs d;
    uint8_t frame[ROCE_FRAME_MAX];
    const struct roce_pkt *pkt = a->parsed;
    char text[96] = "none";
    struct rnic_wc wc[4];
    struct guard guard;
    size_t cnt;

    field_diffs_clear(&d);
    if (!a->damaged)
        reset_buffer(r, s, pkt);
    guard_set(&guard, r, pkt);
    rnic_input(r->host->rnic, a->frame, a->len, now);
    if (a->damaged)
        s->damaged++;
    else
        want = expected_delivery_next(&r->delivery, pkt);
    s->dropped += !a->damaged && want.outcome == RX_DROPPED;
    s->compared++;
    cnt = rnic_cq_poll(r->host->cq, wc, sizeof(wc) / sizeof(wc[0]));
    if (want.outcome == RX_COMPLETED && cnt == 1)
        compare_completion(s, pkt, &want, &wc[0], r->qp, &d);
    else if (cnt != (want.outcome == RX_COMPLETED)) {
        if (cnt)
            snprintf(text, sizeof(text), "%zu: %s", cnt, rnic_wc_status_name(wc[0].status));
        field_diff_add(&d, "completion", want.outcome == RX_COMPLETED ? "SUCCESS" : "none", text);
    }
    if (want.outcome != RX_DROPPED && d.cnt == 0)
        compare_bytes(r, pkt, &want, &d);
    else if (d.cnt == 0 && guard.at && memcmp(guard.at, guard.before, guard.len) != 0)
        field_diff_add(&d, "data", "unchanged", "different bytes in memory");
    if (rnic_output(r->host->rnic, frame, sizeof(frame), now) > 0)
        /* A UC or UD receiver must not respond (R162, R178). */
        field_diff_add(&d, "answer", "none", "a packet");
    if (want.outcome == RX_COMPLETED || want.outcome == RX_WRITE_DONE) {
        s->messages++;
        s->bytes += s->svc == ROCE_SVC_UC ? r->delivery.off : pkt->payload_len;
    }
    if (cnt)
        post_recv(r);
    return dgram_streams_report(
        rx->streams, a->stream, a->pkt, &d,
        want.why_dropped ? want.why_dropped
                         : "our RNIC handles this packet differently from a conformant receiver");
}

/* ---- All receivers --------------------------------------------------------------------------- */

static int find_hosts(struct dgram_receivers *rx)
{
    for (size_t i = 0; i < rx->streams->cnt; i++) {
        struct dgram_stream *s = &rx->streams->stream[i];

        if (s->role != DGRAM_RECEIVER || s->skip)
            continue;
        rx->receiver[i].host = dgram_hosts_find(&rx->hosts, rx->streams->trace, s);
        if (!rx->receiver[i].host)
            s->skip = "the capture has more receiver addresses than replay supports";
        else if (dgram_host_claim(rx->receiver[i].host, rx->streams->trace, s) != 0)
            return -1;
    }
    return 0;
}

struct dgram_receivers *dgram_receivers_new(struct dgram_streams *streams)
{
    struct dgram_receivers *rx = calloc(1, sizeof(*rx));

    if (!rx)
        return NULL;
    rx->streams = streams;
    rx->receiver = calloc(streams->cnt + 1, sizeof(*rx->receiver));
    if (rx->receiver && find_hosts(rx) == 0)
        return rx;
    dgram_receivers_del(rx);
    return NULL;
}

void dgram_receivers_del(struct dgram_receivers *rx)
{
    if (!rx)
        return;
    dgram_hosts_close(&rx->hosts);
    for (size_t i = 0; rx->receiver && i < rx->streams->cnt; i++)
        free(rx->receiver[i].buf);
    free(rx->receiver);
    free(rx);
}

/* Returns whether the stream is replayed. The first packet creates the host and the QP of the
 * stream. */
static bool is_open(struct dgram_receivers *rx, const struct arrival *a, rnic_time now)
{
    struct dgram_stream *s = &rx->streams->stream[a->stream];
    struct dgram_receiver *r = &rx->receiver[a->stream];

    if (s->skip)
        return false;
    if (!r->host->rnic && !r->host->failed)
        r->host->failed = dgram_host_open(r->host, rx->streams->trace, s);
    s->skip = r->host->failed;
    if (!s->skip && !r->qp) {
        if (a->damaged)
            return false; /* wait for an undamaged packet: only its fields show the attributes that
                           * the QP needs */
        s->skip = open_receiver(rx, a->stream, a->parsed, now);
    }
    return !s->skip;
}

/* Injects a recorded packet at its capture time and compares our RNIC's result with the expected
 * one. */
static int play_packet(struct dgram_receivers *rx, uint32_t stream, uint32_t pkt)
{
    const struct trace *trace = rx->streams->trace;
    const struct trace_packet *p = &trace->pkt[pkt];
    rnic_time now = p->time - trace->pkt[0].time + TIME_BASE;
    uint8_t frame[ROCE_FRAME_MAX];
    struct roce_pkt parsed;
    struct arrival a = {.stream = stream,
                        .pkt = pkt,
                        .frame = frame,
                        .len = inject_frame(p, frame),
                        .parsed = &parsed,
                        .damaged = p->dropped};

    trace_parse(p, &parsed);
    parsed.payload = trace_payload(p);
    parsed.payload_len = p->payload_len;
    return is_open(rx, &a, now) ? compare_arrival(rx, &a, now) : 0;
}

/* Injects a frame that fault injection altered. The frame may have any effect on any QP of the
 * host, so no result of these QPs is compared until is_sure_again() returns true. */
static void play_forged(struct dgram_receivers *rx, const struct arrival *a, rnic_time now)
{
    struct dgram_host *host = rx->receiver[a->stream].host;
    struct rnic_wc wc[4];
    size_t cnt;

    rnic_input(host->rnic, a->frame, a->len, now);
    cnt = rnic_cq_poll(host->cq, wc, sizeof(wc) / sizeof(wc[0]));
    for (size_t i = 0; i < rx->streams->cnt; i++) {
        struct dgram_receiver *r = &rx->receiver[i];

        if (r->host != host || !r->qp)
            continue;
        r->doubt = true;
        r->used = r->len;
        if (cnt)
            post_recv(r); /* the frame may have consumed the receive WQE of this QP */
    }
}

/* Returns whether the comparison can continue with this packet, because the result of this packet
 * depends on no earlier packet. The comparison can continue if the QP is not in the error state and
 * the packet begins a message (R164); every datagram does. */
static bool is_sure_again(const struct dgram_receiver *r, const struct roce_pkt *pkt)
{
    struct rnic_qp_view view;

    rnic_qp_view(r->qp, &view);
    return view.state != RNIC_QPS_ERR && roce_opcode_starts(pkt->op);
}

/* Returns whether an altered frame is still a valid datagram for the QP of the stream. The result
 * for a datagram depends on no other packet, so dgram_expected.h can predict it. */
static bool reaches(const struct dgram_receiver *r, const struct dgram_stream *s,
                    const struct roce_pkt *pkt)
{
    uint8_t src[16], dst[16];

    roce_pkt_addr(pkt, src, dst);
    return s->svc == ROCE_SVC_UD && !s->multicast && r->qp && !roce_pkt_dropped(pkt) &&
           pkt->op->svc == ROCE_SVC_UD && pkt->encap == s->encap && pkt->bth.dest_qp == s->qpn &&
           memcmp(dst, s->addr, sizeof(dst)) == 0 &&
           memcmp(pkt->eth.dst, r->host->mac, sizeof(r->host->mac)) == 0;
}

int dgram_receivers_frame(struct dgram_receivers *rx, const struct dgram_arrival_in *in,
                          rnic_time now)
{
    struct dgram_receiver *r = &rx->receiver[in->stream];
    struct roce_pkt parsed;
    struct arrival a = {.stream = in->stream,
                        .pkt = in->pkt,
                        .frame = in->frame,
                        .len = in->len,
                        .parsed = &parsed};

    if (roce_pkt_parse(&parsed, ROCE_LINK_ETHERNET, in->frame, in->len, in->len) != 0)
        return 0;
    a.damaged = roce_pkt_dropped(&parsed) || roce_pkt_icrc_check(&parsed, NULL) != ROCE_ICRC_GOOD;
    if (in->forged && !reaches(r, &rx->streams->stream[in->stream], &parsed)) {
        if (!rx->streams->stream[in->stream].skip && r->qp)
            play_forged(rx, &a, now);
        return 0;
    }
    if (!is_open(rx, &a, now))
        return 0;
    if (r->doubt && !a.damaged && is_sure_again(r, &parsed)) {
        r->doubt = false;
        expected_delivery_init(&r->delivery, &rx->streams->stream[in->stream]);
    }
    if (r->doubt) {
        play_forged(rx, &a, now);
        return 0;
    }
    return compare_arrival(rx, &a, now);
}

int dgram_receivers_play(struct dgram_streams *streams)
{
    struct dgram_receivers *rx = dgram_receivers_new(streams);
    int rc = rx ? 0 : -1;

    for (uint32_t i = 0; rc == 0 && i < streams->trace->cnt; i++)
        if (streams->receiver[i] != KEYMAP_NONE)
            rc = play_packet(rx, streams->receiver[i], i);
    dgram_receivers_del(rx);
    return rc;
}
