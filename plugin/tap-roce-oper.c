/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports over operations, the memory they touch, and Wireshark's service response times. */
#include <epan/srt_table.h>
#include <epan/to_str.h>
#include <string.h>

#include "srt.h"
#include "tap-roce.h"
#include "wire/opcode.h"

/* ---- operations --------------------------------------------------------------------------------
 */

struct oper {
    enum roce_kind kind;
    uint64_t packets, started, repeated, completed, bytes;
    struct roce_hist latency;
};

static struct roce_flight *flight;

static struct oper *oper_of(struct roce_report *report, enum roce_kind kind)
{
    struct oper *oper = (struct oper *)roce_report_row(report, &kind, sizeof(kind));

    oper->kind = kind;
    return oper;
}

static void oper_done(void *user, const struct roce_flight_done *done)
{
    struct oper *oper = oper_of((struct roce_report *)user, done->kind);

    oper->completed++;
    oper->bytes += done->bytes;
    if (done->ns != ROCE_NEVER_NS)
        roce_hist_add(&oper->latency, done->ns);
}

static void oper_packet(struct roce_report *report, const struct roce_tap *tap, packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;

    if (roce_opcode_is_request(tap->pkt->op) && r->stream != ROCE_NO_STREAM) {
        struct oper *oper = oper_of(report, tap->pkt->op->kind);

        oper->packets++;
        oper->repeated += r->repeats_frame != 0;
        oper->started += tap->pkt->op->svc == ROCE_SVC_UD || roce_flight_starts(tap);
    }
    if (!flight)
        flight = roce_flight_new();
    roce_flight_packet(flight, tap, pinfo, oper_done, report);
}

static void oper_print(const void *row, struct roce_report *report)
{
    const struct oper *oper = (const struct oper *)row;

    roce_report_text(report, roce_kind_name(oper->kind));
    roce_report_num(report, oper->started);
    roce_report_num(report, oper->completed);
    roce_report_num(report, oper->bytes);
    roce_report_num(report, oper->packets);
    roce_report_num(report, oper->repeated);
    roce_report_hist(report, &oper->latency);
}

static void oper_forget(void)
{
    roce_flight_del(flight);
    flight = NULL;
}

static const struct roce_report_column oper_columns[] = {
    {"Operation", 18, false}, {"Started", 9, true},  {"Completed", 9, true},
    {"Bytes", 14, true},      {"Packets", 10, true}, {"Sent again", 10, true},
    ROCE_REPORT_HIST_COLUMNS,
};

static struct roce_report oper_report = {
    .title = "RoCE Operations",
    .name = "roce,oper",
    .column = oper_columns,
    .column_cnt = array_length(oper_columns),
    .row_size = sizeof(struct oper),
    .packet = oper_packet,
    .print = oper_print,
    .forget = oper_forget,
};

/* ---- memory regions ----------------------------------------------------------------------------
 */

struct region {
    char host[64];
    uint32_t rkey;
    uint64_t first, end, requests, written, read;
    unsigned kinds; /* bit per enum roce_kind */
};

static void region_packet(struct roce_report *report, const struct roce_tap *tap,
                          packet_info *pinfo)
{
    const struct roce_flow_result *r = &tap->frame->result;
    enum roce_kind kind = tap->pkt->op->kind;
    uint64_t len = roce_flight_asked(tap->pkt);
    char key[80];
    char *host;
    struct region *region;

    if (!(r->flags & ROCE_AN_REGION) || !roce_flight_starts(tap))
        return;
    host = address_to_str(NULL, &pinfo->dst);
    snprintf(key, sizeof(key), "%s %u", host, r->rkey);
    region = (struct region *)roce_report_row(report, key, strlen(key));
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

static void region_print(const void *row, struct roce_report *report)
{
    const struct region *region = (const struct region *)row;
    char text[ROCE_REPORT_CELL] = "";
    size_t len = 0;

    for (unsigned kind = 0; kind <= ROCE_KIND_CNP; kind++)
        if (region->kinds >> kind & 1 && len < sizeof(text))
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? ", " : "",
                                    roce_kind_name((enum roce_kind)kind));
    roce_report_text(report, region->host);
    roce_report_hex(report, region->rkey);
    roce_report_num(report, region->requests);
    roce_report_hex(report, region->first);
    roce_report_hex(report, region->end);
    roce_report_num(report, region->written);
    roce_report_num(report, region->read);
    roce_report_text(report, text);
}

static const struct roce_report_column region_columns[] = {
    {"Host", 20, false},          {"R_Key", 10, false},       {"Requests", 9, true},
    {"First address", 18, false}, {"End address", 18, false}, {"Bytes written", 14, true},
    {"Bytes read", 14, true},     {"Operations", 30, false},
};

static struct roce_report region_report = {
    .title = "RoCE Memory Regions",
    .name = "roce,mem",
    .column = region_columns,
    .column_cnt = array_length(region_columns),
    .row_size = sizeof(struct region),
    .packet = region_packet,
    .print = region_print,
};

/* ---- service response times --------------------------------------------------------------------
 */

/* One a table: Wireshark has one table a window. */
struct srt {
    struct roce_flight *flight;
    srt_stat_table *table;
    packet_info *pinfo;
};

static void srt_done(void *user, const struct roce_flight_done *done)
{
    struct srt *srt = (struct srt *)user;
    nstime_t begun = {.secs = (time_t)(done->begun / 1000000000u),
                      .nsecs = (int)(done->begun % 1000000000u)};

    if (done->ns != ROCE_NEVER_NS)
        add_srt_table_data(srt->table, (int)done->kind, &begun, srt->pinfo);
}

static tap_packet_status srt_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_,
                                    const void *data, tap_flags_t flags _U_)
{
    srt_stat_table *table = g_array_index(((srt_data_t *)tapdata)->srt_array, srt_stat_table *, 0);
    struct srt *srt = (struct srt *)table->table_specific_data;
    const struct roce_tap *tap = (const struct roce_tap *)data;

    if (!tap->frame)
        return TAP_PACKET_DONT_REDRAW;
    srt->table = table;
    srt->pinfo = pinfo;
    roce_flight_packet(srt->flight, tap, pinfo, srt_done, srt);
    return TAP_PACKET_REDRAW;
}

static void srt_init(struct register_srt *registered _U_, GArray *tables)
{
    static struct srt srt;
    srt_stat_table *table;

    roce_flight_del(srt.flight);
    srt.flight = roce_flight_new();
    table =
        init_srt_table("RDMA operations", NULL, tables, ROCE_KIND_CNP + 1, "Operation", NULL, &srt);
    for (int kind = 0; kind <= ROCE_KIND_CNP; kind++)
        init_srt_table_row(table, kind, roce_kind_name((enum roce_kind)kind));
}

/* ---- registration ------------------------------------------------------------------------------
 */

void roce_report_oper_register(int proto)
{
    roce_report_register(&oper_report);
    roce_report_register(&region_report);
    register_srt_table(proto, NULL, 1, srt_packet, srt_init, NULL);
}
