/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports over connections, their congestion, and the tree of opcodes. */
#include <epan/stats_tree.h>
#include <epan/to_str.h>
#include <string.h>

#include "srt.h"
#include "tap-roce.h"
#include "wire/codes.h"

#define HOST_LEN 64

/* "192.0.2.1 QP 0x000011" */
static void print_side(struct roce_report *report, const char *host, uint32_t qpn)
{
    char text[HOST_LEN + 20];

    snprintf(text, sizeof(text), qpn == ROCE_QPN_UNKNOWN ? "%s QP ?" : "%s QP 0x%06x", host, qpn);
    roce_report_text(report, text);
}

static void name_side(char host[HOST_LEN], const address *addr)
{
    char *text;

    if (host[0])
        return;
    text = address_to_str(NULL, addr);
    snprintf(host, HOST_LEN, "%s", text);
    wmem_free(NULL, text);
}

/* ---- connections -------------------------------------------------------------------------------
 */

enum state { STATE_OPEN, STATE_STOPPED, STATE_REJECTED, STATE_CLOSED };

struct conn {
    uint32_t stream;
    enum roce_svc svc;
    char host[2][HOST_LEN];
    uint64_t packets[2], bytes, payload, messages, again, naks, rnr_naks, gaps;
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t first, last; /* ns since the start of the file */
    enum state state;
};

static const char *const states[] = {
    [STATE_OPEN] = "open",
    [STATE_STOPPED] = "stopped by NAK",
    [STATE_REJECTED] = "rejected",
    [STATE_CLOSED] = "disconnected",
};

static uint64_t ns_of(const nstime_t *t)
{
    return t->secs < 0 ? 0 : (uint64_t)t->secs * 1000000000u + (uint64_t)t->nsecs;
}

/* A CM message speaks of a connection; it is no packet of it. */
static void conn_cm(struct conn *conn, const struct roce_pkt *pkt)
{
    struct roce_cm_msg msg;

    if (roce_cm_msg_of_pkt(&msg, pkt) != ROCE_OK)
        return;
    if (msg.kind == ROCE_CM_REJ && conn->state == STATE_OPEN)
        conn->state = STATE_REJECTED;
    if (msg.kind == ROCE_CM_DREQ && conn->state == STATE_OPEN)
        conn->state = STATE_CLOSED;
}

static void conn_data(struct conn *conn, const struct roce_tap *tap, packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    const struct roce_pkt *pkt = tap->pkt;

    conn->svc = pkt->op->svc;
    name_side(conn->host[r->side], &pinfo->src);
    name_side(conn->host[!r->side], &pinfo->dst);
    if (conn->packets[0] + conn->packets[1] == 0)
        conn->first = ns_of(&pinfo->rel_ts);
    conn->last = ns_of(&pinfo->rel_ts);
    conn->packets[r->side]++;
    conn->bytes += pinfo->fd->pkt_len;
    if (r->repeats_frame == 0)
        conn->payload += pkt->payload_len;
    conn->messages += pkt->op->svc == ROCE_SVC_UD || roce_flight_starts(tap);
    conn->again += (r->flags & ROCE_AN_RETRANSMISSION) != 0;
    conn->naks += (r->flags & ROCE_AN_NAK) != 0;
    conn->rnr_naks += (r->flags & ROCE_AN_RNR_NAK) != 0;
    conn->gaps += r->flags & ROCE_AN_PSN_GAP ? r->gap : 0;
    if (r->flags & ROCE_AN_NAK && roce_syndrome_code(pkt->aeth.syndrome) != ROCE_NAK_PSN_SEQ)
        conn->state = STATE_STOPPED;
}

static void conn_packet(struct roce_report *report, const struct roce_tap *tap, packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    bool cm = r->stream == ROCE_NO_STREAM || (r->flags & ROCE_AN_CM) != 0;
    uint32_t stream = cm ? r->cm_stream : r->stream;
    struct conn *conn;

    if (stream == ROCE_NO_STREAM)
        return;
    conn = (struct conn *)roce_report_row(report, &stream, sizeof(stream));
    conn->stream = stream;
    if (cm)
        conn_cm(conn, tap->pkt);
    else
        conn_data(conn, tap, pinfo);
    for (const struct roce_track_finding *at = tap->frame->findings; at; at = at->next)
        conn->findings[at->finding.known ? ROCE_SEV_NOTE : at->finding.severity]++;
}

/* "CM", "PSNs (a guess)" */
static void print_pairing(struct roce_report *report, const struct roce_track_stream *stream)
{
    enum roce_pairing by = stream ? stream->pairing : ROCE_PAIRED_NOT;
    char text[64];

    snprintf(text, sizeof(text), "%s%s", roce_pairing_name(by),
             roce_pairing_is_guess(by) ? " (a guess)" : "");
    roce_report_text(report, text);
}

static void conn_print(const void *row, struct roce_report *report)
{
    const struct conn *conn = (const struct conn *)row;
    const struct roce_track_stream *stream = roce_track_stream(conn->stream);

    roce_report_num(report, conn->stream);
    roce_report_text(report, conn->host[0][0] ? roce_svc_name(conn->svc) : "");
    for (unsigned side = 0; side < 2; side++)
        print_side(report, conn->host[side], stream ? stream->qpn[side] : ROCE_QPN_UNKNOWN);
    roce_report_num(report, conn->packets[0]);
    roce_report_num(report, conn->packets[1]);
    roce_report_num(report, conn->bytes);
    roce_report_num(report, conn->payload);
    roce_report_num(report, conn->messages);
    roce_report_num(report, conn->again);
    roce_report_num(report, conn->gaps);
    roce_report_num(report, conn->naks);
    roce_report_num(report, conn->rnr_naks);
    roce_report_num(report, conn->findings[ROCE_SEV_ERROR]);
    roce_report_num(report, conn->findings[ROCE_SEV_WARN]);
    roce_report_ms(report, conn->first);
    roce_report_ms(report, conn->last - conn->first);
    roce_report_text(report, states[conn->state]);
    print_pairing(report, stream);
    if (stream && stream->overlay)
        roce_report_num(report, stream->overlay & ~ROCE_OVERLAY_VNI);
    else
        roce_report_text(report, "");
}

/* The first is what windows sort by: there is an arrow in its header, too. */
static const struct roce_report_column conn_columns[] = {
    {"Stream", 10, true},     {"Service", 7, false},      {"Address A", 26, false},
    {"Address B", 26, false}, {"Packets A->B", 12, true}, {"Packets B->A", 12, true},
    {"Bytes", 12, true},      {"Payload", 12, true},      {"Messages", 8, true},
    {"Sent again", 10, true}, {"Missing PSNs", 12, true}, {"NAKs", 6, true},
    {"RNR NAKs", 8, true},    {"Errors", 6, true},        {"Warnings", 8, true},
    {"Start ms", 14, true},   {"Duration ms", 14, true},  {"State", 14, false},
    {"Paired by", 26, false}, {"VNI", 8, true},
};

static struct roce_report conn_report = {
    .title = "RoCE Connections",
    .name = "roce,conn",
    .column = conn_columns,
    .column_cnt = array_length(conn_columns),
    .row_size = sizeof(struct conn),
    .packet = conn_packet,
    .print = conn_print,
};

/* ---- congestion --------------------------------------------------------------------------------
 */

struct congestion {
    char from[HOST_LEN], to[HOST_LEN];
    uint32_t stream, qpn;
    uint64_t packets, marked, cnps, becn, fecn;
    struct roce_hist delay; /* mark to CNP */
};

static void congestion_packet(struct roce_report *report, const struct roce_tap *tap,
                              packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    bool cnp = (r->flags & ROCE_AN_CNP) != 0, marked = (r->flags & ROCE_AN_CE) != 0;
    const struct roce_pkt *pkt = tap->pkt;
    struct congestion *c;
    struct {
        uint32_t stream, side, qpn;
    } key = {r->stream, r->side, 0};

    if (!cnp && !marked && !pkt->bth.becn && !pkt->bth.fecn)
        return;
    if (r->stream == ROCE_NO_STREAM)
        key.qpn = pkt->bth.dest_qp;
    c = (struct congestion *)roce_report_row(report, &key, sizeof(key));
    name_side(c->from, &pinfo->src);
    name_side(c->to, &pinfo->dst);
    c->stream = r->stream;
    c->qpn = pkt->bth.dest_qp;
    c->packets++;
    c->marked += marked;
    c->cnps += cnp;
    c->becn += !cnp && pkt->bth.becn;
    c->fecn += !cnp && pkt->bth.fecn;
    if (r->cnp_delay != ROCE_NEVER_NS)
        roce_hist_add(&c->delay, r->cnp_delay);
}

static void congestion_print(const void *row, struct roce_report *report)
{
    const struct congestion *c = (const struct congestion *)row;

    if (c->stream == ROCE_NO_STREAM)
        roce_report_text(report, "");
    else
        roce_report_num(report, c->stream);
    roce_report_text(report, c->from);
    print_side(report, c->to, c->qpn);
    roce_report_num(report, c->marked);
    roce_report_num(report, c->cnps);
    roce_report_num(report, c->becn);
    roce_report_num(report, c->fecn);
    roce_report_hist(report, &c->delay);
}

static const struct roce_report_column congestion_columns[] = {
    {"Stream", 6, true}, {"From", 18, false}, {"To", 26, false}, {"CE marked", 9, true},
    {"CNPs", 8, true},   {"BECN", 8, true},   {"FECN", 8, true}, ROCE_REPORT_HIST_COLUMNS,
};

static struct roce_report congestion_report = {
    .title = "RoCE Congestion",
    .name = "roce,cong",
    .column = congestion_columns,
    .column_cnt = array_length(congestion_columns),
    .row_size = sizeof(struct congestion),
    .packet = congestion_packet,
    .print = congestion_print,
};

/* ---- the tree of opcodes -----------------------------------------------------------------------
 */

static void tree_init(stats_tree *st)
{
    stats_tree_create_node(st, "RoCE packets", 0, STAT_DT_INT, TRUE);
}

static tap_packet_status tree_packet(stats_tree *st, packet_info *pinfo _U_,
                                     epan_dissect_t *edt _U_, const void *data,
                                     tap_flags_t flags _U_)
{
    const struct roce_tap *tap = (const struct roce_tap *)data;
    int top = tick_stat_node(st, "RoCE packets", 0, TRUE);
    int svc = tick_stat_node(st, roce_svc_name(tap->pkt->op->svc), top, TRUE);

    tick_stat_node(st, tap->pkt->op->name, svc, FALSE);
    return TAP_PACKET_REDRAW;
}

void roce_report_conn_register(void)
{
    roce_report_register(&conn_report);
    roce_report_register(&congestion_report);
    stats_tree_register_plugin("roce", "roce", "RoCE/Packets by opcode", 0, tree_packet, tree_init,
                               NULL);
}
