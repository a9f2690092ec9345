/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_work_requests.h"

#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "infer/infer_loss.h"
#include "util/lower_bound.h"

static bool is_fetch(enum roce_kind kind)
{
    return kind != ROCE_KIND_SEND && kind != ROCE_KIND_WRITE;
}

/* Adds a packet to its message. Returns 1 on success, 0 if the packet does not continue the open
 * message, or -1 if out of memory. */
static int add_request_packet(struct work_requests *w, const struct request_copy *copy,
                              int64_t expect)
{
    const struct inferred_setup *s = w->setup;
    const struct trace_packet *p = event_packet(s, copy->event);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct work_request *last = w->cnt ? &w->wr[w->cnt - 1] : NULL;

    if (roce_opcode_starts(op)) {
        if (last && last->open)
            return 0; /* a message begins before the previous one has ended (R073) */
        if (!VEC_GROW(w->wr, w->cnt, w->cap))
            return -1;
        last = &w->wr[w->cnt++];
        *last = (struct work_request){.rel = expect,
                                      .event = copy->event,
                                      .posted_by = copy->event,
                                      .part = (uint32_t)w->part_cnt,
                                      .kind = op->kind,
                                      .len = trace_reth(p).dma_len,
                                      .open = true};
    } else if (!last || !last->open || last->kind != op->kind) {
        return 0; /* the packet continues no message, or a message of another operation (R072,
                   * R074) */
    }
    if (!VEC_GROW(w->part, w->part_cnt, w->part_cap))
        return -1;
    w->part[w->part_cnt++] = copy->event;
    last->part_cnt++;
    last->cnt += trace_psn_cnt(p, s->mtu);
    if (op->kind == ROCE_KIND_SEND)
        last->len += p->payload_len;
    last->open =
        (op->kind == ROCE_KIND_SEND || op->kind == ROCE_KIND_WRITE) && !roce_opcode_ends(op);
    return 1;
}

/* Some responses may have been captured just before request `event`, although the requester sent
 * the request before it received them. Returns the event of the first of these responses, or
 * `event` if there is none. */
static uint32_t race_start(const struct inferred_setup *s, uint32_t event)
{
    uint64_t time = event_time(s, event);
    uint32_t start = event;

    while (start > 0 && event - start < REORDER_MAX_PACKETS && s->event[start - 1].response &&
           time - event_time(s, start - 1) <= REORDER_MAX_NS)
        start--;
    return start;
}

/* Returns whether a request may have been sent before the fatal NAK arrived at the requester: it
 * was captured soon after the NAK. */
static bool crosses_fatal_nak(const struct inferred_setup *s, uint32_t event)
{
    return s->fatal_nak != EVENT_NONE && event > s->fatal_nak &&
           event_time(s, event) - event_time(s, s->fatal_nak) <= CROSSED_NS;
}

/* Sets posted_by of each work request. A requester posts a message before any packet of that
 * message, or of a later message, is captured. A packet of a later message can be the earliest
 * captured one. This happens if the first packet was lost before the capture point, so that only
 * its retransmission is captured. */
static void find_posts(struct work_requests *w)
{
    for (uint32_t i = 0; i < w->setup->event_cnt; i++) {
        const struct pkt_event *event = &w->setup->event[i];
        const struct work_request *wr = work_request_at(w, event->rel);

        /* A response shows that its request was posted before the response, even if the capture
         * lacks the request. */
        if (wr && i <= wr->posted_by && !event->damaged)
            w->wr[wr - w->wr].posted_by = event->response ? i
                                          : crosses_fatal_nak(w->setup, i)
                                              ? w->setup->fatal_nak
                                              : race_start(w->setup, i);
    }
    for (size_t i = w->cnt; i-- > 1;)
        if (w->wr[i].posted_by < w->wr[i - 1].posted_by)
            w->wr[i - 1].posted_by = w->wr[i].posted_by;
}

/* Returns whether the packets of a message have the lengths that the specification demands (R079,
 * R080). Our requester cannot send other lengths. */
static bool lengths_fit(const struct work_requests *w, const struct work_request *wr)
{
    uint64_t sum = 0;

    if (wr->len > RNIC_MESSAGE_MAX)
        return false;
    if (wr->kind != ROCE_KIND_SEND && wr->kind != ROCE_KIND_WRITE)
        return true;
    for (uint32_t i = 0; i < wr->part_cnt; i++) {
        const struct trace_packet *p = event_packet(w->setup, w->part[wr->part + i]);
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (roce_opcode_ends(op) ? p->payload_len > w->setup->mtu ||
                                       (p->payload_len == 0 && op->pos == ROCE_POS_LAST)
                                 : p->payload_len != w->setup->mtu)
            return false;
        sum += p->payload_len;
    }
    return wr->open ? wr->kind == ROCE_KIND_SEND || sum < wr->len : sum == wr->len;
}

/* Returns whether a FLUSH or ATOMIC WRITE can be posted with the verbs. An ATOMIC WRITE needs 8
 * bytes; a FLUSH needs a valid placement type and selectivity level. An ATOMIC WRITE to an
 * unaligned address can be posted: the responder refuses it. */
static bool a19_postable(const struct work_requests *w, const struct work_request *wr)
{
    struct roce_pkt pkt;

    trace_parse_headers(event_packet(w->setup, wr->event), &pkt);
    if (wr->kind == ROCE_KIND_ATOMIC_WRITE)
        return pkt.payload_len == 8 && pkt.reth.dma_len == 8;
    return pkt.payload_len == 0 && pkt.feth.plt != 0 &&
           !(pkt.feth.plt & ~(RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT)) &&
           (pkt.feth.sel == RNIC_FLUSH_RANGE || pkt.feth.sel == RNIC_FLUSH_MR);
}

static const char *unpostable(const struct work_requests *w)
{
    for (size_t i = 0; i < w->cnt; i++) {
        switch (w->wr[i].kind) {
        case ROCE_KIND_SEND:
        case ROCE_KIND_WRITE:
        case ROCE_KIND_READ:
        case ROCE_KIND_CMP_SWAP:
        case ROCE_KIND_FETCH_ADD: break;
        case ROCE_KIND_FLUSH:
        case ROCE_KIND_ATOMIC_WRITE:
            if (!a19_postable(w, &w->wr[i]))
                return "the direction contains a FLUSH or ATOMIC WRITE that cannot be posted";
            break;
        default: return "the direction contains an operation that our requester cannot post";
        }
        if (!lengths_fit(w, &w->wr[i]))
            return "request packets have lengths that a conformant requester never uses";
    }
    return w->cnt ? NULL : "the capture does not contain the start of any message";
}

/* Returns whether the recorded requester had more READs and atomics in flight than our requester
 * can have (R130). */
static bool too_many_fetches(const struct work_requests *w)
{
    const struct inferred_setup *s = w->setup;
    int64_t asked = INT64_MIN;  /* highest PSN requested so far */
    size_t begun = 0, done = 0; /* number of work requests whose packets were sent, and number of
                                 * work requests acknowledged */
    uint32_t out = 0;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct pkt_event *event = &s->event[i];

        if (event->response) {
            for (; done < begun && event->usable && !event->before_first &&
                   w->wr[done].rel + w->wr[done].cnt - 1 <= event_executed_to(s, i);
                 done++)
                out -= is_fetch(w->wr[done].kind);
            continue;
        }
        if (event->rel <= asked)
            continue;
        asked = event->rel;
        for (; begun < w->cnt && w->wr[begun].rel <= asked; begun++)
            out += is_fetch(w->wr[begun].kind);
        if (out > RNIC_RD_ATOMIC_MAX)
            return true;
    }
    return false;
}

/* Shortens a message if its end was not captured: the message then has the captured packets plus
 * one packet of 1 byte. Because of the additional packet, our requester sends the captured packets
 * as First and Middle packets. Posting the whole length in the RETH of a WRITE could cost up to 8
 * million packets. */
static void cut_open_message(struct work_requests *w)
{
    struct work_request *last = w->cnt ? &w->wr[w->cnt - 1] : NULL;
    uint32_t len;

    if (!last || !last->open)
        return;
    len = last->part_cnt * w->setup->mtu + 1;
    if (last->kind == ROCE_KIND_WRITE)
        last->cut = last->len - len;
    last->len = len;
}

int infer_work_requests(struct work_requests *w, const struct inferred_setup *setup)
{
    struct request_copy *copy;
    int64_t expect = setup->first;
    size_t cnt;
    int rc = 1;

    *w = (struct work_requests){.setup = setup};
    copy = packet_log_copies(setup, false, &cnt);
    if (!copy)
        return -1;
    for (size_t i = 0; i < cnt && rc == 1; i++) {
        if (copy[i].rel < expect)
            continue; /* a retransmission */
        if (copy[i].rel > expect) {
            w->after_gap = (uint32_t)(cnt - i);
            break;
        }
        rc = add_request_packet(w, &copy[i], expect);
        if (rc == 0)
            w->after_gap = (uint32_t)(cnt - i);
        if (w->cnt)
            expect = w->wr[w->cnt - 1].rel + w->wr[w->cnt - 1].cnt;
    }
    w->end = expect;
    if (rc >= 0) {
        w->skip = unpostable(w);
        if (!w->skip && too_many_fetches(w))
            w->skip = "more READs and atomics are in flight than our requester allows";
        find_posts(w);
        if (!w->skip)
            cut_open_message(w);
    }
    free(copy);
    return rc < 0 ? -1 : 0;
}

void work_requests_free(struct work_requests *w)
{
    free(w->wr);
    free(w->part);
    memset(w, 0, sizeof(*w));
}

/* Returns a guess for the index of the work request with PSN `rel` < w->end. The guess is right if
 * all work requests have the same number of PSNs. */
static size_t guess_work_request(const struct work_requests *w, int64_t rel)
{
    int64_t first = w->wr[0].rel;

    return (size_t)((uint64_t)(rel - first) * w->cnt / (uint64_t)(w->end - first));
}

const struct work_request *work_request_at(const struct work_requests *w, int64_t rel)
{
    size_t low = 0, high = w->cnt;

    if (w->cnt && rel >= w->wr[0].rel && rel < w->end) {
        const struct work_request *wr = &w->wr[guess_work_request(w, rel)];

        if (rel >= wr->rel && rel - wr->rel < wr->cnt)
            return wr;
    }
    LOWER_BOUND(low, high, mid, w->wr[mid].rel <= rel);
    if (low == 0 || rel - w->wr[low - 1].rel >= w->wr[low - 1].cnt)
        return NULL;
    return &w->wr[low - 1];
}
