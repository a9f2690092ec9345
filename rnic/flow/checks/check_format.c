/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of the format of one packet, of fields that are constant for a QP, and of payload sizes
 * against the path MTU.
 */
#include "flow/checks/check_format.h"

#include <string.h>
#include "flow/base/any_order.h"
#include "flow/base/counters.h"
#include "flow/base/ip_id.h"
#include "flow/base/report.h"
#include "flow/table/conn.h"
#include "flow/table/qp_reuse.h"
#include "flow/table/read_psn_count.h"
#include "wire/gid.h"

/* If a host sent at least this many packets and all have a wrong ICRC, the path did not damage
 * them: the capture point changed them, or captured them before the NIC computed the ICRC. */
#define NEVER_SURE 8
#define SPORT_MIN  0xC000 /* lowest UDP source port of RoCEv2 (R013) */

/* For each defect that roce_pkt_parse() finds: the rule and the field to report. */
static const struct {
    enum roce_defect defect;
    enum roce_rule rule;
    const char *field;
} broken[] = {
    {ROCE_DEFECT_IP_VERSION, ROCE_RULE_IP_VERSION, "ip.version"},
    {ROCE_DEFECT_IP_OPTIONS, ROCE_RULE_IP_OPTIONS, "ip.ihl"},
    {ROCE_DEFECT_IP_FRAGMENT, ROCE_RULE_IP_FRAGMENT, "ip.frag"},
    {ROCE_DEFECT_IP_LEN, ROCE_RULE_IP_LEN, "ip.len"},
    {ROCE_DEFECT_IP6_EXT, ROCE_RULE_IP6_EXT, "ip6.next"},
    {ROCE_DEFECT_UDP_LEN, ROCE_RULE_UDP_LEN, "udp.len"},
    {ROCE_DEFECT_BTH_SHORT, ROCE_RULE_SHORT, "bth"},
    {ROCE_DEFECT_HDR_SHORT, ROCE_RULE_SHORT, "headers"},
    {ROCE_DEFECT_PAD_COUNT, ROCE_RULE_PAD_TOO_LARGE, "bth.padcnt"},
    {ROCE_DEFECT_ALIGN, ROCE_RULE_PAD, "bth.padcnt"},
    {ROCE_DEFECT_OPCODE, ROCE_RULE_OPCODE_RESERVED, "bth.opcode"},
    {ROCE_DEFECT_TVER, ROCE_RULE_TVER, "bth.tver"},
};

static uint64_t defect_value(const struct roce_pkt *pkt, enum roce_rule rule)
{
    switch (rule) {
    case ROCE_RULE_OPCODE_RESERVED: return pkt->bth.opcode;
    case ROCE_RULE_TVER: return pkt->bth.tver;
    case ROCE_RULE_PAD:
    case ROCE_RULE_PAD_TOO_LARGE: return pkt->bth.padcnt;
    case ROCE_RULE_IP_OPTIONS: return pkt->ip4.ihl;
    case ROCE_RULE_UDP_LEN: return pkt->udp.len;
    default: return 0;
    }
}

/* Returns whether a packet that violates `rule` has a wrong length, so that the ICRC is read from
 * the wrong bytes. A wrong ICRC then does not prove that the packet was damaged. */
static bool moves_icrc(enum roce_rule rule)
{
    return rule == ROCE_RULE_IP_LEN || rule == ROCE_RULE_UDP_LEN || rule == ROCE_RULE_IP6_EXT;
}

static void check_defects(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    bool damaged = ctx->icrc == ROCE_ICRC_BAD; /* the packet was damaged in transit, so any of its
                                                * bits may be wrong */

    if (pkt->defects == 0)
        return;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        if (roce_pkt_defect(pkt, broken[i].defect) && (!damaged || moves_icrc(broken[i].rule)))
            roce_report(ctx, (struct roce_report){.rule = broken[i].rule,
                                                  .field = broken[i].field,
                                                  .actual = defect_value(pkt, broken[i].rule),
                                                  .value = ROCE_VALUE_NONE,
                                                  .weak = damaged});
    if (damaged)
        return;
    if (roce_pkt_defect(pkt, ROCE_DEFECT_PAYLOAD)) {
        bool fixed = pkt->op->kind == ROCE_KIND_ATOMIC_WRITE || pkt->op->kind == ROCE_KIND_FLUSH;
        uint64_t want = pkt->op->payload == ROCE_PAYLOAD_8 ? 8 : 0;

        if (fixed)
            REPORT(ctx, FIXED_PAYLOAD, "payload length", want, pkt->payload_len);
        else
            REPORT(ctx, PAYLOAD_NONE, "payload length", want, pkt->payload_len);
    }
}

static void check_net(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;

    if (roce_pkt_has(pkt, ROCE_HDR_IP4) && !pkt->ip4.df)
        REPORT_ONCE(ctx, IP_FRAGMENT, "ip4.df", 1, 0);
    if (!roce_pkt_has(pkt, ROCE_HDR_UDP) || ctx->rewritten)
        return;
    /* NICs send CNPs from any source port. */
    if (pkt->udp.sport < SPORT_MIN && pkt->op->kind != ROCE_KIND_CNP)
        REPORT_ONCE(ctx, SPORT_RANGE, "udp.sport", SPORT_MIN, pkt->udp.sport,
                    .rel = ROCE_REL_AT_LEAST);
    if (pkt->udp.csum)
        REPORT_ONCE(ctx, UDP_CSUM, "udp.csum", 0, pkt->udp.csum, .value = ROCE_VALUE_HEX);
}

/* Returns whether the sender of the packet is known and the profile is ROCE_PROFILE_AUTO. With this
 * profile, the analysis recognises Linux rxe by its packets. */
static bool is_peer_sought(const struct roce_ctx *ctx)
{
    return ctx->flow->opts.profile == ROCE_PROFILE_AUTO && ctx->sender;
}

/* Reports that the first packets of ctx->sender had MigReq 0. */
static void report_first_migreq(struct roce_ctx *ctx)
{
    struct roce_ctx then = *ctx;

    then.frame = roce_cold_of(ctx->sender)->migreq_frame;
    then.time = roce_cold_of(ctx->sender)->migreq_time;
    then.result = NULL; /* the packets with MigReq 0 are in earlier frames, so the result of the
                         * current frame must not change */
    REPORT_ONCE(&then, MIGREQ, "bth.migreq", 1, 0);
}

/* Reports MigReq 0, which is a known deviation of rxe. rxe is recognised with both QP numbers of a
 * connection. So the report is deferred until the connection is paired or ends. */
static void check_migreq(struct roce_ctx *ctx)
{
    if (is_peer_sought(ctx) && !ctx->conn->paired && !roce_peer_is_rxe(ctx->flow, ctx->sender))
        return;
    if (ctx->sender && ctx->sender->migreq_0)
        report_first_migreq(ctx);
    else
        REPORT_ONCE(ctx, MIGREQ, "bth.migreq", 1, 0);
}

void roce_check_migreq_end(struct roce_ctx *ctx)
{
    if (!ctx->sender->migreq_0)
        return;
    ctx->flow->totals.rxe_sides += roce_peer_is_rxe(ctx->flow, ctx->sender);
    report_first_migreq(ctx);
}

/* Reports the first change of the UDP source port, unless the sender seems to use several paths. */
void roce_check_ports_end(struct roce_ctx *ctx)
{
    const struct roce_cold_counters *cold = roce_cold_of(ctx->sender);
    struct roce_ctx then = *ctx;

    if (cold->port_cnt < 2 || roce_ports_are_paths(ctx->flow, ctx->sender))
        return;
    then.frame = cold->port_frame;
    then.time = cold->port_time;
    REPORT_ONCE(&then, SPORT_CONSTANT, "udp.sport", cold->port[0], cold->port[1]);
}

static void check_bth(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_opcode *op = pkt->op;
    const struct roce_bth *bth = &pkt->bth;
    bool ends_message = roce_opcode_ends(op) && roce_opcode_uses_rq(op);
    bool gsi = bth->dest_qp == ROCE_QP_GSI;
    bool native = roce_pkt_has(pkt, ROCE_HDR_LRH); /* native InfiniBand: QP 0 is then the subnet
                                                    * management QP */
    bool no_migreq = !bth->migreq && !(native && op->svc == ROCE_SVC_UD);

    if (bth->resv6) /* The ICRC does not cover the BTH bits resv6, so a switch may have changed
                     * them. Some NICs set these bits to mark packets for adaptive routing. */
        REPORT_ONCE(ctx, RESERVED_BITS, "bth.resv6", 0, bth->resv6, .value = ROCE_VALUE_HEX,
                    .weak = true);
    if (bth->resv7)
        REPORT(ctx, RESERVED_BITS, "bth.resv7", 0, bth->resv7, .value = ROCE_VALUE_HEX);
    if (bth->padcnt && pkt->payload_cap_len == pkt->payload_len &&
        (pkt->pad[0] | pkt->pad[1] | pkt->pad[2]))
        REPORT_ONCE(ctx, PAD, "pad bytes", 0, pkt->pad[0] | pkt->pad[1] | pkt->pad[2],
                    .value = ROCE_VALUE_HEX, .weak = true); /* the specification demands no value of
                                                             * the pad bytes; implementations send 0
                                                             * (R027) */
    if (bth->dest_qp == 0 && !native)
        REPORT(ctx, DEST_QP0, "bth.dest_qp", .rel = ROCE_REL_NE);
    if ((bth->dest_qp == ROCE_QP_MULTICAST) != roce_gid_is_multicast(ctx->dst) &&
        pkt->encap != ROCE_ENCAP_NONE && pkt->encap != ROCE_ENCAP_IB_LOCAL)
        REPORT(ctx, MULTICAST_QP, "bth.dest_qp", ROCE_QP_MULTICAST, bth->dest_qp,
               .value = ROCE_VALUE_HEX,
               .rel = roce_gid_is_multicast(ctx->dst) ? ROCE_REL_EQ : ROCE_REL_NE);
    else if (bth->dest_qp == ROCE_QP_MULTICAST && op->svc != ROCE_SVC_UD)
        REPORT(ctx, MULTICAST_QP, "bth.opcode", ROCE_OP_UD_SEND_ONLY, bth->opcode,
               .value = ROCE_VALUE_OPCODE);
    if (op->kind == ROCE_KIND_CNP || op->kind == ROCE_KIND_RESERVED ||
        op->kind == ROCE_KIND_MANUFACTURER)
        return;
    if (no_migreq && is_peer_sought(ctx))
        roce_peer_note_migreq(ctx);
    if (bth->se && !ends_message)
        REPORT(ctx, SOLICITED, "bth.se", 0, 1);
    if (bth->ackreq && (op->svc == ROCE_SVC_UC || op->svc == ROCE_SVC_UD))
        REPORT_ONCE(ctx, ACKREQ_UNRELIABLE, "bth.ackreq", 0, 1, .condition = gsi ? "gsi" : NULL);
    if (bth->ackreq && roce_opcode_is_response(op))
        REPORT(ctx, ACKREQ_RESPONSE, "bth.ackreq", 0, 1);
    if (no_migreq)
        check_migreq(ctx);
}

static void report_bad_icrc(struct roce_ctx *ctx, const struct roce_deferred_icrc *held)
{
    REPORT(ctx, ICRC_BAD, "icrc", .actual = held->icrc, .value = ROCE_VALUE_NONE,
           .condition = held->flush ? "flush" : NULL);
}

static void count_bad(struct roce_ctx *ctx)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    uint32_t psn = ctx->pkt->bth.psn;

    cold->bad_icrc++;
    roce_note_dropped(ctx);
    if (!roce_opcode_is_request(ctx->pkt->op))
        return;
    if (cold->bad_tries == 0 || ctx->sender->req.last_time >= cold->bad_time) {
        cold->bad_time = ctx->time;
        cold->bad_psn = psn;
        cold->bad_first = ctx->frame;
        cold->bad_tries = 0;
    }
    if (psn == cold->bad_psn) {
        cold->bad_tries++;
        cold->bad_last = ctx->frame;
        cold->bad_last_time = ctx->time;
    }
}

static void check_icrc(struct roce_ctx *ctx)
{
    struct roce_deferred_icrc held;

    if (ctx->icrc != ROCE_ICRC_BAD)
        return;
    if (ctx->sender)
        count_bad(ctx);
    held =
        (struct roce_deferred_icrc){.time = ctx->time,
                                    .frame = ctx->frame,
                                    .icrc = ctx->pkt->icrc,
                                    .conn_index = ctx->conn ? ctx->conn->conn_index : ROCE_NO_CONN,
                                    .side = ctx->sender ? roce_endpoint_side(ctx->sender) : 0,
                                    .flush = ctx->pkt->op->kind == ROCE_KIND_FLUSH};
    roce_gate(ctx->flow);
    if (!ctx->look->undecided || !roce_icrc_trust_defer(&ctx->flow->common->trust, ctx->src, &held))
        report_bad_icrc(ctx, &held);
}

/* Returns the connection with number `conn_index`, or NULL. */
static struct roce_conn *find_conn(const struct roce_flow *flow, uint32_t conn_index)
{
    const struct roce_common *common = flow->common;
    struct roce_conn *conn = NULL;

    for (unsigned i = 0;
         !conn && conn_index != ROCE_NO_CONN && i < (common->part ? common->part_cnt : 1); i++) {
        conn = (common->part ? common->part[i] : flow)->first_all;
        while (conn && conn->conn_index != conn_index)
            conn = conn->next_all;
    }
    return conn;
}

static void report_deferred_icrc(struct roce_flow *flow, struct roce_icrc_host *host)
{
    for (unsigned i = 0; i < host->deferred_cnt; i++) {
        const struct roce_deferred_icrc *held = &host->deferred[i];
        struct roce_ctx ctx = {.flow = flow, .frame = held->frame, .time = held->time};
        struct roce_conn *conn = find_conn(flow, held->conn_index);

        ctx.conn = conn; /* the connection of the packet; NULL if it has ended or has another number
                          * now */
        ctx.sender = conn ? &conn->side[held->side] : NULL;
        report_bad_icrc(&ctx, held);
    }
    flow->common->trust.deferred -= host->deferred_cnt;
    host->deferred_cnt = 0;
}

void roce_check_icrc_release(struct roce_ctx *ctx)
{
    struct roce_icrc_host *host;

    roce_gate(ctx->flow);
    host = roce_icrc_trust_deferred(&ctx->flow->common->trust, ctx->src);
    if (host)
        report_deferred_icrc(ctx->flow, host);
}

void roce_check_icrc_end(struct roce_flow *flow)
{
    for (unsigned i = 0; i < ROCE_ICRC_TRUST_HOSTS; i++) {
        struct roce_icrc_host *host = &flow->common->trust.host[i];
        struct roce_ctx ctx = {.flow = flow, .frame = host->frame, .time = host->time};

        /* If a packet of the host was acknowledged, its receiver saw a right ICRC: the capture was
         * taken on the sending host, before the NIC computed the ICRC. If no host sent a right
         * ICRC, the capture probably changed all packets. */
        if (host->good == 0 && host->bad > ROCE_ICRC_TRUST_DAMAGED)
            REPORT(&ctx, ICRC_NEVER_GOOD, "packets with a correct ICRC", 1, 0,
                   .rel = ROCE_REL_AT_LEAST,
                   .weak = flow->acked_hosts >> i & 1 || !(flow->unanswered_hosts >> i & 1) ||
                           flow->common->trust.good == 0 || host->bad < NEVER_SURE);
        else
            report_deferred_icrc(flow, host);
    }
}

void roce_check_format(struct roce_ctx *ctx)
{
    check_icrc(ctx);
    if (ctx->digest->form_ok)
        return;
    check_defects(ctx);
    if (roce_pkt_dropped(ctx->pkt)) {
        if (ctx->sender) {
            roce_cold(ctx->flow, ctx->sender)->malformed++;
            roce_note_dropped(ctx);
        }
        return;
    }
    if (ctx->icrc == ROCE_ICRC_BAD)
        return;
    check_net(ctx);
    check_bth(ctx);
}

void roce_check_qp_constants(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_endpoint *side = ctx->sender, *peer = roce_peer(side);
    const struct roce_opcode *op = pkt->op;
    uint16_t sport = roce_pkt_has(pkt, ROCE_HDR_UDP) ? pkt->udp.sport : 0;

    if (op->kind == ROCE_KIND_CNP)
        return;
    if (!side->any) {
        side->any = true;
        side->sport = side->counts.udp_sport = sport;
        side->pkey = pkt->bth.pkey;
        side->dscp = ctx->digest->dscp;
        side->last_id = ctx->digest->ip_id;
        if (ctx->conn->facts.svc == ROCE_SVC_CNP)
            ctx->conn->facts.svc = op->svc; /* only CNPs of this QP were captured before, and a CNP
                                             * does not show the transport service */
    }
    roce_id_note(side, ctx->digest->ip_id);
    if (op->svc != ctx->conn->facts.svc)
        REPORT_ONCE(ctx, SERVICE, "bth.opcode", ctx->conn->facts.svc, op->svc,
                    .value = ROCE_VALUE_SERVICE);
    if (ctx->conn->ud)
        return;
    if (sport != side->sport) {
        if (roce_note_port(ctx, sport))
            roce_reuse_on_new_port(ctx);
        side->sport = sport;
    }
    if (ctx->digest->dscp != side->dscp)
        REPORT_ONCE(ctx, DSCP_CONSTANT, "ip.dscp", side->dscp, ctx->digest->dscp);
    if (pkt->bth.pkey != side->pkey)
        REPORT_ONCE(ctx, PKEY_CONSTANT, "bth.pkey", side->pkey, pkt->bth.pkey,
                    .value = ROCE_VALUE_HEX);
    if (peer->any && peer != side && !roce_pkeys_match(peer->pkey, side->pkey))
        REPORT_ONCE(ctx, PKEY_MATCH, "bth.pkey", peer->pkey | 0x8000u, side->pkey,
                    .value = ROCE_VALUE_HEX);
}

/* ---- path MTU -------------------------------------------------------------------------------- */

void roce_check_mtu_learn(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;
    uint32_t len = ctx->pkt->payload_len;

    if (conn->mtu_seen || ctx->pkt->op->payload != ROCE_PAYLOAD_MTU)
        return;
    if (roce_mtu_code(len) == 0) {
        REPORT(ctx, PMTU_VALUE, "payload length", conn->facts.mtu ? conn->facts.mtu : 1024, len);
        return;
    }
    if (conn->facts.mtu && conn->facts.mtu != len && roce_conn_cm_seen(conn)) {
        REPORT_ONCE(ctx, CM_MTU, "payload length", conn->facts.mtu, len, conn->facts.cm.req_frame);
        conn->inconsistent = true; /* the path MTU in the CM messages is wrong, so the messages may
                                    * not belong to these QPs */
    }
    conn->facts.mtu = len;
    conn->facts.mtu_sure = conn->mtu_seen = true;
    roce_read_psn_count_update(conn, roce_conn_cm_seen(conn) != 0);
}

void roce_check_size(struct roce_ctx *ctx)
{
    const struct roce_opcode *op = ctx->pkt->op;
    uint32_t len = ctx->pkt->payload_len, mtu = ctx->conn->facts.mtu;
    bool known, wrong = false;
    enum roce_relation rel = ROCE_REL_AT_MOST;
    uint32_t want;

    if (roce_read_psn_count_is_agreed(ctx->conn) && len > mtu && len <= 4096) {
        REPORT_ONCE(ctx, CM_MTU, "payload length", mtu, len, ctx->conn->facts.cm.req_frame,
                    .rel = ROCE_REL_AT_MOST);
        ctx->conn->facts.mtu_sure = false; /* the QP uses another path MTU than the CM messages
                                            * agreed on */
        while (ctx->conn->facts.mtu < len)
            ctx->conn->facts.mtu *= 2;
    }
    known = ctx->conn->facts.mtu_sure;
    want = known ? mtu : 4096;
    switch (op->payload) {
    case ROCE_PAYLOAD_MTU:
        wrong = known && len != mtu;
        rel = ROCE_REL_EQ;
        break;
    case ROCE_PAYLOAD_TAIL:
        wrong = len == 0 || len > want;
        if (len == 0) {
            rel = ROCE_REL_AT_LEAST;
            want = 1;
        }
        break;
    case ROCE_PAYLOAD_ANY: wrong = len > want; break;
    default: return;
    }
    if (!wrong)
        return;
    if (op->kind == ROCE_KIND_READ_RESP)
        REPORT(ctx, READ_RESP_SIZE, "payload length", want, len, .rel = rel,
               .condition = rel == ROCE_REL_AT_LEAST ? "empty" : NULL);
    else
        REPORT(ctx, PMTU_SIZE, "payload length", want, len, .rel = rel);
}
