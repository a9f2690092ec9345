/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/compare/rc_classify.h"

#include <stdio.h>
#include <string.h>
#include "engine/base/diff.h"
#include "engine/compare/rc_match.h"
#include "engine/reasons/peer_quirks.h"
#include "engine/reasons/rc_contradiction.h"
#include "engine/reasons/rc_inconclusive.h"
#include "engine/reasons/rc_order.h"
#include "engine/reasons/rc_reasons.h"
#include "infer/request_table.h"

/* Maximum number of inconclusive responses of one direction for which the comparison searches the
 * reason. A limit is necessary, because each search takes time. All further differences of the
 * direction get the reason that was found last. */
#define INCONCLUSIVE_MAX 4096u

/* Returns the index in trace.pkt of the request with the PSN of response `event`. If several copies
 * were captured, returns the latest copy before the response. If all copies are after the response,
 * returns the first copy. Returns EVENT_NONE if the request was not captured. */
static uint32_t request_of(const struct response_cmp *cmp, uint32_t event)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct request_pkt *e;

    if (s->event[event].request != EVENT_NONE)
        return s->event[s->event[event].request].pkt;
    for (uint32_t i = event, tries = 0; i-- > 0 && tries < 4 * COMPARE_RECENT; tries++)
        if (!s->event[i].response && s->event[i].rel == s->event[event].rel)
            return s->event[i].pkt;
    e = request_at(s, s->event[event].rel);
    return e ? s->event[e->event].pkt : EVENT_NONE;
}

/* Returns whether the function `is` returns true for at least one direction with the same responder
 * host. */
static bool host_has(const struct response_cmp *cmp,
                     bool (*is)(const struct response_cmp *, const struct rc_direction *))
{
    for (uint32_t d = cmp->session->host[cmp->dir->host].first_dir; d != KEYMAP_NONE;
         d = cmp->session->dir[d].next_of_host)
        if (is(cmp, &cmp->session->dir[d]))
            return true;
    return false;
}

/* Returns whether a packet of a direction is missing in the capture, was lost or damaged, or
 * possibly arrived late. */
static bool lacks_packets(const struct response_cmp *cmp, const struct rc_direction *dir)
{
    (void)cmp;
    return dir->stretch || dir->setup.skip || dir->setup.lossy || dir->setup.damaged_cnt ||
           dir->setup.may_arrive_late;
}

/* Returns whether a READ response or Atomic ACK differs only in its MSN, and exactly one copy of
 * its request was captured before the response. */
static bool counts_one_copy(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    unsigned copies = 0;

    if (!c->counts || !e || kind_of(c) == ROCE_KIND_ACK)
        return false;
    for (uint32_t i = c->event; i-- > 0 && c->event - i <= LOOK_BACK;)
        copies +=
            !s->event[i].response && s->event[i].rel >= e->rel && s->event[i].rel < e->rel + e->cnt;
    return copies == 1;
}

/* Returns whether cmp->inconclusive, a reason for the whole direction, makes this response
 * inconclusive. The reason does not apply if contradicts_msn() returns true. The reason "it is
 * unknown which copy of a request arrived" also does not apply in three cases. First, only the
 * opcode or the data differs. Second, the response precedes the first retransmission. Third, only
 * the MSN differs, and one copy of the request was captured. */
static bool is_doubted(const struct response_cmp *cmp, const struct response_case *c)
{
    return cmp->inconclusive && !contradicts_msn(&cmp->dir->setup, c->event) &&
           !(cmp->inconclusive == inconclusive_copies &&
             (c->opcode || c->data || !cmp->repeats || counts_one_copy(c)));
}

/* Returns whether the responder executed a request that was not captured: the capture lacks the
 * executed copy, or all copies. Also returns true if the direction was not replayed. */
static bool has_gap(const struct response_cmp *cmp, const struct rc_direction *dir)
{
    (void)cmp;
    return dir->stretch || dir->setup.skip || dir->setup.executed_unseen_cnt;
}

/* Returns whether another direction has a request that may have arrived late. A sequence NAK shows
 * that the request had not arrived when the responder sent the NAK, but the request may have
 * arrived afterwards. */
static bool is_other_late(const struct response_cmp *cmp, const struct rc_direction *dir)
{
    return dir != cmp->dir && dir->setup.may_arrive_late;
}

/* Maximum number of requests in which key_was_used() searches for a request with the same R_Key. */
#define KEY_USES_MAX 4096u

/* Returns whether the responder executed a request with the R_Key of request `e`, on any connection
 * of the host. */
static bool key_was_used(const struct response_cmp *cmp, const struct request_pkt *e)
{
    unsigned searched = 0;

    for (uint32_t d = cmp->session->host[cmp->dir->host].first_dir;
         d != KEYMAP_NONE && searched <= KEY_USES_MAX; d = cmp->session->dir[d].next_of_host) {
        const struct inferred_setup *s = &cmp->session->dir[d].setup;
        /* relative PSN of the fatal NAK */
        int64_t refused = s->fatal_nak == EVENT_NONE ? INT64_MAX : s->event[s->fatal_nak].rel;

        for (size_t i = 0; i < s->req_cnt && s->req[i].rel < refused; i++) {
            enum roce_kind kind = event_opcode(s, s->req[i].event)->kind;

            if (searched++ > KEY_USES_MAX)
                break;
            if (s->req[i].rkey == e->rkey && kind != ROCE_KIND_SEND)
                return true;
        }
    }
    return false;
}

/* Returns whether the responder may refuse a request with another NAK than our RNIC, for a reason
 * that no packet shows: a local fault (NAK 0x63, R090), a change of the QP's rights or resources by
 * its program (NAK 0x61), or an unknown XRC SRQ number (NAK 0x62, R180). Exception: if no executed
 * request had the R_Key of the request, the key is wrong, and the responder must send NAK 0x62. */
static bool refuses_for_own_reason(const struct response_cmp *cmp, uint32_t event,
                                   const struct field_diffs *d)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[event].rel);

    return event == s->fatal_nak && e && !e->invalid && d->cnt == 1 &&
           field_diff_find(d, "aeth.syndrome") &&
           (!event_is_nak_code(s, event, ROCE_NAK_REMOTE_ACCESS) ||
            inferred_setup_svc(s) == ROCE_SVC_XRC) &&
           (event_opcode(s, e->event)->kind == ROCE_KIND_SEND || key_was_used(cmp, e));
}

/* Returns the latest duplicate request before the current packet, or NULL. A request also becomes a
 * duplicate if the network delays it until its retransmission has reached the responder. */
static const struct pkt_event *latest_duplicate(const struct response_cmp *cmp)
{
    const struct pkt_event *event = cmp->dir->setup.event;

    if (cmp->duplicate != EVENT_NONE)
        return &event[cmp->duplicate];
    return cmp->delayed != EVENT_NONE && event[cmp->delayed].rel < response_cmp_epsn(cmp)
               ? &event[cmp->delayed]
               : NULL;
}

/* Returns whether the response may differ because the requests arrived in another order than they
 * were captured. The order of arrival does not change the data of a response. So our RNIC must have
 * sent the same data with this PSN. */
static bool depends_on_arrivals(const struct response_cmp *cmp, uint32_t event,
                                const struct field_diffs *d)
{
    static const char *const fields[] = {"bth.opcode", "bth.psn", "aeth.msn", "aeth.syndrome",
                                         "answer"};
    const struct inferred_setup *s = &cmp->dir->setup;
    struct field_diffs other;

    for (unsigned i = 0; i < d->cnt; i++) {
        size_t k = 0;

        while (k < sizeof(fields) / sizeof(fields[0]) && strcmp(d->at[i].field, fields[k]) != 0)
            k++;
        if (k == sizeof(fields) / sizeof(fields[0]))
            return false;
    }
    /* A sequence NAK with the PSN that our RNIC expects does not depend on the order of arrival: a
     * later PSN that was captured before the NAK makes our RNIC send this NAK, too. */
    return !event_is_fatal_nak(s, event) &&
           !(event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ) &&
             s->event[event].rel == response_cmp_epsn(cmp)) &&
           (event_opcode(s, event)->kind == ROCE_KIND_ACK ||
            (rc_match_at(cmp, event, true, false, &other) && !other.payload &&
             !field_diff_find(&other, "atomicacketh.orig")));
}

/* Returns the reason why a difference is inconclusive, or NULL. Sets *lacks to true if missing
 * packets may also explain further differences of the direction. */
static const char *find_doubt(const struct response_cmp *cmp, const struct response_case *c,
                              const struct field_diffs *d, bool *lacks)
{
    const char *why;

    if (may_answer_stale(c, d)) {
        *lacks = true;
        return inconclusive_stale;
    }
    if (never_inconclusive(c, d))
        return NULL;
    if (is_doubted(cmp, c))
        return cmp->inconclusive;
    why = inconclusive_reason(c, lacks);
    return !why && cmp->possible && depends_on_arrivals(cmp, c->event, d) ? inconclusive_arrivals
                                                                          : why;
}

/* Counts response `event` as inconclusive, for the reason `why`. */
static void count_inconclusive(struct response_cmp *cmp, uint32_t event, const char *why)
{
    cmp->res->mark[event] = MARK_NOTE;
    inconclusive_reason_add(cmp->res->reason, why, 1);
    if (cmp->res->inconclusive++ == 0) {
        cmp->res->why_inconclusive = why;
        cmp->res->inconclusive_from = event;
    }
    cmp->res->inconclusive_to = event;
}

/* Reports a recorded response that differs from the response of our RNIC. Adds one difference for
 * each differing field and marks the frame. Returns 0 if it reported the response, 1 if the
 * difference is allowed, or -1 if out of memory. */
static int report_response_diff(struct response_cmp *cmp, uint32_t event, struct tx_response *ours,
                                const struct field_diffs *d, const char *reason)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const char *profile = peer_quirks_of_sender(cmp->all->quirks, s->recorded->resp_rxe);
    struct response_case c = {
        .dir = cmp->dir,
        .event = event,
        .ours = ours,
        .duplicate = latest_duplicate(cmp),
        .epsn = response_cmp_epsn(cmp),
        .msn = response_cmp_msn(cmp),
        .rnr = cmp->rnr,
        .high = cmp->high,
        .recorded_acked = cmp->recorded_acked,
        .matched = rc_match_is_used_up(cmp, event),
        .replaces = rc_match_has_other_psn(cmp, event),
        .opcode = d->cnt == 1 && field_diff_find(d, "bth.opcode"),
        .opcode_msn =
            d->cnt == 2 && field_diff_find(d, "bth.opcode") && field_diff_find(d, "aeth.msn"),
        .counts = d->cnt == 1 && field_diff_find(d, "aeth.msn"),
        .payload = d->payload,
        .reorders = cmp->all->reordered > REORDERED_SURE,
        .unordered = cmp->session->host[cmp->dir->host].unordered,
        .others_lack = host_has(cmp, lacks_packets),
        .others_gap = (d->payload && host_has(cmp, has_gap)) || host_has(cmp, is_other_late),
        .data = d->cnt == 1 && (d->payload || field_diff_find(d, "atomicacketh.orig")),
        .rxe = profile != NULL,
        .dir_idx = cmp->dir_idx,
        .memory = &cmp->session->host[cmp->dir->host].memory,
    };
    bool lacks = false;
    const struct peer_quirk *known = peer_quirk_of_response(profile, &c);
    const char *why;

    /* A known deviation does not explain an MSN that contradicts the other responses. */
    if (known && field_diff_find(d, "aeth.msn") && contradicts_order(s, event))
        known = NULL;
    if (!known && refuses_for_own_reason(cmp, event, d))
        return 1;
    why = known ? NULL : find_doubt(cmp, &c, d, &lacks);
    if (why) {
        cmp->res->lacks |= lacks;
        count_inconclusive(cmp, event, why);
        /* Even with other data, the response shows that the responder executed the request. */
        if (c.data && why != inconclusive_stale &&
            event_executed_to(s, event) > cmp->recorded_acked)
            cmp->recorded_acked = event_executed_to(s, event);
        if (cmp->res->inconclusive == INCONCLUSIVE_MAX)
            cmp->inconclusive = why;
        return 0;
    }

    cmp->res->mark[event] = known ? MARK_KNOWN : MARK_DIFF;
    if (ours)
        ours->differs = true;
    if (!known && strcmp(reason, DIFF_CONTRADICTION) == 0)
        cmp->res->contradictions++;
    else if (!known && !s->differs_known)
        cmp->dir->setup.event[event].differs = true;
    if (known)
        cmp->res->known_frames++;
    else if (cmp->res->diff_frames++ == 0)
        cmp->res->first_diff = event;
    if ((known ? cmp->res->known_frames : cmp->res->diff_frames) > DIFFS_MAX)
        return 0;
    for (unsigned i = 0; i < d->cnt; i++) {
        struct diff diff = {.dir = cmp->dir_idx,
                            .pkt = s->event[event].pkt,
                            .request = request_of(cmp, event),
                            .known = known};

        field_diff_report(&d->at[i], reason, &diff);
        if (diff_append(&cmp->all->diff, &cmp->all->diff_cnt, &cmp->all->diff_cap, &diff) != 0)
            return -1;
    }
    return 0;
}

/* Adds a difference if the recorded response has a wrong ICRC although the requester accepted
 * it. */
static void add_icrc(const struct response_cmp *cmp, uint32_t event, struct field_diffs *d)
{
    struct roce_pkt pkt;
    uint32_t computed;

    if (!cmp->dir->setup.event[event].damaged)
        return;
    trace_parse(event_packet(&cmp->dir->setup, event), &pkt);
    if (roce_pkt_icrc_check(&pkt, &computed) == ROCE_ICRC_BAD)
        field_diff_add_num(d, "icrc", FIELD_HEX, pkt.icrc, computed);
}

static const char *damage_reason(const struct response_cmp *cmp, uint32_t event, const char *other)
{
    return cmp->dir->setup.event[event].damaged && !event_packet(&cmp->dir->setup, event)->malformed
               ? "the response is damaged, but the requester did "
                 "not retransmit: it accepted the response"
               : other;
}

int classify_diff(struct response_cmp *cmp, uint32_t event, struct tx_response *ours,
                  struct field_diffs *d, const char *reason)
{
    int rc;

    if (!event_packet(&cmp->dir->setup, event)->malformed)
        add_icrc(cmp, event, d);
    if (d->cnt == 0 && (contradicts_order(&cmp->dir->setup, event) ||
                        precedes_response(&cmp->dir->setup, event))) {
        const struct trace_packet *p = event_packet(&cmp->dir->setup, event);

        if (ours && counts_messages(&cmp->dir->setup, event) && p->msn != ours->msn) {
            field_diff_add_num(d, "aeth.msn", FIELD_NUMBER, p->msn, ours->msn);
            reason = "the MSNs of the responses before or after this one contradict its MSN";
        } else {
            diff_no_response(cmp, event, d);
            reason = DIFF_CONTRADICTION;
        }
    }
    if (d->cnt > 0 &&
        (rc = report_response_diff(cmp, event, ours, d, damage_reason(cmp, event, reason))) <= 0)
        return rc;
    if (event_packet(&cmp->dir->setup, event)->frame == cmp->dir->setup.recorded->twice)
        count_inconclusive(cmp, event, inconclusive_twice);
    else
        cmp->res->mark[event] = MARK_OK;
    if (ours && !ours->matched) {
        cmp->latest = ours->event;
        cmp->latest_rel = ours->rel;
    }
    if (event_executed_to(&cmp->dir->setup, event) > cmp->recorded_acked)
        cmp->recorded_acked = event_executed_to(&cmp->dir->setup, event);
    if (cmp->dir->setup.fatal_nak == event)
        /* The fatal NAK is the answer to the request that has the PSN of the NAK. */
        cmp->recorded_acked = cmp->dir->setup.event[event].rel;
    if (ours)
        ours->matched = true;
    return 0;
}

void diff_no_response(const struct response_cmp *cmp, uint32_t event, struct field_diffs *d)
{
    const struct trace_packet *p = event_packet(&cmp->dir->setup, event);

    memset(d, 0, sizeof(*d));
    field_diff_add(d, "answer", roce_opcode(p->opcode)->name, "none");
}

void name_writer(const struct response_cmp *cmp, uint32_t event, uint32_t off, char *buf,
                 size_t cap)
{
    const struct inferred_setup *s = &cmp->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    struct shadow_memory *memory = &cmp->session->host[cmp->dir->host].memory;
    const struct shadow_write *w;
    uint64_t va;

    if (!e)
        return;
    va = e->va + (uint64_t)(s->event[event].rel - e->rel) * s->mtu + off;
    w = shadow_writer(memory, e->rkey, va,
                      s->event[event].request == EVENT_NONE
                          ? s->event[e->event].pkt
                          : s->event[s->event[event].request].pkt);
    if (w)
        snprintf(buf, cap, "our RNIC returns the bytes that frame %u wrote",
                 s->trace->pkt[w->pkt].frame);
}
