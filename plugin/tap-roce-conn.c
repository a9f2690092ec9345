/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of connections, of their congestion, and of packets by opcode. */
#include <epan/to_str.h>
#include <string.h>

#include "srt.h"
#include "tap-roce.h"
#include "wire/codes.h"

#define HOST_LEN 64

/* Formats an endpoint: "192.0.2.1 QP 0x000011". */
static void print_endpoint(struct roce_stat_table *stat, const char *host, uint32_t qpn)
{
    char text[HOST_LEN + 20];

    snprintf(text, sizeof(text), qpn == ROCE_QPN_UNKNOWN ? "%s QP ?" : "%s QP 0x%06x", host, qpn);
    roce_stat_text(stat, text);
}

static void set_host(char host[HOST_LEN], const address *addr)
{
    char *text;

    if (host[0])
        return;
    text = address_to_str(NULL, addr);
    snprintf(host, HOST_LEN, "%s", text);
    wmem_free(NULL, text);
}

/* ---- table of connections ----------------------------------------------------------------------
 */

enum conn_state { STATE_OPEN, STATE_STOPPED, STATE_REJECTED, STATE_CLOSED };

struct conn_row {
    uint32_t stream;
    enum roce_svc svc;
    char host[2][HOST_LEN];
    uint64_t packets[2], bytes, payload, messages, retx, naks, rnr_naks, gaps;
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t first, last; /* times of the first and last packet since the start of the file, ns */
    enum conn_state state;
};

static const char *const states[] = {
    [STATE_OPEN] = "open",
    [STATE_STOPPED] = "fatal NAK",
    [STATE_REJECTED] = "rejected",
    [STATE_CLOSED] = "disconnected",
};

static uint64_t ns_of(const nstime_t *t)
{
    return t->secs < 0 ? 0 : (uint64_t)t->secs * 1000000000u + (uint64_t)t->nsecs;
}

/* Updates the row of a connection from a CM message. Does not count the CM message as a packet of
 * the connection. */
static void conn_cm_packet(struct conn_row *conn, const struct roce_pkt *pkt)
{
    struct roce_cm_msg msg;

    if (roce_cm_msg_of_pkt(&msg, pkt) != ROCE_OK)
        return;
    if (msg.kind == ROCE_CM_REJ && conn->state == STATE_OPEN)
        conn->state = STATE_REJECTED;
    if (msg.kind == ROCE_CM_DREQ && conn->state == STATE_OPEN)
        conn->state = STATE_CLOSED;
}

static void conn_data_packet(struct conn_row *conn, const struct roce_tap *tap, packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    const struct roce_pkt *pkt = tap->pkt;

    conn->svc = pkt->op->svc;
    set_host(conn->host[r->side], &pinfo->src);
    set_host(conn->host[!r->side], &pinfo->dst);
    if (conn->packets[0] + conn->packets[1] == 0)
        conn->first = ns_of(&pinfo->rel_ts);
    conn->last = ns_of(&pinfo->rel_ts);
    conn->packets[r->side]++;
    conn->bytes += pinfo->fd->pkt_len;
    if (r->repeats_frame == 0)
        conn->payload += pkt->payload_len;
    conn->messages += pkt->op->svc == ROCE_SVC_UD || roce_srt_starts_op(tap);
    conn->retx += (r->flags & ROCE_AN_RETRANSMISSION) != 0;
    conn->naks += (r->flags & ROCE_AN_NAK) != 0;
    conn->rnr_naks += (r->flags & ROCE_AN_RNR_NAK) != 0;
    if ((r->flags & ROCE_AN_PSN_GAP) && (r->flags & ROCE_AN_REQUEST))
        conn->gaps += r->gap;
    if (r->flags & ROCE_AN_NAK && roce_syndrome_code(pkt->aeth.syndrome) != ROCE_NAK_PSN_SEQ)
        conn->state = STATE_STOPPED;
}

static void conn_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                        packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    bool cm = r->conn_index == ROCE_NO_CONN || (r->flags & ROCE_AN_CM) != 0;
    uint32_t stream = cm ? r->cm_conn_index : r->conn_index;
    struct conn_row *conn;

    if (stream == ROCE_NO_CONN)
        return;
    conn = (struct conn_row *)roce_stat_row(stat, &stream, sizeof(stream));
    conn->stream = stream;
    if (cm)
        conn_cm_packet(conn, tap->pkt);
    else
        conn_data_packet(conn, tap, pinfo);
    for (const struct roce_frame_finding *at = tap->frame->findings; at; at = at->next)
        conn->findings[at->finding.known ? ROCE_SEV_NOTE : at->finding.severity]++;
}

/* Formats the evidence that the two directions belong to one connection, such as "CM" or "PSNs
 * (uncertain)". */
static void print_pairing(struct roce_stat_table *stat, const struct roce_stream_info *stream)
{
    enum roce_pairing by = stream ? stream->pairing : ROCE_PAIRED_NOT;
    char text[64];

    snprintf(text, sizeof(text), "%s%s", roce_pairing_name(by),
             roce_pairing_is_guess(by) ? " (uncertain)" : "");
    roce_stat_text(stat, text);
}

static void conn_print(const void *row, struct roce_stat_table *stat)
{
    const struct conn_row *conn = (const struct conn_row *)row;
    const struct roce_stream_info *stream = roce_store_stream(conn->stream);

    roce_stat_num(stat, conn->stream);
    roce_stat_text(stat, conn->host[0][0] ? roce_svc_name(conn->svc) : "");
    for (unsigned side = 0; side < 2; side++)
        print_endpoint(stat, conn->host[side], stream ? stream->qpn[side] : ROCE_QPN_UNKNOWN);
    roce_stat_num(stat, conn->packets[0]);
    roce_stat_num(stat, conn->packets[1]);
    roce_stat_num(stat, conn->bytes);
    roce_stat_num(stat, conn->payload);
    roce_stat_num(stat, conn->messages);
    roce_stat_num(stat, conn->retx);
    roce_stat_num(stat, conn->gaps);
    roce_stat_num(stat, conn->naks);
    roce_stat_num(stat, conn->rnr_naks);
    roce_stat_num(stat, conn->findings[ROCE_SEV_ERROR]);
    roce_stat_num(stat, conn->findings[ROCE_SEV_WARN]);
    roce_stat_ms(stat, conn->first);
    roce_stat_ms(stat, conn->last - conn->first);
    roce_stat_text(stat, states[conn->state]);
    print_pairing(stat, stream);
    if (stream && stream->overlay)
        roce_stat_num(stat, stream->overlay & ~ROCE_OVERLAY_VNI);
    else
        roce_stat_text(stat, "");
}

/* The first column is wider than its text, because Wireshark shows an arrow in the header of the
 * column by which the window is sorted. */
static const struct roce_stat_column conn_columns[] = {
    {"Stream", 10, true},        {"Service", 7, false},      {"Address A", 26, false},
    {"Address B", 26, false},    {"Packets A->B", 12, true}, {"Packets B->A", 12, true},
    {"Bytes", 12, true},         {"Payload", 12, true},      {"Messages", 8, true},
    {"Retransmitted", 13, true}, {"Missing PSNs", 12, true}, {"NAKs", 6, true},
    {"RNR NAKs", 8, true},       {"Errors", 6, true},        {"Warnings", 8, true},
    {"Start ms", 14, true},      {"Duration ms", 14, true},  {"State", 14, false},
    {"Paired by", 26, false},    {"VNI", 8, true},
};

static struct roce_stat_table conn_table = {
    .title = "RoCE Connections",
    .name = "roce,conn",
    .column = conn_columns,
    .column_cnt = array_length(conn_columns),
    .row_size = sizeof(struct conn_row),
    .packet = conn_packet,
    .print = conn_print,
};

/* ---- table of congestion -----------------------------------------------------------------------
 */

struct congestion_row {
    char from[HOST_LEN], to[HOST_LEN];
    uint32_t stream, qpn;
    uint64_t packets, marked, cnps, becn, fecn;
    struct roce_hist delay; /* time from the CE mark to the CNP, ns */
};

static void congestion_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                              packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    bool cnp = (r->flags & ROCE_AN_CNP) != 0, marked = (r->flags & ROCE_AN_CE) != 0;
    const struct roce_pkt *pkt = tap->pkt;
    struct congestion_row *c;
    struct {
        uint32_t stream, side, qpn;
    } key = {r->conn_index, r->side, 0};

    if (!cnp && !marked && !pkt->bth.becn && !pkt->bth.fecn)
        return;
    if (r->conn_index == ROCE_NO_CONN)
        key.qpn = pkt->bth.dest_qp;
    c = (struct congestion_row *)roce_stat_row(stat, &key, sizeof(key));
    set_host(c->from, &pinfo->src);
    set_host(c->to, &pinfo->dst);
    c->stream = r->conn_index;
    c->qpn = pkt->bth.dest_qp;
    c->packets++;
    c->marked += marked;
    c->cnps += cnp;
    c->becn += !cnp && pkt->bth.becn;
    c->fecn += !cnp && pkt->bth.fecn;
    if (r->cnp_delay != ROCE_NEVER_NS)
        roce_hist_add(&c->delay, r->cnp_delay);
}

static void congestion_print(const void *row, struct roce_stat_table *stat)
{
    const struct congestion_row *c = (const struct congestion_row *)row;

    if (c->stream == ROCE_NO_CONN)
        roce_stat_text(stat, "");
    else
        roce_stat_num(stat, c->stream);
    roce_stat_text(stat, c->from);
    print_endpoint(stat, c->to, c->qpn);
    roce_stat_num(stat, c->marked);
    roce_stat_num(stat, c->cnps);
    roce_stat_num(stat, c->becn);
    roce_stat_num(stat, c->fecn);
    roce_stat_hist(stat, &c->delay);
}

static const struct roce_stat_column congestion_columns[] = {
    {"Stream", 10, true}, {"From", 18, false}, {"To", 26, false}, {"CE marked", 9, true},
    {"CNPs", 8, true},    {"BECN", 8, true},   {"FECN", 8, true}, ROCE_STAT_HIST_COLUMNS,
};

static struct roce_stat_table congestion_table = {
    .title = "RoCE Congestion",
    .name = "roce,cong",
    .column = congestion_columns,
    .column_cnt = array_length(congestion_columns),
    .row_size = sizeof(struct congestion_row),
    .packet = congestion_packet,
    .print = congestion_print,
};

/* ---- table of packets by opcode ----------------------------------------------------------------
 */

struct opcode_row {
    const struct roce_opcode *op;
    uint64_t packets, payload;
    uint32_t first, last;
};

static void opcode_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                          packet_info *pinfo)
{
    const struct roce_opcode *op = tap->pkt->op;
    struct opcode_row *row = (struct opcode_row *)roce_stat_row(stat, &op, sizeof(op));

    row->op = op;
    row->payload += tap->pkt->payload_len;
    if (row->packets++ == 0)
        row->first = pinfo->num;
    row->last = pinfo->num;
}

static void opcode_print(const void *row, struct roce_stat_table *stat)
{
    const struct opcode_row *opcode = (const struct opcode_row *)row;

    roce_stat_text(stat, opcode->op->name);
    roce_stat_num(stat, opcode->packets);
    roce_stat_num(stat, opcode->payload);
    roce_stat_num(stat, opcode->first);
    roce_stat_num(stat, opcode->last);
}

static const struct roce_stat_column opcode_columns[] = {
    {"Opcode", 34, false},     {"Packets", 10, true},    {"Payload bytes", 14, true},
    {"First frame", 11, true}, {"Last frame", 10, true},
};

static struct roce_stat_table opcode_table = {
    .title = "RoCE Opcodes",
    .name = "roce,opcodes",
    .column = opcode_columns,
    .column_cnt = array_length(opcode_columns),
    .row_size = sizeof(struct opcode_row),
    .packet = opcode_packet,
    .print = opcode_print,
};

void roce_tap_conn_register(void)
{
    roce_stat_register(&conn_table);
    roce_stat_register(&congestion_table);
    roce_stat_register(&opcode_table);
}
