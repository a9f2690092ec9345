/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram_sender.h"

#include <stdlib.h>
#include <string.h>
#include "engine/inject.h"
#include "engine/dgram_message.h"
#include "engine/rc_post_wr.h"

struct transmit {
    struct streams *streams;
    struct stream *stream;
    uint32_t idx;
    struct message_source source;
    struct message message; /* the next one ... */
    bool more;              /* ... if there is one */
    const struct transmit_sink *sink;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    uint16_t pkey;     /* of `qp` */
    uint32_t qkey;     /* likewise */
    uint32_t next_psn; /* of the next packet of `qp` */
    rnic_time now;
    const struct transmit_device *device; /* or NULL: our RNIC */
    bool open;                            /* it has a QP */
};

/* A message whose packets come. */
struct taking {
    struct transmit *t;
    const struct message *m;
    size_t at;
    int rc;
};

/* ---- the RNIC ----------------------------------------------------------------------------------
 */

static const char *open_device(struct transmit *t)
{
    const struct stream *s = t->stream;
    struct rnic_attr attr = {.gid_cnt = 1};
    size_t first = 0;
    uint8_t dst[6];

    while (message_packet(&t->source, first)->dropped)
        first++; /* one is good, else it is not played */

    feed_macs(message_packet(&t->source, first), dst, attr.mac);
    memcpy(attr.gid[0].gid, s->addr, 16);
    attr.gid[0].type = s->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    attr.pkey[attr.pkey_cnt++] = s->pkey;
    t->rnic = rnic_new(&attr);
    if (!t->rnic || rnic_pd_new(t->rnic, &t->pd) != 0 || rnic_cq_new(t->rnic, 16, &t->cq) != 0)
        return "no memory for the RNIC";
    return NULL;
}

static void fill_av(struct rnic_av *av, const struct trace_packet *p, const struct roce_pkt *pkt)
{
    uint8_t src[16], mac[6];

    feed_macs(p, av->dmac, mac);
    roce_pkt_addr(pkt, src, av->dgid);
}

/* A QP whose next packet is this one. */
static const char *open_qp(struct transmit *t, const struct trace_packet *p,
                           const struct roce_pkt *pkt)
{
    const struct stream *s = t->stream;
    bool ud = s->svc == ROCE_SVC_UD;
    struct rnic_qp_init init = {.type = !ud                     ? RNIC_QPT_UC
                                        : s->qpn == ROCE_QP_GSI ? RNIC_QPT_GSI
                                                                : RNIC_QPT_UD,
                                .recv_cq = t->cq,
                                .send_cq = t->cq,
                                .qpn = ud ? s->qpn : 0,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic_qp_attr attr = {.pkey = pkt->bth.pkey,
                                .qkey = pkt->deth.qkey,
                                .path_mtu = s->mtu,
                                .dest_qpn = pkt->bth.dest_qp,
                                .sq_psn = pkt->bth.psn};
    int rc;

    t->pkey = pkt->bth.pkey;
    t->qkey = pkt->deth.qkey;
    t->next_psn = pkt->bth.psn;
    t->open = true;
    if (t->device)
        return t->device->open(t->device->ctx, t->stream, pkt);
    if (t->qp)
        rnic_qp_del(t->qp);
    t->qp = NULL;
    rc = rnic_qp_new(t->pd, &init, &t->qp);
    if (rc != 0) {
        t->qp = NULL;
        return rnic_error_text(rc);
    }
    fill_av(&attr.av, p, pkt);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= RNIC_QPS_RTS; state++) {
        attr.state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(t->qp, &attr, t->now);
    }
    return rc == 0 ? NULL : rnic_error_text(rc);
}

/* ---- posting -----------------------------------------------------------------------------------
 */

static const char *post(struct transmit *t, const struct message *m, uint8_t *data,
                        struct rnic_mr **mr, struct rnic_ah **ah)
{
    const struct trace_packet *p = message_packet(&t->source, m->from);
    struct rnic_mr_attr attr = {.addr = data, .len = m->len, .access = RNIC_ACCESS_LOCAL_WRITE};
    struct rnic_send_wr wr = {.flags = RNIC_SEND_SIGNALED};
    struct rnic_sge sge = {.len = (uint32_t)m->len};
    struct roce_pkt first, end;
    int rc = 0;

    trace_parse(p, &first);
    trace_parse(message_packet(&t->source, m->to - 1), &end);
    if (m->len) {
        rc = rnic_mr_reg(t->pd, &attr, mr);
        if (rc != 0)
            return rnic_error_text(rc);
        sge.lkey = rnic_mr_key(*mr);
        wr.sge = &sge;
        wr.sge_cnt = 1;
    }
    wr.opcode = posted_opcode(end.op);
    wr.flags |= end.bth.se && roce_opcode_ends(end.op) ? (unsigned)RNIC_SEND_SOLICITED : 0u;
    wr.imm = end.immdt.imm;
    wr.remote_addr = first.reth.va;
    wr.rkey = first.reth.rkey;
    if (t->stream->svc == ROCE_SVC_UD) {
        struct rnic_av av = {.sgid_idx = 0};

        fill_av(&av, p, &first);
        rc = rnic_ah_new(t->pd, &av, ah);
        wr.ah = *ah;
        wr.remote_qpn = first.bth.dest_qp;
        wr.remote_qkey = first.deth.qkey;
    }
    if (rc == 0)
        rc = rnic_post_send(t->qp, &wr);
    return rc == 0 ? NULL : rnic_error_text(rc);
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static void compare(const struct trace_packet *p, const struct roce_pkt *o, struct field_diffs *d)
{
    uint8_t src[16], dst[16], our_src[16], our_dst[16];
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    roce_pkt_addr(&pkt, src, dst);
    roce_pkt_addr(o, our_src, our_dst);
    if (memcmp(src, our_src, 16) != 0 || memcmp(dst, our_dst, 16) != 0 || pkt.encap != o->encap)
        fields_differ(d, "addresses", "as captured", "others");
    if (pkt.bth.opcode != o->bth.opcode)
        fields_differ(d, "bth.opcode", pkt.op->name, o->op->name);
    fields_differ_num(d, "bth.dest_qp", "%x", pkt.bth.dest_qp, o->bth.dest_qp);
    fields_differ_num(d, "bth.pkey", "%x", pkt.bth.pkey, o->bth.pkey);
    if (roce_opcode_ends(pkt.op))
        fields_differ_num(d, "bth.se", "%u", pkt.bth.se, o->bth.se);
    if (roce_pkt_has(&pkt, ROCE_HDR_DETH)) {
        fields_differ_num(d, "deth.qkey", "%x", pkt.deth.qkey, o->deth.qkey);
        fields_differ_num(d, "deth.src_qp", "%x", pkt.deth.src_qp, o->deth.src_qp);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
        fields_differ_num(d, "reth.va", "%x", pkt.reth.va, o->reth.va);
        fields_differ_num(d, "reth.rkey", "%x", pkt.reth.rkey, o->reth.rkey);
        fields_differ_num(d, "reth.dma_len", "%u", pkt.reth.dma_len, o->reth.dma_len);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_IMMDT))
        fields_differ_num(d, "immdt.imm", "%x", pkt.immdt.imm, o->immdt.imm);
    fields_differ_num(d, "payload length", "%u", pkt.payload_len, o->payload_len);
    if (!p->made_up && pkt.payload_len && pkt.payload_len == o->payload_len &&
        memcmp(pkt.payload, o->payload, pkt.payload_len) != 0)
        fields_differ(d, "payload", "as captured", "other bytes");
}

/* One packet of ours: with the recorded one of the message that has its PSN, if there is one. */
static int compare_sent(struct transmit *t, const struct message *m, size_t *at,
                        const struct roce_pkt *ours)
{
    struct field_diffs d = {.cnt = 0};

    while (
        *at < m->to &&
        (message_packet(&t->source, *at)->dropped || message_is_repeated(&t->source, *at) ||
         roce_psn_diff(roce_psn_of(message_packet(&t->source, *at)->psn), roce_pkt_psn(ours)) < 0))
        ++*at;
    if (*at == m->to || message_packet(&t->source, *at)->psn != ours->bth.psn) {
        t->stream->unseen++;
        return 0;
    }
    compare(message_packet(&t->source, *at), ours, &d);
    t->stream->compared++;
    return streams_report(t->streams, t->idx, t->stream->pkt[(*at)++], &d,
                          "our RNIC sends this packet differently");
}

static void take_packet(void *user, const struct roce_pkt *pkt)
{
    struct taking *k = user;

    k->t->next_psn = (pkt->bth.psn + 1) & ROCE_PSN_MASK;
    if (k->rc == 0)
        k->rc = compare_sent(k->t, k->m, &k->at, pkt);
}

/* What our RNIC made of the message; the status of its completion, or -1. */
static int take_sent(struct taking *k)
{
    struct transmit *t = k->t;
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_wc wc[2];
    struct roce_pkt pkt;
    size_t len;

    while (k->rc == 0 && (len = rnic_output(t->rnic, buf, sizeof(buf), t->now)) > 0) {
        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) != 0)
            continue;
        take_packet(k, &pkt);
        if (k->rc == 0 && t->sink)
            k->rc = t->sink->sent(t->sink->ctx, t->idx, k->at > k->m->from ? k->at - 1 : k->m->from,
                                  buf, len);
    }
    return rnic_cq_poll(t->cq, wc, 2) == 1 ? (int)wc[0].status : -1;
}

/* All packets of the message have to have come, and its completion. `compared` is how many packets
 * of the stream had been before. */
static int judge_sent(const struct taking *k, uint32_t compared, int status)
{
    struct transmit *t = k->t;
    struct stream *s = t->stream;
    struct field_diffs d = {.cnt = 0};
    uint32_t want = 0;

    for (size_t i = k->m->from; i < k->m->to; i++)
        want += !message_packet(&t->source, i)->dropped && !message_is_repeated(&t->source, i);
    if (s->compared - compared != want) {
        s->compared++;
        fields_differ(&d, "packets", "all of the message", "fewer, or others");
    }
    if (status != RNIC_WC_SUCCESS) /* R167 */
        fields_differ(&d, "completion", "SUCCESS",
                      status < 0 ? "none" : rnic_wc_status_name((enum rnic_wc_status)status));
    return k->rc == 0 ? streams_report(t->streams, t->idx, s->pkt[k->m->from], &d,
                                       "our RNIC sends this message differently")
                      : k->rc;
}

/* The same by a device elsewhere. */
static const char *post_elsewhere(struct taking *k, const uint8_t *data, int *status)
{
    const struct transmit *t = k->t;
    const struct trace_packet *p = message_packet(&t->source, k->m->from);
    struct roce_pkt first, end;

    trace_parse(p, &first);
    trace_parse(message_packet(&t->source, k->m->to - 1), &end);
    return t->device->post(t->device->ctx,
                           &(struct transmit_message){.stream = t->stream,
                                                      .first = &first,
                                                      .end = &end,
                                                      .data = data,
                                                      .len = k->m->len,
                                                      .psn_cnt = k->m->psn_cnt,
                                                      .time = p->time},
                           take_packet, k, status);
}

/* ---- a stream ----------------------------------------------------------------------------------
 */

static int play_message(struct transmit *t)
{
    struct stream *s = t->stream;
    const struct message *m = &t->message;
    const struct trace_packet *p = message_packet(&t->source, m->from);
    struct rnic_mr *mr = NULL;
    struct rnic_ah *ah = NULL;
    uint8_t *data = message_bytes(&t->source, m);
    struct taking k = {.t = t, .m = m, .at = m->from};
    uint32_t compared = s->compared;
    struct roce_pkt first;
    bool resumes;
    int rc = 0, status = -1;

    if (!data)
        return -1;
    trace_parse(p, &first);
    resumes = t->open && t->next_psn != p->psn;
    s->resumed += resumes;
    /* A Q_Key with bit 31 is sent by having it (R169). */
    if (!t->open || resumes || t->pkey != first.bth.pkey ||
        (first.deth.qkey >> 31 && first.deth.qkey != t->qkey))
        s->skip = open_qp(t, p, &first);
    if (!s->skip)
        s->skip = t->device ? post_elsewhere(&k, data, &status) : post(t, m, data, &mr, &ah);
    if (!s->skip) {
        s->messages++;
        s->bytes += m->len;
        if (!t->device)
            status = take_sent(&k);
        rc = judge_sent(&k, compared, status);
    }
    rnic_ah_del(ah);
    rnic_mr_dereg(mr);
    free(data);
    return rc;
}

rnic_time transmit_due(const struct transmit *t)
{
    if (!t->more || t->stream->skip)
        return RNIC_NEVER;
    return message_packet(&t->source, t->message.from)->time - t->streams->trace->pkt[0].time +
           TRANSMIT_TIME_BASE;
}

int transmit_step(struct transmit *t)
{
    int rc;

    t->now = transmit_due(t);
    rc = play_message(t);
    t->more = message_next(&t->source, &t->message);
    return rc;
}

static struct transmit *begin(struct streams *streams, uint32_t idx,
                              const struct transmit_sink *sink,
                              const struct transmit_device *device)
{
    struct transmit *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    *t = (struct transmit){.streams = streams,
                           .stream = &streams->stream[idx],
                           .idx = idx,
                           .source = {.trace = streams->trace, .stream = &streams->stream[idx]},
                           .sink = sink,
                           .device = device};
    if (t->stream->skip)
        return t;
    t->stream->skip = device ? NULL : open_device(t);
    t->more = message_next(&t->source, &t->message);
    return t;
}

struct transmit *transmit_new(struct streams *streams, uint32_t idx,
                              const struct transmit_sink *sink)
{
    return begin(streams, idx, sink, NULL);
}

void transmit_del(struct transmit *t)
{
    if (!t)
        return;
    rnic_del(t->rnic);
    free(t);
}

int transmit_all(struct streams *streams)
{
    return transmit_with(streams, NULL);
}

int transmit_with(struct streams *streams, const struct transmit_device *device)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < streams->cnt; i++) {
        struct transmit *t;

        if (streams->stream[i].role != STREAM_SENDER || streams->stream[i].skip)
            continue;
        t = begin(streams, i, NULL, device);
        if (!t)
            return -1;
        while (rc == 0 && transmit_due(t) != RNIC_NEVER)
            rc = transmit_step(t);
        transmit_del(t);
    }
    return rc;
}
