/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/wait_bands.h"

#include "page/psn_axis.h"
#include "wire/codes.h"

static enum wait_band_kind kind_of(uint8_t cause)
{
    switch (cause) {
    case ROCE_CAUSE_RNR_NAK: return WAIT_BAND_RNR;
    case ROCE_CAUSE_SEQ_NAK: return WAIT_BAND_NAK;
    case ROCE_CAUSE_TIMEOUT: return WAIT_BAND_TIMEOUT;
    case ROCE_CAUSE_SPURIOUS: return WAIT_BAND_SPURIOUS;
    case ROCE_CAUSE_IMPLIED_NAK:
    case ROCE_CAUSE_READ_GAP: return WAIT_BAND_READ;
    default: return WAIT_BAND_OTHER;
    }
}

/* State of one direction. */
struct wait_state {
    struct psn_axis axis;
    int64_t psn;              /* place of the latest run on the axis */
    int64_t acked, requested; /* highest acknowledged PSN plus 1, and PSN of the latest request */
    uint64_t packet, request; /* times of the latest packet and request, ns */
    bool again;               /* the latest request was a retransmission */
};

/* Returns whether a wait of the requester ended with this run of packets, and fills the band. A
 * response is slow if its request was sent once, and no other packet was captured in the
 * ROCE_LONG_WAIT_NS before the response. */
static bool ends_wait(const struct wait_state *at, const struct packet_run *run,
                      struct wait_band *band)
{
    const bool answers = packet_run_is_answer(run), repeats = run->class == RUN_REPEATED_REQUEST;
    uint64_t from;

    *band = (struct wait_band){repeats ? kind_of(run->cause) : WAIT_BAND_SLOW, run, 0, at->psn};
    from = band->kind < WAIT_BANDS_AFTER_NAK ? at->request : at->packet;
    if (from >= run->first_time)
        return false;
    band->ns = run->first_time - from;
    if (repeats && run->go_back) /* only the first packet of a go-back ends the wait */
        return run->go_back == run->first_frame;
    if (repeats)
        return !at->again || at->psn <= at->requested;
    return answers && at->psn + run->span > at->acked && !at->again &&
           band->ns >= ROCE_LONG_WAIT_NS;
}

/* Updates the state after a run. Packets that the receiver drops do not end a wait. */
static void note_run(struct wait_state *at, const struct packet_run *run)
{
    const bool answers = packet_run_is_answer(run);

    if (answers && at->psn + run->span > at->acked)
        at->acked = at->psn + run->span;
    if (packet_run_is_request(run)) {
        at->again = run->class == RUN_REPEATED_REQUEST;
        at->requested = at->psn;
        at->request = run->last_time;
    }
    if (run->class != RUN_DROPPED)
        at->packet = run->last_time;
}

void wait_bands_find(const struct packet_runs *runs, unsigned direction,
                     void (*on_band)(void *user, const struct wait_band *band), void *user)
{
    const struct wait_state begin = {.axis = psn_axis_begin(runs, direction),
                                     .acked = INT64_MIN,
                                     .packet = UINT64_MAX,
                                     .request = UINT64_MAX};
    struct wait_state at = begin;

    for (uint32_t i = 0; i < runs->cnt; i++) {
        const struct packet_run *run = &runs->run[i];
        struct wait_band band;

        if (!packet_run_is_in(run, direction))
            continue;
        if (packet_run_begins_use(run))
            at = begin;
        at.psn = psn_axis_next(&at.axis, run);
        if (ends_wait(&at, run, &band))
            on_band(user, &band);
        note_run(&at, run);
    }
}
