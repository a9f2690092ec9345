/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>
#include "capture/packet_text.h"
#include "drill/from/from_rc.h"
#include "engine/play/rc_responder.h"
#include "live/live_script.h"

/* State of this module while it writes the drill of a connection. */
struct source {
    struct from_drill *d;
    const struct session *session;
    struct live_script script;
    struct from_directions q;
    unsigned recv_id;
    uint32_t start[FROM_QPS_MAX]; /* for each QP: PSN of the first packet of the latest message */
    char read[16];                /* name of the region of the latest READ request */
    bool destroyed[FROM_REGIONS_MAX];
};

static const struct inferred_setup *setup_of(const struct source *s, unsigned qp)
{
    return &s->session->dir[s->q.dir[qp]].setup;
}

/* ---- choosing memory and objects ------------------------------------------------------------- */

/* Adds the memory region of an R_Key, unless the drill already has the region. Returns 0, or -1 and
 * an error. */
static int add_region(struct from_drill *d, const struct session *session, uint32_t host,
                      uint32_t rkey)
{
    const struct shadow_region *r = shadow_find(&session->host[host].memory, rkey);

    if (!r || r->span == 0 || from_region_of(d, host, rkey) >= 0)
        return 0;
    if (r->span > FROM_REGION_MAX || d->region_cnt == FROM_REGIONS_MAX)
        return from_fail(d, "the requests use more or longer memory regions than a drill can have");
    d->region[d->region_cnt++] =
        (struct from_region){.host = host, .rkey = rkey, .low = r->low, .span = r->span};
    return 0;
}

/* Adds to the drill the memory regions that the requests of the connection access. If the recorded
 * device refused all requests with an R_Key, adds no region for this R_Key, so that the R_Key is
 * also invalid for the device under test. Returns 0, or -1 and an error. */
static int choose_regions(struct source *s)
{
    for (unsigned i = 0; i < s->q.cnt; i++) {
        const struct inferred_setup *setup = setup_of(s, i);
        uint32_t host = s->session->dir[s->q.dir[i]].host;

        for (uint32_t k = 0; k < setup->event_cnt; k++) {
            struct roce_pkt pkt;
            int rc = 0;

            if (setup->event[k].response || setup->event[k].rkey_invalid)
                continue;
            trace_parse(event_packet(setup, k), &pkt);
            if (roce_pkt_has(&pkt, ROCE_HDR_RETH))
                rc = add_region(s->d, s->session, host, pkt.reth.rkey);
            else if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH))
                rc = add_region(s->d, s->session, host, pkt.atomiceth.rkey);
            else if (roce_pkt_has(&pkt, ROCE_HDR_IETH))
                rc = add_region(s->d, s->session, host, pkt.ieth.rkey);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

/* Returns the rules that the drill names. */
static const char *rules_of(const struct source *s)
{
    if (inferred_setup_svc(setup_of(s, 0)) == ROCE_SVC_XRC)
        return "XRC-RSP-181";
    for (unsigned i = 0; i < s->q.cnt; i++)
        for (uint32_t k = 0; k < setup_of(s, i)->event_cnt; k++)
            if (setup_of(s, i)->event[k].rkey_invalid)
                return "RC-RSP-083";
    return "RC-RSP-102";
}

static void print_objects(const struct source *s, FILE *out)
{
    bool xrc = inferred_setup_svc(setup_of(s, 0)) == ROCE_SVC_XRC;

    for (unsigned i = 0; i < s->d->region_cnt; i++) {
        const struct from_region *r = &s->d->region[i];
        const struct shadow_region *from = shadow_find(&s->session->host[r->host].memory, r->rkey);

        fprintf(out, "mr M%u len %" PRIu64, i, r->span);
        from_print_access(out, from->access);
        fprintf(out, "%s\n", from->invalidate ? " invalidates" : "");
    }
    if (xrc)
        fputs("srq S\n", out);
    for (unsigned i = 0; i < s->q.cnt; i++) {
        const struct inferred_setup *setup = setup_of(s, i);

        fprintf(out, "qp %c %s mtu %u peer-psn %u rnr-timer %u resources %u", from_qp_name(i),
                xrc ? "xrc" : "rc", setup->mtu, setup->rq_psn, setup->rnr_code, setup->resources);
        from_print_access(out, setup->access);
        if (setup->pkey != 0xFFFF)
            fprintf(out, " pkey 0x%x", setup->pkey);
        fputc('\n', out);
    }
}

/* ---- lines of packets and actions ------------------------------------------------------------ */

/* Prints the payload: short data as bytes, other data as a byte pattern. The number of the pattern
 * depends on the first PSN of the message, so a retransmission has the same bytes. */
static void print_payload(struct source *s, unsigned qp, const struct roce_pkt *pkt,
                          struct from_meaning *meaning)
{
    FILE *out = s->d->out;

    if (roce_opcode_starts(pkt->op))
        s->start[qp] = pkt->bth.psn;
    if (pkt->payload_len == 0 && pkt->op->kind == ROCE_KIND_READ)
        return;
    if (pkt->payload_len == 0) {
        fputs(" payload 0", out);
    } else if (pkt->payload_len <= EXPECTED_SHORT_PAYLOAD && pkt->op->pos == ROCE_POS_ONLY) {
        struct strbuf t = strbuf_of(meaning->content, sizeof(meaning->content));

        expected_lines_hex(out, pkt->payload, pkt->payload_len);
        for (uint32_t i = 0; pkt->op->kind == ROCE_KIND_SEND && i < pkt->payload_len; i++)
            strbuf_addf(&t, "%s%02x", i == 0 ? "data " : "", pkt->payload[i]);
        return;
    } else {
        fprintf(out, " payload %u fill %u", (unsigned)pkt->payload_len,
                s->start[qp] % FROM_PATTERNS + 1);
    }
    if (pkt->op->kind == ROCE_KIND_SEND && pkt->payload_len)
        snprintf(meaning->content, sizeof(meaning->content), "fill %u",
                 s->start[qp] % FROM_PATTERNS + 1);
}

static void print_headers(const struct source *s, uint32_t host, const struct roce_pkt *pkt)
{
    FILE *out = s->d->out;
    int at;

    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        from_print_place(s->d, out, "va", 'M', host, pkt->reth.va, pkt->reth.rkey, "rkey");
        fprintf(out, " len %u", pkt->reth.dma_len);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        from_print_place(s->d, out, "va", 'M', host, pkt->atomiceth.va, pkt->atomiceth.rkey,
                         "rkey");
    expected_lines_print_values(pkt, out);
    if (roce_pkt_has(pkt, ROCE_HDR_IETH)) {
        at = from_region_of(s->d, host, pkt->ieth.rkey);
        if (at < 0)
            fprintf(out, " invalidate 0x%x", pkt->ieth.rkey);
        else
            fprintf(out, " invalidate M%d", at);
    }
}

/* Adds the line of a request. Returns 0, or -1 and an error. */
static int add_request(struct source *s, unsigned qp, const struct trace_packet *p)
{
    const struct inferred_setup *setup = setup_of(s, qp);
    uint32_t host = s->session->dir[s->q.dir[qp]].host;
    struct from_meaning meaning = {.verb = false};
    struct roce_pkt pkt;
    char problem[80];
    FILE *out;
    int at;

    trace_parse(p, &pkt);
    if (p->cut || p->malformed) {
        snprintf(problem, sizeof(problem), "frame %u is %s", p->frame,
                 p->cut ? "truncated" : "malformed");
        return from_fail(s->d, problem);
    }
    out = from_line(s->d);
    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out, "< ");
    if (s->q.cnt > 1)
        fprintf(out, "%c: ", from_qp_name(qp));
    from_print_opcode(out, pkt.op);
    fprintf(out, " PSN %+d", expected_lines_distance(pkt.bth.psn, setup->rq_psn));
    print_headers(s, host, &pkt);
    if (pkt.op->payload != ROCE_PAYLOAD_NONE || pkt.payload_len)
        print_payload(s, qp, &pkt, &meaning);
    if (pkt.op->kind == ROCE_KIND_READ) {
        at = from_region_of(s->d, host, pkt.reth.rkey);
        *s->read = '\0';
        if (at >= 0)
            snprintf(s->read, sizeof(s->read), "M%d", at);
        memcpy(meaning.memory, s->read, sizeof(meaning.memory));
    }
    fprintf(out, "%s%s%s", pkt.bth.se ? " solicited" : "", pkt.bth.ackreq ? " AckReq" : "",
            p->dropped ? " bad ICRC" : "");
    return from_line_end(s->d, p->frame, meaning);
}

static int add_store(struct source *s, const struct live_event *e)
{
    int at = from_region_of(s->d, e->device, e->rkey);
    FILE *out;

    if (at < 0)
        return 0; /* no request of this connection uses the R_Key */
    out = from_line(s->d);
    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out, "store M%d+%" PRIu64, at, e->va - s->d->region[at].low);
    if (e->len <= EXPECTED_SHORT_PAYLOAD)
        expected_lines_hex(out, s->script.byte + e->byte, e->len);
    else
        fprintf(out, " len %u fill %u", e->len, FROM_PATTERNS + 1 + (unsigned)at);
    return from_line_end(s->d, 0, (struct from_meaning){.verb = true});
}

static int add_recv(struct source *s, unsigned qp, uint32_t len)
{
    FILE *out = from_line(s->d);

    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out, "recv %c id %u len %u",
            inferred_setup_svc(setup_of(s, qp)) == ROCE_SVC_XRC ? 'S' : from_qp_name(qp),
            ++s->recv_id, len);
    return from_line_end(s->d, 0, (struct from_meaning){.verb = true});
}

/* Returns whether the next request at or after event `i` belongs to the connection. */
static bool precedes_request(const struct source *s, size_t i)
{
    while (i < s->script.cnt && s->script.event[i].kind != LIVE_FRAME)
        i++;
    return i < s->script.cnt && from_rc_qp(&s->q, s->script.event[i].run) >= 0;
}

static int add_destroy(struct source *s, unsigned region)
{
    FILE *out = from_line(s->d);

    if (!out)
        return from_fail(s->d, "no memory");
    s->destroyed[region] = true;
    fprintf(out, "destroy M%u", region);
    return from_line_end(s->d, 0, (struct from_meaning){.verb = true});
}

/* Adds the line of event `i`. Adds nothing if the event belongs to another connection. Returns 0,
 * or -1 and an error. */
static int add_event(struct source *s, size_t i)
{
    const struct live_event *e = &s->script.event[i];
    bool of_qp = e->kind == LIVE_RECV || e->kind == LIVE_FRAME || e->kind == LIVE_ANSWER;
    int qp = of_qp ? from_rc_qp(&s->q, e->run) : -1;
    const struct trace_packet *p;
    int at;

    if (of_qp && qp < 0)
        return 0;
    switch (e->kind) {
    case LIVE_RECV: return add_recv(s, (unsigned)qp, e->len);
    case LIVE_STORE: return add_store(s, e);
    case LIVE_WITHDRAW:
        at = from_region_of(s->d, e->device, e->rkey);
        return at < 0 || !precedes_request(s, i) ? 0 : add_destroy(s, (unsigned)at);
    case LIVE_REGISTER:
        at = from_region_of(s->d, e->device, e->rkey);
        return at < 0 || !s->destroyed[at]
                   ? 0
                   : from_fail(
                         s->d,
                         "the responder's program registered memory again with an earlier R_Key");
    case LIVE_FRAME:
        return add_request(s, (unsigned)qp, event_packet(setup_of(s, (unsigned)qp), e->step));
    case LIVE_ANSWER:
        p = event_packet(setup_of(s, (unsigned)qp), e->step);
        return expected_lines_record(&s->d->lines, qp, p->opcode, p->psn, p->frame);
    }
    return 0;
}

/* ---- writing the drill ----------------------------------------------------------------------- */

static int add_lines(struct source *s, uint32_t connection)
{
    FILE *out;
    int rc = from_rc_choose(s->d, s->session, &connection, &s->q);

    if (rc != 0)
        return rc;
    if (choose_regions(s) != 0)
        return -1;
    out = from_head(s->d);
    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out, "purpose  the responder answers connection #%u of %s as the software RNIC does\n",
            connection, s->d->file);
    from_rc_head(out, s->session, &s->q, "responder", rules_of(s));
    print_objects(s, out);
    from_head_end(s->d);
    for (size_t i = 0; rc == 0 && i < s->script.cnt; i++)
        rc = add_event(s, i);
    return rc;
}

int from_rc_responder(struct from_drill *d, struct replay *replay, uint32_t connection)
{
    struct source s = {.d = d, .session = &replay->session};
    struct session_watch watch = live_script_watch(&s.script);
    int rc;

    replay->session.watch = &watch;
    rc = rc_responder_play(&replay->session, d->error);
    replay->session.watch = NULL;
    if (rc == 0 && live_script_finish(&s.script, &replay->session) != 0)
        rc = from_fail(d, "no memory");
    if (rc == 0)
        rc = add_lines(&s, connection);
    live_script_free(&s.script);
    return rc;
}
