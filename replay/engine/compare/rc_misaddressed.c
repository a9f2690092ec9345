/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_misaddressed.h"

#include <stdio.h>
#include <string.h>
#include "engine/base/diff.h"
#include "engine/base/field_diff.h"
#include "engine/reasons/rc_response_case.h"
#include "infer/request_table.h"
#include "util/lower_bound.h"
#include "wire/codes.h"

/* Returns whether the capture has a response with the relative PSN `rel` to the requests of the
 * direction. */
static bool is_answered(const struct inferred_setup *s, int64_t rel)
{
    for (uint32_t i = 0; i < s->event_cnt; i++)
        if (s->event[i].response && s->event[i].rel == rel)
            return true;
    return false;
}

/* Returns whether the flow (packets of one host to one QP) also contains requests. The QP is then
 * in use, and the responses of the flow may belong to a connection with directions that could not
 * be paired. */
static bool is_used_qp(const struct trace *trace, const struct trace_flow *flow)
{
    for (size_t i = 0; i < flow->cnt && i < COMPARE_RECENT; i++)
        if (roce_opcode_is_request(roce_opcode(trace->pkt[flow->pkt[i]].opcode)))
            return true;
    return false;
}

/* Returns whether the headers and the padded payload of packet `p` have the same lengths as in our
 * response `a`. Then only the opcode of `p` may have been altered. */
static bool has_length_of(const struct trace_packet *p, const struct tx_response *a)
{
    return roce_opcode(p->opcode)->len + (p->payload_len + 3) / 4 * 4 ==
           roce_opcode(a->opcode)->len + (a->payload_len + 3) / 4 * 4;
}

/* Returns whether request packet `idx` continues or precedes another packet of a message of its
 * flow: a First or Middle packet has the previous PSN, or a Middle or Last packet the next one. The
 * packet is then a real request, not a response with an altered opcode. */
static bool belongs_to_message(const struct trace *trace, uint32_t idx)
{
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    const struct roce_opcode *op = roce_opcode(p->opcode);
    size_t low = 0, high = flow->cnt;

    LOWER_BOUND(low, high, mid, flow->pkt[mid] < idx);
    for (size_t i = low > COMPARE_RECENT ? low - COMPARE_RECENT : 0;
         i < flow->cnt && i < low + COMPARE_RECENT; i++) {
        const struct trace_packet *q = &trace->pkt[flow->pkt[i]];
        const struct roce_opcode *other = roce_opcode(q->opcode);
        int32_t off = roce_psn_diff(roce_psn_of(q->psn), roce_psn_of(p->psn));

        if (!q->dropped && other->kind == op->kind &&
            ((off == -1 && !roce_opcode_ends(other) && !roce_opcode_starts(op)) ||
             (off == 1 && !roce_opcode_starts(other) && !roce_opcode_ends(op))))
            return true;
    }
    return false;
}

/* Returns a response of our RNIC that equals packet `idx` except for the destination QP or the
 * opcode, or NULL. */
static struct tx_response *find_like(const struct response_comparison *all,
                                     struct rc_direction *dir, uint32_t idx, bool response,
                                     struct field_diffs *d)
{
    const struct trace *trace = all->session->trace;
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    size_t low = 0, high = dir->response_cnt;

    LOWER_BOUND(low, high, mid, dir->setup.event[dir->response[mid].event].sent_at < idx);
    for (size_t i = low; i-- > 0 && low - i <= COMPARE_RECENT;) {
        struct tx_response *a = &dir->response[i];

        if (a->psn != p->psn || (a->matched && (!response || flow->cnt > 1)))
            continue;
        field_diff_compare(p, a, dir->setup.read_first_msn, d);
        /* If our response is unmatched, further fields of the packet may differ. If it is matched,
         * only this field may differ, and the packet must be the only one to its QP: another
         * connection may have the same PSNs by chance. A packet with the opcode of a request is a
         * real request if it has AckReq, if its length is not that of our response, or if a
         * response with its PSN was captured. It is also a real request if further fields differ
         * and the flow has another packet of its message. */
        if (field_diff_find(d, response ? "bth.dest_qp" : "bth.opcode") &&
            !(a->matched && d->cnt > 1) &&
            !(!response && (p->ackreq || !has_length_of(p, a) || is_answered(&dir->setup, a->rel) ||
                            (d->cnt > 1 && belongs_to_message(trace, idx)))) &&
            !(response && d->cnt > 1 &&
              ((d->cnt > 2 && flow->cnt > 1) || is_answered(&dir->setup, a->rel))))
            return a;
    }
    return NULL;
}

/* Returns whether packet `idx` is an ACK or NAK with a PSN and MSN that fit the earlier requests of
 * this direction. The packet must be the only one from its sender to its QP. */
static bool is_lone_ack(const struct rc_direction *dir, const struct trace *trace, uint32_t idx)
{
    const struct inferred_setup *s = &dir->setup;
    const struct trace_packet *p = &trace->pkt[idx];
    bool nak = roce_syndrome_kind(p->syndrome) != ROCE_SYN_ACK;
    roce_psn psn = roce_psn_of(p->psn);
    int64_t high = s->first - 1, rel;

    if (trace->flow[p->flow].cnt > 1 || roce_opcode(p->opcode)->kind != ROCE_KIND_ACK ||
        s->msn_votes == 0)
        return false;
    for (uint32_t i = 0; i < s->event_cnt && s->event[i].sent_at < idx; i++)
        if (!s->event[i].response && s->event[i].rel > high)
            high = s->event[i].rel;
    rel = s->first + roce_psn_diff(psn, roce_psn_add(s->psn, (int32_t)s->first));
    return rel >= s->first && rel <= high && p->msn == request_table_msn(s, rel - nak);
}

/* Maximum difference of the PSNs, or of the MSNs, of two responses that the responder sent one
 * directly after the other. */
#define NEXT_MAX 64

static uint16_t udp_source(const struct trace_packet *p)
{
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    return pkt.udp.sport;
}

/* Returns whether the responder sent packet `idx` directly before or after its response `event`.
 * The IPv4 identifications must be adjacent, the source ports equal, and PSN and MSN nearly equal.
 */
static bool is_neighbour(const struct inferred_setup *s, uint32_t event, uint32_t idx)
{
    const struct trace_packet *p = &s->trace->pkt[idx], *q = event_packet(s, event);
    uint16_t step = (uint16_t)(p->ip_id - q->ip_id);
    int32_t psns = roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(q->psn));
    int32_t msgs = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(q->msn));

    if (!s->event[event].response || !s->event[event].usable || (step != 1 && step != UINT16_MAX) ||
        psns < -NEXT_MAX || psns > NEXT_MAX)
        return false;
    if (trace_counts_messages(roce_opcode(p->opcode)) && counts_messages(s, event) &&
        (msgs < -NEXT_MAX || msgs > NEXT_MAX || (msgs != 0 && (msgs > 0) != (step == 1))))
        return false;
    return udp_source(p) == udp_source(q);
}

/* Returns whether a packet is the only one from its sender to its QP, but continues the responses
 * of this direction: a request with its PSN was captured before, and its IPv4 identification is
 * next to the identification of a response of the direction. */
static bool continues_responses(const struct rc_direction *dir, const struct trace *trace,
                                uint32_t idx)
{
    const struct inferred_setup *s = &dir->setup;
    const struct trace_packet *p = &trace->pkt[idx];
    const struct request_pkt *e = request_at(
        s, s->first + roce_psn_diff(roce_psn_of(p->psn), roce_psn_add(s->psn, (int32_t)s->first)));
    uint32_t low = 0, high = (uint32_t)s->event_cnt;

    if (trace->flow[p->flow].cnt > 1 || !trace->flow[s->recorded->resp_flow].host_numbered || !e ||
        s->event[e->event].pkt > idx ||
        !trace_draws(event_opcode(s, e->event), roce_opcode(p->opcode)->kind))
        return false;
    LOWER_BOUND(low, high, mid, s->event[mid].sent_at < idx);
    high = s->event_cnt - low > NEXT_MAX ? low + NEXT_MAX : (uint32_t)s->event_cnt;
    for (uint32_t i = low > NEXT_MAX ? low - NEXT_MAX : 0; i < high; i++)
        if (is_neighbour(s, i, idx))
            return true;
    return false;
}

static int report_misaddressed(struct response_comparison *all, struct diff *diff,
                               const struct field_diff *which)
{
    field_diff_report(which,
                      "the response belongs to no connection, but equals a response of our RNIC "
                      "except for this field",
                      diff);
    all->result[diff->dir].diff_frames++;
    return diff_append(&all->diff, &all->diff_cnt, &all->diff_cap, diff);
}

/* Finds the direction to which a packet without a connection belongs. Either the packet equals a
 * recent response of our RNIC except for the destination QP or the opcode (find_like()). Or it fits
 * the direction by its PSN (is_lone_ack(), continues_responses()). */
int match_misaddressed(struct response_comparison *all, struct session *session, uint32_t idx)
{
    const struct trace *trace = session->trace;
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    bool response =
        trace_acknowledged(flow->svc) && roce_opcode_is_response(roce_opcode(p->opcode));

    if (p->dropped || (response && is_used_qp(trace, flow)))
        return 0; /* the packet was damaged on the wire, or may belong to another connection */
    for (uint32_t r = all->first_of_hosts[flow->hosts]; r != KEYMAP_NONE;
         r = all->next_of_hosts[r]) {
        struct rc_direction *dir = &session->dir[r];
        struct diff diff = {.dir = r, .pkt = idx, .request = EVENT_NONE};
        struct field_diffs d;
        struct tx_response *ours;

        if (all->result[r].skip || (!response && flow->dest_qp != dir->setup.peer_qpn))
            continue;
        ours = find_like(all, dir, idx, response, &d);
        if (ours) {
            ours->matched = true;
            diff.request = dir->setup.event[ours->event].pkt;
            return report_misaddressed(
                all, &diff, field_diff_find(&d, response ? "bth.dest_qp" : "bth.opcode"));
        }
        if (!response || (!is_lone_ack(dir, trace, idx) && !continues_responses(dir, trace, idx)))
            continue;
        d.cnt = 0;
        field_diff_add_num(&d, "bth.dest_qp", FIELD_HEX, flow->dest_qp, dir->setup.peer_qpn);
        return report_misaddressed(all, &diff, &d.at[0]);
    }
    return 0;
}
