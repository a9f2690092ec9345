/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "monitor/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "util/strbuf.h"

#define PLAIN_LINES   10u /* maximum number of rows in one table of a file or pipe */
#define HEAD_LINES    3u  /* number of terminal lines above and below the rows */
#define DEFAULT_LINES 24u

static const int state_rank[] = {[MONITOR_OK] = 2,
                                 [MONITOR_IDLE] = 1,
                                 [MONITOR_TROUBLE] = 4,
                                 [MONITOR_CLOSED] = 0,
                                 [MONITOR_FAILED] = 3};

static uint64_t trouble_of(const struct monitor_counts *c)
{
    return c->retransmitted + c->missing + c->rnr_naks + c->naks + c->damaged + c->cnps;
}

/* Order of the rows: by state, then by problems in the latest interval, then by problems since the
 * start of the capture, then by payload in the latest interval. */
static int compare_rows(const void *a, const void *b)
{
    const struct monitor_row *x = *(const struct monitor_row *const *)a;
    const struct monitor_row *y = *(const struct monitor_row *const *)b;
    const uint64_t keys[][2] = {
        {(uint64_t)state_rank[monitor_state(x)], (uint64_t)state_rank[monitor_state(y)]},
        {trouble_of(&x->step), trouble_of(&y->step)},
        {trouble_of(&x->sum), trouble_of(&y->sum)},
        {x->step.payload, y->step.payload},
        {y->conn_index, x->conn_index},
    };

    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] > keys[i][1] ? -1 : 1;
    return 0;
}

static void add_end(struct strbuf *t, const struct monitor_row *row, unsigned side)
{
    strbuf_add_addr(t, row->addr[side]);
    if (row->qpn[side] == ROCE_QPN_UNKNOWN)
        strbuf_addf(t, " QP ?");
    else
        strbuf_addf(t, " QP 0x%06" PRIx32, row->qpn[side]);
}

/* Prints a UTF-8 text right-aligned in a field of `width` characters. */
static void print_field(FILE *out, const char *text, int width)
{
    int len = 0;

    for (const char *p = text; *p; p++)
        len += (*p & 0xC0) != 0x80;
    fprintf(out, " %*s%s", width > len ? width - len : 0, "", text);
}

static void print_mean(FILE *out, uint64_t sum, uint64_t cnt)
{
    char buf[32] = "-";
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (cnt)
        strbuf_add_duration(&t, sum / cnt);
    else
        strbuf_addf(&t, "-");
    print_field(out, buf, 9);
}

static void print_row(FILE *out, const struct monitor_row *row, uint64_t ns)
{
    const struct monitor_counts *s = &row->step;
    char ends[160], rate[32];
    struct strbuf t = strbuf_of(ends, sizeof(ends));

    strbuf_addf(&t, "#%" PRIu32 " %s ", row->conn_index, roce_svc_name(row->svc));
    add_end(&t, row, 0);
    strbuf_addf(&t, " - ");
    add_end(&t, row, 1);
    snprintf(rate, sizeof(rate), "%.3f", ns ? (double)s->payload * 8 / (double)ns : 0);
    fprintf(out, "%-54s %7s %9s %7" PRIu64 " %7" PRIu64 " %5" PRIu64 " %5" PRIu64 " %5" PRIu64,
            ends, monitor_state_name(monitor_state(row)), rate, s->retransmitted, s->missing,
            s->rnr_naks, s->naks, s->cnps);
    print_mean(out, s->rtt_ns, s->rtt_cnt);
    print_mean(out, s->latency_ns, s->latency_cnt);
}

/* Returns how many rows of the table fit on the terminal. */
static uint32_t terminal_rows(FILE *out)
{
    struct winsize size = {0};

    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_row <= HEAD_LINES + 1)
        return DEFAULT_LINES - HEAD_LINES;
    return size.ws_row - HEAD_LINES - 1;
}

void table_print(FILE *out, bool terminal, const struct monitor_row **row, uint32_t cnt,
                 uint64_t time, uint64_t ns)
{
    /* The escape sequence clears the rest of the line. */
    const char *end = terminal ? "\x1b[K\n" : "\n";
    uint32_t max = terminal ? terminal_rows(out) : PLAIN_LINES, shown = cnt < max ? cnt : max;
    time_t seconds = (time_t)(time / 1000000000u);
    char stamp[32] = "";
    struct tm tm;

    qsort(row, cnt, sizeof(*row), compare_rows);
    if (gmtime_r(&seconds, &tm))
        strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
    if (terminal)
        fputs("\x1b[H", out); /* moves the cursor to the upper left corner */
    fprintf(out, "%s.%03u UTC, %" PRIu32 " connection%s%s", stamp,
            (unsigned)(time / 1000000u % 1000u), cnt, cnt == 1 ? "" : "s", end);
    fprintf(out, "%-54s %7s %9s %7s %7s %5s %5s %5s %9s %9s%s", "connection", "state", "Gbit/s",
            "retrans", "missing", "RNR", "NAK", "CNP", "ACK RTT", "latency", end);
    for (uint32_t i = 0; i < shown; i++) {
        print_row(out, row[i], ns);
        fputs(end, out);
    }
    if (shown < cnt)
        fprintf(out, "and %" PRIu32 " more%s", cnt - shown, end);
    if (terminal)
        fputs("\x1b[J", out); /* clears the rest of the screen */
    fflush(out);
}
