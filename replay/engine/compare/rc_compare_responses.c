/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_compare_responses.h"

#include <stdlib.h>
#include <string.h>
#include "engine/compare/rc_classify.h"
#include "engine/compare/rc_copies.h"
#include "engine/compare/rc_match.h"
#include "engine/compare/rc_misaddressed.h"
#include "engine/reasons/peer_quirks.h"
#include "engine/reasons/rc_contradiction.h"
#include "engine/reasons/rc_execution.h"
#include "engine/reasons/rc_reasons.h"
#include "infer/infer_loss.h"
#include "infer/request_table.h"
#include "util/lower_bound.h"
#include "util/sort.h"
#include "wire/codes.h"

/* Maximum time between two consecutive responses of a responder, ns. If the requester retransmits
 * between the two, the time is longer. */
#define TRAIN_NS 1000000u

/* Number of latest entries of dir->advance (advances of our ePSN) that progress_past() reads before
 * its binary search. */
#define LATEST 4u

/* Number of packets before and after an RNR NAK in which keeps_rnr_timer() searches for another RNR
 * NAK. */
#define RNR_NEAR 1024u

/* ---- Comparing one response, by kind --------------------------------------------------------- */

/* The recorded response `event` equals `late`, our response to an earlier copy of the request, but
 * differs from our response to a later copy. Returns whether `event` may be the delayed response to
 * the earlier copy. */
static bool may_be_late(const struct response_cmp *cmp, uint32_t event,
                        const struct tx_response *late)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct trace_packet *p = event_packet(s, event);
    uint64_t asked = event_time(s, late->event), latest;

    if (cmp->latest == EVENT_NONE)
        return true;
    latest = event_time(s, cmp->latest);
    /* The earlier copy is the request that the previous recorded response answers, or was captured
     * after it. Then `event` may be the delayed response if it follows the previous response
     * within TRAIN_NS, or if no earlier response has a higher MSN. */
    if (late->event >= cmp->latest)
        return event_time(s, event) - cmp->prev_response_time <= TRAIN_NS ||
               (roce_opcode_has(roce_opcode(p->opcode), ROCE_HDR_AETH) &&
                roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(cmp->high_msn)) >= 0);
    return latest - asked <= TRAIN_NS; /* the network swapped responses to adjacent requests */
}

/* Returns whether response `event` begins inside a READ, at a PSN at which the requester restarted
 * the READ, and `ours` is our response to this restart. */
static bool answers_restart_at(const struct response_cmp *cmp, uint32_t event,
                               const struct tx_response *ours)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    int64_t rel = s->event[event].rel;
    const struct request_pkt *e = request_at(s, rel);

    return event_opcode(s, event)->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_starts(event_opcode(s, event)) && e && e->rel != rel &&
           s->event[ours->event].rel == rel;
}

/* `ours` is our response to a READ request that begins at the PSN of response `event`. Returns
 * whether `event` instead continues the response to an earlier copy of the READ, and the capture
 * lacks the start of this response. Two facts show this: another response of our RNIC equals
 * `event`, and a later recorded response equals `ours`. */
static bool continues_other(const struct response_cmp *cmp, uint32_t event,
                            const struct tx_response *ours)
{
    struct field_diffs d;

    return !roce_opcode_starts(event_opcode(&cmp->dir->setup, event)) &&
           roce_opcode_starts(roce_opcode(ours->opcode)) &&
           rc_match_at(cmp, event, true, false, &d) && d.cnt == 0 &&
           rc_match_comes_later(cmp, event, ours);
}

/* If a recorded response with data differs from `ours` only in the MSN, removes the difference if
 * the copies of the request, or later requests, explain that MSN. */
static void allow_other_msn(struct response_cmp *cmp, uint32_t event,
                            const struct tx_response *ours, struct field_diffs *d)
{
    if (d->cnt != 1 || !field_diff_find(d, "aeth.msn"))
        return;
    if (event_opcode(&cmp->dir->setup, event)->kind != ROCE_KIND_ACK &&
        later_requests_allow_msn(cmp, event, ours->msn))
        cmp->res->later_msn++;
    else if (copies_allow_data_msn(cmp, event))
        cmp->res->copies_msn++;
    else
        return;
    d->cnt = 0;
}

/* Returns whether the RNR NAK before or after `event`, an RNR NAK, has the same timer value. */
static bool keeps_rnr_timer(const struct inferred_setup *s, uint32_t event)
{
    uint8_t syndrome = event_packet(s, event)->syndrome;

    for (int step = -1; step <= 1; step += 2) {
        uint32_t i = event + (uint32_t)step, n = 0;

        while (i < s->event_cnt && n++ < RNR_NEAR &&
               !(s->event[i].usable && event_is_syndrome(s, i, ROCE_SYN_RNR)))
            i += (uint32_t)step;
        if (i < s->event_cnt && n < RNR_NEAR && event_packet(s, i)->syndrome == syndrome)
            return true;
    }
    return false;
}

/* Removes the difference if a recorded RNR NAK differs from `ours` only in the timer value: the
 * recorded program may have changed the RNR timer of its QP. Two conditions must hold: another
 * recorded RNR NAK also has the new value, and our RNIC sent the RNR timer of its own QP. */
static void allow_other_rnr_timer(struct response_cmp *cmp, uint32_t event,
                                  const struct tx_response *ours, struct field_diffs *d)
{
    const struct inferred_setup *s = &cmp->dir->setup;

    if (d->cnt == 1 && field_diff_find(d, "aeth.syndrome") &&
        event_is_syndrome(s, event, ROCE_SYN_RNR) &&
        ours->syndrome == (ROCE_SYNDROME_RNR | s->rnr_code) && keeps_rnr_timer(s, event))
        d->cnt = 0;
}

/* Compares a READ response, an Atomic ACK or a NAK. Our RNIC must have sent an equal response. */
static int compare_exact(struct response_cmp *cmp, uint32_t event)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    struct field_diffs d, other;
    struct tx_response *ours, *used;
    char writer[96] = "";

    field_diffs_clear(&d);
    ours = rc_match_to_request(cmp, event, &d);
    used = rc_match_continued(cmp, event);
    if (used) {
        d.cnt = 0;
        return classify_diff(cmp, event, used, &d, "");
    }
    if (ours && d.cnt > 0) {
        struct tx_response *late = rc_match_at(cmp, event, true, true, &other);

        if (continues_other(cmp, event, ours) ||
            (late && other.cnt == 0 &&
             (answers_restart_at(cmp, event, late) ||
              (late->event < ours->event &&
               (may_be_late(cmp, event, late) || rc_match_comes_later(cmp, event, ours))))))
            ours = NULL; /* the response belongs to another copy of the request */
        else
            allow_other_msn(cmp, event, ours, &d);
    }
    if (ours && d.cnt > 0) {
        int rc;

        if (d.payload)
            name_writer(cmp, event, d.payload_off, writer, sizeof(writer));
        rc = classify_diff(cmp, event, ours, &d,
                           writer[0] ? writer : "our RNIC responds differently to this request");
        ours->matched = true;
        return rc;
    }
    if (!ours)
        ours = rc_match_at(cmp, event, true, true, &d);
    if (ours && d.cnt > 0) {
        allow_other_msn(cmp, event, ours, &d);
        allow_other_rnr_timer(cmp, event, ours, &d);
    }
    if (ours && d.cnt == 0) {
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST)
            cmp->res->read_msn += p->msn != ours->msn;
        return classify_diff(cmp, event, ours, &d, "");
    }
    /* The capture contains a response twice, but our RNIC sent it once. Either the network
     * duplicated the response, or it duplicated the request after the capture point. In the second
     * case, the MSN of the second response also counts the messages that the responder executed
     * between the two. */
    used = rc_match_at(cmp, event, true, false, &other);
    if (used && used->matched && other.cnt == 1 && field_diff_find(&other, "aeth.msn") &&
        roce_opcode(p->opcode)->kind != ROCE_KIND_ACK && !rc_match_has_other_psn(cmp, event) &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(used->msn)) > 0 &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(response_cmp_msn(cmp))) <= 0)
        other.cnt = 0;
    if (used && used->matched && other.cnt == 0 &&
        !repeats_sequence_nak(&cmp->dir->setup, event, cmp->all->reordered > REORDERED_SURE)) {
        cmp->res->wire_duplicates++;
        return classify_diff(cmp, event, used, &other, "");
    }
    if (ours && (d.payload || field_diff_find(&d, "atomicacketh.orig")))
        name_writer(cmp, event, d.payload_off, writer, sizeof(writer));
    if (ours && writer[0])
        return classify_diff(cmp, event, ours, &d, writer);
    if (ours)
        return classify_diff(cmp, event, ours, &d,
                             response_is_nak(p->opcode, p->syndrome)
                                 ? "our RNIC refuses this request with a different NAK"
                                 : "our RNIC responds differently to this request");
    ours = rc_match_at(cmp, event, false, false, &d);
    if (ours && d.cnt > 0)
        return classify_diff(cmp, event, ours, &d, "our RNIC responds differently to this request");
    ours = rc_match_recent(cmp, event, &d);
    if (ours && d.cnt > 0 && d.cnt <= 2)
        return classify_diff(cmp, event, ours, &d,
                             "our RNIC does not send this response; its closest response differs");
    diff_no_response(cmp, event, &d);
    return classify_diff(cmp, event, NULL, &d, "our RNIC does not send this response");
}

/* Returns the first advance of our ePSN to a PSN higher than `rel`, or NULL. */
static const struct epsn_advance *progress_past(const struct response_cmp *cmp, int64_t rel)
{
    size_t low = 0, high = cmp->advances;

    /* The advance is usually one of the latest ones. */
    for (unsigned i = 0; i < LATEST && high > 0 && cmp->dir->advance[high - 1].epsn > rel; i++)
        high--;
    if (high > 0 && cmp->dir->advance[high - 1].epsn <= rel)
        low = high;
    LOWER_BOUND(low, high, mid, cmp->dir->advance[mid].epsn <= rel);
    return low == cmp->advances ? NULL : &cmp->dir->advance[low];
}

/* Sets *msn to the MSN of our RNIC when it had executed all requests up to PSN `rel` and none after
 * it. Returns false if `rel` is not the last PSN of an executed request. */
static bool msn_at(const struct response_cmp *cmp, int64_t rel, uint32_t *msn)
{
    const struct epsn_advance *p = progress_past(cmp, rel);

    if (rel == cmp->dir->setup.first - 1) {
        *msn = cmp->dir->setup.msn;
        return true;
    }
    if (!p || p->epsn != rel + 1)
        return false;
    *msn = p->msn;
    return true;
}

/* Returns whether a conformant responder answers PSN `rel` with data instead of an ACK, because the
 * PSN belongs to a READ or an atomic. Returns false if a SEND or WRITE was retransmitted after the
 * READ or atomic, because the responder may answer the duplicate by an ACK with this PSN. */
static bool answered_by_data(const struct response_cmp *cmp, int64_t rel)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct request_pkt *e = request_at(s, rel);
    const struct epsn_advance *p = progress_past(cmp, rel);

    return e && event_fetches(s, e->event) && p &&
           (cmp->duplicate == EVENT_NONE || cmp->duplicate < p->event);
}

static bool may_repeat_ack(const struct response_cmp *cmp, uint32_t event)
{
    return may_ack_data(&(struct response_case){
        .dir = cmp->dir,
        .event = event,
        .rxe = peer_quirks_of_sender(cmp->all->quirks, cmp->dir->setup.recorded->resp_rxe)});
}

/* Compares a recorded ACK. Our RNIC must have executed and acknowledged all requests up to the PSN
 * of the ACK, and must have the MSN of the ACK. Returns 0, or -1 if out of memory. */
static int compare_ack(struct response_cmp *cmp, uint32_t event)
{
    const struct pkt_event *at = &cmp->dir->setup.event[event];
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    struct tx_response *ours;
    struct field_diffs d;
    uint32_t msn = 0;
    bool exact;

    field_diffs_clear(&d);
    ours = rc_match_at(cmp, event, true, false, &d);
    exact = ours != NULL;
    if (at->rel >= response_cmp_epsn(cmp)) {
        ours = rc_match_at(cmp, event, false, false, &d);
        if (!ours || d.cnt == 0)
            ours = rc_match_recent(cmp, event, &d);
        if (!ours || d.cnt == 0)
            diff_no_response(cmp, event, &d);
        return classify_diff(cmp, event, ours, &d,
                             "the ACK covers a request that our RNIC has not executed");
    }
    /* An ACK that acknowledges nothing new is allowed: a responder may repeat its newest ACK to
     * announce credits (9.7.7.2). The repeated ACK may have the PSN of a READ after the responder
     * has sent its data. Linux rxe repeats an ACK only for a duplicate SEND or WRITE. */
    if (!exact && answered_by_data(cmp, at->rel) &&
        (at->rel > cmp->recorded_acked || !may_repeat_ack(cmp, event))) {
        ours = rc_match_at(cmp, event, false, false, &d);
        return classify_diff(
            cmp, event, ours, &d,
            "an ACK cannot be the response to a READ or atomic, whose response contains data");
    }
    if (!exact && cmp->dir->response_cnt) {
        /* Our RNIC coalesced its ACKs differently and sent no ACK with this PSN. Compare the other
         * header fields with our first response: they are equal in all responses of our RNIC. */
        struct tx_response like = cmp->dir->response[0];

        like.opcode =
            inferred_setup_svc(&cmp->dir->setup) == ROCE_SVC_XRC ? ROCE_OP_XRC_ACK : ROCE_OP_RC_ACK;
        like.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
        like.psn = p->psn;
        like.msn = p->msn;
        like.payload_len = 0;
        rc_match_fields(cmp, p, &like, &d);
    }
    if (exact && d.cnt == 1 && field_diff_find(&d, "aeth.msn") &&
        (copies_allow_ack_msn(cmp, event) || later_requests_allow_msn(cmp, event, ours->msn)))
        d.cnt = 0;
    if (exact && d.cnt == 0)
        cmp->res->credits += p->syndrome != ours->syndrome;
    if (!exact && !msn_at(cmp, at->rel, &msn)) {
        ours = rc_match_recent(cmp, event, &d);
        if (!ours || d.cnt == 0)
            diff_no_response(cmp, event, &d);
        return classify_diff(cmp, event, ours, &d,
                             "the PSN of the ACK is not the last PSN of a request");
    }
    if (!exact && msn != p->msn && !copies_allow_ack_msn(cmp, event) &&
        !later_requests_allow_msn(cmp, event, msn)) {
        struct field_diffs recent;
        struct tx_response *last = rc_match_recent(cmp, event, &recent);

        if (last && recent.cnt == 1) {
            d = recent; /* only the PSN of the ACK is wrong */
            ours = last;
        } else {
            field_diff_add_num(&d, "aeth.msn", FIELD_NUMBER, p->msn, msn);
        }
    }
    /* Our RNIC may delay an ACK until it executes a request with AckReq (R099, R110). So a missing
     * ACK is a difference only if our RNIC executed a request with AckReq since its latest
     * response. */
    if (d.cnt == 0 && cmp->acked < at->rel && cmp->ack_due > cmp->acked &&
        cmp->ack_due < response_cmp_epsn(cmp))
        field_diff_add(&d, "answer", "RC Acknowledge",
                       "our RNIC executed the request, but did not acknowledge it");
    if (d.cnt == 0 && !exact)
        cmp->res->acks_fewer++;
    return classify_diff(cmp, event, ours, &d,
                         exact ? "our RNIC acknowledges this request differently"
                               : "our RNIC counts messages differently in the MSN");
}

/* ---- Comparing one direction ----------------------------------------------------------------- */

/* Updates the state to packet `event`: counts the responses that our RNIC sent and the advances of
 * its ePSN until then. */
static void update_progress(struct response_cmp *cmp, uint32_t event)
{
    const struct rc_direction *dir = cmp->dir;
    uint32_t limit = infer_loss_race_limit(&dir->setup, event, cmp->scanned ? cmp->scanned - 1 : 0);

    while (cmp->responses_out < dir->response_cnt &&
           dir->response[cmp->responses_out].event <= limit) {
        const struct tx_response *a = &dir->response[cmp->responses_out++];
        int64_t acked = a->rel - (response_is_nak(a->opcode, a->syndrome) ? 1 : 0);

        if (acked > cmp->acked)
            cmp->acked = acked;
    }
    while (cmp->advances < dir->advance_cnt && dir->advance[cmp->advances].event <= limit)
        cmp->advances++;
    for (; cmp->scanned <= limit; cmp->scanned++) {
        const struct pkt_event *at = &dir->setup.event[cmp->scanned];

        const struct request_pkt *e = request_at(&dir->setup, at->rel);
        int64_t last = e ? e->rel + e->cnt - 1 : at->rel;

        if (at->response || at->before_first)
            continue;
        cmp->repeats |= at->rel <= cmp->high;
        if (last > cmp->high)
            cmp->high = last;
        if (!at->damaged && !at->lost && last > cmp->ack_due &&
            (event_packet(&dir->setup, cmp->scanned)->ackreq ||
             event_fetches(&dir->setup, cmp->scanned)))
            cmp->ack_due = last;
    }
}

static void note_request(struct response_cmp *cmp, uint32_t event)
{
    const struct pkt_event *at = &cmp->dir->setup.event[event];
    const struct epsn_advance *executed;

    if (at->lost &&
        (cmp->delayed == EVENT_NONE || at->rel < cmp->dir->setup.event[cmp->delayed].rel))
        cmp->delayed = event;
    if (at->damaged || at->before_first || at->lost)
        return;
    cmp->request = event;
    if (event_fetches(&cmp->dir->setup, event))
        return;
    /* A copy of a request that does not advance our expected PSN is a duplicate, because our RNIC
     * has executed an earlier copy. */
    update_progress(cmp, event);
    executed = progress_past(cmp, at->rel);
    if (at->rel < response_cmp_epsn(cmp) && (!executed || executed->event < event))
        cmp->duplicate = event;
}

/* Updates high_msn with the MSN of the recorded response `event`, if the MSN agrees with the PSN.
 */
static void note_msn(struct response_cmp *cmp, uint32_t event)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct trace_packet *p = event_packet(s, event);

    if (s->event[event].usable && !s->event[event].before_first &&
        roce_opcode_has(roce_opcode(p->opcode), ROCE_HDR_AETH) &&
        request_table_msn_fits(s, event) &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(cmp->high_msn)) > 0)
        cmp->high_msn = p->msn;
}

static int compare_response(struct response_cmp *cmp, uint32_t event)
{
    const struct pkt_event *at = &cmp->dir->setup.event[event];
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);
    const struct roce_opcode *op = roce_opcode(p->opcode);

    if (at->before_first) {
        cmp->res->before_first++;
        return 0;
    }
    if (p->malformed) {
        struct field_diffs d = {.cnt = 0};

        cmp->res->compared++;
        field_diff_add_form(&d, p);
        return classify_diff(cmp, event, NULL, &d, "no conformant responder sends this packet");
    }
    if (!at->usable) {
        cmp->res->damaged++;
        cmp->res->mark[event] = MARK_NOTE;
        return 0;
    }
    update_progress(cmp, event);
    /* Our QP entered the error state, but the recorded QP did not. So the responses from here on
     * cannot be compared. */
    if (cmp->dir->error_event != EVENT_NONE && cmp->dir->error_event < event &&
        cmp->res->diff_frames + cmp->res->known_frames > 0) {
        cmp->res->not_compared++;
        return 0;
    }
    /* The response may answer a request that the capture lacks. Two conditions must hold: the
     * recorded responses already answered all captured requests, and the MSN fits the missing
     * request. Otherwise, the response answers a captured request and has a wrong PSN. */
    if (at->rel > cmp->high && cmp->recorded_acked >= cmp->ack_due &&
        answers_uncaptured_request(&cmp->dir->setup, event, cmp->high) &&
        !refuses_executed(&cmp->dir->setup, event)) {
        cmp->res->unsolicited++;
        cmp->res->mark[event] = MARK_NOTE;
        return 0;
    }
    cmp->res->compared++;
    if (op->kind == ROCE_KIND_ACK && !response_is_nak(p->opcode, p->syndrome))
        return compare_ack(cmp, event);
    if (compare_exact(cmp, event) != 0)
        return -1;
    if (op->kind == ROCE_KIND_ACK && roce_syndrome_kind(p->syndrome) == ROCE_SYN_RNR)
        cmp->rnr = at->rel;
    return 0;
}

/* Counts the responses that only our RNIC sent. An ACK of our RNIC counts as not captured only if
 * no recorded response acknowledges the last request that demands a response. The other ACKs of our
 * RNIC only show that it coalesces ACKs differently. */
static void count_ours(struct response_cmp *cmp)
{
    bool unanswered = cmp->ack_due > cmp->recorded_acked;

    for (size_t i = 0; i < cmp->dir->response_cnt; i++) {
        const struct tx_response *a = &cmp->dir->response[i];

        if (a->matched || a->differs)
            continue;
        if (roce_opcode(a->opcode)->kind != ROCE_KIND_ACK ||
            response_is_nak(a->opcode, a->syndrome)) {
            cmp->res->not_captured++;
        } else if (unanswered && a->rel >= cmp->ack_due) {
            cmp->res->not_captured++;
            unanswered = false;
        } else {
            cmp->res->acks_more++;
        }
    }
}

/* Compares one direction. If `why` is not NULL, all differences are inconclusive and `why` is the
 * reason. `possible`: a conformant responder can have sent all responses. Returns 0, or -1 if out
 * of memory. */
static int compare_direction(struct response_comparison *all, struct session *session,
                             uint32_t dir_idx, struct response_by_psn *by_psn, const char *why,
                             bool possible)
{
    struct rc_direction *dir = &session->dir[dir_idx];
    struct response_result *res = &all->result[dir_idx];
    struct response_cmp cmp = {.all = all,
                               .session = session,
                               .dir = dir,
                               .res = res,
                               .dir_idx = dir_idx,
                               .by_psn = by_psn,
                               .acked = dir->setup.first - 1,
                               .ack_due = dir->setup.first - 1,
                               .high = dir->setup.first - 1,
                               .recorded_acked = dir->setup.first - 1,
                               .high_msn = dir->setup.msn,
                               .rnr = INT64_MIN,
                               .request = EVENT_NONE,
                               .duplicate = EVENT_NONE,
                               .delayed = EVENT_NONE,
                               .latest = EVENT_NONE,
                               .inconclusive = why,
                               .possible = possible};
    int rc = 0;

    for (uint32_t i = 0; i < dir->setup.event_cnt && rc == 0; i++) {
        if (dir->setup.event[i].response) {
            rc = compare_response(&cmp, i);
            note_msn(&cmp, i);
            cmp.prev_response_time = event_time(&dir->setup, i);
        } else {
            note_request(&cmp, i);
        }
    }
    count_ours(&cmp);
    return rc;
}

/* Removes the results of a direction, so that it can be compared again. The differences of this
 * direction must be the last ones in the list. */
static void undo_direction(struct response_comparison *all, struct rc_direction *dir,
                           struct response_result *res, size_t diff_cnt)
{
    uint8_t *mark = res->mark;

    memset(mark, 0, dir->setup.event_cnt);
    *res = (struct response_result){.mark = mark, .first_diff = EVENT_NONE};
    all->diff_cnt = diff_cnt;
    for (size_t i = 0; i < dir->response_cnt; i++)
        dir->response[i].matched = dir->response[i].differs = false;
    for (size_t i = 0; i < dir->setup.event_cnt && !dir->setup.differs_known; i++)
        dir->setup.event[i].differs = false;
}

/* Sets *impossible to the first response that no conformant responder can have sent, whichever
 * requests arrived, or to EVENT_NONE (rc_execution.h). Returns 0, or -1 if out of memory. */
static int find_impossible(const struct response_comparison *all, const struct rc_direction *dir,
                           const struct response_result *res, uint32_t *impossible)
{
    const char *rxe = peer_quirks_of_sender(all->quirks, dir->setup.recorded->resp_rxe);

    return rc_execution_find(&dir->setup, res->mark, rxe != NULL, all->reordered > REORDERED_SURE,
                             impossible);
}

/* Compares one direction, up to four times. If the first comparison finds a reason that makes all
 * differences inconclusive, the second one applies this reason. The third one follows if a
 * conformant responder can have sent all responses (rc_execution.h). Then a difference that another
 * order of arrival explains is inconclusive. The fourth one follows if responses contradict each
 * other. It blames the responses that differ from our RNIC, not those that only contradict them.
 * Returns 0, or -1 if out of memory. */
static int compare_direction_again(struct response_comparison *all, struct session *session,
                                   uint32_t dir_idx)
{
    struct rc_direction *dir = &session->dir[dir_idx];
    struct response_result *res = &all->result[dir_idx];
    size_t diff_cnt = all->diff_cnt;
    struct response_by_psn *by_psn;
    uint32_t impossible = EVENT_NONE;
    const char *why = NULL;
    bool possible = false;
    int rc;

    res->first_diff = EVENT_NONE;
    res->mark = calloc(dir->setup.event_cnt + 1, 1);
    if (!res->mark)
        return -1;
    res->skip = dir->setup.skip ? dir->setup.skip : dir->failed;
    if (res->skip) {
        res->verdict = VERDICT_SKIPPED;
        return 0;
    }
    by_psn = malloc((dir->response_cnt + 1) * sizeof(*by_psn));
    if (!by_psn)
        return -1;
    for (size_t i = 0; i < dir->response_cnt; i++)
        by_psn[i] = (struct response_by_psn){
            .rel = dir->response[i].rel,
            .group = rc_match_group(dir->response[i].opcode, dir->response[i].syndrome),
            .idx = (uint32_t)i};
    sort_if_needed(by_psn, dir->response_cnt, sizeof(*by_psn), rc_match_order);
    rc = compare_direction(all, session, dir_idx, by_psn, NULL, false);
    /* If the capture lacks frames that explain one difference, it may also lack frames that explain
     * the remaining differences of the direction. If it does not show which copy of a request
     * arrived, another copy than the assumed one may explain them. */
    if (rc == 0 && ((res->inconclusive && res->lacks) || res->copies_msn) && res->diff_frames) {
        why = res->inconclusive ? res->why_inconclusive : inconclusive_copies;
        undo_direction(all, dir, res, diff_cnt);
        rc = compare_direction(all, session, dir_idx, by_psn, why, false);
    }
    if (rc == 0 && res->diff_frames && dir->setup.lossy &&
        (rc = find_impossible(all, dir, res, &impossible)) == 0 && impossible == EVENT_NONE) {
        undo_direction(all, dir, res, diff_cnt);
        possible = true;
        rc = compare_direction(all, session, dir_idx, by_psn, why, possible);
    }
    if (rc == 0 && res->contradictions && res->contradictions < res->diff_frames) {
        dir->setup.differs_known = true;
        undo_direction(all, dir, res, diff_cnt);
        rc = compare_direction(all, session, dir_idx, by_psn, why, possible);
    }
    free(by_psn);
    if (res->compared == res->inconclusive && res->diff_frames == 0) {
        res->verdict = VERDICT_SKIPPED;
        res->skip = res->inconclusive ? "all responses are inconclusive"
                                      : "no captured response can be compared";
    }
    return rc;
}

/* ---- Comparing all directions ---------------------------------------------------------------- */

/* Returns the number of ACKs and Atomic ACKs of all directions with a lower MSN than the previous
 * ACK or Atomic ACK. The MSN of a responder never decreases, so the network reordered these
 * packets. */
static uint32_t count_reordered(const struct session *session)
{
    uint32_t cnt = 0;

    for (size_t d = 0; d < session->dir_cnt; d++) {
        const struct inferred_setup *s = &session->dir[d].setup;
        uint32_t before = EVENT_NONE;

        for (uint32_t i = 0; i < s->event_cnt && !s->skip; i++) {
            if (!s->event[i].response || !s->event[i].usable ||
                (!event_is_syndrome(s, i, ROCE_SYN_ACK) &&
                 event_opcode(s, i)->kind != ROCE_KIND_ATOMIC_ACK))
                continue;
            cnt += before != EVENT_NONE &&
                   roce_psn_diff(roce_psn_of(event_packet(s, i)->msn),
                                 roce_psn_of(event_packet(s, before)->msn)) < 0;
            before = i;
        }
    }
    return cnt;
}

/* Returns the number of ACKs of all directions that were captured before the request they
 * acknowledge. */
static uint32_t count_early(const struct session *session)
{
    uint32_t cnt = 0;

    for (size_t d = 0; d < session->dir_cnt; d++) {
        const struct inferred_setup *s = &session->dir[d].setup;
        int64_t high = s->first - 1; /* last PSN of the requests up to the current event */

        for (uint32_t i = 0; i < s->event_cnt && !s->skip; i++) {
            const struct pkt_event *at = &s->event[i];
            const struct request_pkt *e = request_at(s, at->rel);

            if (!at->response && e && !at->before_first && e->rel + e->cnt > high)
                high = e->rel + e->cnt - 1;
            else if (at->response && at->usable && e && at->rel > high &&
                     event_is_syndrome(s, i, ROCE_SYN_ACK))
                cnt += infer_loss_raced(s, e, i);
        }
    }
    return cnt;
}

static bool list_by_hosts(struct response_comparison *all)
{
    const struct session *session = all->session;
    size_t pairs = session->trace->hosts.cnt;

    all->first_of_hosts = malloc((pairs + 1) * sizeof(*all->first_of_hosts));
    all->next_of_hosts = malloc((session->dir_cnt + 1) * sizeof(*all->next_of_hosts));
    if (!all->first_of_hosts || !all->next_of_hosts)
        return false;
    for (size_t i = 0; i < pairs; i++)
        all->first_of_hosts[i] = KEYMAP_NONE;
    for (size_t r = session->dir_cnt; r-- > 0;) {
        uint32_t flow = session->dir[r].setup.recorded->resp_flow;
        uint32_t *first = &all->first_of_hosts[session->trace->flow[flow].hosts];

        all->next_of_hosts[r] = *first;
        *first = (uint32_t)r;
    }
    return true;
}

int rc_compare_responses(struct response_comparison *all, struct session *session,
                         const struct connections *connections, const char *quirks)
{
    int rc = 0;

    *all = (struct response_comparison){
        .session = session, .connections = connections, .quirks = quirks};
    all->result = calloc(session->dir_cnt + 1, sizeof(*all->result));
    if (!all->result || !list_by_hosts(all))
        return -1;
    all->reordered = count_reordered(session);
    all->early = count_early(session);
    for (uint32_t i = 0; i < session->dir_cnt && rc == 0; i++)
        rc = compare_direction_again(all, session, i);
    for (size_t i = 0; i < connections->unassigned_cnt && rc == 0; i++)
        rc = match_misaddressed(all, session, connections->unassigned[i]);
    for (uint32_t i = 0; i < session->dir_cnt && rc == 0; i++)
        if (all->result[i].diff_frames)
            all->result[i].verdict = VERDICT_FAIL;
    return rc;
}

void response_comparison_free(struct response_comparison *all)
{
    for (size_t i = 0; all->result && i < all->session->dir_cnt; i++)
        free(all->result[i].mark);
    free(all->first_of_hosts);
    free(all->next_of_hosts);
    free(all->result);
    free(all->diff);
    memset(all, 0, sizeof(*all));
}
