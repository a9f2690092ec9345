/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/strict_compare.h"

#include <stdio.h>
#include <string.h>
#include "capture/packet_text.h"
#include "wire/codes.h"

/* What is compared of a packet, recorded or ours. */
struct essence {
    uint8_t opcode;
    uint32_t psn;
    uint32_t msn;
    uint8_t syndrome; /* without credits */
    bool ackreq;
    bool se;
    uint32_t payload_len;
    uint64_t hash;
};

static uint8_t without_credits(uint8_t opcode, uint8_t syndrome)
{
    if (!roce_opcode_has(roce_opcode(opcode), ROCE_HDR_AETH))
        return 0;
    return roce_syndrome_kind(syndrome) == ROCE_SYN_ACK ? ROCE_SYNDROME_ACK : syndrome;
}

static struct essence of_recorded(const struct trace_packet *p, bool with_hash)
{
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    return (struct essence){
        .opcode = p->opcode,
        .psn = p->psn,
        .msn = p->msn,
        .syndrome = without_credits(p->opcode, p->syndrome),
        .ackreq = pkt.bth.ackreq,
        .se = pkt.bth.se,
        .payload_len = p->payload_len,
        .hash = with_hash && p->payload_len ? drive_hash(trace_payload(p), p->payload_len) : 0};
}

static struct essence of_answer(const struct answer *a)
{
    return (struct essence){.opcode = a->opcode,
                            .psn = a->psn,
                            .msn = a->msn,
                            .syndrome = without_credits(a->opcode, a->syndrome),
                            .ackreq = a->ackreq,
                            .se = a->se,
                            .payload_len = a->payload_len,
                            .hash = a->hash};
}

static struct essence of_sent(const struct sent *s)
{
    return (struct essence){.opcode = s->opcode,
                            .psn = s->psn,
                            .ackreq = s->ackreq,
                            .se = s->se,
                            .payload_len = s->payload_len,
                            .hash = s->hash};
}

static bool same(const struct essence *a, const struct essence *b)
{
    return a->opcode == b->opcode && a->psn == b->psn && a->msn == b->msn &&
           a->syndrome == b->syndrome && a->ackreq == b->ackreq && a->se == b->se &&
           a->payload_len == b->payload_len && a->hash == b->hash;
}

static void describe(char *buf, size_t cap, const struct essence *e)
{
    const struct roce_opcode *op = roce_opcode(e->opcode);
    struct strbuf t = strbuf_of(buf, cap);

    strbuf_addf(&t, "%s PSN %u", packet_text_opcode(e->opcode), e->psn);
    if (roce_opcode_has(op, ROCE_HDR_AETH))
        strbuf_addf(&t, " MSN %u syndrome 0x%02x", e->msn, e->syndrome);
    if (e->payload_len)
        strbuf_addf(&t, " payload %u (%08x)", e->payload_len, (unsigned)e->hash);
    if (e->ackreq)
        strbuf_addf(&t, " AckReq");
}

/* `want` or `is` may be NULL: there is none. */
static struct diff difference(uint32_t run, uint32_t pkt, const struct essence *want,
                              const struct essence *is)
{
    struct diff d = {.run = run, .pkt = pkt, .request = STEP_NONE, .field = "packet"};

    snprintf(d.expected, sizeof(d.expected), "none");
    snprintf(d.actual, sizeof(d.actual), "none");
    if (want)
        describe(d.expected, sizeof(d.expected), want);
    if (is)
        describe(d.actual, sizeof(d.actual), is);
    snprintf(d.reason, sizeof(d.reason), "strictly the same packets in the same order are wanted");
    return d;
}

/* Whether a recorded packet counts: played, and not damaged. */
static bool counts(const struct step *step, bool response)
{
    return step->response == response && !step->damaged && !step->early;
}

static int compare_run(struct comparison *cmp, uint32_t idx)
{
    const struct run *run = &cmp->drive->run[idx];
    struct result *res = &cmp->result[idx];
    uint32_t last = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < run->setup.step_cnt; i++) {
        const struct step *step = &run->setup.step[i];
        const struct trace_packet *p = setup_packet(&run->setup, i);
        struct essence want, is;
        struct diff d;

        last = i;
        if (!counts(step, true))
            continue;
        want = of_recorded(p, !p->made_up);
        if (at < run->answer_cnt) {
            is = of_answer(&run->answer[at]);
            if (p->made_up)
                is.hash = 0;
            if (same(&want, &is)) {
                at++;
                continue;
            }
        }
        d = difference(idx, run->setup.step[i].pkt, &want, at < run->answer_cnt ? &is : NULL);
        res->diff_frames++;
        res->first_diff = res->first_diff == STEP_NONE ? i : res->first_diff;
        res->mark[i] = MARK_DIFF;
        return comparison_add(cmp, &d);
    }
    if (at < run->answer_cnt) {
        struct essence is = of_answer(&run->answer[at]);
        struct diff d = difference(idx, run->setup.step[last].pkt, NULL, &is);

        res->diff_frames++;
        return comparison_add(cmp, &d);
    }
    return 0;
}

int strict_compare(struct comparison *cmp)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < cmp->drive->run_cnt; i++) {
        if (cmp->result[i].verdict == VERDICT_SKIPPED)
            continue;
        rc = compare_run(cmp, i);
        if (cmp->result[i].diff_frames)
            cmp->result[i].verdict = VERDICT_FAIL;
    }
    return rc;
}

static int add_diff(struct verification *v, const struct diff *d)
{
    if (!VEC_GROW(v->diff, v->diff_cnt, v->diff_cap))
        return -1;
    v->diff[v->diff_cnt++] = *d;
    return 0;
}

static int verify_run(struct verification *v, uint32_t idx)
{
    const struct asker *a = &v->post->asker[idx];
    const struct setup *s = &a->run->setup;
    struct verify_result *res = &v->result[idx];
    uint32_t last = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct trace_packet *p = setup_packet(s, i);
        struct essence want, is;
        struct diff d;

        last = i;
        if (s->step[i].response || s->step[i].early || s->step[i].rel < s->first ||
            s->step[i].rel >= a->works.end)
            continue;
        want = of_recorded(p, !p->made_up);
        want.msn = 0;
        if (at < a->sent_cnt) {
            is = of_sent(&a->sent[at]);
            if (p->made_up)
                is.hash = 0;
            if (same(&want, &is) || s->step[i].damaged) {
                at++;
                continue;
            }
        }
        d = difference(idx, s->step[i].pkt, &want, at < a->sent_cnt ? &is : NULL);
        res->diff_frames++;
        res->first_diff = res->first_diff == STEP_NONE ? i : res->first_diff;
        res->mark[i] = MARK_DIFF;
        return add_diff(v, &d);
    }
    if (at < a->sent_cnt) {
        struct essence is = of_sent(&a->sent[at]);
        struct diff d = difference(idx, s->step[last].pkt, NULL, &is);

        res->diff_frames++;
        return add_diff(v, &d);
    }
    return 0;
}

int strict_verify(struct verification *v)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < v->post->cnt; i++) {
        if (v->result[i].verdict == VERDICT_SKIPPED)
            continue;
        rc = verify_run(v, i);
        if (v->result[i].diff_frames)
            v->result[i].verdict = VERDICT_FAIL;
    }
    return rc;
}
