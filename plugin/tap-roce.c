/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tap-roce.h"

#include <stdio.h>
#include <string.h>

#define REPORTS_MAX 16

struct row {
    GBytes *key;
    unsigned index; /* in Wireshark's table */
    stat_tap_table_item_type *items;
    char *cells;
    void *counts;
};

/* Wireshark's callbacks for a table name the table alone. */
static struct roce_report *all[REPORTS_MAX];
static unsigned all_cnt;

static struct roce_report *report_of(const stat_tap_table *table)
{
    for (unsigned i = 0; i < all_cnt; i++)
        if (all[i]->table == table)
            return all[i];
    return NULL;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static void free_row(void *p)
{
    struct row *row = (struct row *)p;

    g_bytes_unref(row->key);
    g_free(row->cells);
    g_free(row->counts);
    g_free(row);
}

static void free_buried(void *p)
{
    struct row *row = (struct row *)p;

    g_free(row->items);
    free_row(row);
}

/* Every row goes; the items stay for windows that are still open. */
static void bury(struct roce_report *report)
{
    GHashTableIter iter;
    void *key, *row;

    if (report->forget)
        report->forget();
    if (!report->rows)
        return;
    g_hash_table_iter_init(&iter, report->rows);
    while (g_hash_table_iter_next(&iter, &key, &row)) {
        report->buried = g_slist_prepend(report->buried, row);
        g_hash_table_iter_steal(&iter);
    }
    if (report->table) {
        g_free(report->table->elements);
        report->table->elements = NULL;
        report->table->num_elements = 0;
    }
}

static struct row *new_row(struct roce_report *report, GBytes *key)
{
    stat_tap_table_item_type *items = g_new0(stat_tap_table_item_type, report->column_cnt);
    struct row *row = g_new0(struct row, 1);

    row->key = key;
    row->index = report->table->num_elements;
    row->counts = g_malloc0(report->row_size);
    row->cells = (char *)g_malloc0((gsize)report->column_cnt * ROCE_REPORT_CELL);
    for (unsigned i = 0; i < report->column_cnt; i++) {
        items[i].type = TABLE_ITEM_STRING;
        items[i].value.string_value = row->cells + (size_t)i * ROCE_REPORT_CELL;
    }
    stat_tap_init_table_row(report->table, row->index, report->column_cnt, items);
    g_free(items);
    row->items = report->table->elements[row->index];
    g_hash_table_insert(report->rows, row->key, row);
    return row;
}

void *roce_report_row(struct roce_report *report, const void *key, size_t len)
{
    GBytes *bytes = g_bytes_new(key, len);
    struct row *row = (struct row *)g_hash_table_lookup(report->rows, bytes);

    if (row)
        g_bytes_unref(bytes);
    else
        row = new_row(report, bytes);
    g_ptr_array_add(report->touched, row);
    return row->counts;
}

/* ---- cells -------------------------------------------------------------------------------------
 */

void roce_report_text(struct roce_report *report, const char *text)
{
    const struct roce_report_column *column = &report->column[report->at];

    if (report->at >= report->column_cnt)
        return;
    snprintf(report->cell, ROCE_REPORT_CELL, "%*s", column->right && *text ? column->width : 0,
             text);
    report->cell += ROCE_REPORT_CELL;
    report->at++;
}

void roce_report_num(struct roce_report *report, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    roce_report_text(report, text);
}

void roce_report_hex(struct roce_report *report, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%0*" PRIx64, value >> 32 ? 16 : 8, value);
    roce_report_text(report, text);
}

void roce_report_ms(struct roce_report *report, uint64_t ns)
{
    char text[40] = "";

    if (ns != ROCE_NEVER_NS)
        snprintf(text, sizeof(text), "%" PRIu64 ".%06u", ns / 1000000, (unsigned)(ns % 1000000));
    roce_report_text(report, text);
}

void roce_report_hist(struct roce_report *report, const struct roce_hist *hist)
{
    bool some = hist->total > 0;

    roce_report_ms(report, some ? hist->min : ROCE_NEVER_NS);
    roce_report_ms(report, some ? hist->sum / hist->total : ROCE_NEVER_NS);
    roce_report_ms(report, some ? roce_hist_quantile(hist, 500) : ROCE_NEVER_NS);
    roce_report_ms(report, some ? roce_hist_quantile(hist, 900) : ROCE_NEVER_NS);
    roce_report_ms(report, some ? roce_hist_quantile(hist, 990) : ROCE_NEVER_NS);
    roce_report_ms(report, some ? hist->max : ROCE_NEVER_NS);
}

/* ---- what Wireshark calls ----------------------------------------------------------------------
 */

static tap_packet_status on_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_,
                                   const void *data, tap_flags_t flags _U_)
{
    struct roce_report *report =
        report_of(stat_tap_find_table(((stat_data_t *)tapdata)->stat_tap_data, "RoCE"));
    const struct roce_tap *tap = (const struct roce_tap *)data;

    if (!report || !tap->frame)
        return TAP_PACKET_DONT_REDRAW;
    g_ptr_array_set_size(report->touched, 0);
    report->packet(report, tap, pinfo);
    for (guint i = 0; i < report->touched->len; i++) {
        struct row *row = (struct row *)g_ptr_array_index(report->touched, i);

        report->cell = row->cells;
        report->at = 0;
        report->print(row->counts, report);
    }
    return report->touched->len ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
}

/* Called when a window opens or is given another filter. */
static void on_init(stat_tap_table_ui *ui)
{
    struct roce_report *report = NULL;

    for (unsigned i = 0; i < all_cnt; i++)
        if (strcmp(all[i]->name, ui->cli_string) == 0)
            report = all[i];
    if (!report)
        return;
    report->table = stat_tap_find_table(ui, "RoCE");
    bury(report);
    if (ui->refcount <= 1) { /* no other window */
        g_slist_free_full(report->buried, free_buried);
        report->buried = NULL;
    }
    if (!report->rows)
        report->rows = g_hash_table_new(g_bytes_hash, g_bytes_equal);
    if (!report->touched)
        report->touched = g_ptr_array_new();
    if (!report->table) {
        report->table = stat_tap_init_table("RoCE", (int)report->column_cnt, 0, NULL);
        stat_tap_add_table(ui, report->table);
    }
}

static void on_reset(stat_tap_table *table)
{
    struct roce_report *report = report_of(table);

    if (report)
        bury(report);
}

/* Wireshark frees the items of the row itself. */
static void on_free(stat_tap_table *table, guint row, guint column,
                    stat_tap_table_item_type *item _U_)
{
    struct roce_report *report = report_of(table);
    GHashTableIter iter;
    void *key, *value;

    if (!report || row != table->num_elements - 1 || column != table->num_fields - 1)
        return;
    g_hash_table_iter_init(&iter, report->rows);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        free_row(value);
        g_hash_table_iter_steal(&iter);
    }
    report->table = NULL;
}

void roce_report_register(struct roce_report *report)
{
    static tap_param params[] = {{PARAM_FILTER, "filter", "Filter", NULL, TRUE}};
    stat_tap_table_item *fields = g_new0(stat_tap_table_item, report->column_cnt);

    for (unsigned i = 0; i < report->column_cnt; i++) {
        const struct roce_report_column *column = &report->column[i];

        fields[i].type = TABLE_ITEM_STRING;
        fields[i].align = column->right ? TAP_ALIGN_RIGHT : TAP_ALIGN_LEFT;
        fields[i].column_name =
            g_strdup_printf("%*s", column->right ? column->width : -column->width, column->name);
        fields[i].field_format =
            g_strdup_printf("%%%ds", column->right ? column->width : -column->width);
    }
    report->ui = (stat_tap_table_ui){
        .group = REGISTER_PACKET_STAT_GROUP_UNSORTED,
        .title = report->title,
        .tap_name = "roce",
        .cli_string = report->name,
        .stat_tap_init_cb = on_init,
        .packet_func = on_packet,
        .stat_tap_reset_table_cb = on_reset,
        .stat_tap_free_table_item_cb = on_free,
        .nfields = report->column_cnt,
        .fields = fields,
        .nparams = array_length(params),
        .params = params,
    };
    g_assert(all_cnt < REPORTS_MAX);
    all[all_cnt++] = report;
    register_stat_tap_table_ui(&report->ui);
}
