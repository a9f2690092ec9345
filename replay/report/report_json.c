/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report.h"

#include "capture/packet_text.h"
#include "engine/diff_rule.h"
#include "engine/reasons/peer_quirks.h"
#include "report/report_exchange.h"
#include "report/report_requester.h"
#include "report/report_stream.h"
#include "report/report_taken.h"
#include "report/verdict.h"
#include "util/json_util.h"
#include "util/strbuf.h"

static json_t *inconclusive_json(const struct inferred_setup *s, const struct response_result *res)
{
    json_t *reasons = json_array();

    for (unsigned i = 0; i < INCONCLUSIVE_REASONS && res->reason[i].responses; i++)
        json_array_append_new(reasons,
                              json_pack("{s:i, s:s}", "responses", (int)res->reason[i].responses,
                                        "capture", res->reason[i].why));
    return json_pack("{s:i, s:i, s:i, s:s, s:o}", "responses", (int)res->inconclusive,
                     "first_frame", (int)event_packet(s, res->inconclusive_from)->frame,
                     "last_frame", (int)event_packet(s, res->inconclusive_to)->frame, "capture",
                     res->why_inconclusive, "reasons", reasons);
}

/* Returns, as JSON, the results of direction `idx` for our RNIC as the responder. */
static json_t *responder_json(const struct response_comparison *all, uint32_t idx)
{
    const struct rc_direction *dir = &all->session->dir[idx];
    const struct inferred_setup *s = &dir->setup;
    const struct response_result *res = &all->result[idx];
    json_t *side;

    if (res->verdict == VERDICT_SKIPPED)
        return json_pack("{s:s, s:s}", "verdict", verdict_name(res->verdict), "reason", res->skip);
    side = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "verdict", verdict_name(res->verdict),
                     "compared", (int)res->compared, "differing_responses", (int)res->diff_frames,
                     "known_deviations", (int)res->known_frames, "cut_payloads", (int)s->cut,
                     "executed_before_captured", (int)s->executed_unseen_cnt);
    if (res->inconclusive)
        json_object_set_new(side, "inconclusive", inconclusive_json(s, res));
    report_taken_json(side, s);
    json_object_set_new(side, "inferred",
                        json_pack("{s:i, s:b, s:i, s:i, s:i, s:i, s:i}", "path_mtu", (int)s->mtu,
                                  "path_mtu_known", s->mtu_known, "first_psn",
                                  (int)roce_psn_add(s->psn, (int32_t)s->first).v, "msn",
                                  (int)s->msn, "pkey", (int)s->pkey, "access", (int)s->access,
                                  "receive_wqes", (int)dir->recv_posted));
    json_object_set_new(
        side, "ignored",
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "unsolicited",
                  (int)res->unsolicited, "acks_only_ours", (int)res->acks_more,
                  "acks_only_recorded", (int)res->acks_fewer, "acks_with_other_credits",
                  (int)res->credits, "reads_with_other_msn", (int)res->read_msn,
                  "responses_with_later_msn", (int)res->later_msn, "copies_with_other_msn",
                  (int)res->copies_msn, "not_captured", (int)res->not_captured,
                  "before_first_message", (int)res->before_first, "network_duplicates",
                  (int)res->wire_duplicates, "damaged", (int)res->damaged));
    return side;
}

static json_t *direction_json(const struct replay *r, uint32_t idx)
{
    const struct inferred_setup *s = &r->session.dir[idx].setup;
    const struct trace_flow *req = &s->trace->flow[s->recorded->req_flow];
    json_t *c = json_pack(
        "{s:i, s:{s:o, s:i}, s:{s:o, s:i}, s:s, s:b, s:i, s:i, s:s}", "connection",
        (int)s->recorded->conn_index, "requester", "address", json_addr(req->src), "qpn",
        (int)s->peer_qpn, "responder", "address", json_addr(req->dst), "qpn", (int)s->qpn,
        "encapsulation", packet_text_encap(req->encap), "connection_manager",
        s->recorded->cm.present, "first_frame", (int)s->trace->pkt[s->recorded->pkt[0]].frame,
        "last_frame", (int)s->trace->pkt[s->recorded->pkt[s->recorded->cnt - 1]].frame, "verdict",
        verdict_name(report_run_verdict(r, idx)));

    if (!c)
        return NULL;
    if (s->recorded->after_gap)
        json_object_set_new(c, "after_gap",
                            json_pack("{s:i, s:i}", "psn", (int)s->recorded->gap_psn, "after_frame",
                                      (int)s->recorded->gap_after_frame));
    json_object_set_new(c, "requests",
                        json_pack("{s:i, s:i, s:I, s:I, s:i}", "packets", (int)s->requests,
                                  "messages", (int)s->messages, "bytes_in", (json_int_t)s->bytes_in,
                                  "bytes_read", (json_int_t)s->bytes_out, "retransmitted",
                                  (int)s->retransmitted));
    if (r->responses.result)
        json_object_set_new(c, "as_responder", responder_json(&r->responses, idx));
    if (r->requests.result)
        json_object_set_new(c, "as_requester", report_requester_json(&r->requests, idx));
    return c;
}

static json_t *diff_json(const struct trace *trace, const struct diff *d, const char *side)
{
    json_t *diff = json_pack("{s:i, s:s, s:i, s:s, s:s, s:s, s:s}", "direction", (int)d->dir + 1,
                             "as", side, "frame", (int)trace->pkt[d->pkt].frame, "field", d->field,
                             "recorded", d->recorded, "replayed", d->replayed, "reason", d->reason);

    if (diff && d->request != EVENT_NONE)
        json_object_set_new(diff, "request_frame", json_integer(trace->pkt[d->request].frame));
    if (diff && diff_rule(trace, d))
        json_object_set_new(diff, "rule", json_string(diff_rule(trace, d)));
    if (diff && d->known)
        json_object_set_new(diff, "known_deviation", json_string(d->known->deviation->id));
    return diff;
}

/* Writes the differences of a datagram stream. */
static void put_stream_diffs(struct json_writer *w, const struct replay *r)
{
    for (size_t i = 0; i < r->dgrams.diff_cnt; i++) {
        const struct diff *d = &r->dgrams.diff[i];
        json_t *diff = diff_json(&r->trace, d, dgram_role_name(r->dgrams.stream[d->dir].role));
        const char *rule = diff_rule_stream(&r->dgrams, d);

        json_object_del(diff, "direction");
        /* Remove the rule that diff_json() wrote: it is a rule of RC, which does not apply to
         * datagrams. */
        json_object_del(diff, "rule");
        if (rule)
            json_object_set_new(diff, "rule", json_string(rule));
        json_object_set_new(diff, "stream", json_integer(d->dir + 1));
        json_writer_element(w, diff);
    }
}

static void put_skipped(struct json_writer *w, const struct replay *r)
{
    json_writer_list(w, "skipped");
    for (size_t i = 0; i < r->connections.skip_cnt; i++) {
        const struct skipped_flow *skip = &r->connections.skip[i];
        const struct trace_flow *flow = &r->trace.flow[skip->flow];

        json_writer_element(w, json_pack("{s:o, s:o, s:i, s:i, s:i, s:s}", "source",
                                         json_addr(flow->src), "destination", json_addr(flow->dst),
                                         "qpn", (int)flow->dest_qp, "first_frame", (int)skip->frame,
                                         "packets", (int)skip->packets, "reason", skip->reason));
    }
    json_writer_list_end(w);
}

/* Writes the elements of a list and releases it. */
static void put_elements(struct json_writer *w, json_t *list)
{
    json_t *element;
    size_t i;

    json_array_foreach(list, i, element) json_writer_element(w, json_incref(element));
    json_decref(list);
}

void report_json(struct json_writer *w, const struct replay *r)
{
    json_t *exchanges = json_array(), *exchange_diffs = json_array();

    json_writer_member(w, "file", json_lossy_string(r->trace.name));
    json_writer_member(w, "frames", json_integer(r->trace.frames));
    json_writer_member(w, "roce_packets", json_integer((json_int_t)r->trace.cnt));
    json_writer_list(w, "directions");
    for (uint32_t i = 0; i < r->session.dir_cnt; i++)
        json_writer_element(w, direction_json(r, i));
    json_writer_list_end(w);
    json_writer_list(w, "streams");
    for (uint32_t i = 0; i < r->dgrams.cnt; i++)
        json_writer_element(w, report_stream_json(&r->dgrams, i));
    json_writer_list_end(w);
    report_exchange_json(exchanges, exchange_diffs, &r->cm_exchanges);
    json_writer_list(w, "exchanges");
    put_elements(w, exchanges);
    json_writer_list_end(w);
    json_writer_list(w, "differences");
    for (size_t i = 0; i < r->responses.diff_cnt; i++)
        json_writer_element(w, diff_json(&r->trace, &r->responses.diff[i], "responder"));
    for (size_t i = 0; i < r->requests.diff_cnt; i++)
        json_writer_element(w, diff_json(&r->trace, &r->requests.diff[i], "requester"));
    put_stream_diffs(w, r);
    put_elements(w, exchange_diffs);
    json_writer_list_end(w);
    put_skipped(w, r);
    json_writer_member(w, "verdict", json_string(verdict_name(report_verdict(r))));
}
