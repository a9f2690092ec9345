/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "srt.h"

#include "wire/codes.h"

#define ROCE_ATOMIC_LEN 8u
/* Maximum number of pending requests of a requester, because responses may be missing. */
#define PENDING_MAX 8192u

struct srt_request {
    enum roce_kind kind;
    uint32_t psn, end_psn; /* PSN of the first and the last packet */
    uint64_t bytes;        /* payload, or length of a READ or atomic */
    uint64_t start;        /* time of the first packet, ns */
};

struct srt_requester {
    GQueue pending;         /* struct srt_request, completely sent, in PSN order */
    struct srt_request now; /* the request whose packets are currently sent */
    uint32_t mtu;           /* payload of the first packet of `now`, bytes */
    bool sending;           /* `now` is valid */
};

struct roce_srt_tracker {
    GHashTable *requesters; /* key: 2 * stream index + side */
};

static void free_requester(void *p)
{
    struct srt_requester *r = (struct srt_requester *)p;

    g_queue_clear_full(&r->pending, g_free);
    g_free(r);
}

struct roce_srt_tracker *roce_srt_new(void)
{
    struct roce_srt_tracker *tracker = g_new0(struct roce_srt_tracker, 1);

    tracker->requesters =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_requester);
    return tracker;
}

void roce_srt_free(struct roce_srt_tracker *tracker)
{
    if (!tracker)
        return;
    g_hash_table_destroy(tracker->requesters);
    g_free(tracker);
}

static struct srt_requester *get_requester(struct roce_srt_tracker *tracker, uint32_t stream,
                                           unsigned side)
{
    gint64 key = (gint64)stream * 2 + side;
    struct srt_requester *r =
        (struct srt_requester *)g_hash_table_lookup(tracker->requesters, &key);

    if (r)
        return r;
    r = g_new0(struct srt_requester, 1);
    g_queue_init(&r->pending);
    g_hash_table_insert(tracker->requesters, g_memdup2(&key, sizeof(key)), r);
    return r;
}

static bool is_atomic(enum roce_kind kind)
{
    return kind == ROCE_KIND_CMP_SWAP || kind == ROCE_KIND_FETCH_ADD ||
           kind == ROCE_KIND_ATOMIC_WRITE;
}

bool roce_srt_starts_op(const struct roce_tap *tap)
{
    const struct roce_flow_result *r = &tap->frame->result;

    return (r->flags & (ROCE_AN_REQUEST | ROCE_AN_MSG_START)) ==
               (ROCE_AN_REQUEST | ROCE_AN_MSG_START) &&
           r->repeats_frame == 0 && !(r->flags & ROCE_AN_DROPPED);
}

uint64_t roce_srt_region_bytes(const struct roce_pkt *pkt)
{
    if (is_atomic(pkt->op->kind))
        return ROCE_ATOMIC_LEN;
    return roce_pkt_has(pkt, ROCE_HDR_RETH) ? pkt->reth.dma_len : 0;
}

static bool is_psn_after(uint32_t psn, uint32_t other)
{
    return ((psn - other) & ROCE_PSN_MASK) - 1 < 0x7FFFFF;
}

/* Returns true if only its own response completes such a request, not an ACK of a later PSN. */
static bool is_completed_by_response(enum roce_kind kind)
{
    switch (kind) {
    case ROCE_KIND_READ:
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_FLUSH:
    case ROCE_KIND_ATOMIC_WRITE: return true;
    default: return false;
    }
}

/* Returns true if a retransmitted packet ends the open request: its first packet may be new. */
static bool ends_open_request(const struct srt_requester *r, const struct roce_tap *tap)
{
    return r->sending && tap->frame->result.flags & ROCE_AN_MSG_END &&
           !is_psn_after(r->now.psn, tap->pkt->bth.psn);
}

/* Processes a request packet. Returns true if it is the last one of its request, which r->now
 * then describes. */
static bool add_request_packet(struct srt_requester *r, const struct roce_tap *tap, uint64_t time)
{
    const struct roce_pkt *pkt = tap->pkt;
    const struct roce_flow_result *result = &tap->frame->result;
    uint32_t packets;

    if (result->flags & ROCE_AN_DROPPED || (result->repeats_frame && !ends_open_request(r, tap)))
        return false;
    if (roce_srt_starts_op(tap)) {
        r->now = (struct srt_request){.kind = pkt->op->kind, .psn = pkt->bth.psn, .start = time};
        r->now.bytes = roce_srt_region_bytes(pkt);
        r->mtu = pkt->payload_len;
        r->sending = true;
    } else if (pkt->op->svc == ROCE_SVC_UC && result->flags & ROCE_AN_PSN_GAP)
        r->sending = false; /* a UC requester does not retransmit the missing packets */
    if (!r->sending || !(result->flags & ROCE_AN_MSG_END))
        return false;
    r->sending = false;
    r->now.end_psn = pkt->bth.psn;
    packets = (r->now.end_psn - r->now.psn) & ROCE_PSN_MASK;
    if (r->now.kind == ROCE_KIND_SEND)
        r->now.bytes = (uint64_t)packets * r->mtu + pkt->payload_len;
    return true;
}

static void add_pending(struct srt_requester *r)
{
    if (g_queue_get_length(&r->pending) >= PENDING_MAX)
        g_free(g_queue_pop_head(&r->pending));
    g_queue_push_tail(&r->pending, g_memdup2(&r->now, sizeof(r->now)));
}

/* Returns the highest PSN that a response acknowledges. */
static uint32_t acked_psn(const struct roce_pkt *pkt)
{
    bool refuses =
        roce_pkt_has(pkt, ROCE_HDR_AETH) && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;

    return (pkt->bth.psn - (refuses ? 1 : 0)) & ROCE_PSN_MASK;
}

/* Finds the request that a last response completes: the latest that starts at or before `psn`. */
static GList *find_answered_request(struct srt_requester *r, uint32_t psn)
{
    GList *found = NULL;

    for (GList *at = r->pending.head; at; at = at->next) {
        const struct srt_request *op = (const struct srt_request *)at->data;

        if (is_completed_by_response(op->kind) && !is_psn_after(op->psn, psn) &&
            (!found || is_psn_after(op->psn, ((const struct srt_request *)found->data)->psn)))
            found = at;
    }
    return found;
}

void roce_srt_packet(struct roce_srt_tracker *tracker, const struct roce_tap *tap,
                     packet_info *pinfo, void (*done)(void *user, const struct roce_srt_op *done),
                     void *user)
{
    const struct roce_pkt *pkt = tap->pkt;
    const struct roce_flow_result *result = &tap->frame->result;
    uint64_t time = roce_srt_time(pinfo);
    bool answers = pkt->op->kind == ROCE_KIND_READ_RESP || pkt->op->kind == ROCE_KIND_ATOMIC_ACK;
    struct roce_srt_op done_op = {.stream = result->conn_index};
    struct srt_requester *r;
    GList *own = NULL, *next;

    if (result->conn_index == ROCE_NO_CONN || pkt->op->svc == ROCE_SVC_UD)
        return;
    if (result->flags & ROCE_AN_REQUEST) {
        r = get_requester(tracker, result->conn_index, result->side);
        if (!add_request_packet(r, tap, time))
            return;
        if (pkt->op->svc != ROCE_SVC_UC) {
            add_pending(r);
            return;
        }
        done_op.kind = r->now.kind; /* UC has no ACKs, so the last packet completes the request */
        done_op.bytes = r->now.bytes;
        done_op.start = r->now.start;
        done_op.ns = ROCE_NEVER_NS;
        done(user, &done_op);
        return;
    }
    if (!(result->flags & ROCE_AN_RESPONSE) || result->flags & ROCE_AN_DROPPED)
        return;
    r = get_requester(tracker, result->conn_index, !result->side);
    /* The last response does not complete the request if earlier ones are missing; the analysis
     * reports a completion time only for complete messages. */
    if (answers && result->message_time != ROCE_NEVER_NS)
        own = find_answered_request(r, pkt->bth.psn);
    for (GList *at = r->pending.head; at; at = next) {
        struct srt_request *req = (struct srt_request *)at->data;

        next = at->next;
        if (is_completed_by_response(req->kind) ? at != own
                                                : is_psn_after(req->end_psn, acked_psn(pkt)))
            continue;
        done_op.kind = req->kind;
        done_op.bytes = req->bytes;
        done_op.start = req->start;
        done_op.ns = time > req->start ? time - req->start : 0;
        done(user, &done_op);
        g_free(req);
        g_queue_delete_link(&r->pending, at);
    }
}
