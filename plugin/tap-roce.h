/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Report: a table over the frames of a tap, in the menu Statistics and as `tshark -z roce,<name>`.
 * A report says how a packet is counted in rows and how a row is printed; the rest is here.
 *
 * Wireshark reads the cells of its tables whenever it likes and tells nobody before: a row is
 * printed each time it is counted in. Cells are texts, because its numbers have 32 bits; numbers
 * are padded on the left so that they sort.
 */
#ifndef PLUGIN_TAP_ROCE_H
#define PLUGIN_TAP_ROCE_H

#include "ws_compat.h"
#include <epan/stat_tap_ui.h>
#include "flow/base/hist.h"
#include "wire/codes.h"
#include "analysis_store.h"

#define ROCE_STAT_CELL_LEN 240 /* bytes of a cell; what does not fit is cut */

struct roce_stat_column {
    const char *name;
    int width;  /* of the column in tshark, and of a number */
    bool right; /* a number or a time */
};

struct roce_stat_table {
    const char *title; /* of the menu entry and the window */
    const char *name;  /* "roce,conn" */
    const struct roce_stat_column *column;
    unsigned column_cnt;
    size_t row_size; /* of what print() is given */
    /* Counts a packet: finds its rows with roce_stat_row(). */
    void (*packet)(struct roce_stat_table *stat, const struct roce_tap *tap, packet_info *pinfo);
    /* Prints a row with roce_stat_text() and so on, column by column. */
    void (*print)(const void *row, struct roce_stat_table *stat);
    void (*reset)(void); /* before another run over the file; may be NULL */

    /* Private to report.c. */
    stat_tap_table_ui ui;
    GHashTable *rows;
    GPtrArray *touched; /* rows of the packet at hand */
    GSList *retired;    /* rows that an open window may still point to */
    stat_tap_table *table;
    char *cell; /* the next one to print */
    unsigned at;
};

/* The row of this key, all zero at first. Keys are compared byte by byte. */
void *roce_stat_row(struct roce_stat_table *stat, const void *key, size_t len);

void roce_stat_text(struct roce_stat_table *stat, const char *text);
void roce_stat_num(struct roce_stat_table *stat, uint64_t value);
void roce_stat_hex(struct roce_stat_table *stat, uint64_t value);
void roce_stat_ms(struct roce_stat_table *stat, uint64_t ns); /* ROCE_NEVER_NS: an empty cell */

/* Six cells: least, mean, 50 %, 90 % and 99 % quantile, and greatest; empty without samples. */
void roce_stat_hist(struct roce_stat_table *stat, const struct roce_hist *hist);
#define ROCE_STAT_HIST_COLUMNS                                                                     \
    {"min ms", 11, true}, {"mean ms", 11, true}, {"p50 ms", 11, true}, {"p90 ms", 11, true},       \
        {"p99 ms", 11, true},                                                                      \
    {                                                                                              \
        "max ms", 11, true                                                                         \
    }

/* `report` must live on. */
void roce_stat_register(struct roce_stat_table *stat);

/* The reports of report_conn.c, report_oper.c and report_loss.c. */
void roce_tap_conn_register(void);
void roce_tap_oper_register(int proto);
void roce_tap_loss_register(void);

#endif
