/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics tables of the frames of the tap "roce". The menu Statistics and `tshark -z roce,NAME`
 * show them. A table (tap-roce-conn.c, -oper.c, -loss.c) provides two callbacks: packet() counts a
 * packet in the rows of the table, print() formats a row. This module registers the tables and
 * calls the callbacks.
 *
 * Wireshark may read the cells at any time, so a row is formatted again whenever it changes. Cells
 * are strings, because Wireshark's numeric cells have only 32 bits. Numbers are padded with blanks
 * on the left, so that Wireshark sorts them correctly as strings.
 */
#ifndef PLUGIN_TAP_ROCE_H
#define PLUGIN_TAP_ROCE_H

#include "ws_compat.h"
#include <epan/stat_tap_ui.h>
#include "analysis_store.h"
#include "flow/base/hist.h"
#include "wire/codes.h"

#define ROCE_STAT_CELL_LEN 240 /* size of a cell of text, bytes; longer text is truncated */
#define ROCE_STAT_NUM_LEN  40  /* size of a right-aligned cell, bytes */
/* maximum number of rows of a table, without the row "others", which counts all further keys */
#define ROCE_STAT_ROWS_MAX 100000

struct roce_stat_column {
    const char *name;
    int width;  /* width of the column in tshark, characters; in a right-aligned cell, also the
                 * width of the text */
    bool right; /* right-aligned: a number or a time */
};

struct roce_stat_table {
    const char *title; /* title of the menu entry and of the window */
    const char *name;  /* argument of tshark -z, for example "roce,conn" */
    const struct roce_stat_column *column;
    unsigned column_cnt;
    size_t row_size; /* size of the row structure, bytes */
    /* Counts a packet in the rows to which it belongs. roce_stat_row() returns a row. */
    void (*packet)(struct roce_stat_table *stat, const struct roce_tap *tap, packet_info *pinfo);
    /* Formats a row: one call of roce_stat_text() or a similar function for each column. */
    void (*print)(const void *row, struct roce_stat_table *stat);
    /* Called before Wireshark passes all frames to the tap again; may be NULL. */
    void (*reset)(void);

    /* Private to tap-roce.c. */
    stat_tap_table_ui ui;
    GHashTable *rows;
    GPtrArray *touched; /* rows in which the current packet was counted */
    GSList *retired;    /* removed rows, kept because items of an open window may refer to them */
    stat_tap_table *table;
    char *cell;  /* next cell to format */
    unsigned at; /* column index of the next cell */
    bool others; /* true: the row that is being formatted is "others", the row for keys that have
                  * no row */
};

/* Returns the row with the key `key` (`len` bytes, compared byte by byte). Creates the row if
 * needed; a new row is all zero. If the table is full, returns the row "others". */
void *roce_stat_row(struct roce_stat_table *stat, const void *key, size_t len);

void roce_stat_text(struct roce_stat_table *stat, const char *text);
void roce_stat_num(struct roce_stat_table *stat, uint64_t value);
void roce_stat_hex(struct roce_stat_table *stat, uint64_t value);
void roce_stat_ms(struct roce_stat_table *stat,
                  uint64_t ns); /* formats a duration in ms; for ROCE_NEVER_NS, an empty cell */

/* Formats six cells: minimum, mean, 50th, 90th and 99th percentile, and maximum, in ms. The cells
 * are empty without samples. */
void roce_stat_hist(struct roce_stat_table *stat, const struct roce_hist *hist);
#define ROCE_STAT_HIST_COLUMNS                                                                     \
    {"min ms", 11, true}, {"mean ms", 11, true}, {"p50 ms", 11, true}, {"p90 ms", 11, true},       \
        {"p99 ms", 11, true},                                                                      \
    {                                                                                              \
        "max ms", 11, true                                                                         \
    }

/* Registers a table with Wireshark. `stat` must stay valid. */
void roce_stat_register(struct roce_stat_table *stat);

/* Adds the submenu Statistics -> RoCE with an entry for each registered table. */
void roce_stat_menu_register(int proto);

/* Register the tables of tap-roce-conn.c, tap-roce-oper.c and tap-roce-loss.c. */
void roce_tap_conn_register(void);
void roce_tap_oper_register(int proto);
void roce_tap_loss_register(void);

#endif
