/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/events.h"

#include "check/base/conn_state.h"
#include "export/names.h"
#include "util/json_line.h"
#include "util/strbuf.h"

static void begin_event(struct json_line *line, struct events *e, const char *name)
{
    json_line_begin(line, e->out, false);
    json_line_text(line, "event", name);
}

static void end_event(struct json_line *line, struct events *e)
{
    e->failed |= json_line_end(line) != 0;
}

/* Writes the members "connection" and "side" of an event. Both are null if the event belongs to no
 * connection. */
static void put_place(struct json_line *line, struct events *e, uint32_t conn_index, unsigned side)
{
    bool none = conn_index == ROCE_NO_CONN;

    json_line_number_or_null(line, "connection", conn_index, ROCE_NO_CONN);
    json_line_text(line, "side", none ? NULL : export_side(side));
    if (!none)
        conn_set_add(&e->conns, conn_index);
}

void events_begin(struct events *e, const char *name)
{
    struct json_line line;

    conn_set_clear(&e->conns);
    e->acked.cnt = 0;
    begin_event(&line, e, "capture");
    json_line_text(&line, "file", name);
    json_line_number(&line, "schema_version", EVENTS_VERSION);
    end_event(&line, e);
}

/* ---- lines of packets --------------------------------------------------------------------------
 */

static void put_flags(struct json_line *line, uint32_t flags)
{
    json_line_open(line, "flags", '[');
    for (unsigned i = 0; i < EXPORT_FLAGS; i++)
        if (flags & 1u << i)
            json_line_text(line, NULL, export_flags[i]);
    json_line_close(line, ']');
}

static void put_time(struct json_line *line, const char *key, uint64_t ns)
{
    if (ns != ROCE_NEVER_NS)
        json_line_number(line, key, ns);
}

static void put_frame(struct json_line *line, const char *key, uint32_t frame)
{
    if (frame)
        json_line_number(line, key, frame);
}

static void put_headers(struct json_line *line, const struct roce_pkt *pkt)
{
    json_line_text(line, "opcode", pkt->op->name);
    json_line_number(line, "dest_qp", pkt->bth.dest_qp);
    json_line_number(line, "psn", pkt->bth.psn);
    json_line_number(line, "payload", pkt->payload_len);
    json_line_number(line, "bytes", pkt->wire_len);
    if (roce_pkt_has(pkt, ROCE_HDR_UDP))
        json_line_number(line, "udp_sport", pkt->udp.sport);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        json_line_number(line, "syndrome", pkt->aeth.syndrome);
        json_line_number(line, "msn", pkt->aeth.msn);
    }
    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        json_line_number(line, "dma_length", pkt->reth.dma_len);
}

static void put_analysis(struct json_line *line, const struct events *e,
                         const struct roce_flow_result *r)
{
    put_flags(line, r->flags);
    if (r->flags & ROCE_AN_PSN_GAP)
        json_line_number(line, "missing_psns", r->gap);
    if (r->cause != ROCE_CAUSE_NONE)
        json_line_text(line, "cause", export_cause(r->cause));
    put_frame(line, "go_back_frame", r->go_back_frame);
    put_frame(line, "repeats_frame", r->repeats_frame);
    put_frame(line, "trigger_frame", r->trigger_frame);
    put_frame(line, "ce_frame", r->ce_frame);
    put_frame(line, "cm_frame", r->cm_frame);
    put_time(line, "since_transmission_ns", r->rto);
    put_time(line, "rtt_ns", r->rtt);
    put_time(line, "rnr_wait_ns", r->rnr_wait);
    put_time(line, "rnr_waited_ns", r->rnr_waited);
    put_time(line, "cnp_delay_ns", r->cnp_delay);
    if (e->acked.cnt) {
        json_line_open(line, "acknowledges", '[');
        for (uint32_t i = 0; i < e->acked.cnt; i++)
            json_line_number(line, NULL, e->acked.frame[i]);
        json_line_close(line, ']');
    }
    json_line_number(line, "psns_in_flight", r->psns_in_flight);
    json_line_number(line, "bytes_in_flight", r->bytes_in_flight);
    json_line_number(line, "reads_in_flight", r->reads_in_flight);
}

static void on_packet(void *user, const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    static const char *const icrcs[] = {"good", "bad", "unverified"};
    struct events *e = user;
    struct json_line line;

    begin_event(&line, e, "packet");
    json_line_number(&line, "frame", in->frame);
    json_line_number(&line, "time_ns", in->time);
    put_place(&line, e, r->conn_index, r->side);
    put_headers(&line, in->pkt);
    json_line_text(&line, "icrc", icrcs[in->icrc]);
    put_analysis(&line, e, r);
    end_event(&line, e);
    e->acked.cnt = 0;
}

static void on_link(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct events *e = user;

    (void)other;
    if (kind == ROCE_LINK_ACKED_IN)
        frame_list_add(&e->acked, frame);
}

/* ---- lines of other events ---------------------------------------------------------------------
 */

static void on_done(void *user, const struct roce_flow_done *done)
{
    struct events *e = user;
    struct json_line line;

    begin_event(&line, e, "operation");
    json_line_number(&line, "frame", done->frame);
    put_place(&line, e, done->conn_index, done->side);
    json_line_text(&line, "operation", export_oper(export_oper_of(done->kind)));
    json_line_number(&line, "bytes", done->bytes);
    json_line_number(&line, "start_ns", done->start);
    json_line_number_or_null(&line, "latency_ns", done->ns, ROCE_NEVER_NS);
    end_event(&line, e);
}

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct events *e = user;
    struct json_line line;
    char buf[1024];

    begin_event(&line, e, "finding");
    json_line_number(&line, "frame", finding->frame);
    json_line_number(&line, "time_ns", finding->time);
    put_place(&line, e, finding->conn_index, finding->side);
    json_line_text(&line, "rule", roce_rule_info(finding->rule)->id);
    json_line_text(&line, "severity", export_severity(finding->severity));
    json_line_text(&line, "known", finding->known);
    put_frame(&line, "other_frame", finding->other_frame);
    json_line_text(&line, "text", roce_finding_text(finding, buf, sizeof(buf)));
    end_event(&line, e);
}

static void on_cnp_episode(void *user, const struct roce_cnp_episode *episode)
{
    struct events *e = user;
    struct json_line line;

    begin_event(&line, e, "congestion");
    json_line_number(&line, "frame", episode->frame);
    json_line_number(&line, "last_frame", episode->last_frame);
    json_line_number(&line, "time_ns", episode->time);
    put_place(&line, e, episode->conn_index, episode->side);
    json_line_number(&line, "cnps", episode->cnps);
    json_line_number(&line, "ce_marked", episode->ce_marked);
    json_line_text(&line, "end", roce_cnp_end_name(episode->end));
    end_event(&line, e);
}

static void put_side(struct json_line *line, const char *key,
                     const struct roce_endpoint_summary *side)
{
    char buf[64];
    struct strbuf address = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&address, side->addr);
    json_line_open(line, key, '{');
    json_line_text(line, "address", buf);
    json_line_number_or_null(line, "qpn", side->qpn, ROCE_QPN_UNKNOWN);
    json_line_number(line, "packets", side->packets);
    json_line_number(line, "goodput_bytes", check_side_goodput(side));
    json_line_number(line, "retransmitted_packets", check_side_retransmitted(side).packets);
    json_line_close(line, '}');
}

static void on_conn(void *user, const struct roce_conn_summary *sum)
{
    struct events *e = user;
    struct json_line line;

    begin_event(&line, e, "connection");
    json_line_number(&line, "connection", sum->facts.conn_index);
    json_line_text(&line, "service", roce_svc_name(sum->facts.svc));
    json_line_number(&line, "first_frame", sum->facts.first_frame);
    json_line_number(&line, "last_frame", sum->facts.last_frame);
    json_line_text(&line, "verdict", check_verdict_name(check_conn_verdict(sum)));
    json_line_bool(&line, "failed", check_conn_failed(sum));
    put_side(&line, "a", &sum->side[0]);
    put_side(&line, "b", &sum->side[1]);
    end_event(&line, e);
}

static void on_batch(void *user, const struct roce_flow *flow)
{
    struct events *e = user;

    (void)flow;
    if (e->out == stdout)
        /* Flush, so that a program that reads our output from a pipe receives the events
         * immediately. */
        fflush(e->out);
}

static void on_end(void *user, const struct roce_flow *flow)
{
    struct events *e = user;
    struct json_line line;

    for (uint32_t i = 0, end = conn_set_end(&e->conns); i < end; i++) {
        uint32_t is = roce_flow_conn_index(flow, i);

        if (!conn_set_has(&e->conns, i) || is == i)
            continue;
        begin_event(&line, e, "alias");
        json_line_number(&line, "connection", i);
        json_line_number(&line, "is", is);
        end_event(&line, e);
    }
}

void events_end(struct events *e, const struct check_report *report)
{
    struct json_line line;

    begin_event(&line, e, "end");
    json_line_number(&line, "frames", report->frames);
    json_line_number(&line, "packets", report->totals.packets);
    json_line_text(&line, "verdict", check_verdict_name(check_report_verdict(report)));
    json_line_text(&line, "fault", report->error);
    end_event(&line, e);
}

struct check_watch events_watch(struct events *e)
{
    return (struct check_watch){.user = e,
                                .on_packet = on_packet,
                                .on_link = on_link,
                                .on_done = on_done,
                                .on_finding = on_finding,
                                .on_cnp_episode = on_cnp_episode,
                                .on_conn = on_conn,
                                .on_batch = on_batch,
                                .on_end = on_end};
}

void events_free(struct events *e)
{
    conn_set_free(&e->conns);
    frame_list_free(&e->acked);
}
