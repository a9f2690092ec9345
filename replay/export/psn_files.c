/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/psn_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "export/names.h"
#include "wire/psn.h"

#define PATH_LEN 4096u

static const struct {
    const char *name; /* name of the gnuplot data block, and legend */
    /* Gnuplot style of a point; NULL: a vertical bar over the PSNs of the packet. */
    const char *style;
    const char *colour; /* gnuplot colour */
    const char *xplot;  /* xplot colour and mark */
    const char *mark;
} kinds[PSN_KINDS] = {
    [PSN_REQUEST] = {"requests", NULL, "#1f77b4", "white", "line"},
    [PSN_REPEATED] = {"retransmitted requests", NULL, "#d62728", "red", "line"},
    [PSN_RESPONSE] = {"responses", NULL, "#2ca02c", "green", "line"},
    [PSN_REPEATED_RESPONSE] = {"repeated responses", NULL, "#ff7f0e", "orange", "line"},
    [PSN_ACK] = {"acknowledgements", "points pointtype 7 pointsize 0.5", "#7f7f7f", "yellow",
                 "dot"},
    [PSN_NAK] = {"NAK", "points pointtype 2 pointsize 1.5", "#d62728", "red", "x"},
    [PSN_RNR_NAK] = {"RNR NAK", "points pointtype 3 pointsize 1.5", "#9467bd", "purple", "diamond"},
    [PSN_MISSING] = {"missing", NULL, "#000000", "magenta", "line"},
    [PSN_DAMAGED] = {"damaged", "points pointtype 4 pointsize 1.5", "#8c564b", "pink", "box"},
};

/* Returns the distance of `psn` from the first PSN of the graph, without the wrap of PSNs at 2^24.
 * The previous point of the graph has the PSN `before` and the distance `at`. */
static int64_t unwrap_psn(uint32_t psn, uint32_t before, int64_t at)
{
    return at + roce_psn_diff(roce_psn_of(psn), roce_psn_of(before));
}

/* Opens FOLDER/connection-N-SIDE.EXTENSION and stores the path in `path`. */
static FILE *open_graph(const char *folder, const struct psn_point *first, const char *extension,
                        char path[PATH_LEN], struct error *error)
{
    int len = snprintf(path, PATH_LEN, "%s/connection-%" PRIu32 "-%s.%s", folder, first->conn,
                       export_side(first->side), extension);
    FILE *out = (size_t)len < PATH_LEN ? fopen(path, "wb") : NULL;

    if (!out)
        error_set(error, "%s: %s", path, strerror((size_t)len < PATH_LEN ? errno : ENAMETOOLONG));
    return out;
}

static int close_graph(FILE *out, const char *path, struct error *error)
{
    bool failed = ferror(out) != 0;

    if (fclose(out) != 0 || failed)
        return error_set(error, "%s: cannot be written", path);
    return 0;
}

/* ---- writing for gnuplot -----------------------------------------------------------------------
 */

/* Writes the points of one kind as a named data block of gnuplot. Returns the number of points. */
static size_t write_block(FILE *out, const struct psn_point *point, size_t cnt, enum psn_kind kind)
{
    int64_t at = 0;
    size_t written = 0;

    for (size_t i = 0; i < cnt; i++) {
        uint64_t ns = point[i].time < point[0].time ? 0 : point[i].time - point[0].time;

        at = i ? unwrap_psn(point[i].psn, point[i - 1].psn, at) : 0;
        if (point[i].kind != kind)
            continue;
        if (written++ == 0)
            fprintf(out, "# %s\n", kinds[kind].name);
        fprintf(out, "%" PRIu64 ".%09" PRIu64 " %" PRId64 " %" PRIu32 " %" PRIu64 "\n",
                ns / 1000000000u, ns % 1000000000u, at, point[i].cnt, point[i].place >> 1);
    }
    if (written)
        fputs("\n\n", out);
    return written;
}

static void write_script(FILE *out, const struct psn_point *first, const bool has[PSN_KINDS],
                         bool instant)
{
    const char *sep = "plot";
    char data[64];

    snprintf(data, sizeof(data), "connection-%" PRIu32 "-%s.dat", first->conn,
             export_side(first->side));
    fprintf(out,
            "# gnuplot -p %.*s.gp, in this folder\nset title \"connection %" PRIu32
            ", requests of side %s\"\nset xlabel \"time after the first packet (s)\"\nset ylabel "
            "\"PSN relative to the first PSN (%" PRIu32 ")\"\nset key left top\n",
            (int)(strlen(data) - 4), data, first->conn, export_side(first->side), first->psn);
    if (instant)
        fputs("set xrange [-0.001:0.001]\n", out);
    for (unsigned kind = 0; kind < PSN_KINDS; kind++) {
        if (!has[kind])
            continue;
        fprintf(out, "%s '%s' index '%s' ", sep, data, kinds[kind].name);
        if (kinds[kind].style)
            fprintf(out, "using 1:2 with %s ", kinds[kind].style);
        else
            fprintf(out, "using 1:2:(0):3 with vectors nohead linewidth 2 ");
        fprintf(out, "linecolor rgb '%s' title '%s'", kinds[kind].colour, kinds[kind].name);
        sep = ", \\\n    ";
    }
    fputc('\n', out);
}

static uint64_t last_time(const struct psn_point *point, size_t cnt)
{
    uint64_t last = 0;

    for (size_t i = 0; i < cnt; i++)
        last = point[i].time > last ? point[i].time : last;
    return last;
}

static int write_gnuplot(const char *folder, const struct psn_point *point, size_t cnt,
                         struct error *error)
{
    char path[PATH_LEN];
    FILE *out = open_graph(folder, point, "dat", path, error);
    bool has[PSN_KINDS];

    if (!out)
        return -1;
    fputs("# seconds, PSN relative to the first, number of PSNs, frame\n", out);
    for (unsigned kind = 0; kind < PSN_KINDS; kind++)
        has[kind] = write_block(out, point, cnt, kind) > 0;
    if (close_graph(out, path, error) != 0)
        return -1;
    out = open_graph(folder, point, "gp", path, error);
    if (!out)
        return -1;
    write_script(out, point, has, last_time(point, cnt) <= point->time);
    return close_graph(out, path, error);
}

/* ---- writing for xplot -------------------------------------------------------------------------
 */

static int write_xplot(const char *folder, const struct psn_point *point, size_t cnt,
                       struct error *error)
{
    char path[PATH_LEN];
    FILE *out = open_graph(folder, point, "xpl", path, error);
    int64_t at = 0;

    if (!out)
        return -1;
    fprintf(out,
            "timeval signed\ntitle\nconnection %" PRIu32 ", requests of side %s\n"
            "xlabel\n"
            "time\n"
            "ylabel\n"
            "PSN relative to the first PSN (%" PRIu32 ")\n",
            point->conn, export_side(point->side), point->psn);
    for (size_t i = 0; i < cnt; i++) {
        uint64_t us = point[i].time / 1000;
        char x[32];

        at = i ? unwrap_psn(point[i].psn, point[i - 1].psn, at) : 0;
        snprintf(x, sizeof(x), "%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
        fprintf(out, "%s\n%s %s %" PRId64, kinds[point[i].kind].xplot, kinds[point[i].kind].mark, x,
                at);
        if (strcmp(kinds[point[i].kind].mark, "line") == 0)
            fprintf(out, " %s %" PRId64, x, at + point[i].cnt);
        fputc('\n', out);
    }
    fputs("go\n", out);
    return close_graph(out, path, error);
}

int psn_files_write(enum psn_format format, const char *folder, const struct psn_point *point,
                    size_t cnt, struct error *error)
{
    return format == PSN_XPLOT ? write_xplot(folder, point, cnt, error)
                               : write_gnuplot(folder, point, cnt, error);
}
