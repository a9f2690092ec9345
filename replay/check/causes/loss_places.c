/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/loss_places.h"

#include <inttypes.h>
#include "check/base/conn_state.h"
#include "check/causes/slow_direction.h"
#include "util/strbuf.h"

struct places {
    struct loss_place *place;
    unsigned cnt;
    const struct roce_conn_summary *sum;
};

/* Adds a place. Its text begins with the number of the lost packets, the noun `one` and the address
 * of their sender `side`. Returns the text, to which the caller appends. */
static struct strbuf add_place(struct places *places, unsigned side, enum loss_part part,
                               uint64_t packets, const char *one)
{
    struct loss_place *place = &places->place[places->cnt++];
    struct strbuf t = strbuf_of(place->text, sizeof(place->text));

    place->side = side;
    place->part = part;
    place->packets = packets;
    place->probable = false;
    strbuf_addf(&t, "%" PRIu64 " %s%s of ", packets, one, packets == 1 ? "" : "s");
    slow_add_host(&t, &places->sum->side[side], &places->sum->side[!side]);
    return t;
}

/* Appends the part of the path between the capture point and the endpoint `addr`. */
static void add_part(struct strbuf *t, const struct roce_endpoint_summary *end)
{
    strbuf_addf(t, " between the capture point and ");
    strbuf_add_addr(t, end->addr);
}

static const char *was(uint64_t cnt)
{
    return cnt == 1 ? "was" : "were";
}

/* Adds the places in which requests of `side` were damaged or lost. If the capture lacks a request,
 * the request was lost before the capture point. If a request was captured and a sequence NAK
 * reports it as missing, it was lost after the capture point, on the way to the receiver. */
static void add_requests(struct places *places, unsigned side, const struct slow_direction *w)
{
    const uint64_t before = w->before, behind = slow_is_lost(w) ? w->behind : 0;
    struct strbuf t;

    if (w->mine->bad_icrc) {
        t = add_place(places, side, LOSS_BEFORE, w->mine->bad_icrc, "packet");
        strbuf_addf(&t, " %s damaged", was(w->mine->bad_icrc));
        add_part(&t, w->mine);
    }
    if (before * SLOW_FEW > behind) {
        t = add_place(places, side, LOSS_BEFORE, before, w->gone ? "packet" : "retransmission");
        strbuf_addf(&t, " never reached the capture point");
        if (w->gone && w->mine->missing_repeats)
            strbuf_addf(&t, "; %" PRIu64 " of them %s", w->mine->missing_repeats,
                        w->mine->missing_repeats == 1 ? "was a retransmission"
                                                      : "were retransmissions");
    }
    if (behind * SLOW_FEW > before) {
        t = add_place(places, side, LOSS_BEHIND, behind, "packet");
        strbuf_addf(&t, " %s %s", was(behind), slow_lost_behind(w) ? "lost or late" : "lost");
        add_part(&t, w->its);
    }
}

/* Adds the places in which responses of `side` were lost. `w` describes the requests to which they
 * belong. */
static void add_responses(struct places *places, unsigned side, const struct slow_direction *w)
{
    const struct roce_read_restarts *gaps = &w->mine->read_gap_restarts,
                                    *reads = &w->mine->read_restarts;
    const uint64_t gone = check_side_missing_responses(w->its),
                   asked = gaps->missing + reads->missing, before = gone > asked ? gone : asked,
                   captured = gaps->captured + reads->captured,
                   behind = (captured * SLOW_FEW > before ? captured : 0) +
                            w->mine->timeout_losses.acked;
    struct strbuf t;

    if (before * SLOW_FEW > captured) {
        t = add_place(places, side, LOSS_BEFORE, before, "response");
        strbuf_addf(&t, " never reached the capture point");
    }
    if (behind) {
        t = add_place(places, side, LOSS_BEHIND, behind, "response");
        strbuf_addf(&t, " %s lost or late", was(behind));
        add_part(&t, w->mine);
    }
}

/* Adds the losses that only ACK timeouts show: ignored NAKs, missing ends of messages, and requests
 * without a response. `side` is the requester. */
static void add_timeouts(struct places *places, unsigned side, const struct slow_direction *w)
{
    const struct roce_timeout_losses *losses = &w->mine->timeout_losses;
    const uint64_t naks = w->mine->unheeded_naks, again = w->mine->missing_repeats,
                   relost = losses->relost > again ? losses->relost - again : 0,
                   beyond = losses->unanswered + relost;
    struct strbuf t;

    if (naks) {
        t = add_place(places, !side, LOSS_BEHIND, naks, "NAK");
        strbuf_addf(&t, " %s lost", was(naks));
        add_part(&t, w->mine);
        strbuf_addf(&t, ", or ignored");
    }
    if (losses->unfinished) {
        t = add_place(places, side, LOSS_BEFORE, losses->unfinished, "packet");
        strbuf_addf(&t, " at the end of %s probably never reached the capture point",
                    losses->unfinished == 1 ? "a message" : "messages");
        places->place[places->cnt - 1].probable = true;
    }
    if (beyond) {
        t = add_place(places, side, LOSS_BEYOND, beyond, "request");
        strbuf_addf(&t, ", or the response%s, %s lost", beyond == 1 ? " to it" : "s to them",
                    was(beyond));
        add_part(&t, w->its);
        if (losses->unanswered)
            strbuf_addf(&t, ", or slow");
    }
}

unsigned loss_places(const struct roce_conn_summary *sum, struct loss_place place[LOSS_PLACES_MAX])
{
    const bool ended = check_conn_failed(sum) || check_conn_stuck(sum);
    struct places places = {.place = place, .sum = sum};

    for (unsigned side = 0; side < 2; side++) {
        const struct slow_direction w = slow_direction_of(sum, side);

        if (!slow_is_overtaken(&w))
            add_requests(&places, side, &w);
        if (!slow_is_answer_overtaken(&w) && !w.its->any_order)
            add_responses(&places, !side, &w);
        /* If the connection failed or got stuck, timeouts do not show a loss, because the peer may
         * have stopped. */
        if (!ended && !slow_is_overtaken(&w) && !slow_is_one_sided(&w))
            add_timeouts(&places, side, &w);
    }
    return places.cnt;
}

const char *loss_part_name(enum loss_part part)
{
    static const char *const names[LOSS_PARTS] = {"before", "behind", "beyond"};

    return names[part];
}
