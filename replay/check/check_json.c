/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/check_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "check/causes/loss_places.h"
#include "check/causes/silence_text.h"
#include "check/causes/slow_causes.h"
#include "check/causes/time_budget.h"
#include "check/headline.h"
#include "util/json_line.h"
#include "util/strbuf.h"
#include "wire/codes.h"

/* Version of the format, as in check.schema.json. */
#define CHECK_JSON_VERSION 2u

#define LINE_LEN 1024

static const char *const side_names[2] = {"a", "b"};
static const char *const severity_names[ROCE_SEV_CNT] = {"note", "warning", "error"};
static const char *const oper_ids[ROCE_OPER_CNT] = {"send", "write", "read", "atomic", "other"};
static const char *const cause_ids[ROCE_CAUSE_CNT] = {"none",    "sequence_nak",    "rnr_nak",
                                                      "timeout", "implied_nak",     "read_gap",
                                                      "unknown", "spurious_timeout"};

static void put_hex(struct json_line *line, const char *key, uint64_t v, int digits)
{
    char buf[24];

    snprintf(buf, sizeof(buf), "0x%0*" PRIx64, digits, v);
    json_line_text(line, key, buf);
}

static void begin_line(struct json_line *line, FILE *out, const char *type, const char *file,
                       bool brief)
{
    json_line_begin(line, out, brief);
    json_line_text(line, "type", type);
    json_line_text(line, "file", file);
}

static int end_line(struct json_line *line, uint64_t *bytes)
{
    int rc = json_line_end(line);

    if (bytes)
        *bytes += line->written;
    return rc;
}

static void put_severities(struct json_line *line, const uint64_t cnt[ROCE_SEV_CNT])
{
    json_line_number(line, "errors", cnt[ROCE_SEV_ERROR]);
    json_line_number(line, "warnings", cnt[ROCE_SEV_WARN]);
    json_line_number(line, "notes", cnt[ROCE_SEV_NOTE]);
}

/* ---- lines of findings -------------------------------------------------------------------------
 */

int check_json_finding(FILE *out, const char *file, const struct roce_finding *f, bool brief,
                       uint64_t *bytes)
{
    static const char *const relations[] = {"eq", "ne", "at_least", "at_most"};
    const struct roce_rule_info *rule = roce_rule_info(f->rule);
    bool none = f->value == ROCE_VALUE_NONE, alone = f->conn_index == ROCE_NO_CONN;
    struct json_line line;
    char buf[1024];

    begin_line(&line, out, "finding", file, brief);
    json_line_number_or_null(&line, "connection", f->conn_index, ROCE_NO_CONN);
    json_line_text(&line, "side", alone ? NULL : side_names[f->side & 1]);
    json_line_number(&line, "frame", f->frame);
    json_line_number(&line, "time_ns", f->time);
    json_line_text(&line, "rule", rule->id);
    json_line_text(&line, "severity", severity_names[f->severity]);
    json_line_text(&line, "service", rule->svc);
    json_line_text(&line, "field", f->field ? f->field : "");
    json_line_text(&line, "relation", none ? NULL : relations[f->relation]);
    json_line_number(&line, "expected", none ? UINT64_MAX : f->expected);
    json_line_number(&line, "actual", none ? UINT64_MAX : f->actual);
    json_line_number_or_null(&line, "other_frame", f->other_frame, 0);
    json_line_text(&line, "known", f->known);
    json_line_text(&line, "text", roce_finding_text(f, buf, sizeof(buf)));
    return end_line(&line, bytes);
}

int check_json_alias(FILE *out, const char *file, uint32_t stream, uint32_t is)
{
    struct json_line line;

    begin_line(&line, out, "alias", file, false);
    json_line_number(&line, "connection", stream);
    json_line_number(&line, "is", is);
    return json_line_end(&line);
}

int check_json_congestion(FILE *out, const char *file, const struct roce_cnp_episode *e,
                          uint64_t *bytes)
{
    struct json_line line;

    begin_line(&line, out, "congestion", file, false);
    json_line_number(&line, "connection", e->conn_index);
    json_line_text(&line, "side", side_names[e->side & 1]);
    json_line_number(&line, "frame", e->frame);
    json_line_number(&line, "last_frame", e->last_frame);
    json_line_number(&line, "time_ns", e->time);
    json_line_number(&line, "cnps", e->cnps);
    json_line_number(&line, "ce_marked", e->ce_marked);
    json_line_number_or_null(&line, "before_bytes_per_s", e->before, 0);
    json_line_number_or_null(&line, "lowest_bytes_per_s", e->lowest, 0);
    json_line_number_or_null(&line, "lowest_after_ns", e->lowest ? e->lowest_ns : 0, 0);
    json_line_number_or_null(&line, "last_bytes_per_s", e->after, 0);
    if (e->before && e->lowest)
        json_line_bool(&line, "slowed", e->slowed);
    else
        json_line_null(&line, "slowed");
    json_line_number_or_null(&line, "recovered_ns", e->recovered_ns, UINT64_MAX);
    json_line_text(&line, "end", roce_cnp_end_name(e->end));
    return end_line(&line, bytes);
}

/* ---- lines of connections ----------------------------------------------------------------------
 */

static void put_latency(struct json_line *line, const char *key, const struct check_latency *l)
{
    if (l->cnt == 0) {
        json_line_null(line, key);
        return;
    }
    json_line_open(line, key, '{');
    json_line_number(line, "count", l->cnt);
    json_line_number(line, "min", l->min_ns);
    json_line_number(line, "p50", l->p50_ns);
    json_line_number(line, "p90", l->p90_ns);
    json_line_number(line, "p99", l->p99_ns);
    json_line_number(line, "max", l->max_ns);
    json_line_close(line, '}');
}

static void put_spread(struct json_line *line, const char *key, const struct roce_spread *s)
{
    if (s->cnt == 0) {
        json_line_null(line, key);
        return;
    }
    json_line_open(line, key, '{');
    json_line_number(line, "count", s->cnt);
    json_line_number(line, "min", s->min);
    json_line_number(line, "mean", s->sum / s->cnt);
    json_line_number(line, "max", s->max);
    json_line_close(line, '}');
}

static void put_slowdowns(struct json_line *line, const char *key, const struct roce_cnp_summary *c)
{
    if (c->episodes == 0) {
        json_line_null(line, key);
        return;
    }
    json_line_open(line, key, '{');
    json_line_number(line, "episodes", c->episodes);
    json_line_number(line, "measured", c->measured);
    json_line_number(line, "slowed", c->before.cnt);
    json_line_number(line, "recovered", c->recovery_ns.cnt);
    put_spread(line, "before_bytes_per_s", &c->before);
    put_spread(line, "lowest_bytes_per_s", &c->lowest);
    put_spread(line, "recovery_ns", &c->recovery_ns);
    json_line_close(line, '}');
}

static void put_operations(struct json_line *line, const char *key, const struct check_conn *c,
                           unsigned i)
{
    json_line_open(line, key, '{');
    for (unsigned k = 0; k < ROCE_OPER_CNT; k++) {
        const struct roce_oper_summary *op = &c->sum.side[i].oper[k];

        if (op->messages == 0 && op->completed == 0)
            continue;
        json_line_open(line, oper_ids[k], '{');
        json_line_number(line, "messages", op->messages);
        json_line_number(line, "completed", op->completed);
        json_line_number(line, "bytes", op->bytes);
        put_latency(line, "latency_ns", &c->latency[i][k]);
        json_line_close(line, '}');
    }
    json_line_close(line, '}');
}

static void put_repeats(struct json_line *line, const char *key,
                        const struct roce_endpoint_summary *s)
{
    json_line_open(line, key, '{');
    for (unsigned k = 0; k < ROCE_CAUSE_CNT; k++) {
        const struct roce_retx_summary *retx = &s->retx[k];

        if (retx->go_backs == 0 && retx->packets == 0)
            continue;
        json_line_open(line, cause_ids[k], '{');
        json_line_number(line, "episodes", retx->go_backs);
        json_line_number(line, "packets", retx->packets);
        json_line_number(line, "bytes", retx->bytes);
        json_line_number(line, "stalled_ns", retx->stalled_ns);
        json_line_number(line, "waited_ns", retx->waited_ns);
        json_line_close(line, '}');
    }
    json_line_close(line, '}');
}

static void put_regions(struct json_line *line, const char *key, const struct check_conn *c,
                        unsigned i)
{
    json_line_open(line, key, '[');
    for (unsigned k = 0; k < c->sum.side[i].region_cnt; k++) {
        const struct roce_region *r = &c->region[i][k];

        json_line_open(line, NULL, '{');
        put_hex(line, "rkey", r->rkey, 8);
        put_hex(line, "va_min", r->va_min, 16);
        put_hex(line, "va_end", r->va_end, 16);
        json_line_open(line, "operations", '[');
        for (unsigned op = 0; op < ROCE_OPER_CNT; op++)
            if (r->opers & 1u << op)
                json_line_text(line, NULL, oper_ids[op]);
        json_line_close(line, ']');
        json_line_number(line, "requests", r->requests);
        json_line_number(line, "bytes_written", r->bytes_written);
        json_line_number(line, "bytes_read", r->bytes_read);
        json_line_close(line, '}');
    }
    json_line_close(line, ']');
}

static void put_side(struct json_line *line, const char *key, const struct check_conn *c,
                     unsigned i)
{
    const struct roce_endpoint_summary *s = &c->sum.side[i];
    const struct {
        const char *key;
        uint64_t v;
    } counts[] = {
        {"udp_sport", s->udp_sport},
        {"packets", s->packets},
        {"bytes", s->bytes},
        {"payload_sent", s->payload_sent},
        {"responses", s->responses},
        {"acks", s->acks},
        {"missing_psns", s->missing_psns},
        {"missing_repeats", s->missing_repeats},
        {"unheeded_naks", s->unheeded_naks},
        {"unseen_acked", s->unseen_acked},
        {"out_of_order", s->out_of_order},
        {"naks_for_late", s->naks_for_late},
        {"accepted_early", s->accepted_early},
        {"accepted_reads", s->accepted_reads},
        {"udp_sports", s->udp_sports ? s->udp_sports : 1},
        {"copies", s->copies},
        {"duplicates", s->duplicates},
        {"response_gaps", s->response_gaps},
        {"missing_responses", s->missing_responses},
        {"repeated_responses", s->repeated_responses},
        {"repeated_response_bytes", s->repeated_response_bytes},
        {"lost_messages", s->lost_messages},
        {"psn_naks", s->psn_naks},
        {"rnr_naks", s->rnr_naks},
        {"rnr_naks_paged", s->rnr_paged},
        {"fatal_naks", s->fatal_naks},
        {"late_responses", s->late_responses},
        {"bad_icrc", s->bad_icrc},
        {"malformed", s->malformed},
        {"rnr_advertised_ns", s->rnr_advertised_ns},
        {"rnr_waited_ns", s->rnr_waited_ns},
        {"timeout_min_ns", s->timeout_min_ns},
        {"timeout_max_ns", s->timeout_max_ns},
        {"early_timeouts", s->early_timeouts},
        {"late_response_ns", s->late_response_ns},
        {"max_psns_in_flight", s->max_psns_in_flight},
        {"max_reads_in_flight", s->max_reads_in_flight},
        {"max_bytes_in_flight", s->max_bytes_in_flight},
        {"ce_marked", s->ce_marked},
        {"cnps", s->cnps},
        {"becn", s->becn},
        {"fecn", s->fecn},
        {"regions_more", s->region_more},
    };
    uint64_t goodput = check_side_goodput(s), ns = check_conn_duration_ns(&c->sum);
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    json_line_open(line, key, '{');
    strbuf_add_addr(&t, s->addr);
    json_line_text(line, "address", buf);
    json_line_number_or_null(line, "qpn", s->qpn, ROCE_QPN_UNKNOWN);
    json_line_number_or_null(line, "first_psn", s->first_psn, ROCE_PSN_UNKNOWN);
    json_line_bool(line, "first_psn_sure", s->first_psn_sure);
    json_line_number(line, "goodput_bytes", goodput);
    if (ns)
        json_line_real(line, "goodput_bytes_per_s", (double)goodput * 1e9 / (double)ns);
    else
        json_line_null(line, "goodput_bytes_per_s");
    for (unsigned k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
        json_line_number(line, counts[k].key, counts[k].v);
    json_line_bool(line, "any_order", s->any_order);
    json_line_bool(line, "adaptive_retransmission", s->adaptive);
    put_spread(line, "cnp_gap_ns", &s->cnp_gap_ns);
    put_spread(line, "cnp_delay_ns", &s->cnp_delay_ns);
    put_slowdowns(line, "slowdowns", &s->cnp);
    json_line_number_or_null(line, "credits", s->credits, ROCE_CREDITS_UNLIMITED);
    put_latency(line, "ack_rtt_ns", &c->rtt[i]);
    put_operations(line, "operations", c, i);
    put_repeats(line, "retransmissions", s);
    put_regions(line, "regions", c, i);
    json_line_close(line, '}');
}

static void put_cm(struct json_line *line, const char *key, const struct roce_conn_summary *sum)
{
    if (!sum->facts.cm.seen) {
        json_line_null(line, key);
        return;
    }
    json_line_open(line, key, '{');
    json_line_text(line, "active_side", side_names[sum->facts.cm.active_side & 1]);
    put_hex(line, "service_id", sum->facts.cm.service_id, 16);
    json_line_number(line, "ack_timeout_code", sum->facts.cm.ack_timeout_code);
    json_line_number(line, "active_timeout_code",
                     sum->facts.cm.timeout_code[sum->facts.cm.active_side & 1]);
    json_line_number(line, "retry_count", sum->facts.cm.retry_count);
    json_line_number(line, "rnr_retry", sum->facts.cm.rnr_retry);
    json_line_number(line, "responder_resources", sum->facts.cm.responder_resources);
    json_line_number(line, "initiator_depth", sum->facts.cm.initiator_depth);
    json_line_number(line, "rep_responder_resources", sum->facts.cm.rep_responder_resources);
    json_line_number(line, "rep_initiator_depth", sum->facts.cm.rep_initiator_depth);
    json_line_number(line, "rep_rnr_retry", sum->facts.cm.rep_rnr_retry);
    json_line_number(line, "rej_reason", sum->facts.cm.rej_reason);
    json_line_number_or_null(line, "req_frame", sum->facts.cm.req_frame, 0);
    json_line_number_or_null(line, "rep_frame", sum->facts.cm.rep_frame, 0);
    json_line_number_or_null(line, "rtu_frame", sum->facts.cm.rtu_frame, 0);
    json_line_number_or_null(line, "dreq_frame", sum->facts.cm.dreq_frame, 0);
    json_line_number(line, "dreqs", sum->facts.cm.dreqs);
    json_line_bool(line, "dreq_answered", sum->facts.cm.dreq_answered);
    json_line_number(line, "dreq_ms", sum->facts.cm.dreq_ms);
    json_line_number_or_null(line, "rej_frame", sum->facts.cm.rej_frame, 0);
    json_line_number(line, "setup_ns", sum->facts.cm.setup_ns);
    json_line_close(line, '}');
}

static void put_end(struct json_line *line, const char *key, const struct roce_conn_summary *sum)
{
    static const char *const ids[] = {[ROCE_END_OPEN] = "open",
                                      [ROCE_END_DISCONNECTED] = "disconnected",
                                      [ROCE_END_REJECTED] = "rejected",
                                      [ROCE_END_NAK] = "nak",
                                      [ROCE_END_RNR_EXHAUSTED] = "rnr_exhausted",
                                      [ROCE_END_RETRY_EXHAUSTED] = "retry_exhausted",
                                      [ROCE_END_UNANSWERED] = "unanswered",
                                      [ROCE_END_RNR_WAITING] = "rnr_waiting",
                                      [ROCE_END_GONE] = "gone"};
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    json_line_open(line, key, '{');
    json_line_text(line, "kind", ids[sum->facts.end]);
    if (!check_conn_failed(sum) && !check_conn_stuck(sum)) {
        json_line_close(line, '}');
        return;
    }
    check_conn_reason(&t, sum);
    json_line_text(line, "side", side_names[sum->facts.end_side & 1]);
    json_line_number(line, "syndrome", sum->facts.end_syndrome);
    json_line_number(line, "psn", sum->facts.end_psn);
    json_line_number_or_null(line, "frame", sum->facts.end_frame, 0);
    json_line_number_or_null(line, "request_frame", sum->facts.end_request_frame, 0);
    json_line_number_or_null(line, "altered_retransmission_frame",
                             sum->side[sum->facts.end_side & 1].altered_frame, 0);
    json_line_number(line, "tries", sum->facts.end_tries);
    json_line_text(line, "text", buf);
    json_line_close(line, '}');
}

/* Writes the lines of text about the causes that slowed or paused a connection, without
 * indentation, as elements of the array `key`. */
static void put_slow(struct json_line *line, const char *key, const struct roce_conn_summary *sum,
                     const struct two_points *points)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = check_conn_slow(sum) || check_conn_paused(sum) ? open_memstream(&text, &len) : NULL;

    json_line_open(line, key, '[');
    if (out) {
        slow_causes_print(out, sum, NULL, points, false);
        if (fclose(out) == 0)
            for (char *next, *one = strtok_r(text, "\n", &next); one;
                 one = strtok_r(NULL, "\n", &next))
                json_line_text(line, NULL, one + strspn(one, " "));
        free(text);
    }
    json_line_close(line, ']');
}

/* Writes how long the requester waited, one element for each cause. Writes only the side with the
 * longer total wait. */
static void put_waits(struct json_line *line, const char *key, const struct roce_conn_summary *sum)
{
    struct wait_part wait[WAIT_CAUSES];
    unsigned side, cnt = time_budget_waits(sum, wait, &side);

    json_line_open(line, key, '[');
    for (unsigned i = 0; i < cnt; i++) {
        json_line_open(line, NULL, '{');
        json_line_text(line, "side", side_names[side]);
        json_line_text(line, "cause", wait[i].id);
        json_line_text(line, "text", wait[i].label);
        json_line_number(line, "ns", wait[i].ns);
        json_line_close(line, '}');
    }
    json_line_close(line, ']');
}

/* Writes how a connection spent its time: waits, idle time and the rest. The array is empty if no
 * side waited for at least 1 % of the time. */
static void put_time_budget(struct json_line *line, const char *key,
                            const struct roce_conn_summary *sum)
{
    struct wait_part part[TIME_PARTS];
    unsigned cnt = time_budget_parts(sum, part);

    json_line_open(line, key, '[');
    for (unsigned i = 0; i < cnt; i++) {
        json_line_open(line, NULL, '{');
        json_line_text(line, "part", part[i].id);
        json_line_text(line, "text", part[i].label);
        json_line_number(line, "ns", part[i].ns);
        json_line_number(line, "permille", part[i].permille);
        json_line_close(line, '}');
    }
    json_line_close(line, ']');
}

/* Writes the parts of the path in which packets of a connection were lost, as far as the capture
 * shows. */
static void put_loss_places(struct json_line *line, const char *key,
                            const struct roce_conn_summary *sum)
{
    struct loss_place place[LOSS_PLACES_MAX];
    unsigned cnt = loss_places(sum, place);

    json_line_open(line, key, '[');
    for (unsigned i = 0; i < cnt; i++) {
        json_line_open(line, NULL, '{');
        json_line_text(line, "side", side_names[place[i].side]);
        json_line_text(line, "part", loss_part_name(place[i].part));
        json_line_number(line, "packets", place[i].packets);
        json_line_bool(line, "probable", place[i].probable);
        json_line_text(line, "text", place[i].text);
        json_line_close(line, '}');
    }
    json_line_close(line, ']');
}

/* Writes the long silences of a connection, if silence_is_notable() returns true. */
static void put_silence(struct json_line *line, const char *key,
                        const struct roce_conn_summary *sum)
{
    if (!silence_is_notable(sum))
        return;
    json_line_open(line, key, '{');
    json_line_number(line, "count", sum->facts.silence.cnt);
    json_line_number(line, "ns", sum->facts.silence.sum_ns);
    json_line_number(line, "longest_ns", UINT64_C(1000) * sum->facts.silence.longest_us);
    json_line_number(line, "frame", sum->facts.silence.frame);
    json_line_bool(line, "inside_message", silence_is_inside(sum));
    json_line_close(line, '}');
}

static void put_headline(struct json_line *line, const struct roce_conn_summary *sum,
                         const struct two_points *points)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    headline_conn(&t, sum, points);
    json_line_text(line, "state", headline_state_name(headline_state(sum)));
    json_line_text(line, "headline", buf);
}

static const char *const pairings[ROCE_PAIRED_CNT] = {NULL,   "cm",   "qpns", "ports", "self",
                                                      "psns", "msns", "port", "alone"};

int check_json_conn(FILE *out, const char *file, const struct check_conn *c,
                    const struct two_points *points, bool brief, uint64_t *bytes)
{
    const struct roce_conn_summary *sum = &c->sum;
    struct json_line line;

    begin_line(&line, out, "connection", file, brief);
    json_line_number(&line, "connection", sum->facts.conn_index);
    json_line_text(&line, "service", roce_svc_name(sum->facts.svc));
    json_line_text(&line, "encapsulation", packet_text_encap(sum->facts.encap));
    json_line_number(&line, "vlan", sum->facts.vid);
    json_line_number(&line, "vni",
                     sum->facts.overlay ? sum->facts.overlay & ~ROCE_OVERLAY_VNI : UINT64_MAX);
    json_line_bool(&line, "paired", sum->facts.paired);
    json_line_text(&line, "pairing", sum->facts.paired ? pairings[sum->facts.pairing] : NULL);
    json_line_bool(&line, "pairing_guess", roce_pairing_is_guess(sum->facts.pairing));
    json_line_bool(&line, "multicast", sum->facts.multicast);
    json_line_bool(&line, "truncated", sum->facts.truncated);
    json_line_bool(&line, "complete", sum->facts.complete);
    json_line_number_or_null(&line, "path_mtu", sum->facts.mtu, 0);
    json_line_bool(&line, "path_mtu_sure", sum->facts.mtu_sure);
    json_line_number(&line, "uses", sum->facts.qp_uses);
    json_line_number(&line, "first_frame", sum->facts.first_frame);
    json_line_number(&line, "last_frame", sum->facts.last_frame);
    json_line_number(&line, "first_time_ns", sum->facts.first_time);
    json_line_number(&line, "last_time_ns", sum->facts.last_time);
    put_severities(&line, sum->facts.findings);
    json_line_number(&line, "errors_unknown", check_conn_errors(sum));
    json_line_text(&line, "verdict", check_verdict_name(check_conn_verdict(sum)));
    json_line_bool(&line, "failed", check_conn_failed(sum));
    put_end(&line, "end", sum);
    put_headline(&line, sum, points);
    put_slow(&line, "slow", sum, points);
    put_waits(&line, "waits", sum);
    put_time_budget(&line, "time_budget", sum);
    put_silence(&line, "silence", sum);
    put_loss_places(&line, "loss_places", sum);
    put_cm(&line, "cm", sum);
    put_side(&line, "a", c, 0);
    put_side(&line, "b", c, 1);
    return end_line(&line, bytes);
}

int check_json_later(FILE *out, const struct check_report *report)
{
    for (uint32_t i = 0; i < report->later_cnt; i++)
        if (check_json_conn(out, report->name, &report->later[i], report->points, false, NULL) != 0)
            return -1;
    return 0;
}

/* ---- line of the summary -----------------------------------------------------------------------
 */

/* Writes the number of frames for each tunnel type. If `open` is true, writes the tunnel types with
 * inner packets that the check judges; if false, the other types. */
static void put_tunnels(struct json_line *line, const char *key, const struct check_report *r,
                        bool open)
{
    json_line_open(line, key, '{');
    for (unsigned i = ROCE_TUNNEL_NONE + 1; i < ROCE_TUNNEL_CNT; i++) {
        const struct roce_tunnel_info *info = roce_tunnel_info(i);

        if (r->counts.tunnel[i] && info->open == open)
            json_line_number(line, info->name, r->counts.tunnel[i]);
    }
    json_line_close(line, '}');
}

int check_json_summary(FILE *out, const struct check_report *r, bool brief, int status)
{
    const struct roce_flow_totals *sum = &r->totals;
    struct json_line line;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    begin_line(&line, out, "summary", r->name, brief);
    json_line_bool(&line, "trouble", headline_capture(&t, r));
    json_line_text(&line, "headline", buf);
    json_line_number(&line, "frames", r->frames);
    json_line_number(&line, "packets", sum->packets);
    json_line_number(&line, "bytes", sum->bytes);
    json_line_number(&line, "foreign", r->counts.foreign);
    json_line_number(&line, "pauses", r->counts.pauses);
    put_tunnels(&line, "tunnels", r, true);
    put_tunnels(&line, "tunnels_closed", r, false);
    json_line_number(&line, "unreadable", r->counts.unreadable);
    json_line_number(&line, "cut", r->counts.cut);
    json_line_number(&line, "dropped", sum->dropped);
    json_line_number(&line, "dc", sum->dc);
    json_line_bool(&line, "icrc_checked", !r->no_icrc);
    json_line_number(&line, "icrc_unverified", r->counts.unverified);
    json_line_number(&line, "ip_checksums_0", r->counts.zero_checksums);
    json_line_number(&line, "first_time_ns", r->counts.first_time);
    json_line_number(&line, "last_time_ns", r->counts.last_time);
    json_line_number(&line, "connections", r->ended);
    json_line_number(&line, "connections_failed", r->failed);
    json_line_number(&line, "connections_stuck", r->stuck);
    json_line_number(&line, "connections_slowed", r->slow);
    json_line_number(&line, "connections_violated", r->violated);
    json_line_number(&line, "rejections", r->rejection_cnt);
    json_line_number(&line, "requests_unanswered", unanswered_cm_cnt(&r->unanswered_cm));
    json_line_number(&line, "evicted", sum->evicted);
    json_line_number(&line, "forgotten", sum->forgotten);
    json_line_number(&line, "overflown", sum->overflown);
    json_line_number(&line, "untracked", sum->untracked);
    json_line_number(&line, "connections_not_listed", r->conns_not_listed);
    json_line_number(&line, "findings_not_listed", r->findings_not_listed);
    put_severities(&line, sum->findings);
    json_line_number(&line, "known", check_report_known(r));
    json_line_number(&line, "errors_unknown", sum->errors_unknown);
    json_line_open(&line, "rules", '{');
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++)
        if (sum->rules[i])
            json_line_number(&line, roce_rule_info((enum roce_rule)i)->id, sum->rules[i]);
    json_line_close(&line, '}');
    json_line_text(&line, "impaired", r->impaired[0] ? r->impaired : NULL);
    json_line_text(&line, "quirks", check_report_peer(r));
    json_line_text(&line, "fault", r->error);
    json_line_text(&line, "verdict", check_verdict_name(check_report_verdict(r)));
    json_line_number(&line, "exit_status", (uint64_t)status);
    json_line_number(&line, "schema_version", CHECK_JSON_VERSION);
    return json_line_end(&line);
}

/* ---- lines for a shard -------------------------------------------------------------------------
 */

int check_json_shard(FILE *out, const struct shard *shard)
{
    json_t *o = shard_json(shard);
    int rc = o && json_object_set_new(o, "type", json_string("shard")) == 0 &&
                     json_dumpf(o, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF
                 ? 0
                 : -1;

    json_decref(o);
    return rc;
}

int check_json_part(FILE *out, const struct check_part *part)
{
    struct json_line line;

    begin_line(&line, out, "part", part->file, false);
    json_line_number(&line, "position", part->position);
    json_line_number(&line, "exit_status", (uint64_t)part->status);
    json_line_text(&line, "error", part->error);
    json_line_text(&line, "text", part->text ? part->text : "");
    json_line_text(&line, "junit", part->junit ? part->junit : "");
    return json_line_end(&line);
}
