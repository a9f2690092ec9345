/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/request_tracker.h"

#include <stdlib.h>

#define NAK_NONE INT64_MIN /* no NAK sent, or the recorded requester has retransmitted since */

int request_tracker_open(struct request_tracker *tracker, struct requester_run *run)
{
    size_t psns = (size_t)(run->wrs.end - run->wrs.setup->first);

    *tracker = (struct request_tracker){.asker = run, .nak = NAK_NONE};
    tracker->high = tracker->last = tracker->reached = run->wrs.setup->first - 1;
    expected_wc_init(&tracker->expect, run);
    tracker->recorded = calloc(psns + 1, sizeof(*tracker->recorded));
    tracker->arrived = calloc(psns + 1, sizeof(*tracker->arrived));
    run->tx_cnt = run->completion_cnt = 0;
    run->error_event = EVENT_NONE;
    run->wrong_data = 0;
    return tracker->recorded && tracker->arrived ? 0 : -1;
}

void request_tracker_close(struct request_tracker *tracker)
{
    free(tracker->recorded);
    free(tracker->arrived);
    tracker->recorded = tracker->arrived = NULL;
}

int request_tracker_add(struct request_tracker *tracker, const struct roce_pkt *pkt)
{
    struct requester_run *a = tracker->asker;
    const struct inferred_setup *s = a->wrs.setup;
    int64_t rel, last;

    if (rc_requester_note_tx(a, pkt, tracker->step, tracker->arrived) != 0)
        return -1;
    rel = last = a->tx[a->tx_cnt - 1].rel;
    if (pkt->op->kind == ROCE_KIND_READ)
        last += roce_psn_cnt(pkt->reth.dma_len, s->mtu) - 1;
    if (rel <= tracker->last) {
        tracker->restarts += !tracker->refused;
        tracker->refused = false;
    }
    /* After our NAK, ignore requests with later PSNs until the target retransmits the NAKed PSN:
     * these requests were already in flight. */
    if (!tracker->refused)
        tracker->reached = last;
    tracker->last = last;
    if (last > tracker->high)
        tracker->high = last;
    return 0;
}

void request_tracker_add_recorded(struct request_tracker *tracker, uint32_t event)
{
    const struct requester_run *a = tracker->asker;
    int64_t rel = a->wrs.setup->event[event].rel, at = work_requests_psn_idx(&a->wrs, rel);

    if (at >= 0)
        tracker->recorded[at] += tracker->recorded[at] < UINT16_MAX;
    if (rel <= tracker->nak)
        tracker->nak = NAK_NONE;
    else if (a->retransmit[event] == RETX_GO_BACK && rel > tracker->expect.acked)
        tracker->recorded_restarts++;
}

/* Returns whether the recorded response `event` is an RNR NAK or a sequence NAK. After either NAK,
 * the requester retransmits from the PSN of the NAK. */
static bool is_retransmit_nak(const struct request_tracker *tracker, uint32_t event)
{
    const struct inferred_setup *s = tracker->asker->wrs.setup;
    const struct trace_packet *p = event_packet(s, event);
    enum roce_syndrome_kind kind = roce_syndrome_kind(p->syndrome);

    return !s->event[event].damaged && roce_opcode(p->opcode)->kind == ROCE_KIND_ACK &&
           (kind == ROCE_SYN_RNR ||
            (kind == ROCE_SYN_NAK && roce_syndrome_code(p->syndrome) == ROCE_NAK_PSN_SEQ));
}

void request_tracker_add_response(struct request_tracker *tracker, uint32_t event)
{
    int64_t rel = tracker->asker->wrs.setup->event[event].rel, acked = tracker->expect.acked;

    expected_wc_on_response(&tracker->expect, event);
    if (tracker->expect.acked > acked)
        tracker->restarts = tracker->recorded_restarts = 0;
    if (!is_retransmit_nak(tracker, event))
        return;
    tracker->nak = rel;
    if (rel <= tracker->reached) {
        tracker->reached = rel - 1;
        tracker->refused = true;
    }
}

bool request_tracker_may_proceed(const struct request_tracker *tracker, uint32_t event)
{
    const struct requester_run *a = tracker->asker;
    const struct pkt_event *at = &a->wrs.setup->event[event];
    int64_t idx = work_requests_psn_idx(&a->wrs, at->rel);

    if (!at->response && (a->retransmit[event] != RETX_GO_BACK || idx < 0))
        return true;
    if (!at->response)
        return at->rel > tracker->expect.acked
                   ? !tracker->refused && tracker->restarts >= tracker->recorded_restarts
                   : tracker->arrived[idx] >= tracker->recorded[idx];
    /* We may send a second NAK for the same PSN: the second NAK answers packets that were in flight
     * when we sent the first one. */
    return at->rel <= tracker->expect.acked || at->rel <= tracker->reached ||
           (tracker->refused && at->rel == tracker->reached + 1 &&
            is_retransmit_nak(tracker, event));
}

bool request_tracker_has_reached(const struct request_tracker *tracker, int64_t rel)
{
    return tracker->high >= rel;
}
