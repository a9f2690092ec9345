/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/reasons/rc_inconclusive.h"

#include <string.h>
#include "engine/reasons/rc_contradiction.h"
#include "engine/reasons/rc_reasons.h"
#include "infer/request_table.h"

/* The rows of table reasons_capture are reasons why a difference is inconclusive: the capture began
 * too late, or lacks some packets of a direction. This file has the functions that check whether a
 * reason applies. */

/* Returns whether a READ response may differ only because the path MTU was inferred wrongly. The
 * inferred MTU is only a lower bound, the length of the longest captured packet, and the READ is
 * longer. */
static bool may_be_divided(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);

    return !s->mtu_known && e && kind_of(c) == ROCE_KIND_READ_RESP &&
           event_opcode(s, e->event)->kind == ROCE_KIND_READ && e->len > s->mtu;
}

/* Returns whether a READ response is a Middle or Last where our RNIC sends a First or Only. The
 * capture may lack the first request of the READ. The recorded responder then sends the response to
 * the whole READ, but our RNIC received only a request for its last part. */
static bool may_be_tail(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);
    const struct request_pkt *e = request_at(s, s->event[c->event].rel);
    const struct roce_opcode *op = event_opcode(s, c->event);
    const struct roce_opcode *our = c->ours ? roce_opcode(c->ours->opcode) : NULL;

    return e && our && e == s->req && !s->recorded->cm.present && !c->payload &&
           op->kind == ROCE_KIND_READ_RESP && our->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_starts(our) && !roce_opcode_starts(op) &&
           roce_opcode_ends(our) == roce_opcode_ends(op);
}

/* Returns whether the capture lacks every copy of some request of the direction, or the first copy
 * of a request that was executed. */
static bool lacks_requests(const struct response_case *c)
{
    const struct inferred_setup *s = setup_of(c);

    return c->dir->stretch || s->executed_unseen_cnt > 0;
}

/* Each text is the end of a sentence that begins with "because the capture". */
static const struct inconclusive_rule reasons_capture[] = {
    /* clang-format off */
    {may_be_divided, true, "has no packet that shows the path MTU"},
    {may_be_tail,    true, "may have begun after the READ that this response answers"},
    {lacks_requests, true, "lacks requests of this connection that the responder executed"},
    {NULL, false, NULL},
    /* clang-format on */
};

void inconclusive_reason_add(struct inconclusive_reason *list, const char *why, uint32_t responses)
{
    size_t i = 0;

    while (i + 1 < INCONCLUSIVE_REASONS && list[i].why && strcmp(list[i].why, why) != 0)
        i++;
    if (!list[i].why)
        list[i].why = why;
    list[i].responses += responses;
}

const char *inconclusive_reason(const struct response_case *c, bool *lacks)
{
    static const struct inconclusive_rule *const tables[] = {reasons_missing, reasons_order,
                                                             reasons_program, reasons_capture};

    *lacks = false;
    if (is_refused_later(c))
        return NULL;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct inconclusive_rule *rule = tables[i]; rule->fits; rule++)
            if (rule->fits(c)) {
                *lacks = rule->lacks;
                return rule->text;
            }
    return NULL;
}
