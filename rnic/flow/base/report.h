/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reports: how a check says what it found. A finding goes to the callback of the caller, or is
 * deferred while it is open whether the QPs were reused. Private to flow/.
 */
#ifndef FLOW_BASE_REPORT_H
#define FLOW_BASE_REPORT_H

#include "flow/base/state.h"

struct roce_report {
    enum roce_rule rule;
    const char *field;
    uint64_t expected, actual;
    uint32_t other;
    enum roce_value value;
    enum roce_relation rel;
    const char *condition; /* of known_deviations.def, NULL for none */
    bool weak;             /* the capture leaves a doubt: an ERROR becomes WARN */
};

/* Reports a finding about the packet at hand. */
void roce_report(struct roce_ctx *ctx, struct roce_report report);

/* Reports a finding once for each endpoint. */
void roce_report_once(struct roce_ctx *ctx, struct roce_report report);

#define REPORT(ctx, RULE, ...)                                                                     \
    roce_report(ctx, (struct roce_report){.rule = ROCE_RULE_##RULE, .field = __VA_ARGS__})
#define REPORT_ONCE(ctx, RULE, ...)                                                                \
    roce_report_once(ctx, (struct roce_report){.rule = ROCE_RULE_##RULE, .field = __VA_ARGS__})

/* Counts a complete finding and hands it to the caller's callback. */
void roce_emit(const struct roce_ctx *ctx, const struct roce_finding *finding);

/* Keeps an ERROR while a possible reuse of the QPs is unresolved. Returns false if it is to be
 * reported now; without room for it its severity is lowered. */
bool roce_finding_defer(const struct roce_ctx *ctx, struct roce_finding *finding);

/* Tells the caller that the earlier `frame` is answered or repeated by the packet at hand. */
void roce_report_link(struct roce_ctx *ctx, enum roce_link_kind kind, uint32_t frame);

#endif
