/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_setup.h"

#include <stdlib.h>
#include <string.h>
#include "infer/infer_corruption.h"
#include "infer/infer_loss.h"
#include "infer/match_responses.h"
#include "infer/request_table.h"
#include "infer/sent_order.h"
#include "infer/shadow_memory.h"

/* Limit of the bytes that the READs of all played directions request: READ_FREE bytes or READ_RATIO
 * times the size of the capture, whichever is more. The capture cannot contain more response bytes
 * than its size. Without a limit, our RNIC could exhaust the memory with its responses. */
#define READ_FREE  (UINT64_C(4) << 20)
#define READ_RATIO 16

/* Maximum number of requests at the start of the capture in which number_steps() searches for the
 * first new request. The capture may begin with retransmissions. */
#define FIRST_TRIES 256

/* Maximum number of PSNs between a lost first request and the first captured request. */
#define LOST_FIRST_MAX 4096

/* The MSN base is the MSN before the first message. A base between 2^24 - MSN_WRAP and 2^24 is
 * ignored if only one response shows it, because that response probably counts too few messages. */
#define MSN_WRAP 0x10000u

/* Number of values of the path MTU: 256, 512, 1024, 2048 and 4096 bytes. */
#define MTU_CNT 5

/* Maximum number of different MSN bases for which the number of responses is counted. */
#define BASES_MAX 64

/* Returns the last PSN that response `event` shows as received by the responder, whether it
 * executed or refused the request. */
static int64_t event_received_to(const struct inferred_setup *s, uint32_t event)
{
    return s->event[event].rel - (event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ) ? 1 : 0);
}

/* ---- numbering the events ----------------------------------------------------------------------
 */

/* Returns whether a response captured before request `event` acknowledges its PSN. The request
 * is then a retransmission. */
static bool answered_before(const struct inferred_setup *s, uint32_t event)
{
    roce_psn psn = roce_psn_of(event_packet(s, event)->psn);

    for (uint32_t i = 0; i < event; i++)
        if (s->event[i].response && !s->event[i].damaged &&
            roce_psn_diff(roce_psn_of(event_packet(s, i)->psn), psn) >= 0)
            return true;
    return false;
}

/* Sets the relative PSN of each event, counted without wrap. Relative PSN 0 is the first request
 * that begins a message and, if possible, is not a retransmission. */
static void number_steps(struct inferred_setup *s)
{
    roce_psn at = {0};
    int64_t rel = 0;
    bool begun = false, answered_first = false;
    unsigned tries = 0;

    for (uint32_t i = 0; i < s->event_cnt && (!begun || answered_first); i++) {
        const struct roce_opcode *op = event_opcode(s, i);

        if (s->event[i].response || s->event[i].damaged || !roce_opcode_is_request(op) ||
            !roce_opcode_starts(op))
            continue;
        /* The capture may begin with retransmissions. If each examined request may be one, use the
         * last examined request. */
        if (!begun || answered_first) {
            answered_first =
                !s->recorded->cm.present && tries++ < FIRST_TRIES && answered_before(s, i);
            at = roce_psn_of(event_packet(s, i)->psn);
            begun = true;
        }
    }
    if (s->recorded->cm.present) {
        int32_t off = roce_psn_diff(at, roce_psn_of(s->recorded->cm.psn));

        if (off >= 0 && off < LOST_FIRST_MAX)
            at = roce_psn_of(s->recorded->cm.psn);
    }
    s->psn = at;
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        struct pkt_event *event = &s->event[i];
        roce_psn psn = roce_psn_of(event_packet(s, i)->psn);

        event->rel = rel + roce_psn_diff(psn, at);
        if (!event->response && !event->damaged && event->rel > rel) {
            at = psn;
            rel = event->rel;
        }
    }
}

/* Finds the first PSN of the connection if it precedes the first captured PSN, so that its relative
 * PSN is negative. The MSN of response `event` counts the messages from the first PSN on, so it
 * shows which message was the first. Returns the relative PSN of this message, or 0 if the MSN does
 * not show it. `begins` has one element for each negative relative PSN: 1 + index into setup.event
 * of the last packet that begins a message there, or 0. */
static int64_t first_by_msn(const struct inferred_setup *s, uint32_t event,
                            const uint32_t begins[LOST_FIRST_MAX])
{
    int64_t rel = s->event[event].rel, first = rel;
    bool nak = event_is_nak(s, event);
    uint32_t cnt = event_packet(s, event)->msn + nak; /* a NAK does not count the message that it
                                                       * refuses */
    enum roce_pos pos;

    if (s->recorded->cm.present || s->recorded->after_gap || rel >= 0 || rel < -LOST_FIRST_MAX ||
        !trace_counts_messages(event_opcode(s, event)) || cnt == 0 || (nak && !begins[-rel - 1]))
        return 0;
    for (; first >= -LOST_FIRST_MAX; first--) {
        if (!begins[-first - 1])
            continue;
        pos = event_opcode(s, begins[-first - 1] - 1)->pos;
        /* The MSN of an ACK inside a message counts the messages before that message only, so such
         * an ACK does not show the first message. */
        if (!nak && cnt == event_packet(s, event)->msn &&
            pos != (first == rel ? ROCE_POS_ONLY : ROCE_POS_FIRST))
            return 0;
        if (--cnt == 0)
            return first;
    }
    return 0;
}

/* Sets setup.first, the first relative PSN. setup.first is negative if a request with a lower PSN
 * than the first captured request is known. One cause is that the first request was lost before the
 * capture point, and the responder's sequence NAK has its PSN. The other cause is that the network
 * reordered the first requests. */
static void find_first(struct inferred_setup *s)
{
    uint32_t begins[LOST_FIRST_MAX]; /* for each negative relative PSN: 1 + index into setup.event
                                      * of the last packet that begins a message there, or 0 */
    bool any = false;

    s->first = 0;
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (!event->response && event->usable && event->rel < 0 && event->rel >= -LOST_FIRST_MAX &&
            roce_opcode_starts(event_opcode(s, i))) {
            if (!any) /* most connections do not need the array */
                memset(begins, 0, sizeof(begins));
            any = true;
            begins[-event->rel - 1] = i + 1;
        }
    }
    if (!any)
        return;
    for (uint32_t i = 0; i < s->event_cnt && s->first == 0; i++)
        if (s->event[i].response && s->event[i].usable)
            s->first = first_by_msn(s, i, begins);
    if (s->first < 0)
        return;
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (!event->response || !event->usable)
            continue;
        if (event->rel >= 0 && !event_is_nak(s, i))
            return;
        if (!event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) || event->rel >= 0 ||
            event->rel < -LOST_FIRST_MAX)
            continue;
        if (begins[-event->rel - 1] > i + 1) {
            s->first = event->rel;
            return;
        }
    }
}

/* Sets before_first of all packets of early messages: those before the first message replayed.
 * Responses to early messages precede all other responses. So a response with the PSN of an early
 * message is wrong if it follows another response. The function does not set before_first of such a
 * wrong response, so the comparison reports it. */
static void mark_early(struct inferred_setup *s)
{
    bool begun = false;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        struct pkt_event *event = &s->event[i];

        event->before_first =
            event->rel < s->first &&
            (s->recorded->after_gap || !(event->response && (begun || s->recorded->cm.present)));
        begun |= event->response && event->usable && event->rel >= s->first;
    }
}

static uint32_t mtu_at_least(uint32_t len)
{
    uint32_t mtu = 256;

    while (mtu < len && mtu < 4096)
        mtu *= 2;
    return mtu;
}

/* Returns the smallest payload per packet with which the responses to a READ fit into the PSNs
 * before the next request. Returns 0 if the next request does not have a later PSN than the READ.
 */
static uint32_t read_mtu(const struct inferred_setup *s, uint32_t read)
{
    uint32_t len;

    if (s->event[read].response || event_opcode(s, read)->kind != ROCE_KIND_READ)
        return 0;
    len = trace_reth(event_packet(s, read)).dma_len;
    for (uint32_t i = read + 1; i < s->event_cnt; i++)
        if (!s->event[i].response && !s->event[i].damaged) {
            int64_t psns = s->event[i].rel - s->event[read].rel;

            return psns > 0 ? (uint32_t)((len + psns - 1) / psns) : 0;
        }
    return 0;
}

/* Sets the path MTU. First and Middle packets have exactly one path MTU of payload. Uses the most
 * frequent length, so that one altered packet does not change the result. */
static void find_mtu(struct inferred_setup *s)
{
    uint32_t votes[MTU_CNT] = {0}; /* for each MTU, 256 << n bytes: number of First and Middle
                                    * packets with this payload length */
    uint32_t several = 0, one = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct roce_opcode *op = event_opcode(s, i);
        uint32_t len = event_packet(s, i)->payload_len;

        if (s->event[i].damaged)
            continue;
        if (op->pos == ROCE_POS_FIRST || op->pos == ROCE_POS_MIDDLE) {
            for (unsigned n = 0; n < MTU_CNT; n++)
                votes[n] += len == 256u << n;
        } else {
            uint32_t read = read_mtu(s, i);

            one = len > one ? len : one;
            one = read > one && read <= 4096 ? read : one;
        }
    }
    for (unsigned n = 0, best = 0; n < MTU_CNT; n++)
        if (votes[n] > best) {
            best = votes[n];
            several = 256u << n;
        }
    s->mtu_known = several > 0 || s->recorded->cm.mtu > 0;
    if (several == 0 && s->recorded->cm.mtu >= one)
        several = s->recorded->cm.mtu;
    s->mtu = mtu_at_least(several ? several : one);
}

static void find_pkey(struct inferred_setup *s)
{
    uint16_t pkey = 0;
    uint32_t votes = 0;

    /* Choose the P_Key that most responses have, because a response has the P_Key of the responder
     * (R045). Without responses, choose the P_Key of most requests. */
    for (int want_response = 1; want_response >= 0 && votes == 0; want_response--) {
        for (uint32_t i = 0; i < s->event_cnt; i++) {
            if (s->event[i].response != (want_response == 1) || !s->event[i].usable)
                continue;
            if (votes == 0)
                pkey = event_packet(s, i)->pkey;
            votes += event_packet(s, i)->pkey == pkey ? 1 : (uint32_t)-1;
        }
    }
    s->pkey = pkey ? pkey : 0xFFFF;
}

/* ---- finding the MSN ---------------------------------------------------------------------------
 */

/* Sets the MSN base, which is the MSN before the first message. Each response shows one base.
 * Chooses the smallest base that at least two responses show. If no two responses agree, chooses
 * the base that one response shows. A response to a duplicate shows a base that is too high,
 * because its MSN counts all messages executed so far. So if only ACKs of one PSN show the chosen
 * base, and another response shows base 0, chooses base 0: the ACKs answer duplicates. */
static void vote_msn(struct inferred_setup *s)
{
    struct {
        uint32_t base, votes;
        int64_t rel;
        bool repeated; /* all votes are ACKs with PSN `rel` */
    } bases[BASES_MAX];
    unsigned cnt = 0, best = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct request_pkt *e;
        uint32_t base;
        unsigned k;

        if (!s->event[i].response || !s->event[i].usable || s->event[i].before_first ||
            !roce_opcode_has(event_opcode(s, i), ROCE_HDR_AETH) ||
            (event_opcode(s, i)->kind == ROCE_KIND_READ_RESP &&
             event_opcode(s, i)->pos == ROCE_POS_FIRST))
            continue;
        e = request_at(s, event_executed_to(s, i));
        if (!e && event_executed_to(s, i) != s->first - 1)
            continue;
        base = (event_packet(s, i)->msn - (e ? e->msgs_done : 0)) & ROCE_PSN_MASK;
        for (k = 0; k < cnt && bases[k].base != base; k++)
            ;
        if (k == BASES_MAX)
            continue;
        if (k == cnt) {
            bases[cnt].base = base;
            bases[cnt].rel = s->event[i].rel;
            bases[cnt].repeated = true;
            bases[cnt++].votes = 0;
        }
        bases[k].votes++;
        bases[k].repeated &=
            s->event[i].rel == bases[k].rel && event_is_syndrome(s, i, ROCE_SYN_ACK);
        if (bases[k].votes > bases[best].votes ||
            (bases[k].votes == bases[best].votes && bases[k].base == 0))
            best = k;
    }
    for (unsigned k = 0; k < cnt; k++)
        if (bases[k].votes > 1 && bases[k].base <= ROCE_PSN_MASK - MSN_WRAP &&
            roce_psn_diff(roce_psn_of(bases[k].base), roce_psn_of(bases[best].base)) < 0)
            best = k;
    for (unsigned k = 0; k < cnt; k++)
        if (bases[k].base == 0 && !bases[k].repeated && bases[best].repeated)
            best = k;
    if (cnt) {
        s->msn = bases[best].base;
        s->msn_votes = bases[best].votes;
    }
}

static void find_msn(struct inferred_setup *s)
{
    uint32_t first_same = 0, first_less = 0;

    s->msn = 0;
    vote_msn(s);
    /* If only one response shows an MSN base, accept this base, because a capture may begin in the
     * middle of a connection. But ignore a base just below the wrap: it arises if the first
     * response of a connection counts too few messages. */
    if (s->msn_votes == 1 && !s->recorded->after_gap && s->msn > ROCE_PSN_MASK - MSN_WRAP)
        s->msn = 0;
    if (s->recorded->cm.present)
        s->msn = 0; /* the capture contains the start of the connection (R102) */
    /* If the MSN of a response counts messages of this direction, the response does not answer a
     * message before the first replayed message. */
    for (uint32_t i = 0; i < s->event_cnt; i++)
        if (s->event[i].response && s->event[i].before_first && !s->recorded->after_gap &&
            s->msn_votes > 0 && roce_opcode_has(event_opcode(s, i), ROCE_HDR_AETH) &&
            roce_psn_diff(roce_psn_of(event_packet(s, i)->msn), roce_psn_of(s->msn)) > 0)
            s->event[i].before_first = false;
    /* The MSN of a READ response First may count the READ or not (R103). Determine which of the two
     * this responder does. */
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        uint32_t own;

        if (!s->event[i].response || !s->event[i].usable ||
            event_opcode(s, i)->kind != ROCE_KIND_READ_RESP ||
            event_opcode(s, i)->pos != ROCE_POS_FIRST)
            continue;
        own = request_table_msn(s, s->event[i].rel);
        first_same += event_packet(s, i)->msn == own;
        first_less += event_packet(s, i)->msn == ((own - 1) & ROCE_PSN_MASK);
    }
    s->read_first_msn = first_same > 1 && first_same > first_less   ? 0
                        : first_less > 1 && first_less > first_same ? -1
                                                                    : 1;
}

/* ---- finding the permissions -------------------------------------------------------------------
 */

static unsigned access_of(const struct inferred_setup *s, const struct request_pkt *e)
{
    struct roce_pkt pkt;

    switch (event_opcode(s, e->event)->kind) {
    case ROCE_KIND_WRITE:
    case ROCE_KIND_ATOMIC_WRITE: return RNIC_ACCESS_REMOTE_WRITE;
    case ROCE_KIND_READ: return RNIC_ACCESS_REMOTE_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return RNIC_ACCESS_REMOTE_ATOMIC;
    case ROCE_KIND_FLUSH:
        trace_parse_headers(event_packet(s, e->event), &pkt);
        return (pkt.feth.plt & RNIC_FLUSH_GLOBAL ? RNIC_ACCESS_FLUSH_GLOBAL : 0) |
               (pkt.feth.plt & RNIC_FLUSH_PERSISTENT ? RNIC_ACCESS_FLUSH_PERSISTENT : 0);
    default: return 0;
    }
}

/* Returns the number of bytes that the RETH or AtomicETH of a request packet covers. The first
 * packet of a message covers the whole message. Returns 0 for a FLUSH of the whole memory
 * region. */
static uint64_t asked_len(const struct inferred_setup *s, const struct request_pkt *e)
{
    const struct trace_packet *p = event_packet(s, e->event);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct roce_pkt pkt;

    if (!roce_opcode_has(op, ROCE_HDR_FETH) && !roce_opcode_has(op, ROCE_HDR_ATOMICETH))
        return trace_reth(p).dma_len;
    trace_parse_headers(p, &pkt);
    if (roce_pkt_has(&pkt, ROCE_HDR_FETH) && pkt.feth.sel == RNIC_FLUSH_MR)
        return 0;
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH))
        return pkt.reth.dma_len;
    return roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH) ? 8 : 0;
}

bool infer_setup_permits(const struct inferred_setup *s, const struct request_pkt *e,
                         const struct shadow_region *region)
{
    unsigned access = access_of(s, e);
    uint64_t len = asked_len(s, e);

    return len ? shadow_covers(region, e->va, len, access) : (region->access & access) == access;
}

static int grant_access(struct inferred_setup *s, const struct request_pkt *e,
                        struct shadow_memory *memory)
{
    const struct roce_opcode *op = event_opcode(s, e->event);
    unsigned access = access_of(s, e);
    struct roce_pkt pkt;

    s->access |= access;
    if (roce_opcode_has(op, ROCE_HDR_IETH)) {
        trace_parse_headers(event_packet(s, e->event), &pkt);
        if (shadow_claim_invalidate(memory, pkt.ieth.rkey) != 0)
            return -1;
    }
    /* a FLUSH of 0 bytes needs a valid R_Key, too (A19) */
    if (op->kind == ROCE_KIND_FLUSH && shadow_claim_key(memory, e->rkey, access) != 0)
        return -1;
    if (access && roce_opcode_starts(op))
        return shadow_claim(memory, e->rkey, e->va, asked_len(s, e), access);
    return 0;
}

/* Makes the receive WQEs long enough for request packet `e`, if it is a packet of a SEND. */
static void lengthen_recv(struct inferred_setup *s, const struct request_pkt *e)
{
    if (event_opcode(s, e->event)->kind == ROCE_KIND_SEND && e->off + e->len > s->max_recv)
        s->max_recv = e->off + e->len;
}

static void count_request(struct inferred_setup *s, const struct request_pkt *e)
{
    const struct roce_opcode *op = event_opcode(s, e->event);

    if (roce_opcode_ends(op)) {
        s->messages++;
        s->ops[op->kind]++;
    }
    if (op->kind == ROCE_KIND_READ)
        s->bytes_out += e->len;
    else
        s->bytes_in += event_packet(s, e->event)->payload_len;
    lengthen_recv(s, e);
}

/* Called for packet `e` of a SEND, which the responder refused because its receive WQE was too
 * short. Sets the length of this receive WQE so that it ends before the bytes of `e`. */
static void shorten_recv(struct inferred_setup *s, const struct request_pkt *e)
{
    int64_t first = s->req[e->msg_first].rel;

    for (uint32_t i = 0; i < s->event_cnt; i++)
        if (!s->event[i].response && s->event[i].rel == first)
            s->event[i].recv_len = e->off;
}

static int find_allowed(struct inferred_setup *s, struct shadow_memory *memory)
{
    const struct request_pkt *bad =
        s->fatal_nak == EVENT_NONE ? NULL : request_at(s, s->event[s->fatal_nak].rel);
    unsigned access;

    for (size_t i = 0; i < s->req_cnt; i++) {
        const struct request_pkt *e = &s->req[i];

        if (e == bad || e->invalid)
            break;
        if (grant_access(s, e, memory) != 0)
            return -1;
        count_request(s, e);
    }
    if (!bad || bad->invalid)
        return 0;
    access = access_of(s, bad);
    if (!access && !(event_is_nak_code(s, s->fatal_nak, ROCE_NAK_REMOTE_ACCESS) &&
                     roce_opcode_has(event_opcode(s, bad->event), ROCE_HDR_IETH))) {
        /* Linux rxe sends NAK 0x63 if a SEND is too long for its receive WQE (R082). A responder
         * with another local fault sends the same NAK (R090). The capture does not show the cause,
         * so assume a short receive WQE. */
        shorten_recv(s, bad);
    } else if (!event_is_nak_code(s, s->fatal_nak, ROCE_NAK_INVALID_REQ) || s->access & access) {
        /* The cause of the NAK is the R_Key, a local fault of the responder, or a change of the QP
         * by the responder's program. Our RNIC refuses the request because of the R_Key. */
        lengthen_recv(s, bad);
        s->access |= access;
        for (uint32_t i = 0; i < s->event_cnt; i++)
            if (!s->event[i].response && s->event[i].rel == bad->rel)
                s->event[i].rkey_invalid = true;
    }
    return 0;
}

/* ---- directions that cannot be replayed --------------------------------------------------------
 */

static const char *unplayable(struct inferred_setup *s, uint64_t read_before)
{
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    bool any_good = false, malformed = false;
    uint64_t asked = read_before;

    if (flow->encap != ROCE_ENCAP_V1 && flow->encap != ROCE_ENCAP_V2_IP4 &&
        flow->encap != ROCE_ENCAP_V2_IP6)
        return "native InfiniBand: our RNIC supports only RoCE";
    if (flow->dest_qp < 2 || flow->dest_qp == ROCE_QP_MULTICAST)
        return "the destination QP number is reserved";
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct trace_packet *p = event_packet(s, i);

        if (p->cut)
            return "the snap length of the capture cut packet headers";
        if (s->event[i].response)
            continue;
        any_good |= !s->event[i].damaged;
        malformed |= p->malformed;
        if (!s->event[i].damaged && event_opcode(s, i)->kind == ROCE_KIND_READ)
            asked += trace_reth(p).dma_len;
    }
    if (s->requests == 0)
        return "the requests of these responses were not captured: no request to play";
    if (!any_good && s->responses && malformed)
        return "every request is malformed or has a wrong ICRC, but the capture has responses";
    if (!any_good && s->responses)
        return "every request has a wrong ICRC and a response: the requests were captured before "
               "the sender computed the ICRC";
    if (asked > READ_FREE && asked / READ_RATIO > s->trace->bytes)
        return "the READs request far more data than the capture contains";
    s->read_bytes = asked - read_before;
    return NULL;
}

/* Returns whether request `gap` was not captured although the responder acknowledged it. */
static bool misses_request(const struct inferred_setup *s, int64_t gap)
{
    int64_t high = INT64_MIN;

    if (infer_corruption_hides(s, gap))
        return false;
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (!event->response && event->rel > high)
            high = event->rel;
        if (event->response && event->usable && event->rel <= high &&
            event_received_to(s, i) >= gap)
            return true;
    }
    return false;
}

static const char *incomplete(struct inferred_setup *s, int64_t gap)
{
    if (s->req_cnt == 0)
        return "the capture does not contain the start of any message";
    if (gap != GAP_NONE && misses_request(s, gap)) {
        s->gap = gap;
        return "a request that the responder acknowledged was not captured";
    }
    return NULL;
}

/* ---- inferring a setup -------------------------------------------------------------------------
 */

int infer_setup(struct inferred_setup *s, const struct trace *trace,
                const struct recorded_direction *recorded, uint64_t read_before,
                enum replay_view view, struct shadow_memory *memory)
{
    int64_t gap;

    *s = (struct inferred_setup){
        .trace = trace,
        .recorded = recorded,
        .event_cnt = recorded->cnt,
        .qpn = trace->flow[recorded->req_flow].dest_qp,
        .peer_qpn = recorded->requester_qpn,
        .first_other = EVENT_NONE,
        .fatal_nak = EVENT_NONE,
        .gap = GAP_NONE,
        .resources = 16,
        .rd_atomic = RNIC_RD_ATOMIC_MAX,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };
    s->event = calloc(recorded->cnt + 1, sizeof(*s->event));
    if (!s->event)
        return -1;
    for (uint32_t i = 0; i < recorded->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[recorded->pkt[i]];
        bool response = roce_opcode_is_response(roce_opcode(p->opcode));

        s->event[i] = (struct pkt_event){.pkt = recorded->pkt[i],
                                         .sent_at = recorded->pkt[i],
                                         .response = response,
                                         .damaged = p->dropped,
                                         .recv_len = RECV_FULL,
                                         .next_response = EVENT_NONE,
                                         .request = EVENT_NONE};
        s->cut += p->zero_filled;
        s->responses += response;
        s->requests += !response;
    }
    sent_order_restore(s, view == VIEW_OF_RESPONDER);
    number_steps(s);
    infer_corruption(s);
    find_mtu(s);
    if (!infer_corruption_excuse(s))
        return -1;
    s->skip = unplayable(s, read_before);
    if (s->skip)
        return 0;
    find_first(s);
    find_pkey(s);
    s->rq_psn = s->sq_psn = roce_psn_add(s->psn, (int32_t)s->first).v;
    mark_early(s);
    if (!request_table_build(s, &gap))
        return -1;
    find_msn(s);
    s->skip = incomplete(s, gap);
    if (s->skip)
        return 0;
    if (!infer_loss(s) || !match_responses(s))
        return -1;
    infer_timers(s);
    return find_allowed(s, memory);
}

void inferred_setup_free(struct inferred_setup *s)
{
    free(s->event);
    free(s->req);
    free(s->executed_unseen);
    memset(s, 0, sizeof(*s));
}
