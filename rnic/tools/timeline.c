/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "verbs/timeline_record.h"

static const char *opcode_name(uint8_t opcode)
{
    switch (opcode) {
    case RNIC_WC_SEND: return "SEND";
    case RNIC_WC_RDMA_WRITE: return "WRITE";
    case RNIC_WC_RDMA_READ: return "READ";
    case RNIC_WC_COMP_SWAP: return "CMP_SWAP";
    case RNIC_WC_FETCH_ADD: return "FETCH_ADD";
    case RNIC_WC_BIND_MW: return "BIND_MW";
    case RNIC_WC_LOCAL_INV: return "LOCAL_INV";
    case RNIC_WC_FLUSH: return "FLUSH";
    case RNIC_WC_ATOMIC_WRITE: return "ATOMIC_WRITE";
    default: return "?";
    }
}

/* phases of a request; a phase lasts from one step of struct timeline_record to another */
static const struct {
    enum timeline_at from, to;
    const char *name;
} parts[] = {
    {TIMELINE_POSTED, TIMELINE_SEEN, "posted - processed by the RNIC"},
    {TIMELINE_SEEN, TIMELINE_FIRST, "processed - first packet"},
    {TIMELINE_FIRST, TIMELINE_LAST, "first - last packet"},
    {TIMELINE_LAST, TIMELINE_ACKED, "last packet - acknowledged"},
    {TIMELINE_ACKED, TIMELINE_CQE, "acknowledged - CQE written"},
    {TIMELINE_CQE, TIMELINE_POLLED, "CQE written - polled"},
    {TIMELINE_POSTED, TIMELINE_POLLED, "posted - polled"},
};
#define PARTS (sizeof parts / sizeof *parts)

/* ---- printing the rows ----------------------------------------------------------------------- */

static void print_row(const struct timeline_record *record, uint64_t start, FILE *out)
{
    const uint64_t *at = record->at;
    fprintf(out, "%7" PRIu32 " %06" PRIx32 " %16" PRIx64 " %-12s %10" PRIu32 " %-14s %6" PRIu32,
            record->pid, record->qpn, record->wr_id,
            record->done ? opcode_name(record->opcode) : "-", record->bytes,
            record->done ? rnic_wc_status_name((enum rnic_wc_status)record->status) : "unfinished",
            record->resent);
    fprintf(out, " %12.1f", (double)(at[TIMELINE_POSTED] - start) / 1e3);
    for (unsigned i = TIMELINE_SEEN; i < TIMELINE_CNT; i++)
        if (at[i])
            fprintf(out, " %9.1f", (double)(at[i] - at[TIMELINE_POSTED]) / 1e3);
        else
            fprintf(out, " %9s", "-");
    fputc('\n', out);
}

static void print_rows(const struct timeline_record *records, size_t cnt, uint64_t utc_offset,
                       FILE *out)
{
    uint64_t posted = records[0].at[TIMELINE_POSTED] + utc_offset;
    fprintf(out,
            "Send work requests. POSTED is in us after the first request was posted; the times "
            "right of it are in us after POSTED. The first request was posted at UNIX time %" PRIu64
            ".%09" PRIu64 ".\n",
            posted / UINT64_C(1000000000), posted % UINT64_C(1000000000));
    fprintf(out, "%7s %6s %16s %-12s %10s %-14s %6s %12s", "PID", "QPN", "WR_ID", "OPERATION",
            "BYTES", "STATUS", "RESENT", "POSTED");
    static const char *const names[] = {"SEEN", "FIRST", "LAST", "ACKED", "CQE", "POLLED"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(out, " %9s", names[i]);
    fputc('\n', out);
    for (size_t i = 0; i < cnt; i++)
        print_row(&records[i], records[0].at[TIMELINE_POSTED], out);
}

/* ---- printing the percentiles ---------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Prints percentiles of the duration of one phase, over all successful requests with this opcode,
 * and the number of these requests. `room` must have space for `cnt` numbers. */
static void print_part(const struct timeline_record *records, size_t cnt, uint8_t opcode,
                       size_t part, uint64_t *room, FILE *out)
{
    static const double levels[] = {0.5, 0.9, 0.99, 0.999};
    size_t have = 0;
    for (size_t i = 0; i < cnt; i++) {
        const uint64_t *at = records[i].at;
        uint64_t from = at[parts[part].from], to = at[parts[part].to];
        if (records[i].done && records[i].opcode == opcode &&
            records[i].status == RNIC_WC_SUCCESS && from && to)
            /* If a packet is acknowledged before its retransmission is sent, the two steps have the
             * opposite order: the duration is then 0. */
            room[have++] = to > from ? to - from : 0;
    }
    fprintf(out, "  %-28s %9zu", parts[part].name, have);
    if (have == 0) {
        fputc('\n', out);
        return;
    }
    qsort(room, have, sizeof *room, by_value);
    fprintf(out, " %9.1f", (double)room[0] / 1e3);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        fprintf(out, " %9.1f", (double)room[(size_t)(levels[i] * (double)(have - 1))] / 1e3);
    fprintf(out, " %9.1f\n", (double)room[have - 1] / 1e3);
}

static void print_summary(const struct timeline_record *records, size_t cnt, uint64_t *room,
                          FILE *out)
{
    for (unsigned opcode = 0; opcode < RNIC_WC_RECV; opcode++) {
        size_t have = 0, failed = 0, unfinished = 0;
        uint64_t bytes = 0, resent = 0;
        for (size_t i = 0; i < cnt; i++) {
            const struct timeline_record *record = &records[i];
            unfinished += !record->done;
            if (!record->done || record->opcode != opcode)
                continue;
            have++;
            failed += record->status != RNIC_WC_SUCCESS;
            bytes += record->bytes;
            resent += record->resent;
        }
        if (opcode == 0 && unfinished)
            fprintf(out, "%zu requests were not finished\n", unfinished);
        if (!have)
            continue;
        fprintf(out,
                "%s: %zu requests, %" PRIu64 " bytes, %zu failed, %" PRIu64
                " packets retransmitted\n",
                opcode_name((uint8_t)opcode), have, bytes, failed, resent);
        fprintf(out, "  %-28s %9s %9s %9s %9s %9s %9s %9s\n", "us", "count", "min", "50 %", "90 %",
                "99 %", "99.9 %", "max");
        for (size_t part = 0; part < PARTS; part++)
            print_part(records, cnt, (uint8_t)opcode, part, room, out);
    }
}

/* ---- reading the records --------------------------------------------------------------------- */

static int by_posting(const void *a, const void *b)
{
    const struct timeline_record *x = a, *y = b;
    return by_value(&x->at[TIMELINE_POSTED], &y->at[TIMELINE_POSTED]);
}

/* Reads up to `cnt` records. Skips incomplete records, which were written when the disk was full.
 * Returns the number of records read. */
static size_t read_records(FILE *file, struct timeline_record *records, size_t cnt)
{
    size_t have = 0;
    while (have < cnt) {
        uint8_t *at = (uint8_t *)&records[have];
        size_t len = fread(at, 1, sizeof *records, file);
        while (len == sizeof *records && records[have].mark != TIMELINE_MARK) {
            memmove(at, at + 1, sizeof *records - 1);
            len = sizeof *records - 1 + fread(at + sizeof *records - 1, 1, 1, file);
        }
        if (len < sizeof *records)
            break;
        have++;
    }
    return have;
}

bool timeline_print(const char *name, uint64_t utc_offset, FILE *rows, FILE *summary)
{
    FILE *file = fopen(name, "re");
    if (!file)
        return false;
    struct timeline_record *records = NULL;
    size_t cnt = 0, cap = 0;
    bool whole = true;
    for (;;) {
        if (cnt == cap) {
            cap = cap ? 2 * cap : 1024;
            struct timeline_record *grown = realloc(records, cap * sizeof *records);
            whole = grown != NULL;
            if (!whole)
                break;
            records = grown;
        }
        size_t got = read_records(file, &records[cnt], cap - cnt);
        cnt += got;
        if (got == 0)
            break;
    }
    whole = whole && !ferror(file);
    int error = whole ? 0 : errno;
    fclose(file);
    uint64_t *room = whole ? malloc((cnt + 1) * sizeof *room) : NULL;
    if (room && cnt) {
        qsort(records, cnt, sizeof *records, by_posting);
        print_rows(records, cnt, utc_offset, rows);
        print_summary(records, cnt, room, summary);
    } else if (room) {
        fputs("No work request was posted.\n", summary);
    }
    free(room);
    free(records);
    errno = whole ? ENOMEM : error;
    return room != NULL;
}
