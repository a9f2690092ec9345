/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/from_dgram.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "engine/base/post_wr.h"
#include "engine/dgram/dgram_expected.h"
#include "engine/dgram/dgram_message.h"

#define GROUP    1u   /* number of the multicast group in the written drill */
#define PSN_NEAR 4096 /* smaller distances from the first PSN are written as relative PSNs */

struct source {
    struct from_drill *d;
    const struct dgram_streams *streams;
    struct dgram_stream stream;
    uint32_t psn; /* first PSN of the stream */
};

static const struct trace_packet *packet_of(const struct source *s, size_t i)
{
    return &s->streams->trace->pkt[s->stream.pkt[i]];
}

/* Finds the stream from which the drill is written. Returns 0, or -1 and an error. */
static int open_source(struct source *s, struct from_drill *d, const struct dgram_streams *streams,
                       uint32_t stream)
{
    size_t first = 0;

    *s = (struct source){.d = d, .streams = streams, .stream = streams->stream[stream]};
    snprintf(d->what, sizeof(d->what), "stream %u", stream + 1);
    if (s->stream.skip)
        return from_fail(d, s->stream.skip);
    if (s->stream.svc == ROCE_SVC_UD && s->stream.qpn == ROCE_QP_GSI)
        return from_fail(d, "the stream has management datagrams: use --exchange");
    while (first < s->stream.cnt && packet_of(s, first)->dropped)
        first++;
    if (first == s->stream.cnt)
        return from_fail(d, "all packets of the stream are damaged");
    s->psn = packet_of(s, first)->psn;
    return 0;
}

/* Returns whether a datagram of the stream is addressed to a multicast group. */
static bool sends_to_group(const struct source *s)
{
    struct roce_pkt pkt;

    for (size_t i = 0; s->stream.svc == ROCE_SVC_UD && i < s->stream.cnt; i++) {
        trace_parse(packet_of(s, i), &pkt);
        if (pkt.bth.dest_qp == ROCE_QP_MULTICAST)
            return true;
    }
    return false;
}

/* Prints the head of the drill and its objects. */
static void print_head(const struct source *s, FILE *out, uint32_t stream, bool sends)
{
    bool ud = s->stream.svc == ROCE_SVC_UD;
    bool group = s->stream.multicast || (sends && sends_to_group(s));

    fprintf(out, "purpose  the %s the messages of stream %u of %s as the software RNIC does\n",
            sends ? "sender sends" : "receiver receives", stream + 1, s->d->file);
    fprintf(out, "rules    %s\nneeds    %s%s\nrole     %s\n",
            ud      ? sends ? "UD-REQ-168" : "UD-RSP-170"
            : sends ? "UC-REQ-167"
                    : "UC-RSP-164",
            ud ? "ud" : "uc", group ? " multicast" : "", sends ? "requester" : "responder");
    if (s->stream.encap == ROCE_ENCAP_V2_IP6)
        fputs("ip       = 6\n", out);
    fputc('\n', out);
}

static void print_qp(const struct source *s, FILE *out, const char *psn_word)
{
    if (s->stream.svc == ROCE_SVC_UD)
        fprintf(out, "qp A ud qkey 0x%08x", s->stream.qkey);
    else
        fprintf(out, "qp A uc mtu %u", s->stream.mtu);
    fprintf(out, " %s %u", psn_word, s->psn);
    if (s->stream.pkey != 0xFFFF)
        fprintf(out, " pkey 0x%x", s->stream.pkey);
}

/* ---- the device as receiver ------------------------------------------------------------------ */

static int add_verb(struct from_drill *d, const char *text)
{
    FILE *out = from_line(d);

    if (!out)
        return from_fail(d, "no memory");
    fputs(text, out);
    return from_line_end(d, 0, (struct from_meaning){.verb = true});
}

/* Extends the memory region of a drill by the range that the WRITE `pkt` accesses. Returns 0, or -1
 * and an error, for example if no region of the device can contain the range. */
static int claim_range(struct source *s, const struct trace_packet *p, const struct roce_pkt *pkt)
{
    char problem[128];
    int at;

    if (from_region_add(s->d, pkt->reth.rkey, pkt->reth.va, pkt->reth.dma_len) != 0)
        return -1;
    at = from_region_of(s->d, 0, pkt->reth.rkey);
    if (at < 0 || s->d->region[at].span <= FROM_REGION_MAX)
        return 0;
    snprintf(problem, sizeof(problem),
             "frame %u accesses %" PRIu64 " bytes, but a memory region of a drill has at most "
             "%" PRIu64,
             p->frame, s->d->region[at].span, FROM_REGION_MAX);
    return from_fail(s->d, problem);
}

/* Extends the memory regions of the drill by the ranges that WRITEs access. Returns the length of
 * the longest message that consumes a receive WQE, or -1 and an error. */
static int64_t measure(struct source *s)
{
    struct expected_delivery delivery;
    uint64_t longest = 0;
    struct roce_pkt pkt;

    expected_delivery_init(&delivery, &s->stream);
    for (size_t i = 0; i < s->stream.cnt; i++) {
        const struct trace_packet *p = packet_of(s, i);

        trace_parse(p, &pkt);
        if (roce_pkt_has(&pkt, ROCE_HDR_RETH) && claim_range(s, p, &pkt) != 0)
            return -1;
        if (!p->dropped)
            expected_delivery_next(&delivery, &pkt);
        if (delivery.kind == ROCE_KIND_SEND && delivery.off > longest)
            longest = delivery.off;
        if (s->stream.svc == ROCE_SVC_UD && pkt.payload_len + GRH_AREA_LEN > longest)
            longest = pkt.payload_len + GRH_AREA_LEN;
    }
    return (int64_t)longest;
}

/* Adds the line of a packet that the device receives. Returns 0, or -1 and an error. */
static int add_packet(struct source *s, const struct trace_packet *p, const struct roce_pkt *pkt,
                      unsigned *pattern)
{
    int distance = expected_lines_distance(pkt->bth.psn, s->psn);
    struct from_meaning meaning = {.verb = false};
    FILE *out = from_line(s->d);

    if (!out)
        return from_fail(s->d, "no memory");
    fputs("< ", out);
    from_print_opcode(out, pkt->op);
    fputs(" PSN ", out);
    fprintf(out, abs(distance) < PSN_NEAR ? "%+d" : "%d",
            abs(distance) < PSN_NEAR ? distance : (int)pkt->bth.psn);
    if (s->stream.multicast)
        fprintf(out, " group %u", GROUP);
    if (roce_pkt_has(pkt, ROCE_HDR_DETH)) {
        if (pkt->deth.qkey != s->stream.qkey)
            fprintf(out, " Q_Key 0x%08x", pkt->deth.qkey);
        fprintf(out, " from QP 0x%06x", pkt->deth.src_qp);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        from_print_place(s->d, out, "va", 'M', 0, pkt->reth.va, pkt->reth.rkey, "rkey");
        fprintf(out, " len %u", pkt->reth.dma_len);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        fprintf(out, " imm 0x%x", pkt->immdt.imm);
    if (pkt->op->payload != ROCE_PAYLOAD_NONE || pkt->payload_len)
        fprintf(out, " payload %u fill %u", (unsigned)pkt->payload_len, *pattern);
    fprintf(out, "%s%s", pkt->bth.se ? " solicited" : "", p->dropped ? " bad ICRC" : "");
    if (pkt->op->kind == ROCE_KIND_SEND && pkt->payload_len)
        snprintf(meaning.content, sizeof(meaning.content), "fill %u", *pattern);
    return from_line_end(s->d, p->frame, meaning);
}

static int add_packets(struct source *s, uint32_t longest)
{
    struct expected_delivery delivery;
    unsigned recv_id = 0, pattern = 0;
    bool posted = false;
    int rc = s->stream.multicast ? add_verb(s->d, "attach A group 1") : 0;

    expected_delivery_init(&delivery, &s->stream);
    for (size_t i = 0; rc == 0 && i < s->stream.cnt; i++) {
        const struct trace_packet *p = packet_of(s, i);
        struct roce_pkt pkt;
        char text[64];

        trace_parse(p, &pkt);
        if (p->cut || p->malformed) {
            snprintf(text, sizeof(text), "frame %u is truncated or malformed", p->frame);
            return from_fail(s->d, text);
        }
        if (!posted) {
            snprintf(text, sizeof(text), "recv A id %u len %u", ++recv_id, longest);
            rc = add_verb(s->d, text);
            posted = true;
        }
        pattern = roce_opcode_starts(pkt.op) ? pattern % FROM_PATTERNS + 1 : pattern;
        if (rc == 0)
            rc = add_packet(s, p, &pkt, &pattern);
        if (!p->dropped && expected_delivery_next(&delivery, &pkt).outcome == RX_COMPLETED)
            posted = false;
    }
    return rc;
}

int from_dgram_receiver(struct from_drill *d, const struct dgram_streams *streams, uint32_t stream)
{
    struct source s;
    int64_t longest;
    FILE *out;

    if (open_source(&s, d, streams, stream) != 0 || (longest = measure(&s)) < 0)
        return -1;
    out = from_head(d);
    if (!out)
        return from_fail(d, "no memory");
    print_head(&s, out, stream, false);
    for (unsigned i = 0; i < d->region_cnt; i++)
        fprintf(out, "mr M%u len %" PRIu64 " access write\n", i,
                d->region[i].span ? d->region[i].span : 1);
    print_qp(&s, out, "peer-psn");
    fputc('\n', out);
    from_head_end(d);
    return add_packets(&s, (uint32_t)longest);
}

/* ---- the device as sender -------------------------------------------------------------------- */

/* Adds the line that posts a message. Returns 0, or -1 and an error. */
static int add_message(struct source *s, const struct dgram_message_reader *reader,
                       const struct dgram_message *m, uint64_t local)
{
    struct expected_lines *lines = &s->d->lines;
    struct roce_pkt first, end;
    FILE *out;

    if (!VEC_GROW(lines->posted, lines->posted_cnt, lines->posted_cap))
        return from_fail(s->d, "no memory");
    lines->posted[lines->posted_cnt] = (struct posted_message){
        .psn = lines->posted_cnt ? lines->posted[lines->posted_cnt - 1].psn +
                                       lines->posted[lines->posted_cnt - 1].cnt
                                 : s->psn,
        .cnt = m->psn_cnt,
        .local = local};
    lines->posted_cnt++;
    trace_parse(dgram_message_packet(reader, m->from), &first);
    trace_parse(dgram_message_packet(reader, m->to - 1), &end);
    for (size_t i = m->from; i < m->to; i++) {
        const struct trace_packet *p = dgram_message_packet(reader, i);
        uint32_t psn = lines->posted[lines->posted_cnt - 1].psn + (p->psn - m->psn);

        if (expected_lines_record(lines, 0, p->opcode, psn & ROCE_PSN_MASK, p->frame) != 0)
            return from_fail(s->d, "no memory");
    }
    out = from_line(s->d);
    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out, "post %s A id %zu", first.op->kind == ROCE_KIND_WRITE ? "write" : "send",
            lines->posted_cnt);
    if (m->len)
        fprintf(out, " from L+%" PRIu64 " len %" PRIu64, local, m->len);
    if (roce_pkt_has(&first, ROCE_HDR_RETH))
        from_print_place(s->d, out, "to", 'R', 0, first.reth.va, first.reth.rkey, "key");
    if (first.bth.dest_qp == ROCE_QP_MULTICAST)
        fputs(" ah G", out);
    if (roce_pkt_has(&first, ROCE_HDR_DETH) && first.deth.qkey != s->stream.qkey)
        fprintf(out, " qkey 0x%08x", first.deth.qkey);
    if (roce_pkt_has(&end, ROCE_HDR_IMMDT))
        fprintf(out, " imm 0x%x", end.immdt.imm);
    if (end.bth.se && roce_opcode_ends(end.op))
        fputs(" solicited", out);
    return from_line_end(s->d, 0, (struct from_meaning){.verb = true});
}

/* Extends the memory regions of the drill by the remote ranges that the messages access. Returns
 * the sum of the lengths of the messages, bytes, or -1 and an error. */
static int64_t measure_messages(struct source *s, struct dgram_message_reader reader)
{
    struct dgram_message m;
    struct roce_pkt pkt;
    uint64_t len = 0;

    while (dgram_message_next(&reader, &m)) {
        len += m.len;
        trace_parse(dgram_message_packet(&reader, m.from), &pkt);
        if (roce_pkt_has(&pkt, ROCE_HDR_RETH) &&
            from_region_add(s->d, pkt.reth.rkey, pkt.reth.va, pkt.reth.dma_len) != 0)
            return -1;
    }
    return len > FROM_REGION_MAX ? from_fail(s->d, "the messages of the stream are too long")
                                 : (int64_t)len;
}

int from_dgram_sender(struct from_drill *d, const struct dgram_streams *streams, uint32_t stream)
{
    struct dgram_message_reader reader;
    struct dgram_message m;
    struct source s;
    uint64_t local = 0;
    int64_t len;
    FILE *out;
    int rc = 0;

    if (open_source(&s, d, streams, stream) != 0)
        return -1;
    reader = (struct dgram_message_reader){.trace = streams->trace, .stream = &s.stream};
    len = measure_messages(&s, reader);
    out = len < 0 ? NULL : from_head(d);
    if (!out)
        return len < 0 ? -1 : from_fail(d, "no memory");
    print_head(&s, out, stream, true);
    if (len)
        fprintf(out, "mr L len %" PRId64 " access local fill 1\n", len);
    for (unsigned i = 0; i < d->region_cnt; i++)
        fprintf(out, "peer R%u len %" PRIu64 " fill %u\n", i,
                d->region[i].span ? d->region[i].span : 1, i + 2);
    print_qp(&s, out, "psn");
    if (sends_to_group(&s))
        fprintf(out, "\nah G group %u", GROUP);
    fputc('\n', out);
    from_head_end(d);
    while (rc == 0 && dgram_message_next(&reader, &m)) {
        rc = add_message(&s, &reader, &m, local);
        local += m.len;
    }
    if (rc == 0 && d->lines.posted_cnt == 0)
        return from_fail(d, "the capture contains no complete message that can be posted");
    return rc;
}
