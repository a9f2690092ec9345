/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>
#include "capture/packet_text.h"
#include "drill/from/from_rc.h"
#include "drill/words.h"
#include "engine/base/post_wr.h"
#include "wire/codes.h"

#define SENDS_MIN   64u                  /* default depth of a send queue (option `sends`) */
#define LOCAL_MAX   (UINT64_C(16) << 20) /* longest region L (local memory), bytes */
#define CHECK_BYTES 65536u               /* longest range that a line can check, bytes */
#define TIMEOUT_MAX 20u                  /* longest timeout code: 4.3 s */

/* State of this module while it writes the drill of a connection. */
struct source {
    struct from_drill *d;
    struct replay *replay;
    struct from_directions q;
    uint64_t local_len, local_next;
    bool timeout;              /* an ACK timer expires in the drill */
    uint8_t rnr_code;          /* 1 + RNR timer code for the constant W of the drill; 0: no W */
    uint8_t rnr[FROM_QPS_MAX]; /* for each QP: 1 + timer code of the RNR NAK after which the QP
                                * waits; 0: the QP does not wait */
};

static const struct requester_run *run_of(const struct source *s, unsigned qp)
{
    return &s->replay->requester.run[s->q.dir[qp]];
}

static const struct inferred_setup *setup_of(const struct source *s, unsigned qp)
{
    return requester_setup(&s->replay->session.dir[s->q.dir[qp]]);
}

/* Returns the timeout code of all QPs of the drill. */
static uint8_t timeout_of(const struct source *s)
{
    uint8_t timeout = setup_of(s, 0)->timeout;

    return timeout > TIMEOUT_MAX ? TIMEOUT_MAX : timeout;
}

/* ---- choosing memory and objects ------------------------------------------------------------- */

/* Adds the remote memory of a work request to the memory regions of the drill, and the length of
 * its local buffer to `local_len`. Returns 0, or -1 and an error. */
static int claim_memory(struct source *s, const struct inferred_setup *setup,
                        const struct work_request *wr)
{
    struct roce_pkt pkt;

    s->local_len += work_request_buffer_len(wr);
    trace_parse(event_packet(setup, wr->event), &pkt);
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH))
        return from_region_add(s->d, pkt.atomiceth.rkey, pkt.atomiceth.va, 8);
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH))
        return from_region_add(s->d, pkt.reth.rkey, pkt.reth.va,
                               pkt.op->kind == ROCE_KIND_ATOMIC_WRITE ? 8 : pkt.reth.dma_len);
    return 0;
}

/* Infers the work requests. Adds their remote memory and the lengths of their local buffers to the
 * drill. Returns 0, or -1 and an error. */
static int choose_memory(struct source *s)
{
    struct work_requests wrs;
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < s->q.cnt; i++) {
        rc = infer_work_requests(&wrs, setup_of(s, i));
        for (size_t k = 0; rc == 0 && !wrs.skip && k < wrs.cnt; k++)
            rc = claim_memory(s, setup_of(s, i), &wrs.wr[k]);
        work_requests_free(&wrs);
    }
    s->local_len = s->local_len > LOCAL_MAX ? LOCAL_MAX : s->local_len;
    return rc;
}

static void print_objects(const struct source *s, FILE *out)
{
    bool xrc = inferred_setup_svc(setup_of(s, 0)) == ROCE_SVC_XRC;

    if (s->local_len)
        fprintf(out, "mr L len %" PRIu64 " access local fill 1\n", s->local_len);
    for (unsigned i = 0; i < s->d->region_cnt; i++)
        fprintf(out, "peer R%u len %" PRIu64 " fill %u\n", i,
                s->d->region[i].span ? s->d->region[i].span : 1, i + 2);
    for (unsigned i = 0; i < s->q.cnt; i++) {
        const struct inferred_setup *setup = setup_of(s, i);

        fprintf(out, "qp %c %s mtu %u psn %u timeout %u retry %u rnr-retry %u rd-atomic %u",
                from_qp_name(i), xrc ? "xrc-send" : "rc", setup->mtu, setup->sq_psn, timeout_of(s),
                setup->retry_cnt, setup->rnr_retry, setup->rd_atomic);
        if (setup->messages > SENDS_MIN)
            fprintf(out, " sends %u",
                    setup->messages < RNIC_WR_MAX ? setup->messages : RNIC_WR_MAX);
        if (setup->pkey != 0xFFFF)
            fprintf(out, " pkey 0x%x", setup->pkey);
        fputc('\n', out);
    }
}

/* ---- lines of work requests ------------------------------------------------------------------ */

static void print_remote(const struct source *s, const char *word, uint64_t va, uint32_t rkey)
{
    from_print_place(s->d, s->d->out, word, 'R', 0, va, rkey, "key");
}

static void print_operation(const struct source *s, const struct work_request *wr, char qp,
                            size_t id, const struct roce_pkt *first, uint64_t local)
{
    static const char *const words[] = {
        [ROCE_KIND_SEND] = "send",
        [ROCE_KIND_WRITE] = "write",
        [ROCE_KIND_READ] = "read",
        [ROCE_KIND_CMP_SWAP] = "cmp-swap",
        [ROCE_KIND_FETCH_ADD] = "fetch-add",
        [ROCE_KIND_FLUSH] = "flush",
        [ROCE_KIND_ATOMIC_WRITE] = "atomic-write",
    };
    FILE *out = s->d->out;
    uint32_t len = work_request_buffer_len(wr);

    fprintf(out, "post %s %c id %zu", words[wr->kind], qp, id);
    if (len && !work_request_fetches(wr))
        fprintf(out, " from L+%" PRIu64, local);
    if (len && wr->kind != ROCE_KIND_ATOMIC_WRITE && !roce_pkt_has(first, ROCE_HDR_ATOMICETH))
        fprintf(out, " len %u", len);
    if (roce_pkt_has(first, ROCE_HDR_ATOMICETH)) {
        print_remote(s, "from", first->atomiceth.va, first->atomiceth.rkey);
        if (wr->kind == ROCE_KIND_FETCH_ADD)
            fprintf(out, " add 0x%" PRIx64, first->atomiceth.swap_add);
        else
            fprintf(out, " compare 0x%" PRIx64 " swap 0x%" PRIx64, first->atomiceth.compare,
                    first->atomiceth.swap_add);
    } else if (roce_pkt_has(first, ROCE_HDR_RETH)) {
        print_remote(s, wr->kind == ROCE_KIND_READ ? "from" : "to", first->reth.va,
                     first->reth.rkey);
    }
    if (len && work_request_fetches(wr))
        fprintf(out, " to L+%" PRIu64, local);
    if (roce_pkt_has(first, ROCE_HDR_FETH))
        fprintf(out, " len %u type %u level %s", first->reth.dma_len, first->feth.plt,
                words_name(words_level, first->feth.sel));
}

/* For a READ, sets m->check to the line that checks its buffer after the completion. */
static void set_check(const struct source *s, const struct work_request *wr,
                      const struct roce_pkt *first, struct posted_message *m)
{
    int at = from_region_of(s->d, 0, first->reth.rkey);

    if (wr->kind != ROCE_KIND_READ || wr->len == 0 || wr->len > CHECK_BYTES || at < 0 ||
        first->reth.va < s->d->region[at].low)
        return;
    snprintf(m->check, sizeof(m->check), "check L+%" PRIu64 " len %u is fill R%d+%" PRIu64,
             m->local, wr->len, at, first->reth.va - s->d->region[at].low);
}

static int on_post(void *ctx, uint32_t dir, uint32_t idx)
{
    struct source *s = ctx;
    int qp = from_rc_qp(&s->q, dir);
    const struct work_requests *wrs;
    const struct work_request *wr;
    struct posted_message *m;
    struct roce_pkt first, end;
    uint32_t len;
    FILE *out;

    if (qp < 0)
        return 0;
    wrs = &run_of(s, (unsigned)qp)->wrs;
    wr = &wrs->wr[idx];
    len = work_request_buffer_len(wr);
    trace_parse(event_packet(wrs->setup, wr->event), &first);
    trace_parse(event_packet(wrs->setup, wrs->part[wr->part + wr->part_cnt - 1]), &end);
    if (!VEC_GROW(s->d->lines.posted, s->d->lines.posted_cnt, s->d->lines.posted_cap))
        return -1;
    if (s->local_next + len > s->local_len)
        s->local_next = 0;
    m = &s->d->lines.posted[s->d->lines.posted_cnt++];
    *m = (struct posted_message){.qp = (unsigned)qp,
                                 .psn = roce_psn_add(wrs->setup->psn, (int32_t)wr->rel).v,
                                 .cnt = wr->cnt,
                                 .local = s->local_next};
    s->local_next += len;
    set_check(s, wr, &first, m);
    out = from_line(s->d);
    if (!out)
        return -1;
    print_operation(s, wr, from_qp_name((unsigned)qp), s->d->lines.posted_cnt, &first, m->local);
    if (!wr->open && roce_pkt_has(&end, ROCE_HDR_IMMDT))
        fprintf(out, " imm 0x%x", end.immdt.imm);
    if (!wr->open && roce_pkt_has(&end, ROCE_HDR_IETH))
        fprintf(out, " invalidate 0x%x", end.ieth.rkey);
    if (!wr->open && end.bth.se)
        fputs(" solicited", out);
    return from_line_end(s->d, 0, (struct from_meaning){.verb = true});
}

/* ---- lines of responses ---------------------------------------------------------------------- */

static void print_syndrome(const struct roce_pkt *pkt, FILE *out)
{
    unsigned value = pkt->aeth.syndrome & 31u;

    switch (roce_syndrome_kind(pkt->aeth.syndrome)) {
    case ROCE_SYN_ACK: fputs(" ACK", out); break;
    case ROCE_SYN_RNR: fprintf(out, " RNR NAK timer %u", value); break;
    case ROCE_SYN_NAK: fprintf(out, " NAK %s", words_name(words_nak, value)); break;
    default: fprintf(out, " aeth.syndrome=0x%x", pkt->aeth.syndrome); break;
    }
}

/* Prints the length of the payload of a READ response. If the READ request names a region of the
 * drill, also prints that the payload contains bytes of this region. */
static void print_read_bytes(const struct source *s, unsigned qp, const struct roce_pkt *pkt)
{
    const struct work_requests *wrs = &run_of(s, qp)->wrs;
    int64_t rel =
        wrs->setup->first +
        roce_psn_diff(roce_pkt_psn(pkt), roce_psn_add(wrs->setup->psn, (int32_t)wrs->setup->first));
    const struct work_request *wr = work_request_at(wrs, rel);
    struct roce_pkt first;
    int at;

    fprintf(s->d->out, " payload %u", (unsigned)pkt->payload_len);
    if (pkt->payload_len == 0 || !wr || wr->kind != ROCE_KIND_READ)
        return;
    trace_parse(event_packet(wrs->setup, wr->event), &first);
    at = from_region_of(s->d, 0, first.reth.rkey);
    if (at >= 0)
        fprintf(s->d->out, " fill R%d", at);
}

static int on_response(void *ctx, uint32_t dir, const struct roce_pkt *pkt,
                       const struct trace_packet *recorded)
{
    struct source *s = ctx;
    int qp = from_rc_qp(&s->q, dir);
    FILE *out;

    if (qp < 0)
        return 0;
    out = from_line(s->d);
    if (!out)
        return -1;
    fputs("< ", out);
    if (s->q.cnt > 1)
        fprintf(out, "%c: ", from_qp_name((unsigned)qp));
    fprintf(out, "%s PSN %+d", packet_text_opcode(pkt->bth.opcode),
            expected_lines_distance(pkt->bth.psn, setup_of(s, (unsigned)qp)->sq_psn));
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        print_syndrome(pkt, out);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH))
        fprintf(out, " original 0x%" PRIx64, pkt->atomicacketh.orig);
    if (pkt->op->kind == ROCE_KIND_READ_RESP)
        print_read_bytes(s, (unsigned)qp, pkt);
    if (recorded && recorded->dropped)
        fputs(" bad ICRC", out);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH) && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR)
        s->rnr[qp] = (uint8_t)((pkt->aeth.syndrome & 31u) + 1);
    return from_line_end(s->d, recorded ? recorded->frame : 0,
                         (struct from_meaning){.verb = false});
}

static int on_timer(void *ctx, uint32_t dir)
{
    struct source *s = ctx;
    int qp = from_rc_qp(&s->q, dir);
    uint64_t least;
    char unit = 'T';

    if (qp < 0)
        return 0;
    least = roce_ack_timeout_ns(timeout_of(s));
    if (s->rnr[qp]) {
        least = roce_rnr_ns((uint8_t)(s->rnr[qp] - 1));
        if (!s->rnr_code)
            s->rnr_code = s->rnr[qp];
        unit = s->rnr[qp] == s->rnr_code ? 'W' : 0;
    }
    s->timeout |= unit == 'T';
    s->rnr[qp] = 0;
    return from_wait(s->d, unit, least);
}

/* ---- writing the drill ----------------------------------------------------------------------- */

static int note_requests(struct source *s)
{
    int rc = 0;

    for (unsigned i = 0; i < s->q.cnt; i++) {
        const struct inferred_setup *setup = setup_of(s, i);

        for (uint32_t k = 0; rc == 0 && k < setup->event_cnt; k++) {
            const struct trace_packet *p = event_packet(setup, k);

            if (!setup->event[k].response && !setup->event[k].before_first)
                rc = expected_lines_record(&s->d->lines, (int)i, p->opcode, p->psn, p->frame);
        }
    }
    return rc == 0 ? 0 : from_fail(s->d, "no memory");
}

static int add_head(struct source *s, uint32_t connection)
{
    FILE *out = from_head(s->d);

    if (!out)
        return from_fail(s->d, "no memory");
    fprintf(out,
            "purpose  the requester sends the work requests of connection #%u of %s\n"
            "         as the software RNIC does\n",
            connection, s->d->file);
    from_rc_head(out, &s->replay->session, &s->q, "requester", "RC-REQ-138");
    if (s->timeout)
        fprintf(out, "let T = timeout(%u)\n", timeout_of(s));
    if (s->rnr_code)
        fprintf(out, "let W = rnr(%u)\n", s->rnr_code - 1u);
    print_objects(s, out);
    from_head_end(s->d);
    return 0;
}

int from_rc_requester(struct from_drill *d, struct replay *replay, uint32_t connection)
{
    struct source s = {.d = d, .replay = replay};
    const struct session_watch watch = {
        .ctx = &s, .post = on_post, .response = on_response, .timer = on_timer};
    int rc = from_rc_choose(d, &replay->session, &connection, &s.q);

    if (rc != 0)
        return rc;
    if (choose_memory(&s) != 0 || note_requests(&s) != 0)
        return -1;
    replay->session.watch = &watch;
    rc = rc_requester_play(&replay->requester, &replay->session, d->error);
    replay->session.watch = NULL;
    return rc == 0 ? add_head(&s, connection) : rc;
}
