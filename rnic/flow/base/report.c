/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/report.h"

#include <string.h>

static const struct {
    enum roce_profile profile;
    enum roce_rule rule;
    const char *id, *condition;
} known[] = {
#define QUIRK_FINDING(PEER, ID, RULE, condition)                                                   \
    {ROCE_PROFILE_##PEER, ROCE_RULE_##RULE, #ID, condition},
#include "flow/base/known_deviations.def"
};

static const char *known_of(enum roce_profile profile, enum roce_rule rule, const char *condition)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].profile == profile && known[i].rule == rule &&
            (known[i].condition[0] == 0 ||
             (condition && strcmp(known[i].condition, condition) == 0)))
            return known[i].id;
    return NULL;
}

/* Returns the id of the known deviation, if Linux rxe is known to violate `rule` in this way and
 * the sender is recognised as rxe; otherwise NULL. Records whether only kernel 6.1 or only 6.12 has
 * this deviation. */
static const char *known_of_rxe(const struct roce_ctx *ctx, enum roce_rule rule,
                                const char *condition)
{
    struct roce_flow *flow = ctx->flow;
    const char *old, *new;

    if (ctx->sender ? !roce_peer_is_rxe(flow, ctx->sender)
                    : !ctx->src || !roce_peer_host_is_rxe(flow, ctx->src))
        return NULL;
    old = known_of(ROCE_PROFILE_LINUX_RXE_6_1, rule, condition);
    new = known_of(ROCE_PROFILE_LINUX_RXE_6_12, rule, condition);
    flow->totals.rxe_6_1 |= old && !new;
    flow->totals.rxe_6_12 |= new && !old;
    return old ? old : new;
}

static const char *known_id(const struct roce_ctx *ctx, enum roce_rule rule, const char *condition)
{
    enum roce_profile profile = ctx->flow->opts.profile;

    if (profile == ROCE_PROFILE_NONE)
        return NULL;
    return profile == ROCE_PROFILE_AUTO ? known_of_rxe(ctx, rule, condition)
                                        : known_of(profile, rule, condition);
}

/* Returns whether the current packet alone shows if `rule` was violated. */
static bool is_of_packet(const struct roce_ctx *ctx, enum roce_rule rule)
{
    switch (rule) {
    case ROCE_RULE_DMA_LEN_MAX:
    case ROCE_RULE_VA_WRAP:
    case ROCE_RULE_PMTU_VALUE:
    case ROCE_RULE_SYNDROME_RESERVED:
    case ROCE_RULE_UD_SIZE:
    case ROCE_RULE_MULTICAST_MAC:
    case ROCE_RULE_GSI:
    case ROCE_RULE_CNP_FORM: return true;
    case ROCE_RULE_DMA_LEN: return ctx->pkt && ctx->pkt->op->pos == ROCE_POS_ONLY;
    default: return false;
    }
}

/* Returns whether the packets of one endpoint alone show if `rule` was violated. */
static bool is_one_sided(const struct roce_ctx *ctx, enum roce_rule rule)
{
    switch (rule) {
    case ROCE_RULE_OPCODE_ORDER:
    case ROCE_RULE_INTERLEAVED:
    case ROCE_RULE_DMA_LEN: return true;
    default: return is_of_packet(ctx, rule);
    }
}

/* Returns the requester of the direction to which the current packet belongs. */
static const struct roce_req *requester_of(const struct roce_ctx *ctx)
{
    bool answer = ctx->pkt && roce_opcode_is_response(ctx->pkt->op);

    return &(answer ? roce_peer(ctx->sender) : ctx->sender)->req;
}

/* Returns true if the capture does not prove that `rule` was violated. Causes: the capture
 * contradicts itself, a packet may be damaged, the QPs may have been reused, or the two directions
 * may not belong to one connection. */
static bool is_doubtful(const struct roce_ctx *ctx, enum roce_rule rule)
{
    const struct roce_conn *conn = ctx->conn;

    if (ctx->pkt && ctx->icrc == ROCE_ICRC_UNVERIFIED)
        return true;
    if (ctx->pkt && (!ctx->have_connection || is_of_packet(ctx, rule)))
        return false; /* the current packet alone shows the violation */
    if (!conn || conn->inconsistent || conn->icrc_unverified)
        return conn != NULL;
    if (!ctx->have_connection)
        return false;
    /* The finding is also doubtful in three cases: the rule compares both directions, and their
     * pairing is a guess; the peer began a new connection on the same QPs, so this requester
     * probably did, too; the requester inserted an empty Only packet, so its later retransmissions
     * have other PSNs than the originals (known deviation D41). */
    return (roce_is_guess(conn) && !is_one_sided(ctx, rule)) || requester_of(ctx)->peer_restarted ||
           requester_of(ctx)->moved;
}

/* Returns whether a finding about this rule means that packets are missing in the capture. */
static bool shows_gap(enum roce_rule rule)
{
    return rule == ROCE_RULE_PSN_GAP || rule == ROCE_RULE_ACK_UNSEEN ||
           rule == ROCE_RULE_IMPLIED_NAK || rule == ROCE_RULE_READ_RESP_GAP ||
           rule == ROCE_RULE_MSN_TOO_HIGH;
}

void roce_emit(const struct roce_ctx *ctx, const struct roce_finding *f)
{
    struct roce_flow *flow = ctx->flow;

    roce_gate(flow);
    flow->common->has_gaps |= shows_gap(f->rule);
    flow->totals.findings[f->severity]++;
    flow->totals.rules[f->rule]++;
    flow->totals.known[f->severity] += f->known != NULL;
    flow->totals.errors_unknown += f->severity == ROCE_SEV_ERROR && !f->known;
    if (ctx->conn) {
        ctx->conn->facts.findings[f->severity]++;
        ctx->conn->facts.known_errors += f->known && f->severity == ROCE_SEV_ERROR;
        ctx->conn->facts.known_warnings += f->known && f->severity == ROCE_SEV_WARN;
    }
    if (flow->opts.on_finding)
        flow->opts.on_finding(flow->opts.user, f);
}

static struct roce_endpoint *reuse_side(struct roce_conn *conn)
{
    for (int i = 0; i < 2; i++)
        if (roce_reuse_is_pending(&conn->side[i].req))
            return &conn->side[i];
    return NULL;
}

bool roce_finding_defer(const struct roce_ctx *ctx, struct roce_finding *finding)
{
    struct roce_endpoint *side = ctx->conn ? reuse_side(ctx->conn) : NULL;
    struct roce_deferred_findings *held;

    if (!side)
        return false;
    if (!side->reuse->deferred)
        side->reuse->deferred = roce_mem_need(&ctx->flow->mem, sizeof(*held));
    held = side->reuse->deferred;
    if (!held || held->cnt == ROCE_DEFERRED_MAX) {
        finding->severity = ROCE_SEV_WARN;
        return false;
    }
    held->of_peer[held->cnt] = ctx->sender != side;
    held->finding[held->cnt++] = *finding;
    return true;
}

void roce_report(struct roce_ctx *ctx, struct roce_report report)
{
    enum roce_rule rule = report.rule;
    struct roce_finding f = {.rule = rule,
                             .severity = roce_rule_info(rule)->severity,
                             .frame = ctx->frame,
                             .time = ctx->time,
                             .conn_index = ctx->conn ? ctx->conn->conn_index : ROCE_NO_CONN,
                             .side = ctx->sender ? roce_endpoint_side(ctx->sender) : 0,
                             .loss = (uint8_t)report.loss,
                             .field = report.field ? report.field : "",
                             .value = report.value,
                             .relation = report.rel,
                             .expected = report.expected,
                             .actual = report.actual,
                             .other_frame = report.other == ctx->frame ? 0 : report.other,
                             .known = known_id(ctx, rule, report.condition)};

    if (f.severity == ROCE_SEV_ERROR && (report.weak || is_doubtful(ctx, rule)))
        f.severity = ROCE_SEV_WARN;
    if (ctx->result)
        ctx->result->findings++;
    if (f.severity == ROCE_SEV_ERROR && ctx->have_connection && !is_of_packet(ctx, rule) &&
        roce_finding_defer(ctx, &f))
        return;
    roce_emit(ctx, &f);
}

void roce_report_once(struct roce_ctx *ctx, struct roce_report report)
{
    if (ctx->sender) {
        uint64_t *word = &ctx->sender->fired[report.rule / 64], bit = UINT64_C(1)
                                                                      << report.rule % 64;

        if (*word & bit)
            return;
        *word |= bit;
    }
    roce_report(ctx, report);
}

void roce_report_link(struct roce_ctx *ctx, enum roce_link_kind kind, uint32_t frame)
{
    if (!ctx->flow->opts.on_link || !frame)
        return;
    roce_gate(ctx->flow);
    ctx->flow->opts.on_link(ctx->flow->opts.user, kind, frame, ctx->frame);
}

void roce_report_done(const struct roce_ctx *ctx, const struct roce_endpoint *requester,
                      const struct roce_sent_packet *e, uint64_t bytes, uint64_t ns)
{
    struct roce_flow_done done = {.frame = ctx->frame,
                                  .conn_index = ctx->conn->conn_index,
                                  .side = roce_endpoint_side(requester),
                                  .kind = roce_opcode(e->op)->kind,
                                  .bytes = bytes,
                                  .start = e->msg_time,
                                  .ns = ns,
                                  .last = e->time,
                                  .number = roce_sent_number(e)};

    if (ctx->flow->opts.on_done)
        ctx->flow->opts.on_done(ctx->flow->opts.user, &done);
}
