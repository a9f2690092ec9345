/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "equivalence.h"

#include <stdlib.h>
#include <string.h>
#include "infer/setup_dump.h"
#include "support/suite.h"
#include "wire/codes.h"

/* How far from the PSN of an answer the request is that the capture may lack. */
#define NEAR 16

const char *equivalence_name(enum equivalence equivalence)
{
    static const char *const names[EQUIVALENCE_CNT] = {
        "", "first told", "damaged", "free ACK", "not got", "other lost", "lacks one"};

    return names[equivalence];
}

/* The recorded answer in this frame: its side and step. False if none of a side is there. */
static bool find_answer(const struct replay *replay, uint32_t frame, size_t *run, uint32_t *step)
{
    for (*run = 0; *run < replay->drive.run_cnt; ++*run) {
        const struct setup *s = &replay->drive.run[*run].setup;

        for (*step = 0; *step < s->step_cnt; ++*step)
            if (s->step[*step].response && setup_packet(s, *step)->frame == frame)
                return true;
    }
    return false;
}

/* An ACK that our RNIC, which had executed as much by then, may have sent as well. */
static bool is_free_ack(const struct replay *replay, uint32_t frame)
{
    const struct setup *s;
    uint32_t step;
    size_t run;

    if (!find_answer(replay, frame, &run, &step))
        return false;
    s = &replay->drive.run[run].setup;
    return replay->comparison.result[run].mark[step] == MARK_OK &&
           setup_is_syndrome(s, step, ROCE_SYN_ACK) && setup_msn_fits(s, step);
}

/* Whether the answer was judged, and found right. */
static bool is_right(const struct replay *replay, uint32_t frame)
{
    uint32_t step;
    size_t run;

    return find_answer(replay, frame, &run, &step) &&
           (replay->comparison.result[run].mark[step] == MARK_OK ||
            replay->drive.run[run].setup.step[step].early);
}

/* Whether the alteration is seen by who knows what the devices had. */
static bool is_seen_with(const char *setup, const struct capture *capture, const char *peer,
                         uint32_t frame)
{
    struct error error = {""};
    struct replay replay;
    struct given given;
    bool seen = false;

    if (given_read(&given, setup, &error) == 0) {
        seen = capture_replay(capture, &(struct replay_options){.peer = peer, .given = &given},
                              &replay, &error) == 0 &&
               capture_differs(&replay, frame, NULL);
        replay_free(&replay);
    }
    if (error.text[0])
        suite_fail(__FILE__, __LINE__, "%s: %s", setup, error.text);
    given_free(&given);
    return seen;
}

/* Replays the capture without the frames that are `out`; replay_free() is wanted. */
static enum verdict replay_without(const struct capture *capture, const char *peer, const bool *out,
                                   struct replay *replay, struct error *error)
{
    struct capture less = {.frame = calloc(capture->cnt + 1, sizeof(*less.frame))};
    enum verdict verdict = VERDICT_FAIL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(less.frame);
    for (size_t i = 0; i < capture->cnt; i++)
        if (!out[i])
            less.frame[less.cnt++] = capture->frame[i];
    if (capture_replay(&less, &(struct replay_options){.peer = peer}, replay, error) == 0)
        verdict = report_verdict(replay);
    free(less.frame);
    return verdict;
}

/* Whether nothing in the rest of the original speaks against the loss of the frame. */
static bool holds_without(const struct subject *subject, uint32_t frame)
{
    bool *out = calloc(subject->original.cnt + 1, sizeof(*out));
    struct error error = {""};
    struct replay replay;
    bool holds;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    out[frame - 1] = true;
    holds = replay_without(&subject->original, subject->peer, out, &replay, &error) != VERDICT_FAIL;
    replay_free(&replay);
    free(out);
    return holds;
}

/* Whether the request is the first of its PSN that is whole, so that it tells what was posted. */
static bool is_first(const struct replay *replay, uint32_t frame)
{
    for (size_t r = 0; r < replay->post.cnt; r++) {
        const struct setup *s = &replay->post.asker[r].run->setup;

        for (size_t i = 0; i < s->entry_cnt; i++)
            if (setup_packet(s, s->entry[i].step)->frame == frame)
                return replay->verification.result[r].mark[s->entry[i].step] == MARK_OK;
    }
    return false;
}

/* Marks the frames of answers that the recorded requesters cannot have got; how many. */
static size_t mark_lost(const struct replay *replay, bool *lost)
{
    size_t cnt = 0;

    for (size_t r = 0; r < replay->post.cnt; r++) {
        const struct asker *a = &replay->post.asker[r];
        const struct setup *s = &a->run->setup;

        for (uint32_t i = 0; i < s->step_cnt && a->fate; i++)
            if (s->step[i].response && a->fate[i] == FATE_LOST) {
                lost[setup_packet(s, i)->frame - 1] = true;
                cnt++;
            }
    }
    return cnt;
}

static bool is_not_got(const struct subject *subject, const struct replay *altered)
{
    bool *lost = calloc(subject->capture.cnt + 1, sizeof(*lost));
    struct error error = {""};
    struct replay replay;
    bool holds = false;

    if (lost && mark_lost(altered, lost) > 0) {
        holds = replay_without(&subject->capture, subject->peer, lost, &replay, &error) !=
                    VERDICT_FAIL &&
                mark_lost(&replay, lost) == 0;
        replay_free(&replay);
    }
    free(lost);
    return holds;
}

bool *equivalence_lost(const struct replay *replay, size_t cnt)
{
    bool *lost = calloc(cnt + 1, sizeof(*lost));

    for (size_t r = 0; lost && r < replay->drive.run_cnt; r++) {
        const struct setup *s = &replay->drive.run[r].setup;

        for (uint32_t i = 0; i < s->step_cnt; i++)
            if (s->step[i].lost)
                lost[setup_packet(s, i)->frame - 1] = true;
    }
    return lost;
}

static bool is_nak_of_other(const struct subject *subject, const struct replay *altered,
                            uint32_t frame)
{
    bool *lost = equivalence_lost(altered, subject->capture.cnt);
    bool other = false;
    uint32_t step;
    size_t run;

    if (lost && find_answer(altered, frame, &run, &step))
        other = altered->comparison.result[run].mark[step] == MARK_OK &&
                setup_is_nak_code(&altered->drive.run[run].setup, step, ROCE_NAK_PSN_SEQ) &&
                memcmp(lost, subject->lost, subject->capture.cnt * sizeof(*lost)) != 0;
    free(lost);
    return other;
}

/* Whether it holds, with nothing in doubt, when the request of frame `copy` is there once more, at
 * place `at`; the answer is in `frame` without it. */
static bool holds_with(const struct subject *subject, uint32_t frame, uint32_t copy, size_t at)
{
    const struct capture *c = &subject->capture;
    struct capture more = {.frame = calloc(c->cnt + 1, sizeof(*more.frame)), .cnt = c->cnt + 1};
    struct error error = {""};
    struct replay replay;
    bool holds;

    CU_ASSERT_PTR_NOT_NULL_FATAL(more.frame);
    for (size_t i = 0; i < more.cnt; i++)
        more.frame[i] = c->frame[i < at ? i : i > at ? i - 1 : copy - 1];
    more.frame[at].time = c->frame[frame - 1].time;
    holds = capture_replay(&more, &(struct replay_options){.peer = subject->peer}, &replay,
                           &error) == 0 &&
            report_verdict(&replay) == VERDICT_PASS && is_right(&replay, frame + (at < frame));
    for (size_t r = 0; holds && r < replay.drive.run_cnt; r++)
        holds = replay.comparison.result[r].inconclusive == 0;
    replay_free(&replay);
    free(more.frame);
    return holds;
}

/* Tries every request of the connection, just before the answer and just after it. */
static bool lacks_one(const struct subject *subject, const struct replay *altered, uint32_t frame)
{
    const struct setup *s;
    uint32_t step;
    size_t run;

    if (!find_answer(altered, frame, &run, &step) ||
        altered->comparison.result[run].inconclusive == 0)
        return false;
    s = &altered->drive.run[run].setup;
    for (size_t i = 0; i < s->entry_cnt; i++) {
        const struct entry *e = &s->entry[i];
        uint32_t copy = setup_packet(s, e->step)->frame;

        if (e->rel + NEAR >= s->step[step].rel && e->rel <= s->step[step].rel + NEAR &&
            (holds_with(subject, frame, copy, frame - 1) ||
             holds_with(subject, frame, copy, frame)))
            return true;
    }
    return false;
}

enum equivalence equivalence_of(const struct subject *subject, const struct replay *altered,
                                uint32_t frame, enum alteration kind)
{
    switch (kind) {
    case ALTER_AGAIN_EARLIER: return is_not_got(subject, altered) ? NOT_GOT : WRONG;
    case ALTER_MSN_BAD_ICRC:
    case ALTER_ICRC: return holds_without(subject, frame) ? DAMAGED : WRONG;
    case ALTER_PSN_UP:
        if (is_free_ack(altered, frame))
            return FREE_ACK;
        break;
    case ALTER_PSN_DOWN:
    case ALTER_SYNDROME_ACK:
    case ALTER_OPCODE:
        if (is_free_ack(altered, frame) && holds_without(subject, frame))
            return FREE_ACK;
        break;
    default: break;
    }
    if (kind >= ALTER_AGAIN)
        return is_first(altered, frame) ? FIRST_TOLD : WRONG;
    if (is_right(altered, frame) &&
        is_seen_with(subject->setup, &subject->capture, subject->peer, frame))
        return FIRST_TOLD;
    if (is_nak_of_other(subject, altered, frame))
        return OTHER_LOST;
    return lacks_one(subject, altered, frame) ? LACKS_ONE : WRONG;
}
