/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/conn_summary.h"

#include <inttypes.h>
#include "check/base/conn_state.h"
#include "check/causes/slow_causes.h"
#include "check/causes/time_budget.h"
#include "wire/codes.h"

#define LARGE_LEN 1500u /* payload, bytes; packets with this payload or more need jumbo frames */

static struct check_latency latency_of(const struct roce_hist *hist)
{
    if (!hist || hist->total == 0)
        return (struct check_latency){0};
    return (struct check_latency){
        .cnt = hist->total,
        .min_ns = hist->min,
        .p50_ns = roce_hist_quantile(hist, 500),
        .p90_ns = roce_hist_quantile(hist, 900),
        .p99_ns = roce_hist_quantile(hist, 990),
        .max_ns = hist->max,
    };
}

void check_conn_set(struct check_conn *conn, const struct roce_conn_summary *sum)
{
    conn->sum = *sum;
    conn->waited_ns = check_conn_slow(sum) ? time_budget_waited_ns(sum) : 0;
    for (unsigned i = 0; i < 2; i++) {
        struct roce_endpoint_summary *side = &conn->sum.side[i];

        conn->program[i][0] = '\0';
        for (unsigned o = 0; o < ROCE_OPER_CNT; o++) {
            conn->latency[i][o] = latency_of(side->oper[o].latency);
            side->oper[o].latency = NULL;
        }
        conn->rtt[i] = latency_of(side->ack_rtt);
        side->ack_rtt = NULL;
        for (unsigned r = 0; r < side->region_cnt && side->region; r++)
            conn->region[i][r] = side->region[r];
        side->region = NULL;
    }
}

uint64_t check_conn_errors(const struct roce_conn_summary *sum)
{
    return sum->facts.findings[ROCE_SEV_ERROR] - sum->facts.known_errors;
}

enum check_verdict check_conn_verdict(const struct roce_conn_summary *sum)
{
    return check_conn_errors(sum) ? CHECK_VIOLATED : CHECK_HOLDS;
}

const char *check_verdict_name(enum check_verdict verdict)
{
    static const char *const names[] = {"holds", "violated", "skipped"};

    return names[verdict];
}

static uint64_t packets_of(const struct roce_conn_summary *sum)
{
    return sum->side[0].packets + sum->side[1].packets;
}

int check_conn_order(const void *a, const void *b)
{
    const struct check_conn *first = a, *second = b;
    const struct roce_conn_summary *x = &first->sum, *y = &second->sum;
    const uint64_t keys[][2] = {
        {check_conn_errors(x) != 0, check_conn_errors(y) != 0},
        {check_conn_failed(x), check_conn_failed(y)},
        {check_conn_stuck(x), check_conn_stuck(y)},
        {check_conn_slow(x), check_conn_slow(y)},
        {first->waited_ns, second->waited_ns},
        {x->facts.findings[ROCE_SEV_ERROR] != 0, y->facts.findings[ROCE_SEV_ERROR] != 0},
        {x->facts.findings[ROCE_SEV_WARN] != 0, y->facts.findings[ROCE_SEV_WARN] != 0},
        {packets_of(x), packets_of(y)},
        {y->facts.conn_index, x->facts.conn_index},
    };

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] > keys[i][1] ? -1 : 1;
    return 0;
}

static void add_end(struct strbuf *t, const struct roce_endpoint_summary *side)
{
    strbuf_add_addr(t, side->addr);
    if (side->qpn == ROCE_QPN_UNKNOWN)
        strbuf_addf(t, " QP ?");
    else
        strbuf_addf(t, " QP 0x%06x", side->qpn);
}

void check_conn_title(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t, "%s ", roce_svc_name(sum->facts.svc));
    add_end(t, &sum->side[0]);
    strbuf_addf(t, sum->facts.paired ? " ↔ " : " → ");
    add_end(t, &sum->side[1]);
}

/* Returns the completion status of the failed work request as text: its name in the verbs and its
 * number. Returns NULL if the status is unknown. */
static const char *status_of(const struct roce_conn_summary *sum)
{
    switch (sum->facts.end) {
    case ROCE_END_NAK:
        switch (roce_syndrome_code(sum->facts.end_syndrome)) {
        case ROCE_NAK_INVALID_REQ: return "IBV_WC_REM_INV_REQ_ERR (9)";
        case ROCE_NAK_REMOTE_ACCESS: return "IBV_WC_REM_ACCESS_ERR (10)";
        case ROCE_NAK_REMOTE_OP: return "IBV_WC_REM_OP_ERR (11)";
        default: return NULL;
        }
    case ROCE_END_RETRY_EXHAUSTED: return "IBV_WC_RETRY_EXC_ERR (12)";
    case ROCE_END_RNR_EXHAUSTED: return "IBV_WC_RNR_RETRY_EXC_ERR (13)";
    default: return NULL;
    }
}

static void add_request(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t, "the request with PSN %u", sum->facts.end_psn);
    if (sum->facts.end_request_frame)
        strbuf_addf(t, " (frame %u)", sum->facts.end_request_frame);
}

/* Text about the other work requests of a QP in the error state. */
#define FLUSHED ", then IBV_WC_WR_FLUSH_ERR (5) for all other work requests"

#define RETRY_MAX 7 /* largest retry_cnt of a QP */

/* Appends which QP enters the error state, and the completion status of its work request. If the
 * requester transmitted the request more often than any retry_cnt allows, appends this fact
 * instead. */
static void add_fate(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t, "; the QP of ");
    strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
    if (sum->facts.end_repeats > RETRY_MAX && !sum->side[sum->facts.end_side & 1].adaptive)
        strbuf_addf(t, " transmitted this request more often than any retry_cnt (0 to %u) allows%s",
                    RETRY_MAX,
                    sum->facts.end == ROCE_END_UNANSWERED
                        ? ": the device never gives up, and its program may wait forever"
                        : ", and then stopped");
    else if (sum->facts.end == ROCE_END_UNANSWERED)
        strbuf_addf(t, " enters the error state when its retries run out, and its program gets "
                       "IBV_WC_RETRY_EXC_ERR (12)" FLUSHED);
    else
        strbuf_addf(
            t, " enters the error state, and its program gets IBV_WC_RETRY_EXC_ERR (12)" FLUSHED);
}

static void add_damaged(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t,
                "the request with PSN %u was captured %u times, last in frame %u, and always with "
                "a wrong ICRC; ",
                sum->facts.end_psn, sum->facts.end_tries, sum->facts.end_frame);
    add_end(t, &sum->side[!(sum->facts.end_side & 1)]);
    strbuf_addf(t, " drops packets with a wrong ICRC without a response");
    add_fate(t, sum);
}

/* Text about a requester that receives a NAK with a reserved code. */
#define WITHOUT_MEANING                                                                            \
    " if it treats the code as an error, as Linux Soft-RoCE does; its program then gets "          \
    "IBV_WC_REM_OP_ERR (11). A requester that ignores the code fails with IBV_WC_RETRY_EXC_ERR "   \
    "(12) after its retries"

static void add_reserved(struct strbuf *t, const struct roce_conn_summary *sum)
{
    add_end(t, &sum->side[!(sum->facts.end_side & 1)]);
    strbuf_addf(t, " responded to ");
    add_request(t, sum);
    strbuf_addf(t, " with the reserved syndrome 0x%02x in frame %u", sum->facts.end_syndrome,
                sum->facts.end_frame);
    if (sum->facts.end_tries > 1)
        strbuf_addf(t, ", which was transmitted %u times", sum->facts.end_tries);
    strbuf_addf(t, "; the QP of ");
    strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
    strbuf_addf(t, " enters the error state" WITHOUT_MEANING);
}

/* Appends the completion status of a request that was refused with a fatal NAK. If the request was
 * retransmitted after the NAK, appends that the NAK was probably lost on its path. */
static void add_refused(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_refusal *refusal = &sum->side[sum->facts.end_side & 1].refusal;
    const char *status = status_of(sum);

    if (refusal->again) {
        strbuf_addf(t, "; it refused the request %u more time%s", refusal->again,
                    refusal->again == 1 ? "" : "s");
        if (sum->facts.end_repeats == 0)
            strbuf_addf(t, ", last in frame %u", refusal->last_frame);
        strbuf_addf(t, ": the earlier NAKs were probably lost on their path%s",
                    status ? "" : " or ignored");
    }
    if (sum->facts.end_repeats) {
        strbuf_addf(t, "; ");
        strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
        strbuf_addf(t,
                    " then retransmitted %u time%s after a timeout, last in frame %u: the NAK was "
                    "probably lost on its path%s",
                    sum->facts.end_repeats, sum->facts.end_repeats == 1 ? "" : "s",
                    refusal->last_frame, status ? "" : " or ignored");
    }
    strbuf_addf(t, "; the QP of ");
    strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
    strbuf_addf(t, " enters the error state");
    if (sum->facts.end_repeats)
        strbuf_addf(t, " when its retries run out, and its program gets IBV_WC_RETRY_EXC_ERR (12)");
    if (sum->facts.end_repeats && status)
        strbuf_addf(t, ", or %s if a later NAK reaches the requester", status);
    else if (!sum->facts.end_repeats && status)
        strbuf_addf(t, ", and its program gets %s" FLUSHED, status);
    else if (!sum->facts.end_repeats)
        strbuf_addf(t, WITHOUT_MEANING);
}

static void add_refused_for_now(struct strbuf *t, const struct roce_conn_summary *sum)
{
    add_end(t, &sum->side[!(sum->facts.end_side & 1)]);
    strbuf_addf(t, sum->facts.end_paged ? " delayed " : " had no receive buffer for ");
    add_request(t, sum);
    strbuf_addf(t, "%s: RNR NAK, the last one in frame %u",
                sum->facts.end_paged ? ", although it needs no receive WQE" : "",
                sum->facts.end_frame);
}

/* Appends which response the peer sent to the last request of a requester, or that it sent none.
 * `refused`: it sent sequence NAKs. */
static void add_response(struct strbuf *t, const struct roce_conn_summary *sum, bool refused)
{
    const struct roce_endpoint_summary *its = &sum->side[!(sum->facts.end_side & 1)];

    add_end(t, its);
    if (sum->facts.end_answered) {
        strbuf_addf(t,
                    " responded to the request with PSN %u, but the response did not reach the "
                    "requester; ",
                    sum->facts.end_psn);
        strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
        strbuf_addf(t, " retransmitted it, and got no response");
    } else if (refused)
        strbuf_addf(t, " sent a sequence NAK for PSN %u %u time%s", sum->facts.end_psn,
                    sum->facts.end_naks, sum->facts.end_naks == 1 ? "" : "s");
    else
        strbuf_addf(t, " did not respond to the request with PSN %u", sum->facts.end_psn);
}

/* Appends since when the side that did not respond has sent nothing, and whether its own requests
 * were outstanding. */
static void add_silence(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_end_silence *silence = &sum->silence;

    if (silence->frame == 0)
        return;
    strbuf_addf(t, "; ");
    strbuf_add_addr(t, sum->side[!(sum->facts.end_side & 1)].addr);
    strbuf_addf(t, " sent no packet of this connection after frame %u", silence->frame);
    if (silence->ns) {
        strbuf_addf(t, ", for ");
        strbuf_add_duration(t, silence->ns);
    }
    if (silence->pending)
        strbuf_addf(t, ", although %u PSN%s of its own requests %s outstanding (first in frame %u)",
                    silence->pending, silence->pending == 1 ? "" : "s",
                    silence->pending == 1 ? "was" : "were", silence->pending_frame);
}

/* Appends for how long a requester has not retransmitted a request without a response. */
static void add_no_retransmission(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t, "; ");
    strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
    strbuf_addf(t, " did not retransmit the request in the last ");
    strbuf_add_duration(t, sum->silence.request_ns);
    strbuf_addf(
        t, ": its ACK timeout is longer, its QP ended, too, or the capture lacks the response");
}

/* Appends that a request has no response, and which QP enters the error state. */
static void add_unanswered(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_endpoint_summary *its = &sum->side[!(sum->facts.end_side & 1)];
    bool refused = sum->facts.end_on_nak || sum->facts.end_naks >= (sum->facts.end_repeats ? 2 : 1);

    if (sum->facts.end_damaged) {
        add_damaged(t, sum);
        return;
    }
    if (sum->facts.end_syndrome) {
        add_reserved(t, sum);
        return;
    }
    if (its->responses == 0) {
        strbuf_addf(t, "no response of ");
        add_end(t, its);
        strbuf_addf(t,
                    " to the request with PSN %u was captured, although the request was "
                    "transmitted %u times, last in frame %u; if the capture contains both "
                    "directions, the peer did not respond",
                    sum->facts.end_psn, sum->facts.end_tries, sum->facts.end_frame);
        add_fate(t, sum);
        return;
    }
    add_response(t, sum, refused);
    if (sum->facts.end == ROCE_END_UNANSWERED)
        strbuf_addf(t, " until the capture ended");
    if (sum->facts.end_tries)
        strbuf_addf(t, ", transmitted %u%s time%s", sum->facts.end_tries,
                    sum->facts.end_tries == UINT8_MAX ? " or more" : "",
                    sum->facts.end_tries == 1 ? "" : "s");
    if (sum->facts.end_frame)
        strbuf_addf(t, ", last in frame %u", sum->facts.end_frame);
    if (refused && !check_conn_not_retransmitted(&sum->facts))
        strbuf_addf(t, "; the packet never arrived undamaged");
    add_silence(t, sum);
    if (check_conn_not_retransmitted(&sum->facts))
        add_no_retransmission(t, sum);
    else
        add_fate(t, sum);
}

void check_conn_reason(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_endpoint_summary *mine = &sum->side[sum->facts.end_side & 1];
    const struct roce_endpoint_summary *its = &sum->side[!(sum->facts.end_side & 1)];
    const char *name;
    char buf[96];

    switch (sum->facts.end) {
    case ROCE_END_OPEN:
    case ROCE_END_DISCONNECTED: return;
    case ROCE_END_UNANSWERED:
    case ROCE_END_RETRY_EXHAUSTED: add_unanswered(t, sum); return;
    case ROCE_END_RNR_WAITING:
        add_refused_for_now(t, sum);
        if (sum->facts.end_tries)
            strbuf_addf(t, ", after %u%s transmissions", sum->facts.end_tries,
                        sum->facts.end_tries == UINT8_MAX ? " or more" : "");
        strbuf_addf(t, "; the QP of ");
        strbuf_add_addr(t, mine->addr);
        if (sum->facts.end_repeats >= RETRY_MAX)
            strbuf_addf(t, " retransmits without limit because its rnr_retry is 7: its program "
                           "waits");
        else
            strbuf_addf(t, " retransmits again, or enters the error state if its rnr_retry is used "
                           "up, and its program gets IBV_WC_RNR_RETRY_EXC_ERR (13): the capture "
                           "ended before");
        return;
    case ROCE_END_GONE:
        strbuf_addf(t, "the program of ");
        add_end(t, mine);
        strbuf_addf(t,
                    " was killed or crashed: the peer's software RNIC detected this and sent the "
                    "DREQ in frame %u",
                    sum->facts.end_frame);
        return;
    case ROCE_END_REJECTED:
        name = roce_vals_name(ROCE_VALS_CM_REJ_REASON, sum->facts.cm.rej_reason, buf, sizeof(buf));
        strbuf_addf(t, "a REJ with reason %u%s%s%s in frame %u ended the setup of the connection",
                    sum->facts.cm.rej_reason, name ? " (" : "", name ? name : "", name ? ")" : "",
                    sum->facts.end_frame);
        return;
    case ROCE_END_NAK:
        add_end(t, its);
        strbuf_addf(t, " refused ");
        add_request(t, sum);
        strbuf_addf(t, " with %s in frame %u",
                    roce_syndrome_text(sum->facts.end_syndrome, buf, sizeof(buf)),
                    sum->facts.end_frame);
        add_refused(t, sum);
        return;
    case ROCE_END_RNR_EXHAUSTED:
        add_refused_for_now(t, sum);
        if (sum->facts.end_tries)
            strbuf_addf(t, ", after %u transmission%s", sum->facts.end_tries,
                        sum->facts.end_tries == 1 ? "" : "s");
        break;
    }
    strbuf_addf(t, "; the QP of ");
    strbuf_add_addr(t, mine->addr);
    strbuf_addf(t, " enters the error state, and its program gets %s" FLUSHED, status_of(sum));
}

/* Appends the usual reason why a responder refuses a request as invalid. The reason depends on the
 * operation of the request. */
static void hint_invalid(struct strbuf *t, const struct roce_conn_summary *sum,
                         const struct history_event *request)
{
    const struct roce_opcode *op = request ? roce_opcode(request->opcode) : NULL;
    enum roce_kind kind = op ? op->kind : ROCE_KIND_RESERVED;
    bool alone = request && request->first_psn == sum->facts.end_psn;

    switch (kind) {
    case ROCE_KIND_SEND: strbuf_addf(t, "check the size of the posted receives"); break;
    case ROCE_KIND_WRITE:
        strbuf_addf(t, "check whether the QP allows remote writes (qp_access_flags)");
        break;
    case ROCE_KIND_READ:
        strbuf_addf(t,
                    "check whether the QP allows remote reads (qp_access_flags), and whether more "
                    "READs and atomics were outstanding than its max_dest_rd_atomic allows");
        return;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_ATOMIC_WRITE:
        if (alone && request->va % 8 != 0)
            strbuf_addf(t, "the address 0x%" PRIx64 " of the atomic is not a multiple of 8",
                        request->va);
        else
            strbuf_addf(t, "check whether the address is a multiple of 8, whether the QP allows "
                           "atomics (qp_access_flags), and whether more atomics were outstanding "
                           "than its max_dest_rd_atomic allows");
        return;
    default:
        strbuf_addf(t,
                    "check for a message longer than the posted receive, an operation that the QP "
                    "does not allow, more READs than max_dest_rd_atomic, or an unaligned atomic");
        return;
    }
    if (sum->facts.mtu)
        strbuf_addf(t, "; check also the path MTU of both QPs (packets of %u bytes were captured)",
                    sum->facts.mtu);
    else
        strbuf_addf(t, "; check also the path MTU of both QPs");
}

/* Appends what earlier requests of the connection show about a refused R_Key. */
static void hint_access(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_refusal *key = &sum->side[sum->facts.end_side & 1].refusal;
    const struct roce_endpoint_summary *its = &sum->side[!(sum->facts.end_side & 1)];

    if (key->key_invalidated_frame > key->key_worked_frame) {
        strbuf_addf(t, "the R_Key ");
        if (key->key_worked_frame)
            strbuf_addf(t, "worked in frame %u, and ", key->key_worked_frame);
        strbuf_addf(t,
                    "was invalidated by the SEND with Invalidate in frame %u: after that, use the "
                    "R_Key only if ",
                    key->key_invalidated_frame);
        strbuf_add_addr(t, its->addr);
        strbuf_addf(t, " registers it again");
    } else if (key->key_same) {
        strbuf_addf(t, "the R_Key worked for this operation and these addresses in frame %u: then ",
                    key->key_worked_frame);
        strbuf_add_addr(t, its->addr);
        strbuf_addf(t, " deregistered or invalidated the memory region, or registered it again, "
                       "which packets do not show");
    } else if (key->key_worked_frame) {
        strbuf_addf(t,
                    "the R_Key worked in frame %u, but not for this operation and all these "
                    "addresses: check the address range and access rights of the memory region, "
                    "and whether it was deregistered or invalidated after that frame",
                    key->key_worked_frame);
    } else {
        strbuf_addf(t, "check R_Key, address range and access rights of the memory region, and "
                       "whether it was deregistered or invalidated");
    }
}

/* Returns whether packets with `len` bytes of payload are known to reach the peer of `mine`. The
 * evidence: the completed SENDs or WRITEs have on average at least `len` bytes. */
static bool large_arrive(const struct roce_endpoint_summary *mine, uint32_t len)
{
    static const enum roce_oper opers[] = {ROCE_OPER_SEND, ROCE_OPER_WRITE};

    for (unsigned i = 0; i < sizeof(opers) / sizeof(opers[0]); i++) {
        const struct roce_oper_summary *o = &mine->oper[opers[i]];

        if (o->completed && o->bytes / o->completed >= len)
            return true;
    }
    return false;
}

/* Appends a hint if the packets of a request are large and no such packet is known to have arrived.
 * Large packets may be lost while small ones arrive. The reason is a switch that does not forward
 * jumbo frames, or QPs with different path MTUs. */
static void hint_large(struct strbuf *t, const struct roce_endpoint_summary *mine,
                       const struct history_event *request)
{
    uint32_t len = request && request->cnt ? request->payload / request->cnt : 0;

    if (len >= LARGE_LEN && !large_arrive(mine, len))
        strbuf_addf(t,
                    "; packets of %u bytes may exceed the MTU of a switch on the path or the path "
                    "MTU of the peer's QP",
                    len);
}

static void hint_damaged(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t, "the packets were damaged on the path, or the sender computed the ICRC wrongly: "
                   "check links and devices from ");
    strbuf_add_addr(t, sum->side[sum->facts.end_side & 1].addr);
    strbuf_addf(t, " to the capture point, and any device that changes headers after the sender "
                   "computed the ICRC");
}

static void hint_paged(struct strbuf *t, const struct roce_conn_summary *sum)
{
    if (sum->side[!(sum->facts.end_side & 1)].may_be_rxe)
        strbuf_addf(t, "the responder is Linux Soft-RoCE and its transmit queue was full, or ");
    strbuf_addf(t, "the responder's memory is paged on demand (ODP) and had page faults: prefetch "
                   "the memory (ibv_advise_mr) or pin it; posting more receives does not help");
}

#define RESERVED_HINT                                                                              \
    "no conformant responder sends this code (RC-RSP-108): check the peer's device and firmware, " \
    "and any device on the path that changes packets"

/* Appends what to check if one side sent nothing more. */
static void hint_silent(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_endpoint_summary *its = &sum->side[!(sum->facts.end_side & 1)];

    strbuf_addf(t, "on ");
    strbuf_add_addr(t, its->addr);
    strbuf_addf(t,
                ", check whether the program ended, the QP is in error or destroyed, or the host "
                "or its link is down; if not, the path loses all packets to it or from it");
}

static void hint_unanswered(struct strbuf *t, const struct roce_conn_summary *sum,
                            const struct history_event *request, bool compared)
{
    if (sum->facts.end_damaged) {
        hint_damaged(t, sum);
        return;
    }
    if (sum->facts.end_syndrome) {
        strbuf_addf(t, RESERVED_HINT);
        return;
    }
    if (check_conn_not_retransmitted(&sum->facts)) {
        strbuf_addf(t, "check whether the programs of both hosts still run and their QPs still "
                       "exist, and whether the capture lost packets");
    } else if (check_conn_no_retry_left(&sum->facts) && sum->facts.cm.retry_count < RETRY_MAX &&
               sum->facts.cm.seen & 1u << ROCE_CM_REQ)
        strbuf_addf(t,
                    "the program set retry_count to %u (struct rdma_conn_param), so the QP failed "
                    "at sequence NAK %u; %u is the usual value",
                    sum->facts.cm.retry_count, sum->facts.end_naks, RETRY_MAX);
    else if (sum->facts.end_naks >= 2)
        strbuf_addf(t, "later packets arrive and this packet does not: check whether a device "
                       "on the path drops or damages this packet, and whether the peer drops "
                       "it as malformed");
    else if (sum->side[!(sum->facts.end_side & 1)].responses == 0)
        strbuf_addf(t,
                    "check the peer's QP number, GID and state (not yet ready to receive, in "
                    "error, destroyed), whether its rq_psn is the PSN of this request, and whether "
                    "the path drops UDP port 4791");
    else if (sum->silence.frame)
        hint_silent(t, sum);
    else
        strbuf_addf(t, "the peer's QP was destroyed or is in error, or the path drops packets in "
                       "one direction");
    if (!compared)
        strbuf_addf(t, "; compare with a capture at the other end");
    hint_large(t, &sum->side[sum->facts.end_side & 1], request);
}

#define TOO_FEW_RECEIVES                                                                            \
    "the receiver posts receives too late or too few: compare rnr_retry × min_rnr_timer with the " \
    "time that the receiver needs"

void check_conn_hint(struct strbuf *t, const struct roce_conn_summary *sum,
                     const struct history_event *request, bool compared)
{
    switch (sum->facts.end) {
    case ROCE_END_NAK:
        if (sum->side[sum->facts.end_side & 1].altered_frame) {
            strbuf_addf(t,
                        "before this NAK, the requester retransmitted packets that differ from "
                        "their first transmission, first in frame %" PRIu64
                        " (RC-REQ-153): check the requester's "
                        "device and firmware",
                        sum->side[sum->facts.end_side & 1].altered_frame);
            break;
        }
        switch (roce_syndrome_code(sum->facts.end_syndrome)) {
        case ROCE_NAK_INVALID_REQ: hint_invalid(t, sum, request); break;
        case ROCE_NAK_REMOTE_ACCESS: hint_access(t, sum); break;
        case ROCE_NAK_REMOTE_OP:
            strbuf_addf(t, "the responder had a local error: check its completions and events "
                           "(some devices send this NAK if the posted receive is too short)");
            break;
        default: strbuf_addf(t, RESERVED_HINT); break;
        }
        break;
    case ROCE_END_RNR_EXHAUSTED:
        if (sum->facts.end_paged) {
            hint_paged(t, sum);
            strbuf_addf(t, ", or raise rnr_retry");
            break;
        }
        strbuf_addf(t, TOO_FEW_RECEIVES);
        break;
    case ROCE_END_RETRY_EXHAUSTED:
    case ROCE_END_UNANSWERED: hint_unanswered(t, sum, request, compared); break;
    case ROCE_END_RNR_WAITING:
        if (sum->facts.end_paged) {
            hint_paged(t, sum);
            break;
        }
        strbuf_addf(t, sum->facts.end_repeats >= RETRY_MAX
                           ? "the receiver posted no receive, or posted it to another QP or SRQ"
                           : TOO_FEW_RECEIVES);
        break;
    default: break;
    }
}
