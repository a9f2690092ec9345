/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram/dgram_sender.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"
#include "engine/base/post_wr.h"
#include "engine/dgram/dgram_message.h"

struct dgram_sender {
    struct dgram_streams *streams;
    struct dgram_stream *stream;
    uint32_t idx;
    struct dgram_message_reader source;
    struct dgram_message message; /* next message to post, if `more` */
    bool more;                    /* true if `message` has the next message */
    const struct dgram_sender_sink *sink;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    uint16_t pkey;     /* P_Key of `qp` */
    uint32_t qkey;     /* Q_Key of `qp` */
    uint32_t next_psn; /* PSN of the next packet of `qp` */
    rnic_time now;
    const struct dgram_sender_device *device; /* remote device that sends the messages; NULL: our
                                               * RNIC sends them */
    bool open;                                /* true: the remote device, or our RNIC, has a QP for
                                               * the stream */
    bool began;                               /* true: a message was posted */
};

/* State of the comparison of the packets that our RNIC sends for one posted message. */
struct taking {
    struct dgram_sender *t;
    const struct dgram_message *m;
    size_t at;
    int rc;
};

/* ---- RNIC and QPs ---------------------------------------------------------------------------- */

static const char *open_device(struct dgram_sender *t)
{
    const struct dgram_stream *s = t->stream;
    struct rnic_attr attr = {.gid_cnt = 1};
    size_t first = 0;
    uint8_t dst[6];

    while (dgram_message_packet(&t->source, first)->dropped)
        first++; /* skip damaged packets */

    inject_macs(dgram_message_packet(&t->source, first), dst, attr.mac);
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

    inject_macs(p, av->dmac, mac);
    roce_pkt_addr(pkt, src, av->dgid);
}

/* Creates a QP that sends *p as its next packet. Returns NULL, or the reason why our RNIC cannot
 * create the QP. */
static const char *open_qp(struct dgram_sender *t, const struct trace_packet *p,
                           const struct roce_pkt *pkt)
{
    const struct dgram_stream *s = t->stream;
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

/* ---- Posting messages ------------------------------------------------------------------------ */

static const char *post_message(struct dgram_sender *t, const struct dgram_message *m,
                                uint8_t *data, struct rnic_mr **mr, struct rnic_ah **ah)
{
    const struct trace_packet *p = dgram_message_packet(&t->source, m->from);
    struct rnic_mr_attr attr = {.addr = data, .len = m->len, .access = RNIC_ACCESS_LOCAL_WRITE};
    struct rnic_send_wr wr = {.flags = RNIC_SEND_SIGNALED};
    struct rnic_sge sge = {.len = (uint32_t)m->len};
    struct roce_pkt first, end;
    int rc = 0;

    trace_parse(p, &first);
    trace_parse(dgram_message_packet(&t->source, m->to - 1), &end);
    if (m->len) {
        rc = rnic_mr_reg(t->pd, &attr, mr);
        if (rc != 0)
            return rnic_error_text(rc);
        sge.lkey = rnic_mr_key(*mr);
        wr.sge = &sge;
        wr.sge_cnt = 1;
    }
    wr.opcode = post_wr_opcode(end.op);
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

/* ---- Comparing packets ----------------------------------------------------------------------- */

/* Compares one packet of our RNIC, `o`, with the recorded packet `p`. `cut` is the number of bytes
 * at the end of the message that our RNIC did not send. */
static void compare_packet(const struct trace_packet *p, const struct roce_pkt *o, uint32_t cut,
                           struct field_diffs *d)
{
    uint8_t src[16], dst[16], our_src[16], our_dst[16];
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    roce_pkt_addr(&pkt, src, dst);
    roce_pkt_addr(o, our_src, our_dst);
    if (memcmp(src, our_src, 16) != 0 || memcmp(dst, our_dst, 16) != 0 || pkt.encap != o->encap)
        field_diff_add(d, "addresses", "as captured", "others");
    if (pkt.bth.opcode != o->bth.opcode)
        field_diff_add(d, "bth.opcode", pkt.op->name, o->op->name);
    field_diff_add_num(d, "bth.dest_qp", FIELD_HEX, pkt.bth.dest_qp, o->bth.dest_qp);
    field_diff_add_num(d, "bth.pkey", FIELD_HEX, pkt.bth.pkey, o->bth.pkey);
    if (roce_opcode_ends(pkt.op))
        field_diff_add_num(d, "bth.se", FIELD_NUMBER, pkt.bth.se, o->bth.se);
    if (roce_pkt_has(&pkt, ROCE_HDR_DETH)) {
        field_diff_add_num(d, "deth.qkey", FIELD_HEX, pkt.deth.qkey, o->deth.qkey);
        field_diff_add_num(d, "deth.src_qp", FIELD_HEX, pkt.deth.src_qp, o->deth.src_qp);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
        field_diff_add_num(d, "reth.va", FIELD_HEX, pkt.reth.va, o->reth.va);
        field_diff_add_num(d, "reth.rkey", FIELD_HEX, pkt.reth.rkey, o->reth.rkey);
        field_diff_add_num(d, "reth.dma_len", FIELD_NUMBER, pkt.reth.dma_len,
                           o->reth.dma_len + cut);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_IMMDT))
        field_diff_add_num(d, "immdt.imm", FIELD_HEX, pkt.immdt.imm, o->immdt.imm);
    field_diff_add_num(d, "payload length", FIELD_NUMBER, pkt.payload_len, o->payload_len);
    if (!p->zero_filled && pkt.payload_len && pkt.payload_len == o->payload_len &&
        memcmp(pkt.payload, o->payload, pkt.payload_len) != 0)
        field_diff_add(d, "payload", "as captured", "other bytes");
}

/* Compares one packet of our RNIC with the recorded packet that has its PSN. If the capture lacks
 * the recorded packet, only counts the packet of our RNIC. */
static int compare_sent(struct dgram_sender *t, const struct dgram_message *m, size_t *at,
                        const struct roce_pkt *ours)
{
    struct field_diffs d;

    field_diffs_clear(&d);
    while (*at < m->to && (dgram_message_packet(&t->source, *at)->dropped ||
                           dgram_message_is_wire_duplicate(&t->source, *at) ||
                           roce_psn_diff(roce_psn_of(dgram_message_packet(&t->source, *at)->psn),
                                         roce_pkt_psn(ours)) < 0))
        ++*at;
    if (*at == m->to || dgram_message_packet(&t->source, *at)->psn != ours->bth.psn) {
        t->stream->not_captured++;
        return 0;
    }
    compare_packet(dgram_message_packet(&t->source, *at), ours, m->cut, &d);
    t->stream->compared++;
    return dgram_streams_report(t->streams, t->idx, t->stream->pkt[(*at)++], &d,
                                "our RNIC sends this packet differently");
}

static void take_packet(void *user, const struct roce_pkt *pkt)
{
    struct taking *k = user;

    k->t->next_psn = (pkt->bth.psn + 1) & ROCE_PSN_MASK;
    if (k->rc == 0)
        k->rc = compare_sent(k->t, k->m, &k->at, pkt);
}

/* Fetches the packets that our RNIC sends for message k->m, and compares each of them with the
 * recorded packet that has its PSN. Returns the status of the completion, or -1 if there is no
 * completion. */
static int take_sent(struct taking *k)
{
    struct dgram_sender *t = k->t;
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

/* Checks that our RNIC sent all packets of the message and completed it with success. `compared` is
 * the number of packets of the stream compared before this message. */
static int judge_sent(const struct taking *k, uint32_t compared, int status)
{
    struct dgram_sender *t = k->t;
    struct dgram_stream *s = t->stream;
    struct field_diffs d;
    uint32_t want = 0;

    field_diffs_clear(&d);
    for (size_t i = k->m->from; i < k->m->to; i++)
        want += !dgram_message_packet(&t->source, i)->dropped &&
                !dgram_message_is_wire_duplicate(&t->source, i);
    if (s->compared - compared != want) {
        s->compared++;
        field_diff_add(&d, "packets", "all packets of the message", "fewer, or others");
    }
    if (status != RNIC_WC_SUCCESS) /* a UC or UD message completes when its last packet is sent
                                    * (R167) */
        field_diff_add(&d, "completion", "SUCCESS",
                       status < 0 ? "none" : rnic_wc_status_name((enum rnic_wc_status)status));
    return k->rc == 0 ? dgram_streams_report(t->streams, t->idx, s->pkt[k->m->from], &d,
                                             "our RNIC sends this message differently")
                      : k->rc;
}

/* Posts the message to the remote device and compares the packets that the device sends. Returns
 * NULL, or the reason why the message cannot be posted. */
static const char *post_elsewhere(struct taking *k, const uint8_t *data, int *status)
{
    const struct dgram_sender *t = k->t;
    const struct trace_packet *p = dgram_message_packet(&t->source, k->m->from);
    struct roce_pkt first, end;

    trace_parse(p, &first);
    trace_parse(dgram_message_packet(&t->source, k->m->to - 1), &end);
    return t->device->post(t->device->ctx,
                           &(struct dgram_sender_message){.stream = t->stream,
                                                          .first = &first,
                                                          .end = &end,
                                                          .data = data,
                                                          .len = k->m->len,
                                                          .psn_cnt = k->m->psn_cnt,
                                                          .time = p->time},
                           take_packet, k, status);
}

/* ---- Replaying whole streams ----------------------------------------------------------------- */

static int play_message(struct dgram_sender *t)
{
    struct dgram_stream *s = t->stream;
    const struct dgram_message *m = &t->message;
    const struct trace_packet *p = dgram_message_packet(&t->source, m->from);
    struct rnic_mr *mr = NULL;
    struct rnic_ah *ah = NULL;
    uint8_t *data = dgram_message_bytes(&t->source, m);
    struct taking k = {.t = t, .m = m, .at = m->from};
    uint32_t compared = s->compared;
    struct roce_pkt first;
    bool resumes;
    int rc = 0, status = -1;

    if (!data)
        return -1;
    trace_parse(p, &first);
    resumes = t->began && t->next_psn != p->psn;
    s->resumed += resumes;
    t->began = true;
    if (!t->device && !t->rnic)
        s->skip = open_device(t);
    /* If the Q_Key of a work request has bit 31 set, the QP sends its own Q_Key instead (R169). So
     * a message with another Q_Key that has bit 31 set needs a new QP. */
    if (!s->skip && (!t->open || resumes || t->pkey != first.bth.pkey ||
                     (first.deth.qkey >> 31 && first.deth.qkey != t->qkey)))
        s->skip = open_qp(t, p, &first);
    if (!s->skip)
        s->skip =
            t->device ? post_elsewhere(&k, data, &status) : post_message(t, m, data, &mr, &ah);
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

rnic_time dgram_sender_due(const struct dgram_sender *t)
{
    if (!t->more || t->stream->skip)
        return RNIC_NEVER;
    return dgram_message_packet(&t->source, t->message.from)->time -
           t->streams->trace->pkt[0].time + DGRAM_SENDER_TIME_BASE;
}

int dgram_sender_step(struct dgram_sender *t)
{
    int rc;

    t->now = dgram_sender_due(t);
    rc = play_message(t);
    t->more = dgram_message_next(&t->source, &t->message);
    return rc;
}

static struct dgram_sender *begin_sender(struct dgram_streams *streams, uint32_t idx,
                                         const struct dgram_sender_sink *sink,
                                         const struct dgram_sender_device *device)
{
    struct dgram_sender *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    *t = (struct dgram_sender){.streams = streams,
                               .stream = &streams->stream[idx],
                               .idx = idx,
                               .source = {.trace = streams->trace, .stream = &streams->stream[idx]},
                               .sink = sink,
                               .device = device};
    if (t->stream->skip)
        return t;
    t->more = dgram_message_next(&t->source, &t->message);
    return t;
}

struct dgram_sender *dgram_sender_new(struct dgram_streams *streams, uint32_t idx,
                                      const struct dgram_sender_sink *sink)
{
    return begin_sender(streams, idx, sink, NULL);
}

bool dgram_sender_has_device(const struct dgram_sender *t)
{
    return t->rnic != NULL;
}

void dgram_sender_close_device(struct dgram_sender *t)
{
    rnic_del(t->rnic);
    t->rnic = NULL;
    t->qp = NULL;
    t->open = false;
}

void dgram_sender_del(struct dgram_sender *t)
{
    if (!t)
        return;
    rnic_del(t->rnic);
    free(t);
}

int dgram_senders_play(struct dgram_streams *streams)
{
    return dgram_senders_play_with(streams, NULL);
}

int dgram_senders_play_with(struct dgram_streams *streams, const struct dgram_sender_device *device)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < streams->cnt; i++) {
        struct dgram_sender *t;

        if (streams->stream[i].role != DGRAM_SENDER || streams->stream[i].skip)
            continue;
        t = begin_sender(streams, i, NULL, device);
        if (!t)
            return -1;
        while (rc == 0 && dgram_sender_due(t) != RNIC_NEVER)
            rc = dgram_sender_step(t);
        dgram_sender_del(t);
    }
    return rc;
}
