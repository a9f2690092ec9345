/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transmit.h"

#include <stdlib.h>
#include <string.h>
#include "feed.h"
#include "posted.h"

/* The wire may show a packet twice; further apart than this it was sent twice. */
#define DUPLICATE_NS 1000000u

#define TIME_BASE UINT64_C(1000000000)

/* A message as far as the capture has it. */
struct message {
    size_t from, to;  /* its packets: stream.pkt[from .. to) and more, see `taken` */
    uint32_t psn;     /* of its first packet */
    uint32_t psn_cnt; /* packets it has */
    uint64_t len;
    const char *odd; /* why it cannot be posted, or NULL */
};

struct stage {
    struct streams *streams;
    struct stream *stream;
    uint32_t idx;
    const struct trace *trace;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    uint16_t pkey;     /* of `qp` */
    uint32_t qkey;     /* likewise */
    uint32_t next_psn; /* of the next packet of `qp` */
    rnic_time now;
};

static const struct trace_packet *packet(const struct stage *st, size_t i)
{
    return &st->trace->pkt[st->stream->pkt[i]];
}

/* ---- messages ----------------------------------------------------------------------------------
 */

/* The wire shows a packet again. */
static bool is_repeated(const struct stage *st, size_t i)
{
    const struct trace_packet *p = packet(st, i), *q;

    if (i == 0)
        return false;
    q = packet(st, i - 1);
    return p->psn == q->psn && p->opcode == q->opcode && p->cap_len == q->cap_len &&
           p->payload_off == q->payload_off && p->time - q->time < DUPLICATE_NS &&
           memcmp(trace_payload(p), trace_payload(q), p->cap_len - p->payload_off) == 0;
}

/* How many packets the message has if `last` is the last one seen of it, and its length; what was
 * not seen of a SEND is taken to be one byte in one packet for each PSN before `next`. */
static void measure(const struct stage *st, struct message *m, const struct roce_pkt *first,
                    size_t last, uint32_t next)
{
    const struct trace_packet *p = packet(st, last);
    uint32_t mtu = st->stream->mtu;
    uint32_t seen = (p->psn - m->psn + 1) & ROCE_PSN_MASK;
    bool ended = roce_opcode_ends(roce_opcode(p->opcode));

    if (first->op->kind == ROCE_KIND_WRITE) {
        m->len = first->reth.dma_len;
        m->psn_cnt = roce_psn_cnt(first->reth.dma_len, mtu);
        if (m->len > RNIC_MESSAGE_MAX || seen > m->psn_cnt || ended != (seen == m->psn_cnt) ||
            (ended && (uint64_t)(seen - 1) * mtu + p->payload_len != m->len))
            m->odd = "its packets have lengths that no conformant sender sends";
        return;
    }
    if (ended) {
        m->psn_cnt = seen;
        m->len = (uint64_t)(seen - 1) * mtu + p->payload_len;
        return;
    }
    m->psn_cnt = (next - m->psn) & ROCE_PSN_MASK;
    m->len = (uint64_t)(m->psn_cnt - 1) * mtu + 1;
    if (m->psn_cnt <= seen)
        m->odd = "a message begins inside it";
    if (m->len > st->trace->bytes + mtu)
        m->odd = "too much of it is missing";
}

static bool is_message(const struct stage *st, const struct roce_opcode *op)
{
    return op->kind == ROCE_KIND_SEND ||
           (st->stream->svc == ROCE_SVC_UC && op->kind == ROCE_KIND_WRITE);
}

/* The message that packet `from` begins: its packets, as far as they follow, up to the next
 * beginning. */
static struct message read_message(const struct stage *st, size_t from)
{
    struct message m = {.from = from, .psn = packet(st, from)->psn};
    size_t last = from, i;
    uint32_t next;
    struct roce_pkt first;

    trace_parse(packet(st, from), &first);
    for (i = from + 1; i < st->stream->cnt; i++) {
        const struct trace_packet *p = packet(st, i);
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (roce_opcode_ends(roce_opcode(packet(st, last)->opcode)))
            break;
        if (p->dropped || is_repeated(st, i))
            continue;
        if (!is_message(st, op) || roce_opcode_starts(op) || op->kind != first.op->kind ||
            roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(packet(st, last)->psn)) <= 0)
            break;
        last = i;
    }
    m.to = last + 1;
    next = (packet(st, last)->psn + 2) & ROCE_PSN_MASK;
    for (; i < st->stream->cnt; i++)
        if (!packet(st, i)->dropped && !is_repeated(st, i)) {
            next = packet(st, i)->psn;
            break;
        }
    for (i = from; i < m.to; i++) {
        const struct trace_packet *p = packet(st, i);
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (!p->dropped &&
            (roce_opcode_ends(op) ? p->payload_len > st->stream->mtu ||
                                        (op->pos == ROCE_POS_LAST && p->payload_len == 0)
                                  : p->payload_len != st->stream->mtu))
            m.odd = "its packets have lengths that no conformant sender sends";
    }
    if (!m.odd)
        measure(st, &m, &first, last, next);
    return m;
}

/* ---- the RNIC ----------------------------------------------------------------------------------
 */

static const char *stage_open(struct stage *st)
{
    const struct stream *s = st->stream;
    struct rnic_attr attr = {.gid_cnt = 1};
    size_t first = 0;
    uint8_t dst[6];

    while (packet(st, first)->dropped)
        first++; /* one is good, else it is not played */

    feed_macs(packet(st, first), dst, attr.mac);
    memcpy(attr.gid[0].gid, s->addr, 16);
    attr.gid[0].type = s->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    attr.pkey[attr.pkey_cnt++] = s->pkey;
    st->rnic = rnic_new(&attr);
    if (!st->rnic || rnic_pd_new(st->rnic, &st->pd) != 0 || rnic_cq_new(st->rnic, 16, &st->cq) != 0)
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
static const char *open_qp(struct stage *st, const struct trace_packet *p,
                           const struct roce_pkt *pkt)
{
    const struct stream *s = st->stream;
    bool ud = s->svc == ROCE_SVC_UD;
    struct rnic_qp_init init = {.type = !ud                     ? RNIC_QPT_UC
                                        : s->qpn == ROCE_QP_GSI ? RNIC_QPT_GSI
                                                                : RNIC_QPT_UD,
                                .recv_cq = st->cq,
                                .send_cq = st->cq,
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

    if (st->qp)
        rnic_qp_del(st->qp);
    st->qp = NULL;
    rc = rnic_qp_new(st->pd, &init, &st->qp);
    if (rc != 0) {
        st->qp = NULL;
        return rnic_error_text(rc);
    }
    fill_av(&attr.av, p, pkt);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= RNIC_QPS_RTS; state++) {
        attr.state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(st->qp, &attr, st->now);
    }
    st->pkey = pkt->bth.pkey;
    st->qkey = pkt->deth.qkey;
    st->next_psn = pkt->bth.psn;
    return rc == 0 ? NULL : rnic_error_text(rc);
}

/* ---- posting -----------------------------------------------------------------------------------
 */

/* The bytes of a message; zeros where the capture has none. */
static uint8_t *gather(const struct stage *st, const struct message *m)
{
    uint8_t *data = calloc(1, m->len + 1);

    for (size_t i = m->from; data && i < m->to; i++) {
        const struct trace_packet *p = packet(st, i);
        uint64_t off = (uint64_t)((p->psn - m->psn) & ROCE_PSN_MASK) * st->stream->mtu;

        if (!p->dropped && off + p->payload_len <= m->len)
            memcpy(data + off, trace_payload(p), p->payload_len);
    }
    return data;
}

static const char *post(struct stage *st, const struct message *m, uint8_t *data,
                        struct rnic_mr **mr, struct rnic_ah **ah)
{
    const struct trace_packet *p = packet(st, m->from);
    struct rnic_mr_attr attr = {.addr = data, .len = m->len, .access = RNIC_ACCESS_LOCAL_WRITE};
    struct rnic_send_wr wr = {.flags = RNIC_SEND_SIGNALED};
    struct rnic_sge sge = {.len = (uint32_t)m->len};
    struct roce_pkt first, end;
    int rc = 0;

    trace_parse(p, &first);
    trace_parse(packet(st, m->to - 1), &end);
    if (m->len) {
        rc = rnic_mr_reg(st->pd, &attr, mr);
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
    if (st->stream->svc == ROCE_SVC_UD) {
        struct rnic_av av = {.sgid_idx = 0};

        fill_av(&av, p, &first);
        rc = rnic_ah_new(st->pd, &av, ah);
        wr.ah = *ah;
        wr.remote_qpn = first.bth.dest_qp;
        wr.remote_qkey = first.deth.qkey;
    }
    if (rc == 0)
        rc = rnic_post_send(st->qp, &wr);
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
static int compare_sent(struct stage *st, const struct message *m, size_t *at,
                        const struct roce_pkt *ours)
{
    struct field_diffs d = {.cnt = 0};

    while (*at < m->to &&
           (packet(st, *at)->dropped || is_repeated(st, *at) ||
            roce_psn_diff(roce_psn_of(packet(st, *at)->psn), roce_pkt_psn(ours)) < 0))
        ++*at;
    if (*at == m->to || packet(st, *at)->psn != ours->bth.psn) {
        st->stream->unseen++;
        return 0;
    }
    compare(packet(st, *at), ours, &d);
    st->stream->compared++;
    return streams_report(st->streams, st->idx, st->stream->pkt[(*at)++], &d,
                          "our RNIC sends this packet differently");
}

static int take_sent(struct stage *st, const struct message *m)
{
    struct stream *s = st->stream;
    uint8_t buf[ROCE_FRAME_MAX];
    struct field_diffs d = {.cnt = 0};
    uint32_t compared = s->compared, want = 0;
    size_t at = m->from, len, cnt;
    struct rnic_wc wc[2];
    struct roce_pkt pkt;
    int rc = 0;

    while (rc == 0 && (len = rnic_output(st->rnic, buf, sizeof(buf), st->now)) > 0) {
        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) != 0)
            continue;
        st->next_psn = (pkt.bth.psn + 1) & ROCE_PSN_MASK;
        rc = compare_sent(st, m, &at, &pkt);
    }
    for (size_t i = m->from; i < m->to; i++)
        want += !packet(st, i)->dropped && !is_repeated(st, i);
    if (s->compared - compared != want) {
        s->compared++;
        fields_differ(&d, "packets", "all of the message", "fewer, or others");
    }
    cnt = rnic_cq_poll(st->cq, wc, 2);
    if (cnt != 1 || wc[0].status != RNIC_WC_SUCCESS) /* R167 */
        fields_differ(&d, "completion", "SUCCESS",
                      cnt ? rnic_wc_status_name(wc[0].status) : "none");
    return rc == 0 ? streams_report(st->streams, st->idx, s->pkt[m->from], &d,
                                    "our RNIC sends this message differently")
                   : rc;
}

/* ---- a stream ----------------------------------------------------------------------------------
 */

static int play_message(struct stage *st, const struct message *m)
{
    struct stream *s = st->stream;
    const struct trace_packet *p = packet(st, m->from);
    struct rnic_mr *mr = NULL;
    struct rnic_ah *ah = NULL;
    uint8_t *data = gather(st, m);
    struct roce_pkt first;
    bool resumes;
    int rc = 0;

    if (!data)
        return -1;
    trace_parse(p, &first);
    st->now = p->time - st->trace->pkt[0].time + TIME_BASE;
    resumes = st->qp && st->next_psn != p->psn;
    s->resumed += resumes;
    /* A Q_Key with bit 31 is sent by having it (R169). */
    if (!st->qp || resumes || st->pkey != first.bth.pkey ||
        (first.deth.qkey >> 31 && first.deth.qkey != st->qkey))
        s->skip = open_qp(st, p, &first);
    if (!s->skip)
        s->skip = post(st, m, data, &mr, &ah);
    if (!s->skip) {
        s->messages++;
        s->bytes += m->len;
        rc = take_sent(st, m);
    }
    rnic_ah_del(ah);
    rnic_mr_dereg(mr);
    free(data);
    return rc;
}

static int play(struct stage *st)
{
    struct stream *s = st->stream;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !s->skip && i < s->cnt;) {
        const struct trace_packet *p = packet(st, i);
        const struct roce_opcode *op = roce_opcode(p->opcode);
        struct message m;

        if (p->dropped || is_repeated(st, i)) {
            s->damaged += p->dropped;
            s->repeated += !p->dropped;
            i++;
            continue;
        }
        if (!is_message(st, op) || !roce_opcode_starts(op)) {
            s->not_posted++;
            i++;
            continue;
        }
        m = read_message(st, i);
        for (size_t k = i; k < m.to; k++) {
            s->damaged += packet(st, k)->dropped;
            s->repeated += !packet(st, k)->dropped && is_repeated(st, k);
        }
        if (m.odd)
            s->not_posted += (uint32_t)(m.to - m.from);
        else
            rc = play_message(st, &m);
        i = m.to;
    }
    return rc;
}

int transmit_all(struct streams *streams)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < streams->cnt; i++) {
        struct stage st = {.streams = streams,
                           .stream = &streams->stream[i],
                           .idx = i,
                           .trace = streams->trace,
                           .now = TIME_BASE};

        if (st.stream->role != STREAM_SENDER || st.stream->skip)
            continue;
        st.stream->skip = stage_open(&st);
        rc = st.stream->skip ? 0 : play(&st);
        rnic_del(st.rnic);
    }
    return rc;
}
