/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/packet_runs.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

_Static_assert(sizeof(struct packet_runs) == 64, "a cache line");
_Static_assert(2 * PACKET_RUNS_MAX < UINT16_MAX, "open[] has 16 bits");

/* Maximum number of PSNs in a merged run. With more PSNs, the distance of two PSNs modulo 2^24
 * would be ambiguous. */
#define SPAN_MAX (1u << 21)

const char *run_class_name(enum run_class class)
{
    static const char *const names[RUN_CLASS_CNT] = {
        "request", "repeated request", "response", "repeated response", "ack",
        "nak",     "rnr nak",          "cnp",      "dropped",           "copy",
        "other"};

    return names[class];
}

/* ---- properties of one packet ------------------------------------------------------------------
 */

/* Flags of the analysis that change only the class of a run, no other member. */
#define PLAIN_FLAGS                                                                                \
    ((uint32_t)(ROCE_AN_REQUEST | ROCE_AN_RESPONSE | ROCE_AN_REL_PSN | ROCE_AN_MSG_START |         \
                ROCE_AN_MSG_END | ROCE_AN_REGION))

/* Returns whether a packet is plain: in its run, the members wait, waited, gap, ce, cause, marks
 * and detail are 0. */
static bool packet_is_plain(const struct roce_flow_result *result)
{
    return !(result->flags & ~PLAIN_FLAGS) && !result->findings && !result->waited;
}

/* Returns the class of a packet if the flags alone determine the class, otherwise RUN_CLASS_CNT. */
static enum run_class class_of_flags(uint32_t flags)
{
    if (flags & ROCE_AN_DROPPED)
        return RUN_DROPPED;
    if (flags & ROCE_AN_COPY)
        return RUN_COPY;
    if (flags & ROCE_AN_CNP)
        return RUN_CNP;
    if (flags & ROCE_AN_RNR_NAK)
        return RUN_RNR_NAK;
    return flags & ROCE_AN_NAK ? RUN_NAK : RUN_CLASS_CNT;
}

static enum run_class class_of(const struct roce_pkt *pkt, const struct roce_flow_result *r)
{
    enum run_class class = r->flags & ~PLAIN_FLAGS ? class_of_flags(r->flags) : RUN_CLASS_CNT;

    if (class != RUN_CLASS_CNT)
        return class;
    if (roce_opcode_is_request(pkt->op))
        return r->flags & (ROCE_AN_RETRANSMISSION | ROCE_AN_DUPLICATE_REQUEST)
                   ? RUN_REPEATED_REQUEST
                   : RUN_REQUEST;
    if (pkt->op->kind == ROCE_KIND_ACK)
        return RUN_ACK;
    if (roce_opcode_is_response(pkt->op))
        return r->flags & ROCE_AN_DUPLICATE_RESPONSE ? RUN_REPEATED_RESPONSE : RUN_RESPONSE;
    return RUN_OTHER;
}

/* Returns the number of PSNs that a packet of class `class` uses. */
static uint32_t span_of(const struct roce_pkt *pkt, const struct roce_flow_result *r,
                        enum run_class class)
{
    if (r->flags & ROCE_AN_REQUEST && class <= RUN_REPEATED_REQUEST)
        return (r->next_psn - pkt->bth.psn) & ROCE_PSN_MASK;
    return 1;
}

static uint8_t marks_of(const struct roce_opcode *op, const struct roce_flow_result *r)
{
    static const struct {
        uint32_t flag;
        uint8_t mark;
    } table[] = {
        {ROCE_AN_PSN_GAP, RUN_MARK_GAP},
        {ROCE_AN_IMPLIED_NAK, RUN_MARK_IMPLIED_NAK},
        {ROCE_AN_OUT_OF_ORDER, RUN_MARK_OUT_OF_ORDER},
        {ROCE_AN_DUPLICATE_ACK, RUN_MARK_DUPLICATE_ACK},
        {ROCE_AN_DUPLICATE_REQUEST, RUN_MARK_ACKED_BEFORE},
    };
    uint8_t marks = r->findings ? RUN_MARK_FINDING : 0;

    if (r->flags & (ROCE_AN_DROPPED | ROCE_AN_COPY) && roce_opcode_is_response(op))
        marks |= RUN_MARK_OF_RESPONSE;
    if (r->flags & ~PLAIN_FLAGS)
        for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
            marks |= r->flags & table[i].flag ? table[i].mark : 0;
    return marks;
}

static uint64_t known_ns(uint64_t ns)
{
    return ns == ROCE_NEVER_NS ? 0 : ns;
}

/* Fills in a run of one packet from the packet and its analysis. */
static void set_run(struct packet_run *run, const struct roce_flow_in *in,
                    const struct roce_flow_result *r, enum run_class class)
{
    const struct roce_pkt *pkt = in->pkt;

    *run = (struct packet_run){
        .first_time = in->time,
        .last_time = in->time,
        .payload = pkt->payload_len,
        .wire = pkt->wire_len,
        .flight = r->bytes_in_flight,
        .rtt = known_ns(r->rtt),
        .first_frame = in->frame,
        .last_frame = in->frame,
        .cnt = 1,
        .psn = pkt->bth.psn,
        .span = span_of(pkt, r, class),
        .sport = pkt->udp.sport,
        .side = r->side,
        .class = (uint8_t) class,
        .kind = (uint8_t)pkt->op->kind,
    };
    if (packet_is_plain(r))
        return;
    run->gap = r->flags & ROCE_AN_PSN_GAP ? r->gap : 0;
    run->ce = (r->flags & ROCE_AN_CE) != 0;
    run->marks = marks_of(pkt->op, r);
    run->waited = r->waited;
    if (class == RUN_REPEATED_REQUEST) {
        run->cause = (uint8_t)r->cause;
        run->go_back = r->go_back_frame;
        run->wait = known_ns(r->rto);
        run->detail = r->loss;
    }
    if (class == RUN_RNR_NAK)
        run->wait = known_ns(r->rnr_wait);
    if (class == RUN_NAK || class == RUN_RNR_NAK)
        run->detail = pkt->aeth.syndrome;
}

/* ---- adding packets to runs --------------------------------------------------------------------
 */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Adds PSNs to the range of a run. */
static void add_psns(struct packet_run *run, uint32_t psn, uint32_t span)
{
    int32_t to = roce_psn_diff(roce_psn_of(psn), roce_psn_of(run->psn));
    int64_t end = (int64_t)to + span;

    if (to < 0) {
        run->span += (uint32_t)-to;
        run->psn = psn;
    } else if (end > run->span) {
        run->span = (uint32_t)end;
    }
}

/* Adds a plain packet (packet_is_plain()) to a plain run of the same side and class. Returns false
 * and changes nothing if the run would have too many PSNs, or has another UDP source port. */
static bool add_to_run(struct packet_run *run, const struct roce_flow_in *in,
                       const struct roce_flow_result *r, enum run_class class)
{
    const struct roce_pkt *pkt = in->pkt;
    uint32_t span = span_of(pkt, r, class);

    if (run->sport != pkt->udp.sport || run->span >= SPAN_MAX || span >= SPAN_MAX)
        return false;
    add_psns(run, pkt->bth.psn, span);
    run->last_time = larger(run->last_time, in->time);
    run->last_frame = in->frame;
    run->payload += pkt->payload_len;
    run->wire += pkt->wire_len;
    run->flight = larger(run->flight, r->bytes_in_flight);
    run->rtt = larger(run->rtt, known_ns(r->rtt));
    run->cnt++;
    return true;
}

void packet_runs_add(struct packet_runs *runs, const struct roce_flow_in *in,
                     const struct roce_flow_result *r)
{
    enum run_class class = class_of(in->pkt, r);
    uint16_t *open = &runs->open[r->side & 1][class];
    bool plain = packet_is_plain(r);

    if (plain && *open && runs->run[*open - 1].cnt < runs->length &&
        add_to_run(&runs->run[*open - 1], in, r, class))
        return;
    set_run(&runs->run[runs->cnt++], in, r, class);
    *open = plain ? (uint16_t)runs->cnt : 0;
}

/* ---- merging runs ------------------------------------------------------------------------------
 */

static bool is_plain(const struct packet_run *run)
{
    return run->marks == 0 && run->gap == 0 && run->ce == 0 && run->waited == 0 &&
           (run->class <= RUN_ACK || run->class == RUN_OTHER);
}

/* Runs that may be merged. MERGE_PLAIN: runs without marks and waits. MERGE_EQUAL_MARKS: also runs
 * with equal marks, the second without a wait. MERGE_ALL: all runs. */
enum merge_level { MERGE_PLAIN, MERGE_EQUAL_MARKS, MERGE_ALL };

static bool can_merge(const struct packet_run *a, const struct packet_run *b,
                      enum merge_level level)
{
    if (a->span >= SPAN_MAX || b->span >= SPAN_MAX)
        return level == MERGE_ALL;
    switch (level) {
    case MERGE_PLAIN:
        return a->sport == b->sport && a->cause == b->cause && is_plain(a) && is_plain(b);
    case MERGE_EQUAL_MARKS:
        return a->sport == b->sport && a->cause == b->cause && a->go_back == b->go_back &&
               a->marks == b->marks && a->detail == b->detail && b->waited == 0;
    default: return true;
    }
}

static void merge_into(struct packet_run *a, const struct packet_run *b)
{
    add_psns(a, b->psn, b->span);
    a->last_time = larger(a->last_time, b->last_time);
    a->last_frame = b->last_frame;
    a->payload += b->payload;
    a->wire += b->wire;
    a->flight = larger(a->flight, b->flight);
    a->rtt = larger(a->rtt, b->rtt);
    a->wait = larger(a->wait, b->wait);
    a->cnt += b->cnt;
    a->gap += b->gap;
    a->ce += b->ce;
    a->marks |= b->marks;
}

/* Merges runs in pairs. The second run of a pair is the next one of the same side and class. */
static void merge_pairs(struct packet_runs *runs, enum merge_level level)
{
    /* Index plus 1 of the first run of an incomplete pair; 0: none. */
    uint16_t single[2][RUN_CLASS_CNT];
    uint16_t kept = 0;

    memset(single, 0, sizeof(single));
    for (uint32_t i = 0; i < runs->cnt; i++) {
        struct packet_run *run = &runs->run[i];
        uint16_t *at = &single[run->side & 1][run->class];
        uint16_t *open = &runs->open[run->side & 1][run->class];

        if (*at && can_merge(&runs->run[*at - 1], run, level)) {
            merge_into(&runs->run[*at - 1], run);
            *open = is_plain(&runs->run[*at - 1]) ? *at : 0;
            *at = 0;
            continue;
        }
        runs->run[kept] = *run;
        *at = ++kept;
        *open = is_plain(run) ? kept : 0;
    }
    runs->cnt = kept;
}

/* Merges runs until at most `max` remain. If no more can be merged, more than `max` remain. */
static void limit_runs(struct packet_runs *runs, uint32_t max)
{
    for (int level = MERGE_PLAIN; level <= MERGE_ALL && runs->cnt > max; level++) {
        uint32_t before;

        do {
            before = runs->cnt;
            merge_pairs(runs, (enum merge_level)level);
            if (level == MERGE_PLAIN && runs->cnt < before - before / 4)
                runs->length = runs->length ? runs->length * 2 : 2;
        } while (runs->cnt > max && runs->cnt < before - before / 4);
    }
}

bool packet_runs_make_room(struct packet_runs *runs, struct page_memory *memory, uint32_t max)
{
    uint32_t cap = runs->cap ? runs->cap * 4 : PACKET_RUNS_MIN;
    struct packet_run *more;

    if (runs->cap >= max)
        limit_runs(runs, max - max / 4);
    if (runs->cnt < runs->cap)
        return true;
    cap = cap > max && max > runs->cap ? max : cap;
    more = page_memory_grow(memory, runs->run, runs->cnt, cap, sizeof(*more));
    if (!more)
        return false;
    runs->run = more;
    runs->cap = cap;
    return true;
}

/* ---- the end of the capture --------------------------------------------------------------------
 */

static int compare_runs(const void *a, const void *b)
{
    const struct packet_run *x = a, *y = b;

    return (x->first_frame > y->first_frame) - (x->first_frame < y->first_frame);
}

bool packet_runs_join(struct packet_runs *runs, struct page_memory *memory,
                      const struct packet_runs *other, uint8_t side)
{
    uint32_t cnt = runs->cnt + other->cnt;
    struct packet_run *more = page_memory_grow(memory, runs->run, runs->cnt, cnt, sizeof(*more));

    if (!more)
        return false;
    for (uint32_t i = 0; i < other->cnt; i++) {
        more[runs->cnt + i] = other->run[i];
        more[runs->cnt + i].side = side;
    }
    qsort(more, cnt, sizeof(*more), compare_runs);
    runs->run = more;
    runs->cnt = runs->cap = cnt;
    return true;
}

void packet_runs_mark_refused(struct packet_runs *runs)
{
    const struct packet_run *refused[2] = {NULL}; /* latest RNR NAK of each direction */

    for (uint32_t i = 0; i < runs->cnt; i++) {
        struct packet_run *run = &runs->run[i];
        const struct packet_run **nak = &refused[packet_run_direction(run)];
        const bool same = *nak && (uint32_t)roce_psn_diff(roce_psn_of((*nak)->psn),
                                                          roce_psn_of(run->psn)) < run->span;

        if (run->class == RUN_RNR_NAK)
            *nak = run;
        else if (same && packet_run_is_request(run))
            *nak = NULL;
        else if (same && run->class == RUN_NAK &&
                 run->detail == (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ))
            run->cause = ROCE_CAUSE_RNR_NAK;
    }
}

void packet_runs_mark_use(struct packet_runs *runs, uint32_t frame)
{
    for (unsigned d = 0; d < 2; d++) {
        struct packet_run *first = NULL;
        bool before = false;

        for (uint32_t i = 0; i < runs->cnt && !(first && packet_run_is_request(first)); i++) {
            struct packet_run *run = &runs->run[i];

            if (!packet_run_is_in(run, d) || run->class == RUN_DROPPED)
                continue;
            before |= run->first_frame < frame;
            if (run->first_frame >= frame && (!first || packet_run_is_request(run)))
                first = run;
        }
        if (first && before)
            first->marks |= RUN_MARK_NEW_USE;
    }
}

uint64_t packet_runs_merged(const struct packet_runs *runs)
{
    uint64_t merged = 0;

    for (uint32_t i = 0; i < runs->cnt; i++)
        merged += runs->run[i].cnt > 1 ? runs->run[i].cnt : 0;
    return merged;
}
