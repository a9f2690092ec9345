/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "check/base/conn_state.h"
#include "export/names.h"
#include "util/strbuf.h"

static const char *const side_columns[] = {"address",
                                           "qpn",
                                           "packets",
                                           "bytes",
                                           "payload_sent",
                                           "goodput_bytes",
                                           "missing_psns",
                                           "out_of_order",
                                           "duplicates",
                                           "bad_icrc",
                                           "psn_naks",
                                           "rnr_naks",
                                           "fatal_naks",
                                           "retransmissions",
                                           "retransmitted_packets",
                                           "retransmitted_bytes",
                                           "stalled_ns",
                                           "ce_marked",
                                           "cnps",
                                           "max_bytes_in_flight",
                                           "ack_rtt_count",
                                           "ack_rtt_p50_ns",
                                           "ack_rtt_p99_ns",
                                           "ack_rtt_max_ns"};

/* ---- writing fields ----------------------------------------------------------------------------
 */

/* Writes a text as one quoted field of CSV (RFC 4180). */
static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Writes the first two fields of a row: capture and connection. */
static void begin_row(const struct csv *csv, FILE *out, uint32_t conn_index)
{
    put_text(out, csv->name);
    if (conn_index == ROCE_NO_CONN)
        fputc(',', out);
    else
        fprintf(out, ",%" PRIu32, conn_index);
}

static void put_number(FILE *out, uint64_t v)
{
    fprintf(out, ",%" PRIu64, v);
}

/* ---- the table of connections ------------------------------------------------------------------
 */

static void put_side(FILE *out, const struct check_conn *conn, unsigned i)
{
    const struct roce_endpoint_summary *s = &conn->sum.side[i];
    const struct roce_retx_summary retx = check_side_retransmitted(s);
    const struct check_latency *rtt = &conn->rtt[i];
    const uint64_t numbers[] = {s->packets,      s->bytes,
                                s->payload_sent, check_side_goodput(s),
                                s->missing_psns, s->out_of_order,
                                s->duplicates,   s->bad_icrc,
                                s->psn_naks,     s->rnr_naks,
                                s->fatal_naks,   retx.go_backs,
                                retx.packets,    retx.bytes,
                                retx.stalled_ns, s->ce_marked,
                                s->cnps,         s->max_bytes_in_flight,
                                rtt->cnt};
    const uint64_t times[] = {rtt->p50_ns, rtt->p99_ns, rtt->max_ns};
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, s->addr);
    fprintf(out, ",%s,", buf);
    if (s->qpn != ROCE_QPN_UNKNOWN)
        fprintf(out, "%" PRIu32, s->qpn);
    for (unsigned k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
        put_number(out, numbers[k]);
    for (unsigned k = 0; k < sizeof(times) / sizeof(times[0]); k++)
        if (rtt->cnt)
            put_number(out, times[k]);
        else
            fputc(',', out); /* there is no sample: the field is empty */
}

static void on_conn(void *user, const struct roce_conn_summary *sum)
{
    struct csv *csv = user;
    FILE *out = csv->table[CSV_CONNECTIONS];
    struct check_conn conn;

    check_conn_set(&conn, sum);
    begin_row(csv, out, sum->facts.conn_index);
    fprintf(out, ",%s,%d,%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
            roce_svc_name(sum->facts.svc), sum->facts.paired, sum->facts.first_frame,
            sum->facts.last_frame, sum->facts.first_time, sum->facts.last_time,
            sum->facts.findings[ROCE_SEV_ERROR], sum->facts.findings[ROCE_SEV_WARN]);
    fprintf(out, ",%s,%d", check_verdict_name(check_conn_verdict(sum)), check_conn_failed(sum));
    put_side(out, &conn, 0);
    put_side(out, &conn, 1);
    fputc('\n', out);
}

/* ---- the tables of operations and findings -----------------------------------------------------
 */

static void on_done(void *user, const struct roce_flow_done *done)
{
    spool_put(&((struct csv *)user)->done, done);
}

/* A struct roce_finding points only to static strings, so its bytes can be stored and read back. */
static void on_finding(void *user, const struct roce_finding *finding)
{
    spool_put(&((struct csv *)user)->finding, finding);
}

static void write_operations(struct csv *csv, const struct roce_flow *flow)
{
    FILE *out = csv->table[CSV_OPERATIONS];
    struct roce_flow_done done;

    spool_rewind(&csv->done);
    while (spool_get(&csv->done, &done)) {
        struct roce_flow_owner owner = roce_flow_owner(flow, done.conn_index, done.side);

        begin_row(csv, out, owner.conn_index);
        fprintf(out, ",%s,%" PRIu32 ",%s,%" PRIu64 ",%" PRIu64 ",", export_side(owner.side),
                done.frame, export_oper(export_oper_of(done.kind)), done.bytes, done.start);
        if (done.ns != ROCE_NEVER_NS)
            fprintf(out, "%" PRIu64, done.ns);
        fputc('\n', out);
    }
    spool_clear(&csv->done);
}

static void write_findings(struct csv *csv, const struct roce_flow *flow)
{
    FILE *out = csv->table[CSV_FINDINGS];
    struct roce_finding finding;
    char buf[1024];

    spool_rewind(&csv->finding);
    while (spool_get(&csv->finding, &finding)) {
        struct roce_flow_owner owner = {.conn_index = ROCE_NO_CONN};

        if (finding.conn_index != ROCE_NO_CONN)
            owner = roce_flow_owner(flow, finding.conn_index, finding.side);
        begin_row(csv, out, owner.conn_index);
        fprintf(out, ",%s,%" PRIu32 ",%" PRIu64 ",%s,%s,%s,",
                owner.conn_index == ROCE_NO_CONN ? "" : export_side(owner.side), finding.frame,
                finding.time, roce_rule_info(finding.rule)->id, export_severity(finding.severity),
                finding.known ? finding.known : "");
        put_text(out, roce_finding_text(&finding, buf, sizeof(buf)));
        fputc('\n', out);
    }
    spool_clear(&csv->finding);
}

static void on_end(void *user, const struct roce_flow *flow)
{
    write_operations(user, flow);
    write_findings(user, flow);
}

/* ---- opening and closing the tables ------------------------------------------------------------
 */

static void write_columns(struct csv *csv)
{
    FILE *out = csv->table[CSV_CONNECTIONS];

    fputs("file,connection,service,paired,first_frame,last_frame,first_time_ns,last_time_ns,errors,"
          "warnings,verdict,failed",
          out);
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < sizeof(side_columns) / sizeof(side_columns[0]); i++)
            fprintf(out, ",%s_%s", export_side(side), side_columns[i]);
    fputc('\n', out);
    fputs("file,connection,side,frame,operation,bytes,start_ns,latency_ns\n",
          csv->table[CSV_OPERATIONS]);
    fputs("file,connection,side,frame,time_ns,rule,severity,known,text\n",
          csv->table[CSV_FINDINGS]);
}

int csv_open(struct csv *csv, const char *folder, struct error *error)
{
    static const char *const names[CSV_TABLES] = {"connections", "operations", "findings"};

    if (spool_init(&csv->done, sizeof(struct roce_flow_done), error) != 0 ||
        spool_init(&csv->finding, sizeof(struct roce_finding), error) != 0)
        return -1;
    for (unsigned i = 0; i < CSV_TABLES; i++) {
        char path[4096];
        int len = snprintf(path, sizeof(path), "%s/%s.csv", folder, names[i]);

        if ((size_t)len >= sizeof(path))
            return error_set(error, "%s: %s", folder, strerror(ENAMETOOLONG));
        csv->table[i] = fopen(path, "wb");
        if (!csv->table[i])
            return error_set(error, "%s: %s", path, strerror(errno));
    }
    write_columns(csv);
    return 0;
}

void csv_begin(struct csv *csv, const char *name)
{
    csv->name = name;
}

struct check_watch csv_watch(struct csv *csv)
{
    return (struct check_watch){.user = csv,
                                .on_done = on_done,
                                .on_finding = on_finding,
                                .on_conn = on_conn,
                                .on_end = on_end};
}

int csv_close(struct csv *csv)
{
    int rc = csv->done.failed || csv->finding.failed ? -1 : 0;

    for (unsigned i = 0; i < CSV_TABLES; i++) {
        if (!csv->table[i])
            continue;
        if (ferror(csv->table[i]))
            rc = -1;
        if (fclose(csv->table[i]) != 0)
            rc = -1;
    }
    spool_free(&csv->done);
    spool_free(&csv->finding);
    return rc;
}
