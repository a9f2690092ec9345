/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/events.h"

#include <inttypes.h>
#include <jansson.h>
#include "check/conn_state.h"
#include "export/names.h"
#include "util/json_util.h"
#include "util/strbuf.h"

/* Writes an object as one line and frees it. */
static void put_object(struct events *e, json_t *object)
{
    if (!object || json_dumpf(object, e->out, JSON_COMPACT) != 0 || fputc('\n', e->out) == EOF)
        e->failed = true;
    json_decref(object);
}

static json_t *begin_event(const char *name)
{
    json_t *o = json_object();

    json_object_set_new(o, "event", json_string(name));
    return o;
}

static void put_count(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_integer((json_int_t)v));
}

/* Sets the members "connection" and "side". Both are null if the event belongs to no connection. */
static void put_place(struct events *e, json_t *o, uint32_t conn_index, unsigned side)
{
    bool none = conn_index == ROCE_NO_CONN;

    json_object_set_new(o, "connection", none ? json_null() : json_integer(conn_index));
    json_object_set_new(o, "side", none ? json_null() : json_string(export_side(side)));
    if (!none)
        conn_set_add(&e->conns, conn_index);
}

void events_begin(struct events *e, const char *name)
{
    json_t *o = begin_event("capture");

    conn_set_clear(&e->conns);
    e->acked.cnt = 0;
    json_object_set_new(o, "file", json_lossy_string(name));
    put_count(o, "schema_version", EVENTS_VERSION);
    put_object(e, o);
}

/* ---- packets -----------------------------------------------------------------------------------
 */

/* Prints the member "flags". Does not use the JSON library, because the list contains only fixed
 * words. */
static void print_flags(FILE *out, uint32_t flags)
{
    const char *sep = "";

    fputs(",\"flags\":[", out);
    for (unsigned i = 0; i < EXPORT_FLAGS; i++)
        if (flags & 1u << i) {
            fprintf(out, "%s\"%s\"", sep, export_flags[i]);
            sep = ",";
        }
    fputc(']', out);
}

static void print_time(FILE *out, const char *key, uint64_t ns)
{
    if (ns != ROCE_NEVER_NS)
        fprintf(out, ",\"%s\":%" PRIu64, key, ns);
}

static void print_frame(FILE *out, const char *key, uint32_t frame)
{
    if (frame)
        fprintf(out, ",\"%s\":%" PRIu32, key, frame);
}

static void print_headers(FILE *out, const struct roce_pkt *pkt)
{
    fprintf(out, ",\"opcode\":\"%s\",\"dest_qp\":%u,\"psn\":%u,\"payload\":%u,\"bytes\":%u",
            pkt->op->name, (unsigned)pkt->bth.dest_qp, (unsigned)pkt->bth.psn, pkt->payload_len,
            pkt->wire_len);
    if (roce_pkt_has(pkt, ROCE_HDR_UDP))
        fprintf(out, ",\"udp_sport\":%u", (unsigned)pkt->udp.sport);
    if (roce_pkt_has(pkt, ROCE_HDR_AETH))
        fprintf(out, ",\"syndrome\":%u,\"msn\":%u", (unsigned)pkt->aeth.syndrome,
                (unsigned)pkt->aeth.msn);
    if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        fprintf(out, ",\"dma_length\":%u", (unsigned)pkt->reth.dma_len);
}

static void print_analysis(struct events *e, const struct roce_flow_result *r)
{
    FILE *out = e->out;

    print_flags(out, r->flags);
    if (r->flags & ROCE_AN_PSN_GAP)
        fprintf(out, ",\"missing_psns\":%" PRIu32, r->gap);
    if (r->cause != ROCE_CAUSE_NONE)
        fprintf(out, ",\"cause\":\"%s\"", export_cause(r->cause));
    print_frame(out, "repeats_frame", r->repeats_frame);
    print_frame(out, "trigger_frame", r->trigger_frame);
    print_frame(out, "ce_frame", r->ce_frame);
    print_frame(out, "cm_frame", r->cm_frame);
    print_time(out, "since_transmission_ns", r->rto);
    print_time(out, "rtt_ns", r->rtt);
    print_time(out, "rnr_wait_ns", r->rnr_wait);
    print_time(out, "rnr_waited_ns", r->rnr_waited);
    print_time(out, "cnp_delay_ns", r->cnp_delay);
    if (e->acked.cnt) {
        fputs(",\"acknowledges\":[", out);
        for (uint32_t i = 0; i < e->acked.cnt; i++)
            fprintf(out, "%s%" PRIu32, i ? "," : "", e->acked.frame[i]);
        fputc(']', out);
    }
    fprintf(out,
            ",\"psns_in_flight\":%" PRIu32 ",\"bytes_in_flight\":%" PRIu64
            ",\"reads_in_flight\":%" PRIu32,
            r->psns_in_flight, r->bytes_in_flight, r->reads_in_flight);
}

static void on_packet(void *user, const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    static const char *const icrcs[] = {"good", "bad", "unverified"};
    struct events *e = user;
    FILE *out = e->out;

    fprintf(out, "{\"event\":\"packet\",\"frame\":%" PRIu32 ",\"time_ns\":%" PRIu64, in->frame,
            in->time);
    if (r->conn_index == ROCE_NO_CONN) {
        fputs(",\"connection\":null,\"side\":null", out);
    } else {
        fprintf(out, ",\"connection\":%" PRIu32 ",\"side\":\"%s\"", r->conn_index,
                export_side(r->side));
        conn_set_add(&e->conns, r->conn_index);
    }
    print_headers(out, in->pkt);
    fprintf(out, ",\"icrc\":\"%s\"", icrcs[in->icrc]);
    print_analysis(e, r);
    fputs("}\n", out);
    e->acked.cnt = 0;
}

static void on_link(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct events *e = user;

    (void)other;
    if (kind == ROCE_LINK_ACKED_IN)
        frame_list_add(&e->acked, frame);
}

/* ---- other events ------------------------------------------------------------------------------
 */

static void on_done(void *user, const struct roce_flow_done *done)
{
    struct events *e = user;
    json_t *o = begin_event("operation");

    put_count(o, "frame", done->frame);
    put_place(e, o, done->conn_index, done->side);
    json_object_set_new(o, "operation", json_string(export_oper(export_oper_of(done->kind))));
    put_count(o, "bytes", done->bytes);
    put_count(o, "start_ns", done->start);
    json_object_set_new(o, "latency_ns",
                        done->ns == ROCE_NEVER_NS ? json_null()
                                                  : json_integer((json_int_t)done->ns));
    put_object(e, o);
}

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct events *e = user;
    json_t *o = begin_event("finding");
    char buf[1024];

    put_count(o, "frame", finding->frame);
    put_count(o, "time_ns", finding->time);
    put_place(e, o, finding->conn_index, finding->side);
    json_object_set_new(o, "rule", json_string(roce_rule_info(finding->rule)->id));
    json_object_set_new(o, "severity", json_string(export_severity(finding->severity)));
    json_object_set_new(o, "known", finding->known ? json_string(finding->known) : json_null());
    json_object_set_new(o, "text", json_lossy_string(roce_finding_text(finding, buf, sizeof(buf))));
    put_object(e, o);
}

static void on_cnp_episode(void *user, const struct roce_cnp_episode *episode)
{
    struct events *e = user;
    json_t *o = begin_event("congestion");

    put_count(o, "frame", episode->frame);
    put_count(o, "last_frame", episode->last_frame);
    put_count(o, "time_ns", episode->time);
    put_place(e, o, episode->conn_index, episode->side);
    put_count(o, "cnps", episode->cnps);
    put_count(o, "ce_marked", episode->ce_marked);
    json_object_set_new(o, "end", json_string(roce_cnp_end_name(episode->end)));
    put_object(e, o);
}

static void put_side(json_t *o, const char *key, const struct roce_endpoint_summary *side)
{
    json_t *s = json_object();

    json_object_set_new(s, "address", json_addr(side->addr));
    json_object_set_new(s, "qpn",
                        side->qpn == ROCE_QPN_UNKNOWN ? json_null() : json_integer(side->qpn));
    put_count(s, "packets", side->packets);
    put_count(s, "goodput_bytes", export_goodput(side));
    put_count(s, "retransmitted_packets", export_retransmitted(side).packets);
    json_object_set_new(o, key, s);
}

static void on_conn(void *user, const struct roce_conn_summary *sum)
{
    struct events *e = user;
    json_t *o = begin_event("connection");

    put_count(o, "connection", sum->facts.conn_index);
    json_object_set_new(o, "service", json_string(roce_svc_name(sum->facts.svc)));
    put_count(o, "first_frame", sum->facts.first_frame);
    put_count(o, "last_frame", sum->facts.last_frame);
    json_object_set_new(o, "verdict", json_string(check_verdict_name(check_conn_verdict(sum))));
    json_object_set_new(o, "failed", json_boolean(check_conn_failed(sum)));
    put_side(o, "a", &sum->side[0]);
    put_side(o, "b", &sum->side[1]);
    put_object(e, o);
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
    json_t *o;

    for (uint32_t i = 0, end = conn_set_end(&e->conns); i < end; i++) {
        uint32_t is = roce_flow_conn_index(flow, i);

        if (!conn_set_has(&e->conns, i) || is == i)
            continue;
        o = begin_event("alias");
        put_count(o, "connection", i);
        put_count(o, "is", is);
        put_object(e, o);
    }
}

void events_end(struct events *e, const struct check_report *report)
{
    json_t *o = begin_event("end");

    put_count(o, "frames", report->frames);
    put_count(o, "packets", report->totals.packets);
    json_object_set_new(o, "verdict",
                        json_string(check_verdict_name(check_report_verdict(report))));
    json_object_set_new(o, "fault", report->error ? json_lossy_string(report->error) : json_null());
    put_object(e, o);
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
