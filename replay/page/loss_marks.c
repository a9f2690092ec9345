/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/loss_marks.h"

#include "wire/codes.h"

/* Maximum number of runs that are searched for a lost packet. */
#define SEARCH_MAX 4096u
/* Number of runs that all searches of a direction may examine for each run of the stream. This
 * limits the cost of a capture in which each second packet is a NAK for an old packet. */
#define SEARCH_EACH 256u

/* The searches of one direction. */
struct search {
    const struct packet_runs *runs;
    unsigned direction;
    uint64_t left; /* number of runs that the searches may still examine */
};

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

/* Returns the number of runs that the next search may examine. */
static uint32_t steps(const struct search *search)
{
    return search->left < SEARCH_MAX ? (uint32_t)search->left : SEARCH_MAX;
}

/* Returns the latest request before run `at`, or the latest one with PSN `psn` if `any` is false;
 * NULL if none is found. */
static const struct packet_run *request_before(struct search *search, uint32_t at, uint32_t psn,
                                               bool any)
{
    for (uint32_t i = at, left = steps(search); i > 0 && left > 0; i--, left--, search->left--) {
        const struct packet_run *run = &search->runs->run[i - 1];

        if (packet_run_is_request(run) && packet_run_is_in(run, search->direction) &&
            (any || has_psn(run, psn)))
            return run;
    }
    return NULL;
}

/* Returns the first response before run `at` that acknowledges PSN `psn`, or the first READ
 * response with PSN `psn` if `data`; NULL if none is found. */
static const struct packet_run *response_before(struct search *search, uint32_t at, uint32_t psn,
                                                bool data)
{
    const struct packet_run *first = NULL;

    for (uint32_t i = at, left = steps(search); i > 0 && left > 0; i--, left--, search->left--) {
        const struct packet_run *run = &search->runs->run[i - 1];

        if (!packet_run_is_in(run, search->direction) ||
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
static const struct packet_run *nak_before(struct search *search, uint32_t at)
{
    const struct packet_runs *runs = search->runs;

    for (uint32_t i = at, left = steps(search); i > 0 && left > 0; i--, left--, search->left--)
        if (is_sequence_nak(&runs->run[i - 1]) &&
            packet_run_is_in(&runs->run[i - 1], search->direction))
            return &runs->run[i - 1];
    return NULL;
}

/* Returns whether a run is the first retransmission of a READ after a timeout. */
static bool restarts_read(const struct packet_run *run)
{
    return run->kind == ROCE_KIND_READ && run->first_frame == run->go_back;
}

/* Sets *mark to the loss that run `at` shows as a sequence NAK. Returns false if the run is not a
 * sequence NAK, if the packet that the NAK requests was not captured, or if an RNR NAK refused this
 * packet. */
static bool mark_nak(struct search *search, uint32_t at, struct loss_mark *mark)
{
    const struct packet_run *nak = &search->runs->run[at];

    if (!is_sequence_nak(nak) || packet_run_is_refused(nak))
        return false;
    mark->run = request_before(search, at, nak->psn, false);
    mark->offset = mark->run ? offset_of(mark->run, nak->psn) : 0;
    mark->text = "lost: a NAK asks for it";
    return mark->run;
}

/* Sets *mark to the loss that run `at` shows as a retransmission after a timeout. Returns false if
 * the run shows no loss. */
static bool mark_timeout(struct search *search, uint32_t at, struct loss_mark *mark)
{
    const struct packet_run *run = &search->runs->run[at];

    if (run->class != RUN_REPEATED_REQUEST || run->cause != ROCE_CAUSE_TIMEOUT)
        return false;
    switch (run->detail) {
    case ROCE_LOSS_UNKNOWN:
        mark->run = restarts_read(run) ? response_before(search, at, run->psn, true) : NULL;
        mark->offset = mark->run ? offset_of(mark->run, run->psn) : 0;
        mark->text = "response lost or late";
        break;
    case ROCE_LOSS_ACKED:
        mark->run = response_before(search, at, run->psn, false);
        mark->text = "response lost or late";
        break;
    case ROCE_LOSS_RELOST:
        mark->run = request_before(search, at, run->psn, false);
        mark->text = "lost again";
        break;
    case ROCE_LOSS_UNHEEDED:
        mark->run = nak_before(search, at);
        mark->text = "NAK lost or ignored";
        break;
    case ROCE_LOSS_UNANSWERED:
        mark->run = request_before(search, at, 0, true);
        mark->text = "no response to it";
        break;
    case ROCE_LOSS_UNFINISHED:
        mark->run = request_before(search, at, 0, true);
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
    struct search search = {runs, direction, (uint64_t)runs->cnt * SEARCH_EACH};

    for (uint32_t i = 0; i < runs->cnt; i++) {
        struct loss_mark mark = {0};

        if (packet_run_is_in(&runs->run[i], direction) &&
            (mark_nak(&search, i, &mark) || mark_timeout(&search, i, &mark)))
            on_mark(user, &mark);
    }
}
