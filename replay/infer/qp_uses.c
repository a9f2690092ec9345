/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/qp_uses.h"

#include <stdlib.h>
#include <string.h>
#include "infer/supposed_use.h"

/* A packet that does not fit the present use of the QP pair may belong to its next use. The search
 * decides this with the costs (supposed_use_add()) of the BEFORE packets before that packet and the
 * AFTER packets after it. */
#define BEFORE 256u
#define AFTER  64u
#define WINDOW 512u /* at least BEFORE + AFTER */

/* Maximum number of requests that the search tries as the first request after a QP reuse:
 * STARTS_MAX before the unexplained packet, and STARTS_MAX after it. */
#define STARTS_MAX 24u

/* Number of requests directly after the unexplained packet that the search tries in any case. */
#define STARTS_NEAR 4u

/* A second use of the QP pair is assumed only if this lowers the cost of the packets
 * (supposed_use_add()) by at least this value. */
#define GAIN_MIN (2 * USE_ODD)

/* A request of the previous use may still be on its way to the responder if it was captured at most
 * ON_WAY_NS (ns) before the new use of the QP pair. The search for such requests visits at most
 * ON_WAY_MAX packets of the connection. */
#define ON_WAY_NS  UINT64_C(1000000000)
#define ON_WAY_MAX 4096u

/* Shortest pause before a new use, ns: both programs must reset their QPs first. */
#define RESET_NS UINT64_C(1000000)

/* A use of a QP pair is the time from one setup of the two QPs to the next (qp_uses.h). find_nak()
 * searches for a sequence NAK in this number of packets of the connection before a new use
 * begins. */
#define NAK_NEAR 64u

/* Limit of the search for the packets at which the uses of QP pairs begin (supposed_use.h): it
 * passes at most PER_PACKET * (packets of the trace) + EFFORT_MIN packets to supposed_use_add(). */
#define PER_PACKET UINT64_C(16)
#define EFFORT_MIN (UINT64_C(1) << 16)

/* Number of entries in a cache of the latest connections; a power of 2. */
#define RECENT_CONNS 64u

/* Packets of one connection. */
struct conn_packets {
    uint32_t conn_index;
    bool cm;       /* CM messages set up the QPs */
    uint32_t *pkt; /* indices into trace.pkt */
    size_t cnt;
    size_t cap;
};

struct search {
    const struct trace *trace;
    const struct roce_flow_owner *owner;
    const struct conn_packets *conn;
    uint8_t *cost;          /* for each packet of the connection: cost in the present use
                             * (supposed_use_add()) */
    uint32_t start[WINDOW]; /* ring of the latest requests that may be the first of a use: indices
                             * into conn.pkt */
    bool again[WINDOW];     /* for each request in `start`: may_begin_again() */
    bool inside[WINDOW];    /* for each request in `start`: its PSN is not the first one of its side
                             * in the present use */
    uint32_t start_cnt;
    uint32_t answered; /* first response in the present use: index into conn.pkt, or conn.cnt */
    uint64_t effort;
    bool no_memory;
};

bool qp_uses_is_first_nak(const struct trace_packet *p)
{
    return roce_opcode(p->opcode)->kind == ROCE_KIND_ACK && p->msn == 0 &&
           p->syndrome == (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
}

size_t qp_uses_to(const struct qp_uses *uses, uint32_t conn_index, uint32_t frame)
{
    size_t low = 0, high = uses->cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct qp_use *u = &uses->use[mid];

        if (u->conn_index < conn_index || (u->conn_index == conn_index && u->frame <= frame))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int use_cmp(const void *a, const void *b)
{
    const struct qp_use *x = a, *y = b;

    if (x->conn_index != y->conn_index)
        return x->conn_index < y->conn_index ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static const struct trace_packet *packet_at(const struct search *s, uint32_t i)
{
    return &s->trace->pkt[s->conn->pkt[i]];
}

static unsigned add_packet(struct search *s, struct supposed_use *use, uint32_t i)
{
    uint32_t idx = s->conn->pkt[i];
    int cost = supposed_use_add(use, idx, s->owner[idx].side);

    s->effort -= s->effort > 0;
    s->no_memory |= cost < 0;
    return cost < 0 ? 0 : (unsigned)cost;
}

/* Returns the cost of the packets from `from` to before `to` under the assumption that a new use of
 * the QPs begins at `from`. Stops when the cost exceeds `max`. A packet `from` that costs 2 *
 * USE_ODD or more in the present use may be a single packet with a wrong PSN. In this case, the
 * function adds USE_ODD unless `again` is true or the first response after `from` fits the new use.
 * Sets *stop to the first packet that the new use does not explain, or to `to`. */
static unsigned cost_of_start(struct search *s, uint32_t from, bool again, uint32_t to,
                              unsigned max, uint32_t *stop)
{
    struct supposed_use use;
    unsigned sum = 0, until_answer = s->cost[from] >= 2 * USE_ODD && !again ? USE_ODD : 0;
    bool answered = false;

    *stop = to;
    supposed_use_init(&use, s->trace, true);
    for (uint32_t i = from; i < to && sum <= max && !s->no_memory; i++) {
        unsigned cost = add_packet(s, &use, i);

        sum += cost;
        if (cost >= USE_ODD && *stop == to)
            *stop = i;
        if (!answered && trace_is_response(&s->trace->pkt[s->conn->pkt[i]])) {
            answered = true;
            until_answer = sum < USE_ODD ? 0 : until_answer;
        }
    }
    supposed_use_free(&use);
    return sum + until_answer;
}

/* Returns the sum of the known costs of the packets from `from` to before `to`. */
static unsigned cost_between(const struct search *s, uint32_t from, uint32_t to)
{
    unsigned sum = 0;

    for (uint32_t i = from; i < to; i++)
        sum += s->cost[i];
    return sum;
}

/* Examines the requests that `side` sent before packet `start` in the use that began at `from`.
 * Returns whether some of them may still be on their way to the responder. A request may be on its
 * way if no later response acknowledges it, or if it was retransmitted. */
static bool are_on_way(const struct search *s, uint32_t from, uint32_t start, uint8_t side)
{
    const struct trace_packet *again = NULL; /* request after packet i with the lowest PSN */
    roce_psn acked = {0};                    /* highest PSN that responses after packet i have */
    bool answered = false;

    for (uint32_t i = start; i-- > from && start - i <= ON_WAY_MAX;) {
        const struct trace_packet *p = packet_at(s, i);
        bool sent = s->owner[s->conn->pkt[i]].side == side;
        roce_psn psn = roce_psn_of(p->psn);

        if (packet_at(s, start)->time - p->time > ON_WAY_NS)
            break;
        if (trace_is_response(p) && !sent) {
            acked = !answered || roce_psn_diff(psn, acked) > 0 ? psn : acked;
            answered = true;
        } else if (!trace_is_response(p) && sent) {
            if (!answered || roce_psn_diff(psn, acked) > 0 ||
                (again && roce_psn_diff(psn, roce_psn_of(again->psn)) >= 0))
                return true;
            again = p;
        }
    }
    return false;
}

/* The responder on side `side` may have been reset before the requester sends packet `start`, the
 * first one of a new use. It then answers late requests of the use that began at `from` with
 * sequence NAKs whose MSN is 0, which that use cannot explain. Returns the first such NAK before
 * `start` after which the responder sent no other response, or 0 if there is none. */
static uint32_t find_nak(const struct search *s, uint32_t from, uint32_t start, uint8_t side)
{
    uint32_t low = start - from > NAK_NEAR ? start - NAK_NEAR : from, nak = 0;

    for (uint32_t i = low; i < start; i++) {
        const struct trace_packet *p = packet_at(s, i);

        if (s->owner[s->conn->pkt[i]].side != side || !trace_is_response(p))
            continue;
        if (qp_uses_is_first_nak(p))
            nak = !nak && s->cost[i] >= USE_ODD ? i : nak;
        else if (nak && !trace_sent_before(s->trace, p, packet_at(s, nak)))
            nak = 0;
    }
    return nak && packet_at(s, start)->time - packet_at(s, nak)->time <= ON_WAY_NS ? nak : 0;
}

/* Returns the sum of the known costs of the packets from `low` to before `start`, if a new use
 * begins at `start`. The present use began at `from`. The NAKs of find_nak() belong to the new use,
 * so they cost nothing. */
static unsigned cost_before(const struct search *s, uint32_t from, uint32_t low, uint32_t start)
{
    unsigned sum = cost_between(s, low, start);

    for (uint8_t side = 0; side < 2; side++) {
        uint32_t nak = find_nak(s, from, start, side);

        if (nak < low || !are_on_way(s, from, start, !side))
            continue;
        for (uint32_t i = nak; i < start; i++)
            if (s->owner[s->conn->pkt[i]].side == side && trace_is_response(packet_at(s, i)))
                sum -= s->cost[i];
    }
    return sum;
}

/* Returns the packet with which a new use began, if the use that began at packet `from` does not
 * explain packet `odd`. Returns 0 if no new use began up to `odd`. The costs of the packets before
 * `to` are known.
 *
 * A use without a response cannot be replayed. So up to the first response of the present use, the
 * search tries a request as the start of a new use only in two cases: the present use cannot
 * explain the request (2 * USE_ODD), or the QPs may have been reset before it (may_begin_again()).
 *
 * The packets before `to` may belong to several later uses, so the start with the lowest costs is
 * only a first guess. The search is repeated with fewer packets in these cases:
 * - The QPs may have been reset before an unexplained request, and a use from there explains the
 *   best start: with the packets that this use explains.
 * - The use from the best start does not explain a later packet: with the packets before that one.
 * - The best start is after `odd`: with the packets before it. `odd` may be a single wrong packet.
 */
static uint32_t find_start(struct search *s, uint32_t from, uint32_t odd, uint32_t to)
{
    uint32_t low = odd - from > BEFORE ? odd - BEFORE : from;
    uint32_t best[2] = {0, 0};  /* best start up to `odd`, and after it */
    unsigned tries[2] = {0, 0}; /* number of starts of a use tried: up to `odd`, and after it */
    uint32_t stop[2] = {to, to}, at, whole = 0, whole_stop = 0;
    unsigned one = cost_between(s, low, to), least[2];
    uint32_t behind = 0; /* number of starts after `odd` that were not tried yet */
    bool later;

    if (one < GAIN_MIN)
        return 0;
    for (uint32_t n = s->start_cnt;
         n-- > 0 && s->start_cnt - n <= WINDOW && s->start[n % WINDOW] > odd;)
        behind++;
    least[0] = least[1] = one - GAIN_MIN;
    for (uint32_t n = s->start_cnt;
         n-- > 0 && s->start_cnt - n <= WINDOW && tries[0] < STARTS_MAX;) {
        uint32_t start = s->start[n % WINDOW];
        bool after = start > odd;
        unsigned sum;

        if (after && behind-- > STARTS_NEAR && tries[1] >= STARTS_MAX)
            continue;
        if (start <= low || s->effort == 0)
            break;
        if (start <= s->answered && s->cost[start] < 2 * USE_ODD && !s->again[n % WINDOW])
            continue;
        sum = cost_before(s, from, low, start);
        if (sum <= least[after]) {
            bool before = sum >= USE_ODD;

            /* The present use explains the request as a retransmission. The request may begin a new
             * use only if the capture lacks the first request of the new use. */
            if (s->inside[n % WINDOW] && s->cost[start] < USE_ODD)
                sum += USE_ODD;
            if (sum <= least[after])
                sum += cost_of_start(s, start, s->again[n % WINDOW], to, least[after] - sum, &at);
            if (s->again[n % WINDOW] && s->cost[start] >= USE_ODD && !before) {
                whole = start;
                whole_stop = at;
            }
        }
        tries[after]++;
        if (sum > least[after] || (best[after] && sum == least[after]))
            continue; /* of equal costs, choose the latest start */
        least[after] = sum;
        best[after] = start;
        stop[after] = at;
    }
    later = best[1] && least[1] < least[0];
    if (whole && best[later] > whole && whole_stop > best[later] && whole_stop < to) {
        uint32_t nearer = find_start(s, from, odd, whole_stop);

        if (nearer)
            return nearer;
    }
    if (best[later] && stop[later] < to && stop[later] > odd) {
        uint32_t nearer = find_start(s, from, odd, stop[later]);

        if (nearer)
            return nearer;
    }
    return later ? find_start(s, from, odd, best[1]) : best[0];
}

/* The present use of the QP pair began at packet `from`, and a new use begins at packet `start` or
 * shortly before. Returns the first request of the new use: `start`, or an earlier request less
 * than RESET_NS before it, if the QPs may have been reset before the earlier request. */
static uint32_t first_after_pause(const struct search *s, uint32_t from, uint32_t start)
{
    uint32_t first = start;

    for (uint32_t n = s->start_cnt; n-- > 0 && s->start_cnt - n <= WINDOW;) {
        uint32_t i = s->start[n % WINDOW];

        if (i >= start)
            continue;
        if (i <= from || packet_at(s, start)->time - packet_at(s, i)->time >= RESET_NS)
            break;
        if (s->again[n % WINDOW])
            first = i;
    }
    return first;
}

/* Returns whether the QPs may have been reset before request `i`: the request has the first PSN of
 * the present use, or is the first one of its side, and follows a pause of RESET_NS. `sent` has the
 * latest packet of each side. */
static bool may_begin_again(const struct search *s, const struct supposed_use *use, uint32_t i,
                            const struct trace_packet *const sent[2])
{
    uint8_t side = s->owner[s->conn->pkt[i]].side;
    const struct trace_packet *p = packet_at(s, i), *before = sent[side];

    if (use->side[side].started)
        return p->psn == use->side[side].base.v && before && p->time - before->time >= RESET_NS;
    before = sent[!side];
    return before && p->time - before->time >= RESET_NS;
}

/* Records packet `i` if it may be the first request of a use: its PSN does not follow the PSN of
 * the previous request of its side, which is in `last`. */
static void note_start(struct search *s, const struct supposed_use *use, uint32_t i, bool again,
                       const struct trace_packet **last)
{
    uint32_t idx = s->conn->pkt[i];
    const struct trace_packet *p = &s->trace->pkt[idx], **before = &last[s->owner[idx].side];
    int32_t off = *before ? roce_psn_diff(roce_psn_of(p->psn), roce_psn_of((*before)->psn)) : 0;
    bool read = *before && roce_opcode((*before)->opcode)->kind == ROCE_KIND_READ;

    if (!roce_opcode_is_request(roce_opcode(p->opcode)))
        return;
    if (off != 1 && !(read && off > 0 && off < 1024)) {
        const struct use_side *side = &use->side[s->owner[idx].side];

        s->again[s->start_cnt % WINDOW] = again;
        s->inside[s->start_cnt % WINDOW] = side->started && p->psn != side->base.v;
        s->start[s->start_cnt++ % WINDOW] = i;
    }
    *before = p;
}

/* Returns the frame of the only packet from `start` to before `to` that the present use does not
 * explain, if it is an Atomic ACK that shows a second execution of its request. Otherwise returns
 * 0. */
static uint32_t find_second_execution(const struct search *s, uint32_t start, uint32_t to)
{
    uint32_t frame = 0;

    for (uint32_t i = start; i < to; i++) {
        if (s->cost[i] < USE_ODD)
            continue;
        if (frame || s->cost[i] != USE_TWICE ||
            roce_opcode(packet_at(s, i)->opcode)->kind != ROCE_KIND_ATOMIC_ACK)
            return 0;
        frame = packet_at(s, i)->frame;
    }
    return frame;
}

/* Adds a use of the QP pair that begins at packet `start` of the connection, after the use that
 * began at packet `from`. The costs of the packets before `to` are known. */
static void add_use(struct search *s, struct qp_uses *uses, uint32_t from, uint32_t start,
                    uint32_t to)
{
    struct qp_use *use;
    uint32_t nak;

    if (!VEC_GROW(uses->use, uses->cnt, uses->cap)) {
        s->no_memory = true;
        return;
    }
    use = &uses->use[uses->cnt++];
    *use = (struct qp_use){.conn_index = s->conn->conn_index,
                           .frame = packet_at(s, start)->frame,
                           .twice = find_second_execution(s, start, to)};
    for (uint8_t side = 0; side < 2; side++) {
        use->stale[side] = are_on_way(s, from, start, side);
        nak = use->stale[side] ? find_nak(s, from, start, !side) : 0;
        use->nak[!side] = nak ? packet_at(s, nak)->frame : 0;
    }
}

/* Finds the uses of one connection. */
static void search_conn(struct search *s, struct qp_uses *uses)
{
    const struct conn_packets *conn = s->conn;
    const struct trace_packet *last[2] = {NULL, NULL}, *sent[2] = {NULL, NULL};
    uint32_t from = 0, odd = 0; /* first packet of the present use; first packet that it does not
                                 * explain, 0: none */
    struct supposed_use use;

    supposed_use_init(&use, s->trace, false);
    s->start_cnt = 0;
    s->answered = (uint32_t)conn->cnt;
    for (uint32_t i = 0; i < conn->cnt && !s->no_memory; i++) {
        uint32_t start = 0;

        note_start(s, &use, i, may_begin_again(s, &use, i, sent), last);
        sent[s->owner[conn->pkt[i]].side] = packet_at(s, i);
        if (i < s->answered &&
            roce_opcode_is_response(roce_opcode(s->trace->pkt[conn->pkt[i]].opcode)))
            s->answered = i;
        s->cost[i] = (uint8_t)add_packet(s, &use, i);
        if (s->cost[i] >= USE_ODD && odd == 0)
            odd = i;
        while (odd && start == 0 && (i >= odd + AFTER || i + 1 == conn->cnt)) {
            start = find_start(s, from, odd, i + 1);
            for (odd++; odd <= i && s->cost[odd] < USE_ODD; odd++)
                ;
            if (odd > i)
                odd = 0;
        }
        if (start == 0)
            continue;
        start = first_after_pause(s, from, start);
        add_use(s, uses, from, start, i + 1);
        supposed_use_free(&use);
        supposed_use_init(&use, s->trace, true);
        s->start_cnt = odd = 0;
        s->answered = (uint32_t)conn->cnt;
        last[0] = last[1] = sent[0] = sent[1] = NULL;
        from = start;
        i = start - 1;
    }
    supposed_use_free(&use);
}

/* Lists the packets of each connection. Returns false if out of memory. */
static bool list_packets(struct conn_packets **conn, size_t *cap, struct keymap *conns,
                         const struct trace *trace, const struct roce_flow_owner *owner)
{
    uint32_t recent[RECENT_CONNS] = {0}; /* cache: latest connection with this hash of its number */

    for (uint32_t i = 0; i < trace->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[i];
        uint32_t cnt = conns->cnt, at = recent[owner[i].conn_index % RECENT_CONNS];

        if (p->dropped || p->cut || owner[i].conn_index == ROCE_NO_CONN ||
            !trace_acknowledged(trace->flow[p->flow].svc))
            continue;
        if (at >= cnt || (*conn)[at].conn_index != owner[i].conn_index) {
            if (!VEC_GROW(*conn, cnt, *cap) ||
                (at = keymap_add(conns, &owner[i].conn_index)) == KEYMAP_NONE)
                return false;
            if (at == cnt)
                (*conn)[at] = (struct conn_packets){.conn_index = owner[i].conn_index};
            recent[owner[i].conn_index % RECENT_CONNS] = at;
        }
        if (!VEC_GROW((*conn)[at].pkt, (*conn)[at].cnt, (*conn)[at].cap))
            return false;
        (*conn)[at].pkt[(*conn)[at].cnt++] = i;
    }
    return true;
}

bool qp_uses_find(struct qp_uses *uses, const struct trace *trace,
                  const struct roce_flow_owner *owner)
{
    struct search s = {.trace = trace,
                       .owner = owner,
                       .cost = malloc(trace->cnt + 1),
                       .effort = EFFORT_MIN + PER_PACKET * trace->cnt};
    struct conn_packets *conn = NULL;
    size_t cap = 0;
    struct keymap conns;

    keymap_init(&conns, sizeof(uint32_t));
    s.no_memory = !s.cost || !list_packets(&conn, &cap, &conns, trace, owner);
    for (size_t i = 0; i < uses->cnt; i++) {
        uint32_t at = keymap_get(&conns, &uses->use[i].conn_index);

        if (at != KEYMAP_NONE)
            conn[at].cm = true;
    }
    for (uint32_t i = 0; i < conns.cnt; i++) {
        s.conn = &conn[i];
        if (!conn[i].cm && !s.no_memory)
            search_conn(&s, uses);
        free(conn[i].pkt);
    }
    if (uses->cnt)
        qsort(uses->use, uses->cnt, sizeof(*uses->use), use_cmp);
    keymap_free(&conns);
    free(conn);
    free(s.cost);
    return !s.no_memory;
}
