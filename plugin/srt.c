/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "srt.h"

#include "wire/codes.h"

#define ROCE_ATOMIC_LEN 8u
#define PENDING_MAX     8192u /* a requester; a capture may lack all answers */

struct op {
    enum roce_kind kind;
    uint32_t psn, end_psn; /* of its first and last packet */
    uint64_t bytes, begun;
};

struct requester {
    GQueue pending; /* struct op, sent to its end, in the order of PSNs */
    struct op now;  /* being sent */
    uint32_t mtu;   /* payload of its first packet */
    bool sending;
};

struct roce_flight {
    GHashTable *requesters; /* by stream and side */
};

static void free_requester(void *p)
{
    struct requester *r = (struct requester *)p;

    g_queue_clear_full(&r->pending, g_free);
    g_free(r);
}

struct roce_flight *roce_flight_new(void)
{
    struct roce_flight *flight = g_new0(struct roce_flight, 1);

    flight->requesters = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_requester);
    return flight;
}

void roce_flight_del(struct roce_flight *flight)
{
    if (!flight)
        return;
    g_hash_table_destroy(flight->requesters);
    g_free(flight);
}

static struct requester *requester_of(struct roce_flight *flight, uint32_t stream, unsigned side)
{
    gint64 key = (gint64)stream * 2 + side;
    struct requester *r = (struct requester *)g_hash_table_lookup(flight->requesters, &key);

    if (r)
        return r;
    r = g_new0(struct requester, 1);
    g_queue_init(&r->pending);
    g_hash_table_insert(flight->requesters, g_memdup2(&key, sizeof(key)), r);
    return r;
}

static bool is_atomic(enum roce_kind kind)
{
    return kind == ROCE_KIND_CMP_SWAP || kind == ROCE_KIND_FETCH_ADD ||
           kind == ROCE_KIND_ATOMIC_WRITE;
}

bool roce_flight_starts(const struct roce_tap *tap)
{
    const struct roce_flow_result *r = &tap->frame->result;

    return (r->flags & (ROCE_AN_REQUEST | ROCE_AN_MSG_START)) ==
               (ROCE_AN_REQUEST | ROCE_AN_MSG_START) &&
           r->repeats_frame == 0 && !(r->flags & ROCE_AN_DROPPED);
}

uint64_t roce_flight_asked(const struct roce_pkt *pkt)
{
    if (is_atomic(pkt->op->kind))
        return ROCE_ATOMIC_LEN;
    return roce_pkt_has(pkt, ROCE_HDR_RETH) ? pkt->reth.dma_len : 0;
}

static bool is_after(uint32_t psn, uint32_t other)
{
    return ((psn - other) & ROCE_PSN_MASK) - 1 < 0x7FFFFF;
}

/* Its own response completes it, not any later acknowledgement. */
static bool wants_response(enum roce_kind kind)
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

/* A packet that was seen before may still end a message whose first packet was not. */
static bool belongs(const struct requester *r, const struct roce_tap *tap)
{
    return r->sending && tap->frame->result.flags & ROCE_AN_MSG_END &&
           !is_after(r->now.psn, tap->pkt->bth.psn);
}

static bool request(struct requester *r, const struct roce_tap *tap, uint64_t time)
{
    const struct roce_pkt *pkt = tap->pkt;
    const struct roce_flow_result *result = &tap->frame->result;
    uint32_t packets;

    if (result->flags & ROCE_AN_DROPPED || (result->repeats_frame && !belongs(r, tap)))
        return false;
    if (roce_flight_starts(tap)) {
        r->now = (struct op){.kind = pkt->op->kind, .psn = pkt->bth.psn, .begun = time};
        r->now.bytes = roce_flight_asked(pkt);
        r->mtu = pkt->payload_len;
        r->sending = true;
    } else if (pkt->op->svc == ROCE_SVC_UC && result->flags & ROCE_AN_PSN_GAP)
        r->sending = false; /* what is missing never comes */
    if (!r->sending || !(result->flags & ROCE_AN_MSG_END))
        return false;
    r->sending = false;
    r->now.end_psn = pkt->bth.psn;
    packets = (r->now.end_psn - r->now.psn) & ROCE_PSN_MASK;
    if (r->now.kind == ROCE_KIND_SEND)
        r->now.bytes = (uint64_t)packets * r->mtu + pkt->payload_len;
    return true;
}

static void keep(struct requester *r)
{
    if (g_queue_get_length(&r->pending) >= PENDING_MAX)
        g_free(g_queue_pop_head(&r->pending));
    g_queue_push_tail(&r->pending, g_memdup2(&r->now, sizeof(r->now)));
}

/* The PSN up to which everything arrived. */
static uint32_t reach(const struct roce_pkt *pkt)
{
    bool refuses =
        roce_pkt_has(pkt, ROCE_HDR_AETH) && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;

    return (pkt->bth.psn - (refuses ? 1 : 0)) & ROCE_PSN_MASK;
}

/* The operation that a last response belongs to: the latest that starts at its PSN or before. */
static GList *answered(struct requester *r, uint32_t psn)
{
    GList *found = NULL;

    for (GList *at = r->pending.head; at; at = at->next) {
        const struct op *op = (const struct op *)at->data;

        if (wants_response(op->kind) && !is_after(op->psn, psn) &&
            (!found || is_after(op->psn, ((const struct op *)found->data)->psn)))
            found = at;
    }
    return found;
}

void roce_flight_packet(struct roce_flight *flight, const struct roce_tap *tap, packet_info *pinfo,
                        void (*done)(void *user, const struct roce_flight_done *done), void *user)
{
    const struct roce_pkt *pkt = tap->pkt;
    const struct roce_flow_result *result = &tap->frame->result;
    uint64_t time = roce_flight_time(pinfo);
    bool answers = pkt->op->kind == ROCE_KIND_READ_RESP || pkt->op->kind == ROCE_KIND_ATOMIC_ACK;
    struct roce_flight_done say = {.stream = result->stream};
    struct requester *r;
    GList *own = NULL, *next;

    if (result->stream == ROCE_NO_STREAM || pkt->op->svc == ROCE_SVC_UD)
        return;
    if (result->flags & ROCE_AN_REQUEST) {
        r = requester_of(flight, result->stream, result->side);
        if (!request(r, tap, time))
            return;
        if (pkt->op->svc != ROCE_SVC_UC) {
            keep(r);
            return;
        }
        say.kind = r->now.kind; /* nobody acknowledges it */
        say.bytes = r->now.bytes;
        say.begun = r->now.begun;
        say.ns = ROCE_NEVER_NS;
        done(user, &say);
        return;
    }
    if (!(result->flags & ROCE_AN_RESPONSE) || result->flags & ROCE_AN_DROPPED)
        return;
    r = requester_of(flight, result->stream, !result->side);
    /* The last response may come while others are missing: the observer knows. */
    if (answers && result->message_time != ROCE_NEVER_NS)
        own = answered(r, pkt->bth.psn);
    for (GList *at = r->pending.head; at; at = next) {
        struct op *op = (struct op *)at->data;

        next = at->next;
        if (wants_response(op->kind) ? at != own : is_after(op->end_psn, reach(pkt)))
            continue;
        say.kind = op->kind;
        say.bytes = op->bytes;
        say.begun = op->begun;
        say.ns = time > op->begun ? time - op->begun : 0;
        done(user, &say);
        g_free(op);
        g_queue_delete_link(&r->pending, at);
    }
}
