/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "evidence.h"

#include <stdlib.h>
#include <string.h>

/* How many packets before and after a sequence NAK are looked at. */
#define LOST_WINDOW (1u << 15)

/* NAKs after which the responder's QP is in error. */
static bool is_refusal(const struct setup *s, uint32_t step)
{
    return setup_is_syndrome(s, step, ROCE_SYN_NAK) &&
           !setup_is_nak_code(s, step, ROCE_NAK_PSN_SEQ);
}

/* ---- NAKs --------------------------------------------------------------------------------------
 */

/* The NAK that ended the connection: no later answer shows that its request was executed. */
static void find_refusal(struct setup *s)
{
    int64_t later = INT64_MIN;

    s->refused = STEP_NONE;
    for (uint32_t i = (uint32_t)s->step_cnt; i-- > 0;) {
        const struct step *step = &s->step[i];
        const struct entry *e = setup_entry(s, step->rel);

        if (!step->response || !step->usable || step->early)
            continue;
        /* Keys are checked where they stand, in the packet that begins the message (R084). */
        if (is_refusal(s, i) && step->rel > later && setup_msn_fits(s, i) && e &&
            (!setup_is_nak_code(s, i, ROCE_NAK_REMOTE_ACCESS) ||
             e->msg == (uint32_t)(e - s->entry)))
            s->refused = i;
        else if (!setup_is_nak(s, i) && step->rel > later)
            later = step->rel;
    }
}

/* An RNR NAK says that its request found no receive WQE, and neither did earlier copies of it. */
static bool find_rnr(struct setup *s)
{
    uint32_t codes[32] = {0};
    struct map refused;
    bool ok = true;

    map_init(&refused, sizeof(int64_t));
    for (uint32_t i = (uint32_t)s->step_cnt; ok && i-- > 0;) {
        struct step *step = &s->step[i];

        if (!step->response) {
            step->no_recv = map_get(&refused, &step->rel) != MAP_NONE;
        } else if (step->usable && !step->early && setup_is_syndrome(s, i, ROCE_SYN_RNR)) {
            codes[roce_syndrome_code(setup_packet(s, i)->syndrome)]++;
            s->rnr_naks++;
            if (setup_msn_fits(s, i))
                ok = map_add(&refused, &step->rel) != MAP_NONE;
        }
    }
    map_free(&refused);
    for (uint8_t i = 0; i < 32; i++)
        if (codes[i] > codes[s->rnr_code])
            s->rnr_code = i;
    return ok;
}

/* Whether the requester went back to the NAKed PSN after this NAK. */
static bool sent_again(const struct setup *s, uint32_t nak)
{
    for (uint32_t i = nak + 1; i < s->step_cnt && i - nak < LOST_WINDOW; i++)
        if (!s->step[i].response && s->step[i].usable && s->step[i].rel == s->step[nak].rel)
            return true;
    return false;
}

/* A sequence NAK for a PSN that, from what was captured, had been executed: that copy was lost on
 * its way from here to the responder. Only where nothing before shows that it was executed, and the
 * requester then sent it again. */
static bool find_lost(struct setup *s)
{
    uint32_t *executed = malloc((s->entry_cnt + 1) * sizeof(*executed)); /* step, per entry */
    uint64_t effort = 0;
    int64_t proved = INT64_MIN;
    size_t next = 0; /* entry that the responder expects */

    if (!executed)
        return false;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];
        const struct entry *e;

        if (!step->usable || step->early)
            continue;
        if (!step->response) {
            if (next < s->entry_cnt && step->rel == s->entry[next].rel && !step->lost &&
                !step->no_recv)
                executed[next++] = i;
            continue;
        }
        if (!setup_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) || !setup_msn_fits(s, i)) {
            if (setup_executed_by(s, i) > proved &&
                (setup_op(s, i)->kind != ROCE_KIND_ACK || setup_msn_fits(s, i)))
                proved = setup_executed_by(s, i);
            continue;
        }
        e = setup_entry(s, step->rel);
        if (!e || e->rel != step->rel || (size_t)(e - s->entry) >= next || proved >= e->rel ||
            !sent_again(s, i))
            continue;
        next = (size_t)(e - s->entry);
        s->step[executed[next]].lost = true;
        /* What came after it arrived too early: look at that again. */
        effort += i - executed[next];
        if (effort > LOST_WINDOW * UINT64_C(64))
            break;
        i = executed[next];
    }
    free(executed);
    return true;
}

/* ---- answers -----------------------------------------------------------------------------------
 */

/* Which READ request each READ response answers: the latest before it that covers its PSN. */
static bool link_answers(struct setup *s)
{
    uint32_t *latest = malloc((s->entry_cnt + 1) * sizeof(*latest)); /* request, per entry */
    uint32_t *before = malloc((s->step_cnt + 1) * sizeof(*before));  /* earlier one, per request */
    uint32_t *last = malloc((s->step_cnt + 1) * sizeof(*last));      /* answer, per request */

    if (!latest || !before || !last) {
        free(latest);
        free(before);
        free(last);
        return false;
    }
    memset(latest, 0xFF, (s->entry_cnt + 1) * sizeof(*latest));
    memset(last, 0xFF, (s->step_cnt + 1) * sizeof(*last));
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];
        const struct entry *e = setup_entry(s, step->rel);
        enum roce_kind kind = setup_op(s, i)->kind;
        uint32_t req;

        if (!e || !step->usable)
            continue;
        if (!step->response && kind == ROCE_KIND_READ &&
            setup_op(s, e->step)->kind == ROCE_KIND_READ) {
            before[i] = latest[e - s->entry];
            latest[e - s->entry] = i;
        }
        if (kind == ROCE_KIND_ATOMIC_ACK && e->answer == STEP_NONE)
            s->entry[e - s->entry].answer = i;
        if (kind != ROCE_KIND_READ_RESP || setup_is_nak(s, i))
            continue;
        req = latest[e - s->entry];
        for (unsigned tries = 0; req != STEP_NONE && s->step[req].rel > step->rel && tries < 16;
             tries++)
            req = before[req];
        if (req == STEP_NONE || s->step[req].rel > step->rel)
            continue;
        step->request = req;
        if (last[req] == STEP_NONE)
            s->step[req].answer = i;
        else
            s->step[last[req]].answer = i;
        last[req] = i;
    }
    free(latest);
    free(before);
    free(last);
    return true;
}

bool evidence_find(struct setup *s)
{
    find_refusal(s);
    return find_rnr(s) && find_lost(s) && link_answers(s);
}
