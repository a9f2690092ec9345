/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/answers.h"

#include "infer/request_table.h"

/* Number of packets after a sequence NAK in which has_more_answers() counts responses. */
#define ANSWER_WINDOW 1024u

/* Maximum number of READs and atomics that answers_show_arrival() examines for one sequence NAK. */
#define FETCHES_MAX 8u

bool answers_begin(const struct inferred_setup *s, uint32_t i, const struct request_pkt *e)
{
    const struct roce_opcode *op = event_opcode(s, i);

    return s->event[i].rel == e->rel &&
           (op->kind == ROCE_KIND_ATOMIC_ACK ||
            (op->kind == ROCE_KIND_READ_RESP && roce_opcode_starts(op)));
}

/* Returns the number of responses to READ or atomic `e` after sequence NAK `nak`, minus the number
 * of its copies that were captured from event `again` on; 0 if it is negative. Sets *equal to the
 * number of these responses that the network may have copied from an earlier one. Adds the number
 * of events examined to *effort. */
static unsigned surplus_answers(const struct inferred_setup *s, const struct request_pkt *e,
                                uint32_t nak, uint32_t again, unsigned *equal, uint64_t *effort)
{
    const struct trace_packet *before = NULL; /* previous response to `e` */
    unsigned copies = 0, answers = 0;
    uint32_t i;

    *equal = 0;
    for (i = nak + 1; i < s->event_cnt && i - nak <= ANSWER_WINDOW; i++) {
        if (!s->event[i].usable)
            continue;
        if (!s->event[i].response) {
            copies += i >= again && s->event[i].rel >= e->rel && s->event[i].rel < e->rel + e->cnt;
        } else if (answers_begin(s, i, e)) {
            answers++;
            *equal += before && trace_is_copy(before, event_packet(s, i));
            before = event_packet(s, i);
        }
    }
    *effort += i - nak;
    return answers > copies ? answers - copies : 0;
}

bool answers_show_arrival(const struct inferred_setup *s, uint32_t lost, uint32_t nak,
                          uint32_t again, uint64_t *effort)
{
    unsigned fetches = 0;
    unsigned answered[2] = {0, 0}; /* number of READs and atomics with surplus responses: without
                                    * those that the network may have copied, and with them */

    for (uint32_t i = lost; again != EVENT_NONE && i < again && fetches < FETCHES_MAX; i++) {
        const struct request_pkt *e = request_at(s, s->event[i].rel);
        unsigned surplus, equal;

        if (s->event[i].response || !s->event[i].usable || !e || e->rel != s->event[i].rel ||
            e->rel < s->event[lost].rel ||
            (event_opcode(s, i)->kind != ROCE_KIND_READ &&
             !roce_opcode_is_atomic(event_opcode(s, i))))
            continue;
        fetches++;
        surplus = surplus_answers(s, e, nak, again, &equal, effort);
        answered[0] += surplus > equal;
        answered[1] += surplus > 0;
    }
    *effort += again == EVENT_NONE ? 0 : again - lost;
    /* The network rarely copies the responses to most of several requests. */
    return 2 * answered[0] > fetches || (fetches > 1 && 2 * answered[1] > fetches);
}
