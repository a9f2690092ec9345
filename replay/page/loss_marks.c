/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/loss_marks.h"

#include "wire/codes.h"

/* Maximum number of runs that are searched for a lost packet. */
#define SEARCH_MAX 4096u

/* Returns the PSN `psn` minus the first PSN of a run. */
static int32_t offset_of(const struct packet_run *run, uint32_t psn)
{
    return roce_psn_diff(roce_psn_of(psn), roce_psn_of(run->psn));
}

static bool has_psn(const struct packet_run *run, uint32_t psn)
{
    const int32_t offset = offset_of(run, psn);

    return offset >= 0 && offset < (int64_t)run->span;
}

/* Returns the latest request before run `at`, or the latest one with PSN `psn` if `any` is false;
 * NULL if none is found. */
static const struct packet_run *request_before(const struct packet_runs *runs, uint32_t at,
                                               unsigned direction, uint32_t psn, bool any)
{
    for (uint32_t i = at, left = SEARCH_MAX; i > 0 && left > 0; i--, left--) {
        const struct packet_run *run = &runs->run[i - 1];

        if (packet_run_is_request(run) && packet_run_is_in(run, direction) &&
            (any || has_psn(run, psn)))
            return run;
    }
    return NULL;
}

/* Returns the first response before run `at` that acknowledges PSN `psn`, or the first READ
 * response with PSN `psn` if `data`; NULL if none is found. */
static const struct packet_run *response_before(const struct packet_runs *runs, uint32_t at,
                                                unsigned direction, uint32_t psn, bool data)
{
    const struct packet_run *first = NULL;

    for (uint32_t i = at, left = SEARCH_MAX; i > 0 && left > 0; i--, left--) {
        const struct packet_run *run = &runs->run[i - 1];

        if (!packet_run_is_in(run, direction) ||
            (data ? run->class != RUN_RESPONSE || !has_psn(run, psn) : !packet_run_is_answer(run)))
            continue;
        if (offset_of(run, psn) >= (int64_t)run->span)
            break;
        first = run;
    }
    return first;
}

static bool is_sequence_nak(const struct packet_run *run)
{
    return run->class == RUN_NAK && run->detail == (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
}

/* Returns the latest sequence NAK before run `at`, or NULL if none is found. */
static const struct packet_run *nak_before(const struct packet_runs *runs, uint32_t at,
                                           unsigned direction)
{
    for (uint32_t i = at, left = SEARCH_MAX; i > 0 && left > 0; i--, left--)
        if (is_sequence_nak(&runs->run[i - 1]) && packet_run_is_in(&runs->run[i - 1], direction))
            return &runs->run[i - 1];
    return NULL;
}

/* Returns whether an RNR NAK between request `run` and run `at` refused PSN `psn`. */
static bool is_refused(const struct packet_runs *runs, const struct packet_run *run, uint32_t at,
                       unsigned direction, uint32_t psn)
{
    for (const struct packet_run *r = run; r < &runs->run[at]; r++)
        if (r->class == RUN_RNR_NAK && packet_run_is_in(r, direction) && has_psn(r, psn))
            return true;
    return false;
}

/* Returns whether a run is the first retransmission of a READ after a timeout. */
static bool restarts_read(const struct packet_run *run)
{
    return run->kind == ROCE_KIND_READ && run->first_frame == run->go_back;
}

/* Sets *mark to the loss that run `at` shows as a sequence NAK. Returns false if the run is not a
 * sequence NAK, if the packet that the NAK requests was not captured, or if an RNR NAK refused this
 * packet. */
static bool mark_nak(const struct packet_runs *runs, uint32_t at, unsigned direction,
                     struct loss_mark *mark)
{
    const struct packet_run *nak = &runs->run[at];

    if (!is_sequence_nak(nak))
        return false;
    mark->run = request_before(runs, at, direction, nak->psn, false);
    mark->offset = mark->run ? offset_of(mark->run, nak->psn) : 0;
    mark->text = "lost: a NAK asks for it";
    return mark->run && !is_refused(runs, mark->run, at, direction, nak->psn);
}

/* Sets *mark to the loss that run `at` shows as a retransmission after a timeout. Returns false if
 * the run shows no loss. */
static bool mark_timeout(const struct packet_runs *runs, uint32_t at, unsigned direction,
                         struct loss_mark *mark)
{
    const struct packet_run *run = &runs->run[at];

    if (run->class != RUN_REPEATED_REQUEST || run->cause != ROCE_CAUSE_TIMEOUT)
        return false;
    switch (run->detail) {
    case ROCE_LOSS_UNKNOWN:
        mark->run =
            restarts_read(run) ? response_before(runs, at, direction, run->psn, true) : NULL;
        mark->offset = mark->run ? offset_of(mark->run, run->psn) : 0;
        mark->text = "response lost or late";
        break;
    case ROCE_LOSS_ACKED:
        mark->run = response_before(runs, at, direction, run->psn, false);
        mark->text = "response lost or late";
        break;
    case ROCE_LOSS_RELOST:
        mark->run = request_before(runs, at, direction, run->psn, false);
        mark->text = "lost again";
        break;
    case ROCE_LOSS_UNHEEDED:
        mark->run = nak_before(runs, at, direction);
        mark->text = "NAK lost or ignored";
        break;
    case ROCE_LOSS_UNANSWERED:
        mark->run = request_before(runs, at, direction, 0, true);
        mark->text = "no response to it";
        break;
    case ROCE_LOSS_UNFINISHED:
        mark->run = request_before(runs, at, direction, 0, true);
        mark->text = "missing: the end of the message";
        break;
    default: return false;
    }
    if (mark->run && run->detail == ROCE_LOSS_UNFINISHED)
        mark->offset = (int32_t)mark->run->span;
    else if (mark->run && run->detail == ROCE_LOSS_RELOST)
        mark->offset = offset_of(mark->run, run->psn);
    return mark->run;
}

void loss_marks_find(const struct packet_runs *runs, unsigned direction,
                     void (*on_mark)(void *user, const struct loss_mark *mark), void *user)
{
    for (uint32_t i = 0; i < runs->cnt; i++) {
        struct loss_mark mark = {0};

        if (packet_run_is_in(&runs->run[i], direction) &&
            (mark_nak(runs, i, direction, &mark) || mark_timeout(runs, i, direction, &mark)))
            on_mark(user, &mark);
    }
}
