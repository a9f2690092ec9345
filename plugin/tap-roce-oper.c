/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of operations and of the remote memory that they access, and service response times. */
#include <epan/srt_table.h>
#include <epan/to_str.h>
#include <string.h>

#include "srt.h"
#include "tap-roce.h"
#include "wire/opcode.h"

/* ---- table of operations -----------------------------------------------------------------------
 */

struct oper_row {
    enum roce_kind kind;
    uint64_t packets, started, repeated, completed, bytes;
    struct roce_hist latency;
};

static struct oper_row *get_oper_row(struct roce_stat_table *stat, enum roce_kind kind)
{
    struct oper_row *oper = (struct oper_row *)roce_stat_row(stat, &kind, sizeof(kind));

    oper->kind = kind;
    return oper;
}

static void oper_done(void *user, const struct roce_flow_done *done)
{
    struct oper_row *oper = get_oper_row((struct roce_stat_table *)user, done->kind);

    oper->completed++;
    oper->bytes += done->bytes;
    if (done->ns != ROCE_NEVER_NS)
        roce_hist_add(&oper->latency, done->ns);
}

static void oper_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                        packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;

    if (roce_opcode_is_request(tap->pkt->op) && r->conn_index != ROCE_NO_CONN) {
        struct oper_row *oper = get_oper_row(stat, tap->pkt->op->kind);

        oper->packets++;
        oper->repeated += (r->flags & ROCE_AN_RETRANSMISSION) != 0;
        oper->started += tap->pkt->op->svc == ROCE_SVC_UD || roce_srt_starts_op(tap);
    }
    roce_srt_packet(tap, pinfo, oper_done, stat);
}

static void oper_print(const void *row, struct roce_stat_table *stat)
{
    const struct oper_row *oper = (const struct oper_row *)row;

    roce_stat_text(stat, roce_kind_name(oper->kind));
    roce_stat_num(stat, oper->started);
    roce_stat_num(stat, oper->completed);
    roce_stat_num(stat, oper->bytes);
    roce_stat_num(stat, oper->packets);
    roce_stat_num(stat, oper->repeated);
    roce_stat_hist(stat, &oper->latency);
}

static const struct roce_stat_column oper_columns[] = {
    {"Operation", 18, false}, {"Started", 9, true},  {"Completed", 9, true},
    {"Bytes", 14, true},      {"Packets", 10, true}, {"Retransmitted", 13, true},
    ROCE_STAT_HIST_COLUMNS,
};

static struct roce_stat_table oper_table = {
    .title = "RoCE Operations",
    .name = "roce,oper",
    .column = oper_columns,
    .column_cnt = array_length(oper_columns),
    .row_size = sizeof(struct oper_row),
    .packet = oper_packet,
    .print = oper_print,
};

/* ---- table of memory regions -------------------------------------------------------------------
 */

struct region_row {
    char host[64];
    uint32_t rkey;
    uint64_t first, end, requests, written, read;
    unsigned kinds; /* bit set of request kinds: bit N is set for value N of enum roce_kind */
};

static void region_packet(struct roce_stat_table *stat, const struct roce_tap *tap,
                          packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    enum roce_kind kind = tap->pkt->op->kind;
    uint64_t len = roce_srt_region_bytes(tap->pkt);
    char key[80];
    char *host;
    struct region_row *region;

    if (!(r->flags & ROCE_AN_REGION) || !roce_srt_starts_op(tap))
        return;
    host = address_to_str(NULL, &pinfo->dst);
    snprintf(key, sizeof(key), "%s %u", host, r->rkey);
    region = (struct region_row *)roce_stat_row(stat, key, strlen(key));
    snprintf(region->host, sizeof(region->host), "%s", host);
    wmem_free(NULL, host);
    if (region->requests++ == 0) {
        region->rkey = r->rkey;
        region->first = r->va;
        region->end = r->va + len;
    }
    region->first = MIN(region->first, r->va);
    region->end = MAX(region->end, r->va + len);
    region->kinds |= 1u << kind;
    if (kind != ROCE_KIND_READ && kind != ROCE_KIND_FLUSH)
        region->written += len;
    if (kind == ROCE_KIND_READ)
        region->read += len;
}

static void region_print(const void *row, struct roce_stat_table *stat)
{
    const struct region_row *region = (const struct region_row *)row;
    char text[ROCE_STAT_CELL_LEN] = "";
    size_t len = 0;

    for (unsigned kind = 0; kind <= ROCE_KIND_CNP; kind++)
        if (region->kinds >> kind & 1 && len < sizeof(text))
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
                                    roce_kind_name((enum roce_kind)kind));
    roce_stat_text(stat, region->host);
    roce_stat_hex(stat, region->rkey);
    roce_stat_num(stat, region->requests);
    roce_stat_hex(stat, region->first);
    roce_stat_hex(stat, region->end);
    roce_stat_num(stat, region->written);
    roce_stat_num(stat, region->read);
    roce_stat_text(stat, text);
}

static const struct roce_stat_column region_columns[] = {
    {"Host", 20, false},          {"R_Key", 10, false},       {"Requests", 9, true},
    {"First address", 18, false}, {"End address", 18, false}, {"Bytes written", 14, true},
    {"Bytes read", 14, true},     {"Operations", 30, false},
};

static struct roce_stat_table region_table = {
    .title = "RoCE Memory Regions",
    .name = "roce,mem",
    .column = region_columns,
    .column_cnt = array_length(region_columns),
    .row_size = sizeof(struct region_row),
    .packet = region_packet,
    .print = region_print,
};

/* ---- service response times --------------------------------------------------------------------
 */

/* Argument of srt_done(): the table of service response times of one window, and the current
 * packet. */
struct srt_window {
    srt_stat_table *table;
    packet_info *pinfo;
};

static void srt_done(void *user, const struct roce_flow_done *done)
{
    struct srt_window *srt = (struct srt_window *)user;
    nstime_t start = {.secs = (time_t)(done->start / 1000000000u),
                      .nsecs = (int)(done->start % 1000000000u)};

    if (done->ns != ROCE_NEVER_NS)
        add_srt_table_data(srt->table, (int)done->kind, &start, srt->pinfo);
}

static tap_packet_status srt_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_,
                                    const void *data, tap_flags_t flags _U_)
{
    srt_stat_table *table = g_array_index(((srt_data_t *)tapdata)->srt_array, srt_stat_table *, 0);
    struct srt_window *srt = (struct srt_window *)table->table_specific_data;
    const struct roce_tap *tap = (const struct roce_tap *)data;

    if (!tap->frame)
        return TAP_PACKET_DONT_REDRAW;
    srt->table = table;
    srt->pinfo = pinfo;
    roce_srt_packet(tap, pinfo, srt_done, srt);
    return TAP_PACKET_REDRAW;
}

static void srt_init(struct register_srt *registered _U_, GArray *tables)
{
    static struct srt_window srt;
    srt_stat_table *table;

    table =
        init_srt_table("RDMA operations", NULL, tables, ROCE_KIND_CNP + 1, "Operation", NULL, &srt);
    for (int kind = 0; kind <= ROCE_KIND_CNP; kind++)
        init_srt_table_row(table, kind, roce_kind_name((enum roce_kind)kind));
}

/* ---- registering the tables --------------------------------------------------------------------
 */

void roce_tap_oper_register(int proto)
{
    roce_stat_register(&oper_table);
    roce_stat_register(&region_table);
    register_srt_table(proto, NULL, 1, srt_packet, srt_init, NULL);
}
