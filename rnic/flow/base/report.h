/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Passes the findings of checks to the caller's callback. While it is undecided whether a QP was
 * reused, ERROR findings about this QP are deferred. Used only in rnic/flow.
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
    const char *condition; /* name of a special case, for example "send", which known_deviations.def
                            * uses to select a known deviation; or NULL */
    enum roce_loss loss;   /* the loss that led to the timeout, if the finding reports a timeout */
    bool weak;             /* the capture does not prove the violation: the severity ERROR becomes
                            * WARN */
};

/* Reports a finding about the packet in `ctx`. */
void roce_report(struct roce_ctx *ctx, struct roce_report report);

/* Reports a finding about the packet in `ctx`, at most once for each endpoint and rule. */
void roce_report_once(struct roce_ctx *ctx, struct roce_report report);

#define REPORT(ctx, RULE, ...)                                                                     \
    roce_report(ctx, (struct roce_report){.rule = ROCE_RULE_##RULE, .field = __VA_ARGS__})
#define REPORT_ONCE(ctx, RULE, ...)                                                                \
    roce_report_once(ctx, (struct roce_report){.rule = ROCE_RULE_##RULE, .field = __VA_ARGS__})

/* Counts a finding and passes it to the caller's callback, without deferring it or changing its
 * severity. */
void roce_emit(const struct roce_ctx *ctx, const struct roce_finding *finding);

/* If it is undecided whether the QP was reused, defers an ERROR finding and returns true. Returns
 * false if the caller must report the finding now. If too many findings are deferred already,
 * lowers the severity of `finding` to WARN and returns false. */
bool roce_finding_defer(const struct roce_ctx *ctx, struct roce_finding *finding);

/* Calls the caller's callback on_link(): the packet in `ctx` answers or repeats the packet in the
 * earlier `frame`. */
void roce_report_link(struct roce_ctx *ctx, enum roce_link_kind kind, uint32_t frame);

/* Calls the caller's callback on_done(): the packet in `ctx` completed an operation of `requester`.
 * `e` is the last packet of the request; `ns` is the latency of the operation, or ROCE_NEVER_NS if
 * unknown. */
void roce_report_done(const struct roce_ctx *ctx, const struct roce_endpoint *requester,
                      const struct roce_sent_packet *e, uint64_t bytes, uint64_t ns);

#endif
