/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/check_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "check/headline.h"
#include "check/slow_causes.h"
#include "util/json_util.h"
#include "util/strbuf.h"
#include "wire/codes.h"

/* Version of the format, as in check.schema.json. */
#define CHECK_JSON_VERSION 2u

#define LINE_LEN 1024

static const char *const side_names[2] = {"a", "b"};
static const char *const severity_names[ROCE_SEV_CNT] = {"note", "warning", "error"};
static const char *const oper_ids[ROCE_OPER_CNT] = {"send", "write", "read", "atomic", "other"};
static const char *const cause_ids[ROCE_CAUSE_CNT] = {
    "none", "sequence_nak", "rnr_nak", "timeout", "implied_nak", "read_gap", "unknown"};

/* Returns a number as JSON, or null if it exceeds 2^63 - 1. */
static json_t *number_json(uint64_t v)
{
    return v > INT64_MAX ? json_null() : json_integer((json_int_t)v);
}

static json_t *number_or_null(uint64_t v, uint64_t unknown)
{
    return v == unknown ? json_null() : number_json(v);
}

static json_t *hex_json(uint64_t v, int digits)
{
    char buf[24];

    snprintf(buf, sizeof(buf), "0x%0*" PRIx64, digits, v);
    return json_string(buf);
}

static json_t *begin_line(const char *type, const char *file)
{
    json_t *o = json_object();

    json_object_set_new(o, "type", json_string(type));
    json_object_set_new(o, "file", json_lossy_string(file));
    return o;
}

/* Writes an object as one line and frees the object. */
static int put_line(FILE *out, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL; /* json_dumpf() writes piece by piece */
    int rc = text && fputs(text, out) >= 0 && fputc('\n', out) != EOF ? 0 : -1;

    json_decref(o);
    free(text);
    return rc;
}

static void put_number(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, number_json(v));
}

static void put_severities(json_t *o, const uint64_t cnt[ROCE_SEV_CNT])
{
    put_number(o, "errors", cnt[ROCE_SEV_ERROR]);
    put_number(o, "warnings", cnt[ROCE_SEV_WARN]);
    put_number(o, "notes", cnt[ROCE_SEV_NOTE]);
}

/* ---- findings ----------------------------------------------------------------------------------
 */

int check_json_finding(FILE *out, const char *file, const struct roce_finding *f)
{
    static const char *const relations[] = {"eq", "ne", "at_least", "at_most"};
    const struct roce_rule_info *rule = roce_rule_info(f->rule);
    bool none = f->value == ROCE_VALUE_NONE, alone = f->conn_index == ROCE_NO_CONN;
    json_t *o = begin_line("finding", file);
    char buf[1024];

    json_object_set_new(o, "connection", alone ? json_null() : number_json(f->conn_index));
    json_object_set_new(o, "side", alone ? json_null() : json_string(side_names[f->side & 1]));
    put_number(o, "frame", f->frame);
    put_number(o, "time_ns", f->time);
    json_object_set_new(o, "rule", json_string(rule->id));
    json_object_set_new(o, "severity", json_string(severity_names[f->severity]));
    json_object_set_new(o, "service", json_string(rule->svc));
    json_object_set_new(o, "field", json_string(f->field ? f->field : ""));
    json_object_set_new(o, "relation", none ? json_null() : json_string(relations[f->relation]));
    json_object_set_new(o, "expected", none ? json_null() : number_json(f->expected));
    json_object_set_new(o, "actual", none ? json_null() : number_json(f->actual));
    json_object_set_new(o, "other_frame", number_or_null(f->other_frame, 0));
    json_object_set_new(o, "known", f->known ? json_string(f->known) : json_null());
    json_object_set_new(o, "text", json_lossy_string(roce_finding_text(f, buf, sizeof(buf))));
    return put_line(out, o);
}

int check_json_alias(FILE *out, const char *file, uint32_t stream, uint32_t is)
{
    json_t *o = begin_line("alias", file);

    put_number(o, "connection", stream);
    put_number(o, "is", is);
    return put_line(out, o);
}

int check_json_congestion(FILE *out, const char *file, const struct roce_cnp_episode *e)
{
    json_t *o = begin_line("congestion", file);

    put_number(o, "connection", e->conn_index);
    json_object_set_new(o, "side", json_string(side_names[e->side & 1]));
    put_number(o, "frame", e->frame);
    put_number(o, "last_frame", e->last_frame);
    put_number(o, "time_ns", e->time);
    put_number(o, "cnps", e->cnps);
    put_number(o, "ce_marked", e->ce_marked);
    json_object_set_new(o, "before_bytes_per_s", number_or_null(e->before, 0));
    json_object_set_new(o, "lowest_bytes_per_s", number_or_null(e->lowest, 0));
    json_object_set_new(o, "lowest_after_ns", number_or_null(e->lowest ? e->lowest_ns : 0, 0));
    json_object_set_new(o, "last_bytes_per_s", number_or_null(e->after, 0));
    json_object_set_new(o, "slowed",
                        e->before && e->lowest ? json_boolean(e->slowed) : json_null());
    json_object_set_new(o, "recovered_ns", number_or_null(e->recovered_ns, UINT64_MAX));
    json_object_set_new(o, "end", json_string(roce_cnp_end_name(e->end)));
    return put_line(out, o);
}

/* ---- connections -------------------------------------------------------------------------------
 */

static json_t *latency_json(const struct check_latency *l)
{
    json_t *o;

    if (l->cnt == 0)
        return json_null();
    o = json_object();
    put_number(o, "count", l->cnt);
    put_number(o, "min", l->min_ns);
    put_number(o, "p50", l->p50_ns);
    put_number(o, "p90", l->p90_ns);
    put_number(o, "p99", l->p99_ns);
    put_number(o, "max", l->max_ns);
    return o;
}

static json_t *spread_json(const struct roce_spread *s)
{
    json_t *o;

    if (s->cnt == 0)
        return json_null();
    o = json_object();
    put_number(o, "count", s->cnt);
    put_number(o, "min", s->min);
    put_number(o, "mean", s->sum / s->cnt);
    put_number(o, "max", s->max);
    return o;
}

static json_t *slowdowns_json(const struct roce_cnp_summary *c)
{
    json_t *o;

    if (c->episodes == 0)
        return json_null();
    o = json_object();
    put_number(o, "episodes", c->episodes);
    put_number(o, "measured", c->measured);
    put_number(o, "slowed", c->before.cnt);
    put_number(o, "recovered", c->recovery_ns.cnt);
    json_object_set_new(o, "before_bytes_per_s", spread_json(&c->before));
    json_object_set_new(o, "lowest_bytes_per_s", spread_json(&c->lowest));
    json_object_set_new(o, "recovery_ns", spread_json(&c->recovery_ns));
    return o;
}

static json_t *operations_json(const struct check_conn *c, unsigned i)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < ROCE_OPER_CNT; k++) {
        const struct roce_oper_summary *op = &c->sum.side[i].oper[k];
        json_t *o;

        if (op->messages == 0 && op->completed == 0)
            continue;
        o = json_object();
        put_number(o, "messages", op->messages);
        put_number(o, "completed", op->completed);
        put_number(o, "bytes", op->bytes);
        json_object_set_new(o, "latency_ns", latency_json(&c->latency[i][k]));
        json_object_set_new(all, oper_ids[k], o);
    }
    return all;
}

static json_t *repeats_json(const struct roce_endpoint_summary *s)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < ROCE_CAUSE_CNT; k++) {
        const struct roce_retx_summary *retx = &s->retx[k];
        json_t *o;

        if (retx->go_backs == 0 && retx->packets == 0)
            continue;
        o = json_object();
        put_number(o, "episodes", retx->go_backs);
        put_number(o, "packets", retx->packets);
        put_number(o, "bytes", retx->bytes);
        put_number(o, "stalled_ns", retx->stalled_ns);
        put_number(o, "waited_ns", retx->waited_ns);
        json_object_set_new(all, cause_ids[k], o);
    }
    return all;
}

static json_t *regions_json(const struct check_conn *c, unsigned i)
{
    json_t *all = json_array();

    for (unsigned k = 0; k < c->sum.side[i].region_cnt; k++) {
        const struct roce_region *r = &c->region[i][k];
        json_t *o = json_object(), *opers = json_array();

        json_object_set_new(o, "rkey", hex_json(r->rkey, 8));
        json_object_set_new(o, "va_min", hex_json(r->va_min, 16));
        json_object_set_new(o, "va_end", hex_json(r->va_end, 16));
        for (unsigned op = 0; op < ROCE_OPER_CNT; op++)
            if (r->opers & 1u << op)
                json_array_append_new(opers, json_string(oper_ids[op]));
        json_object_set_new(o, "operations", opers);
        put_number(o, "requests", r->requests);
        put_number(o, "bytes_written", r->bytes_written);
        put_number(o, "bytes_read", r->bytes_read);
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *side_json(const struct check_conn *c, unsigned i)
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
        {"max_psns_in_flight", s->max_psns_in_flight},
        {"max_reads_in_flight", s->max_reads_in_flight},
        {"max_bytes_in_flight", s->max_bytes_in_flight},
        {"ce_marked", s->ce_marked},
        {"cnps", s->cnps},
        {"becn", s->becn},
        {"fecn", s->fecn},
        {"regions_more", s->region_more},
    };
    uint64_t goodput = 0, ns = c->sum.facts.last_time - c->sum.facts.first_time;
    json_t *o = json_object();
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, s->addr);
    for (unsigned k = 0; k < ROCE_OPER_CNT; k++)
        goodput += s->oper[k].bytes;
    json_object_set_new(o, "address", json_string(buf));
    json_object_set_new(o, "qpn", number_or_null(s->qpn, ROCE_QPN_UNKNOWN));
    json_object_set_new(o, "first_psn", number_or_null(s->first_psn, ROCE_PSN_UNKNOWN));
    json_object_set_new(o, "first_psn_sure", json_boolean(s->first_psn_sure));
    put_number(o, "goodput_bytes", goodput);
    json_object_set_new(o, "goodput_bytes_per_s",
                        ns ? json_real((double)goodput * 1e9 / (double)ns) : json_null());
    for (unsigned k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
        put_number(o, counts[k].key, counts[k].v);
    json_object_set_new(o, "any_order", json_boolean(s->any_order));
    json_object_set_new(o, "adaptive_retransmission", json_boolean(s->adaptive));
    json_object_set_new(o, "cnp_gap_ns", spread_json(&s->cnp_gap_ns));
    json_object_set_new(o, "cnp_delay_ns", spread_json(&s->cnp_delay_ns));
    json_object_set_new(o, "slowdowns", slowdowns_json(&s->cnp));
    json_object_set_new(o, "credits", number_or_null(s->credits, ROCE_CREDITS_UNLIMITED));
    json_object_set_new(o, "ack_rtt_ns", latency_json(&c->rtt[i]));
    json_object_set_new(o, "operations", operations_json(c, i));
    json_object_set_new(o, "retransmissions", repeats_json(s));
    json_object_set_new(o, "regions", regions_json(c, i));
    return o;
}

static json_t *cm_json(const struct roce_conn_summary *sum)
{
    json_t *o;

    if (!sum->facts.cm.seen)
        return json_null();
    o = json_object();
    json_object_set_new(o, "active_side", json_string(side_names[sum->facts.cm.active_side & 1]));
    json_object_set_new(o, "service_id", hex_json(sum->facts.cm.service_id, 16));
    put_number(o, "ack_timeout_code", sum->facts.cm.ack_timeout_code);
    put_number(o, "retry_count", sum->facts.cm.retry_count);
    put_number(o, "rnr_retry", sum->facts.cm.rnr_retry);
    put_number(o, "responder_resources", sum->facts.cm.responder_resources);
    put_number(o, "initiator_depth", sum->facts.cm.initiator_depth);
    put_number(o, "rep_responder_resources", sum->facts.cm.rep_responder_resources);
    put_number(o, "rep_initiator_depth", sum->facts.cm.rep_initiator_depth);
    put_number(o, "rej_reason", sum->facts.cm.rej_reason);
    json_object_set_new(o, "req_frame", number_or_null(sum->facts.cm.req_frame, 0));
    json_object_set_new(o, "rep_frame", number_or_null(sum->facts.cm.rep_frame, 0));
    json_object_set_new(o, "rtu_frame", number_or_null(sum->facts.cm.rtu_frame, 0));
    json_object_set_new(o, "dreq_frame", number_or_null(sum->facts.cm.dreq_frame, 0));
    json_object_set_new(o, "rej_frame", number_or_null(sum->facts.cm.rej_frame, 0));
    put_number(o, "setup_ns", sum->facts.cm.setup_ns);
    return o;
}

static json_t *end_json(const struct roce_conn_summary *sum)
{
    static const char *const ids[] = {[ROCE_END_OPEN] = "open",
                                      [ROCE_END_DISCONNECTED] = "disconnected",
                                      [ROCE_END_REJECTED] = "rejected",
                                      [ROCE_END_NAK] = "nak",
                                      [ROCE_END_RNR_EXHAUSTED] = "rnr_exhausted",
                                      [ROCE_END_RETRY_EXHAUSTED] = "retry_exhausted",
                                      [ROCE_END_UNANSWERED] = "unanswered",
                                      [ROCE_END_RNR_WAITING] = "rnr_waiting"};
    json_t *o = json_object();
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    json_object_set_new(o, "kind", json_string(ids[sum->facts.end]));
    if (!check_conn_failed(sum) && !check_conn_stuck(sum))
        return o;
    check_conn_reason(&t, sum);
    json_object_set_new(o, "side", json_string(side_names[sum->facts.end_side & 1]));
    put_number(o, "syndrome", sum->facts.end_syndrome);
    put_number(o, "psn", sum->facts.end_psn);
    json_object_set_new(o, "frame", number_or_null(sum->facts.end_frame, 0));
    json_object_set_new(o, "request_frame", number_or_null(sum->facts.end_request_frame, 0));
    json_object_set_new(o, "altered_retransmission_frame",
                        number_or_null(sum->side[sum->facts.end_side & 1].altered_frame, 0));
    put_number(o, "tries", sum->facts.end_tries);
    json_object_set_new(o, "text", json_lossy_string(buf));
    return o;
}

/* Returns the lines that describe what slowed a connection, without their indentation, or an empty
 * array if nothing slowed the connection. */
static json_t *slow_json(const struct roce_conn_summary *sum)
{
    json_t *lines = json_array();
    char *text = NULL;
    size_t len = 0;
    FILE *out = check_conn_slow(sum) ? open_memstream(&text, &len) : NULL;

    if (!out)
        return lines;
    slow_causes_print(out, sum, NULL);
    if (fclose(out) == 0)
        for (char *next, *line = strtok_r(text, "\n", &next); line;
             line = strtok_r(NULL, "\n", &next))
            json_array_append_new(lines, json_string(line + strspn(line, " ")));
    free(text);
    return lines;
}

/* Returns the waits of the side with the longer total wait, with their causes. */
static json_t *waits_json(const struct roce_conn_summary *sum)
{
    struct slow_wait wait[SLOW_WAITS];
    unsigned side, cnt = slow_causes_waits(sum, wait, &side);
    json_t *all = json_array();

    for (unsigned i = 0; i < cnt; i++) {
        json_t *o = json_object();

        json_object_set_new(o, "side", json_string(side_names[side]));
        json_object_set_new(o, "cause", json_string(wait[i].id));
        json_object_set_new(o, "text", json_string(wait[i].label));
        put_number(o, "ns", wait[i].ns);
        json_array_append_new(all, o);
    }
    return all;
}

static void put_headline(json_t *o, const struct roce_conn_summary *sum)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    headline_conn(&t, sum);
    json_object_set_new(o, "state", json_string(headline_state_name(headline_state(sum))));
    json_object_set_new(o, "headline", json_lossy_string(buf));
}

static const char *const pairings[ROCE_PAIRED_CNT] = {NULL,   "cm",   "qpns", "ports", "self",
                                                      "psns", "msns", "port", "alone"};

int check_json_conn(FILE *out, const char *file, const struct check_conn *c)
{
    const struct roce_conn_summary *sum = &c->sum;
    json_t *o = begin_line("connection", file);

    put_number(o, "connection", sum->facts.conn_index);
    json_object_set_new(o, "service", json_string(roce_svc_name(sum->facts.svc)));
    json_object_set_new(o, "encapsulation", json_string(packet_text_encap(sum->facts.encap)));
    put_number(o, "vlan", sum->facts.vid);
    json_object_set_new(o, "vni",
                        sum->facts.overlay ? json_integer(sum->facts.overlay & ~ROCE_OVERLAY_VNI)
                                           : json_null());
    json_object_set_new(o, "paired", json_boolean(sum->facts.paired));
    json_object_set_new(
        o, "pairing", sum->facts.paired ? json_string(pairings[sum->facts.pairing]) : json_null());
    json_object_set_new(o, "pairing_guess",
                        json_boolean(roce_pairing_is_guess(sum->facts.pairing)));
    json_object_set_new(o, "multicast", json_boolean(sum->facts.multicast));
    json_object_set_new(o, "truncated", json_boolean(sum->facts.truncated));
    json_object_set_new(o, "complete", json_boolean(sum->facts.complete));
    json_object_set_new(o, "path_mtu", number_or_null(sum->facts.mtu, 0));
    json_object_set_new(o, "path_mtu_sure", json_boolean(sum->facts.mtu_sure));
    put_number(o, "uses", sum->facts.qp_uses);
    put_number(o, "first_frame", sum->facts.first_frame);
    put_number(o, "last_frame", sum->facts.last_frame);
    put_number(o, "first_time_ns", sum->facts.first_time);
    put_number(o, "last_time_ns", sum->facts.last_time);
    put_severities(o, sum->facts.findings);
    put_number(o, "errors_unknown", check_conn_errors(sum));
    json_object_set_new(o, "verdict", json_string(check_verdict_name(check_conn_verdict(sum))));
    json_object_set_new(o, "failed", json_boolean(check_conn_failed(sum)));
    json_object_set_new(o, "end", end_json(sum));
    put_headline(o, sum);
    json_object_set_new(o, "slow", slow_json(sum));
    json_object_set_new(o, "waits", waits_json(sum));
    json_object_set_new(o, "cm", cm_json(sum));
    json_object_set_new(o, "a", side_json(c, 0));
    json_object_set_new(o, "b", side_json(c, 1));
    return put_line(out, o);
}

/* ---- summary -----------------------------------------------------------------------------------
 */

/* Returns the number of frames for each tunnel type: of opened tunnels if `open` is set, otherwise
 * of tunnels that were not opened. */
static json_t *tunnels_json(const struct check_report *r, bool open)
{
    json_t *o = json_object();

    for (unsigned i = ROCE_TUNNEL_NONE + 1; i < ROCE_TUNNEL_CNT; i++) {
        const struct roce_tunnel_info *info = roce_tunnel_info(i);

        if (r->tunnel[i] && info->open == open)
            put_number(o, info->name, r->tunnel[i]);
    }
    return o;
}

int check_json_summary(FILE *out, const struct check_report *r, int status)
{
    const struct roce_flow_totals *sum = &r->totals;
    json_t *o = begin_line("summary", r->name), *rules = json_object();
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    json_object_set_new(o, "trouble", json_boolean(headline_capture(&t, r)));
    json_object_set_new(o, "headline", json_lossy_string(buf));
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++)
        if (sum->rules[i])
            put_number(rules, roce_rule_info((enum roce_rule)i)->id, sum->rules[i]);
    put_number(o, "frames", r->frames);
    put_number(o, "packets", sum->packets);
    put_number(o, "bytes", sum->bytes);
    put_number(o, "foreign", r->foreign);
    put_number(o, "pauses", r->pauses);
    json_object_set_new(o, "tunnels", tunnels_json(r, true));
    json_object_set_new(o, "tunnels_closed", tunnels_json(r, false));
    put_number(o, "unreadable", r->unreadable);
    put_number(o, "cut", r->cut);
    put_number(o, "dropped", sum->dropped);
    put_number(o, "dc", sum->dc);
    json_object_set_new(o, "icrc_checked", json_boolean(!r->no_icrc));
    put_number(o, "icrc_unverified", r->unverified);
    put_number(o, "ip_checksums_0", r->zero_checksums);
    put_number(o, "first_time_ns", r->first_time);
    put_number(o, "last_time_ns", r->last_time);
    put_number(o, "connections", r->ended);
    put_number(o, "connections_failed", r->failed);
    put_number(o, "connections_stuck", r->stuck);
    put_number(o, "connections_slowed", r->slow);
    put_number(o, "connections_violated", r->violated);
    put_number(o, "rejections", r->rejection_cnt);
    put_number(o, "requests_unanswered", unanswered_cm_cnt(&r->unanswered_cm));
    put_number(o, "evicted", sum->evicted);
    put_number(o, "forgotten", sum->forgotten);
    put_number(o, "overflown", sum->overflown);
    put_number(o, "untracked", sum->untracked);
    put_number(o, "connections_not_listed", r->conns_not_listed);
    put_number(o, "findings_not_listed", r->findings_not_listed);
    put_severities(o, sum->findings);
    put_number(o, "known", check_report_known(r));
    put_number(o, "errors_unknown", sum->errors_unknown);
    json_object_set_new(o, "rules", rules);
    json_object_set_new(o, "quirks",
                        check_report_peer(r) ? json_string(check_report_peer(r)) : json_null());
    json_object_set_new(o, "fault", r->error ? json_lossy_string(r->error) : json_null());
    json_object_set_new(o, "verdict", json_string(check_verdict_name(check_report_verdict(r))));
    json_object_set_new(o, "exit_status", json_integer(status));
    put_number(o, "schema_version", CHECK_JSON_VERSION);
    return put_line(out, o);
}

/* ---- shards ------------------------------------------------------------------------------------
 */

int check_json_shard(FILE *out, const struct shard *shard)
{
    json_t *o = shard_json(shard);

    if (o)
        json_object_set_new(o, "type", json_string("shard"));
    return put_line(out, o);
}

int check_json_part(FILE *out, const struct check_part *part)
{
    json_t *o = begin_line("part", part->file);

    put_number(o, "position", part->position);
    put_number(o, "exit_status", (uint64_t)part->status);
    json_object_set_new(o, "error", part->error ? json_lossy_string(part->error) : json_null());
    json_object_set_new(o, "text", json_lossy_string(part->text ? part->text : ""));
    json_object_set_new(o, "junit", json_lossy_string(part->junit ? part->junit : ""));
    return put_line(out, o);
}
