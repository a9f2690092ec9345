/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_reasons.h"

#include "infer/request_table.h"
#include "infer/shadow_memory.h"
#include "wire/codes.h"

/* This file has the reasons why a difference is inconclusive because of the responder's program or
 * of other connections. The capture does not show when a region was deregistered, which of two
 * requests was executed, how many responder resources the QP has, or which connection wrote the
 * memory last. */

const char inconclusive_stale[] =
    "does not show which late requests of the previous connection on these QPs arrived";

const char inconclusive_twice[] =
    "does not show whether the QPs were used again or the responder executed this atomic twice";

bool may_answer_stale(const struct response_case *c, const struct field_diffs *d)
{
    const struct inferred_setup *s = setup_of(c);

    return s->recorded->stale && c->recorded_acked < s->first &&
           !field_diff_find(d, FIELD_DIFF_FORM) && !field_diff_find(d, "bth.pkey") &&
           !field_diff_find(d, "bth.dest_qp");
}

bool refuses_repeated(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    unsigned copies = 0;

    if (!event_is_nak_code(s, c->event, ROCE_NAK_REMOTE_ACCESS) || !e ||
        s->event[c->event].rel >= c->epsn ||
        !trace_draws_read_response(event_opcode(s, e->event)->kind))
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        copies +=
            !s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel < e->rel + e->cnt;
    return copies > 1;
}

/* Returns whether a NAK refuses a Middle or Last packet of a WRITE and is the last response of the
 * connection. The responder's program may have deregistered the region after the first packet. */
static bool refuses_rest(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    bool repeated = false; /* the requester retransmitted the request after the NAK */

    if (!event_is_nak_code(s, c->event, ROCE_NAK_REMOTE_ACCESS) || !e ||
        s->req[e->msg_first].rel == e->rel || !request_table_msn_fits(s, c->event) ||
        event_opcode(s, e->event)->kind != ROCE_KIND_WRITE)
        return false;
    /* The NAK ends the connection: the responder executes nothing more. If the NAK is lost, the
     * requester retransmits, but the responder does not respond. */
    for (uint32_t i = c->event + 1; i < s->event_cnt && i - c->event <= LOOK_BACK; i++) {
        if (!s->event[i].usable)
            continue;
        if (s->event[i].response && (repeated || event_executed(s, i, e->rel)))
            return false;
        repeated |= !s->event[i].response && s->event[i].rel <= e->rel;
    }
    return true;
}

bool follows_other_request(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    int64_t rel = s->event[c->event].rel;

    if (s->first_other >= c->event)
        return false;
    if (s->event[s->first_other].rel <= rel && s->event[s->first_other].rel > c->recorded_acked)
        return true;
    for (uint32_t i = c->event; i-- > s->first_other && c->event - i <= LOOK_BACK;)
        if (s->event[i].other && s->event[i].rel <= rel)
            return true;
    return false;
}

/* Returns whether the response differs only in its data, and another connection wrote some of the
 * memory that the data is from. */
static bool shares_data(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return c->data && e && shadow_written_by_other(c->memory, e->rkey, e->va, e->len, c->dir_idx);
}

/* Returns whether shares_data() returns true, and the capture may lack packets of connections to
 * this responder. */
static bool other_wrote(const struct response_case *c)
{
    return c->others_lack && shares_data(c);
}

/* Returns whether shares_data() returns true, and the search for an order of the writes gave up. */
static bool has_no_order(const struct response_case *c)
{
    return c->unordered && shares_data(c);
}

/* Returns whether a response answers a copy of a READ that our RNIC dropped because the READ is
 * older than its responder resources (R116). The recorded responder may keep more resources, if its
 * program asked for them. The MSN of the response must count the READ, and no message that our RNIC
 * has not executed. */
static bool answers_forgotten(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    uint32_t copy = s->event[c->event].request;
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    roce_psn msn = roce_psn_of(event_packet(s, c->event)->msn);
    const struct epsn_advance *then;
    unsigned later = 0; /* READs and atomics after `e` that our RNIC had executed when it
                         * received the copy */

    if (kind_of(c) != ROCE_KIND_READ_RESP || !e || copy == EVENT_NONE ||
        !(c->counts || c->opcode || c->opcode_msn) ||
        roce_psn_diff(msn, roce_psn_of(request_table_msn(s, e->rel))) < 0 ||
        roce_psn_diff(msn, roce_psn_of(c->msn)) > 0)
        return false;
    then = last_advance(c->dir, copy);
    for (const struct request_pkt *k = e + 1;
         then && k < s->req + s->req_cnt && k->rel < then->epsn && k - e <= (ptrdiff_t)LOOK_BACK;
         k++)
        later += event_fetches(s, k->event);
    return later >= s->resources;
}

const struct inconclusive_rule reasons_program[] = {
    /* clang-format off */
    {refuses_repeated,      false, "does not show when the program deregistered the memory"},
    {refuses_rest,          true,  "does not show when the program deregistered the memory"},
    {follows_other_request, true,  "does not show which of two requests with one PSN was executed"},
    {answers_forgotten,     false, "shows a response to an older READ than our responder keeps"},
    {other_wrote,           false, "does not show in which order connections wrote this memory"},
    {has_no_order,          false, "allows more orders of the atomics than the search tries"},
    {NULL, false, NULL},
    /* clang-format on */
};
